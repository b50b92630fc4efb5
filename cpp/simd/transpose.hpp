// Stores of packs to rows of W worlds: numbers computed lane by lane, stored world by world.
//
// W packs are a W × W matrix with one world per column; its transpose has one world per row, which is stored
// whole. Blocks of 1, 2, 4, … lanes are exchanged between packs at the same distance: log₂ W rounds.
#pragma once

#include "simd/partial_load.hpp"

namespace pysim::simd {

template <int... k>
struct LaneNumbers {};

template <int W>
struct LanesUpTo;
template <>
struct LanesUpTo<2> : LaneNumbers<0, 1> {};
template <>
struct LanesUpTo<4> : LaneNumbers<0, 1, 2, 3> {};
template <>
struct LanesUpTo<8> : LaneNumbers<0, 1, 2, 3, 4, 5, 6, 7> {};
template <>
struct LanesUpTo<16> : LaneNumbers<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15> {};

/// Exchanges blocks of h lanes: the odd ones of a with the even ones of b.
template <int h, class S, int... k>
PYSIM_INLINE void exchange(S& a, S& b, LaneNumbers<k...>) {
  constexpr int W = S::width;  // lane W + k of a shuffle is lane k of b
  const auto even = shuffle<((k & h) != 0 ? W + k - h : k)...>(a.lanes, b.lanes);
  b.lanes = shuffle<((k & h) != 0 ? W + k : k + h)...>(a.lanes, b.lanes);
  a.lanes = even;
}

/// The same of packs of two registers.
template <int h, class S>
PYSIM_INLINE void exchange_in_two(S& a, S& b) {
  HalfOf<S> a_low = low(a), a_high = high(a), b_low = low(b), b_high = high(b);
  if constexpr (2 * h == S::width) {
    a = join(a_low, b_low);
    b = join(a_high, b_high);
  } else {
    exchange<h>(a_low, b_low, LanesUpTo<S::width / 2>{});
    exchange<h>(a_high, b_high, LanesUpTo<S::width / 2>{});
    a = join(a_low, a_high);
    b = join(b_low, b_high);
  }
}

/// One round.
template <int h, class S>
PYSIM_INLINE void exchange_blocks(S (&r)[S::width]) {
#pragma GCC unroll 16
  for (int i = 0; i < S::width; ++i) {
    if ((i & h) != 0) continue;
    if constexpr (in_two<S>) {
      exchange_in_two<h>(r[i], r[i + h]);
    } else {
      exchange<h>(r[i], r[i + h], LanesUpTo<S::width>{});
    }
  }
}

/// Lane k of pack i to lane i of pack k.
template <class S>
PYSIM_INLINE void transpose(S (&r)[S::width]) {
  if constexpr (S::width >= 2) exchange_blocks<1>(r);
  if constexpr (S::width >= 4) exchange_blocks<2>(r);
  if constexpr (S::width >= 8) exchange_blocks<4>(r);
  if constexpr (S::width >= 16) exchange_blocks<8>(r);
}

/// Lane k of packs 0 … count to the `count` numbers at rows + k·stride; count is at most W.
template <class S>
PYSIM_INLINE void store_block(const S* packs, int count, typename S::Real* rows, std::ptrdiff_t stride) {
  constexpr int W = S::width, ahead = 128 / sizeof(typename S::Real);
  S block[W];
#pragma GCC unroll 16
  for (int k = 0; k < W; ++k) block[k] = k < count ? packs[k] : all<S>(0);
  transpose(block);
#pragma GCC unroll 16
  for (int k = 0; k < W; ++k) {
    if (count == W) {
      store(block[k], rows + k * stride);
    } else {
      store_part(block[k], rows + k * stride, count);
    }
    prefetch_to_write(rows + k * stride + ahead);
  }
}

/// Lane k of packs[0 … count) to the `count` numbers at rows + k·stride.
///
/// W rows are written side by side, and the processor does not predict them: the next lines are prefetched
/// two ahead. Otherwise each would delay all later stores, which doubles the total time.
template <class S>
void store_rows(const S* packs, std::ptrdiff_t count, typename S::Real* rows, std::ptrdiff_t stride) {
  constexpr int W = S::width;
  std::ptrdiff_t i = 0;
  for (; i + W <= count; i += W) store_block(packs + i, W, rows + i, stride);
  if (i < count) store_block(packs + i, static_cast<int>(count - i), rows + i, stride);
}

/// Zeros in the `count` numbers at rows + k·stride, for every lane k.
template <class S>
void clear_rows(std::ptrdiff_t count, typename S::Real* rows, std::ptrdiff_t stride) {
  for (int k = 0; k < S::width; ++k) {
    for (std::ptrdiff_t i = 0; i < count; ++i) rows[k * stride + i] = 0;
  }
}

}  // namespace pysim::simd
