// Dependent constraint rows, detected at the start of a step, where the state satisfies the constraints.
//
// Within the step the state is slightly off the constraints, and dependent rows appear to be independent:
// they would then constrain free motion.
#pragma once

#include "simd/pack.hpp"
#include "tree/workspace.hpp"

namespace pysim::constraints {

using simd::all;
using tree::take;
using tree::Workspace;

template <class S>
struct Dependence {
  simd::Mask<S>* row;   ///< [rows]
  simd::Mask<S> known;  ///< worlds in which this step has determined it
  S most;               ///< largest number of independent rows so far; 0 before the first factorisation
  simd::Mask<S> apart;  ///< no row depends on others, nor nearly
  S least;              ///< smallest pivot of an independent row since the step began, 0 if a row vanished
  S greatest;           ///< largest of the smallest pivots that factorisations found since then
  S latest;             ///< smallest pivot of the last factorisation, 0 before the first
  S start;              ///< `latest` when the step began
  S before;             ///< `greatest` of the step before

  /// Nothing is known of the rows.
  static Dependence unknown(simd::Mask<S>* row) {
    const auto no = simd::nowhere<S>();
    const S o = all<S>(0);
    return {row, no, o, no, all<S>(1), o, o, o, o};
  }

  /// A part of a step begins: what depends is to be found again.
  void forget(simd::Mask<S> worlds) { known &= !worlds; }

  /// A step begins.
  void begin(simd::Mask<S> worlds) {
    forget(worlds);
    before = select(worlds, max(greatest, start), before);
    least = select(worlds, all<S>(1), least);
    greatest = select(worlds, all<S>(0), greatest);
    start = select(worlds, latest, start);
  }

  /// Takes the smallest pivot of a factorisation of some rank into account.
  void watch(S rank, S smallest) {
    const S pivot = select(rank < most, all<S>(0), smallest);
    least = min(least, pivot);
    greatest = max(greatest, pivot);
    latest = pivot;
  }

  /// In `fresh` worlds, records the rows that a factorisation left out.
  template <class Factor>
  void remember(const Factor& G) {
    const auto fresh = !known;
    if (none(fresh)) return;
    for (int i = 0; i < G.n; ++i) row[i] = select(fresh, !G.is_taken(i), row[i]);
    apart = select(fresh, (!G.is_slight()) & (G.rank == G.full_rank()), apart);
    known = simd::everywhere<S>();
  }

  Dependence copy(int rows, Workspace<S>& w) const {
    Dependence copied = *this;
    copied.row = take<simd::Mask<S>>(w, rows);
    for (int i = 0; i < rows; ++i) copied.row[i] = row[i];
    return copied;
  }

  /// Copies the record of `other` in some worlds.
  void keep(simd::Mask<S> worlds, const Dependence& other, int rows) {
    for (int i = 0; i < rows; ++i) row[i] = select(worlds, other.row[i], row[i]);
    known = select(worlds, other.known, known);
    most = select(worlds, other.most, most);
    apart = select(worlds, other.apart, apart);
    least = select(worlds, other.least, least);
    greatest = select(worlds, other.greatest, greatest);
    latest = select(worlds, other.latest, latest);
    start = select(worlds, other.start, start);
    before = select(worlds, other.before, before);
  }
};

template <class S>
Dependence<S> take_dependence(int rows, Workspace<S>& w) {
  auto* const row = take<simd::Mask<S>>(w, rows);
  const auto no = simd::nowhere<S>();
  for (int i = 0; i < rows; ++i) row[i] = no;
  return Dependence<S>::unknown(row);
}

}  // namespace pysim::constraints
