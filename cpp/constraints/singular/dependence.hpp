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

/// The smallest pivot of all would hide a loop that becomes singular beside another one that leaves such a
/// configuration: pivots are compared row by row.
template <class S>
struct Dependence {
  static constexpr double absent = 2;  ///< in place of the least pivot of a row without any; pivots are ≤ 1

  int rows;
  simd::Mask<S>* row;      ///< [rows] the row depends on others
  S* pivot;                ///< [rows] in the last factorisation, 0 if the row was left out
  S* low;                  ///< [rows] least pivot in this step, its start included
  S* high;                 ///< [rows] greatest pivot, likewise; 0 if there is none
  S* before;               ///< [rows] `high` of the step before
  simd::Mask<S> known;     ///< worlds in which this step has determined `row`
  simd::Mask<S> factored;  ///< worlds in which a factorisation was made
  simd::Mask<S> begun;     ///< worlds in which the pivots at this step's start are known
  S most;                  ///< largest number of independent rows so far; 0 before the first factorisation
  simd::Mask<S> apart;     ///< no row depends on others, nor nearly
  S least;                 ///< smallest pivot since the step began, 0 if a row vanished

  /// A part of a step begins: what depends is to be found again.
  void forget(simd::Mask<S> worlds) { known &= !worlds; }

  /// A step begins, where the last factorisation was made.
  void begin(simd::Mask<S> worlds) {
    const S o = all<S>(0);
    forget(worlds);
    begun = select(worlds, factored, begun);
    least = select(worlds, all<S>(1), least);
    for (int i = 0; i < rows; ++i) {
      before[i] = select(worlds, high[i], before[i]);
      low[i] = select(worlds, select(pivot[i] > o, pivot[i], all<S>(absent)), low[i]);
      high[i] = select(worlds, pivot[i], high[i]);
    }
  }

  /// Takes the pivots of a factorisation into account.
  template <class Factor>
  void watch(const Factor& G) {
    const S o = all<S>(0);
    least = min(least, select(G.rank < most, o, G.smallest));
    for (int i = 0; i < rows; ++i) {
      const auto taken = G.is_taken(i);
      pivot[i] = select(taken, G.pivot(i), o);
      low[i] = select(taken, min(low[i], pivot[i]), low[i]);
      high[i] = max(high[i], pivot[i]);
    }
    factored = simd::everywhere<S>();
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

  Dependence copy(Workspace<S>& w) const;

  /// Numbers that the next step begins with, see `begin`: pivots, the greatest of the step, and counts.
  static int carried(int rows) { return rows > 0 ? 2 * rows + 2 : 0; }

  void load(const S* numbers) {
    for (int i = 0; i < rows; ++i) {
      pivot[i] = numbers[i];
      high[i] = numbers[rows + i];
    }
    factored = numbers[2 * rows] > all<S>(0);
    most = numbers[2 * rows + 1];
  }

  void store(S* numbers) const {
    for (int i = 0; i < rows; ++i) {
      numbers[i] = pivot[i];
      numbers[rows + i] = high[i];
    }
    numbers[2 * rows] = number(factored);
    numbers[2 * rows + 1] = most;
  }

  /// Copies the record of `from` in some worlds.
  void keep(simd::Mask<S> worlds, const Dependence& from) {
    for (int i = 0; i < rows; ++i) {
      row[i] = select(worlds, from.row[i], row[i]);
      pivot[i] = select(worlds, from.pivot[i], pivot[i]);
      low[i] = select(worlds, from.low[i], low[i]);
      high[i] = select(worlds, from.high[i], high[i]);
      before[i] = select(worlds, from.before[i], before[i]);
    }
    known = select(worlds, from.known, known);
    factored = select(worlds, from.factored, factored);
    begun = select(worlds, from.begun, begun);
    most = select(worlds, from.most, most);
    apart = select(worlds, from.apart, apart);
    least = select(worlds, from.least, least);
  }
};

/// Memory for the record of rows that are still unknown.
template <class S>
Dependence<S> take_dependence(int rows, Workspace<S>& w) {
  const auto no = simd::nowhere<S>();
  const S o = all<S>(0);
  auto* const row = take<simd::Mask<S>>(w, rows);
  S *const pivot = take<S>(w, rows), *const low = take<S>(w, rows), *const high = take<S>(w, rows),
           *const before = take<S>(w, rows);
  for (int i = 0; i < rows; ++i) {
    row[i] = no;
    pivot[i] = high[i] = before[i] = o;
    low[i] = all<S>(Dependence<S>::absent);
  }
  return {rows, row, pivot, low, high, before, no, no, no, o, no, all<S>(1)};
}

template <class S>
Dependence<S> Dependence<S>::copy(Workspace<S>& w) const {
  Dependence copied = take_dependence<S>(rows, w);
  copied.keep(simd::everywhere<S>(), *this);
  return copied;
}

}  // namespace pysim::constraints
