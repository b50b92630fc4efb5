// Rows of Jacobians of what a tape holds (simd/reverse.hpp), for numbers that depend on few inputs: only the
// operations on their way are walked, however long the tape is.
#pragma once

#include "simd/reverse.hpp"
#include "tree/workspace.hpp"

namespace pysim::stepping {

template <class S>
class TapeRows {
 public:
  /// Rows of the operations that are on the tape.
  TapeRows(const simd::Tape<S>& tape, tree::Workspace<S>& w)
      : tape_(tape), first_(tree::take<int>(w, tape.nodes)), words_(tape.nodes / bits + 1) {
    pending_ = tree::take<Word>(w, words_);
    for (int k = 0; k < tape.nodes; ++k) first_[k] = -1;
    for (int e = tape.edges - 1; e >= 0; --e) first_[tape.to[e]] = e;
    for (int k = 0; k < words_; ++k) pending_[k] = 0;
  }

  /// Adds a multiple of a number to what the next row is of.
  template <bool n>
  void seed(const simd::Reverse<S, n>& x, S share) {
    if (x.is_constant()) return;
    tape_.cotangent[x.node] += share;
    await(x.node);
  }

  /// visit(node of an input, derivative by it).
  template <class Visit>
  void pull(const Visit& visit) {
    for (; top_ >= 0; --top_) {
      for (Word& word = pending_[top_]; word != 0;) {
        const int bit = highest_bit(word), node = bits * top_ + bit;
        word &= ~(Word{1} << bit);
        pull_node(node, visit);
      }
    }
  }

 private:
  using Word = unsigned;
  static constexpr int bits = 32;

  /// The exponent of the number as a double, which is exact.
  static int highest_bit(Word word) {
    constexpr int fraction = 52, offset = 1023;
    const auto exponent = simd::bit_cast<long long>(static_cast<double>(word)) >> fraction;
    return static_cast<int>(exponent) - offset;
  }

  void await(int node) {
    pending_[node / bits] |= Word{1} << (node % bits);
    top_ = node / bits > top_ ? node / bits : top_;
  }

  template <class Visit>
  PYSIM_INLINE void pull_node(int node, const Visit& visit) {
    const S o = simd::all<S>(0), y = tape_.cotangent[node];
    tape_.cotangent[node] = o;
    const auto none_passes = y == o;
    if (simd::all(none_passes)) return;
    if (first_[node] < 0) return visit(node, y);
    for (int e = first_[node]; e < tape_.edges && tape_.to[e] == node; ++e) {
      S& x = tape_.cotangent[tape_.from[e]];
      x = select(none_passes, x, simd::fma(tape_.weight[e], y, x));
      await(tape_.from[e]);
    }
  }

  const simd::Tape<S> tape_;
  int* const first_;  ///< [nodes] the first operation that made each; −1 for inputs
  const int words_;
  Word* pending_;  ///< [words] nodes whose derivatives have not been passed on
  int top_ = -1;
};

}  // namespace pysim::stepping
