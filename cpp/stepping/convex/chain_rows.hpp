// Chain rule of a step: rows by numbers in the middle of it, put in terms of the columns of its matrices.
//
// Columns are q₀ along δ and v₀, then three numbers of every deflection that is a state, deflections of dry
// friction, states of elements, and inputs.
#pragma once

#include "simd/row_sum.hpp"
#include "stepping/convex/product.hpp"
#include "stepping/tape_rows.hpp"

namespace pysim::stepping {

/// Numbers of a world that are states beside q and v, in the order of their columns, and inputs behind them.
struct StateList {
  const int *points, *coordinates, *numbers;  ///< numbers of the signals: states, then inputs
  int point_count, coordinate_count, state_count, input_count;
};

/// First columns of what is a state, and how many there are.
struct StateColumns {
  int points, turnings, coordinates, numbers, states, all;

  StateColumns(const StateList& list, int nv, int turning_points)
      : points(2 * nv),
        turnings(points + 3 * list.point_count),
        coordinates(turnings + 3 * turning_points),
        numbers(coordinates + list.coordinate_count),
        states(numbers + list.state_count),
        all(states + list.input_count) {}
};

template <class S>
class ChainRows {
 public:
  using R = typename ConvexStepProduct<S>::R;
  /// What is no column; velocity terms have all but the first.
  enum Kind { v1, before, rate, change, share };

  /// `most` rows beside those of `Kind` may be added at once.
  ChainRows(const simd::Tape<S>& tape, int nv, int columns, bool moves, int most, Workspace<S>& w)
      : nv_(nv),
        columns_(columns),
        tape_(tape, w),
        column_(take<int>(w, tape.nodes)),
        rows_(take<S>(w, (moves ? 4 * nv + 1 : nv) * columns)),
        share_(take<S>(w, 4 * nv + 1 + most)),
        row_(take<const S*>(w, 4 * nv + 1 + most)) {
    for (int k = 0; k < tape.nodes; ++k) column_[k] = -1;
  }

  /// Lets inputs of the tape be columns from `first` on.
  void set_columns(const R* inputs, int count, int first) const {
    for (int i = 0; i < count; ++i) column_[inputs[i].node] = first + i;
  }

  /// Lets them have the rows of a kind.
  void set_rows(const R* inputs, int count, Kind kind) const {
    set_columns(inputs, count, columns_ + kind * nv_);
  }

  /// Derivatives (nv, columns) of a kind; of its share, (columns).
  S* of(Kind kind) const { return rows_ + kind * nv_ * columns_; }

  /// to (columns) += share × from.
  void add_multiple(S share, const S* from, S* to) const {
    for (int c = 0; c < columns_; ++c) to[c] = fma(share, from[c], to[c]);
  }

  /// to += shares (count) × from (count, columns).
  void add_multiples(const S* shares, int count, const S* from, S* to) const {
    int rows = 0;
    for (int k = 0; k < count; ++k) {
      if (simd::all(shares[k] == all<S>(0))) continue;
      share_[rows] = shares[k];
      row_[rows++] = from + k * columns_;
    }
    simd::add_rows<S>(share_, row_, rows, to, columns_);
  }

  void seed(const R& x, S bar) { tape_.seed(x, bar); }

  /// Adds a multiple of the derivative of what has been seeded.
  void add_seeded(S scale, S* to) {
    int rows = 0;
    tape_.pull([&](int node, S slope) {
      const int column = column_[node];
      if (column < 0) return;
      if (column < columns_) {
        to[column] = fma(scale, slope, to[column]);
      } else {
        share_[rows] = scale * slope;
        row_[rows++] = rows_ + (column - columns_) * columns_;
      }
    });
    simd::add_rows<S>(share_, row_, rows, to, columns_);
  }

  /// Adds a multiple of that of a number on the tape.
  void add(const R& x, S scale, S* to) {
    if (x.is_constant()) return;
    tape_.seed(x, all<S>(1));
    add_seeded(scale, to);
  }

 private:
  const int nv_, columns_;
  TapeRows<S> tape_;
  int* const column_;  ///< [nodes] columns; beyond them, rows; −1 for others
  S* const rows_;      ///< (4 nv + 1, columns) of `Kind`, set by the user
  S* const share_;     ///< multiples of rows that are added at once, and these rows
  const S** const row_;
};

}  // namespace pysim::stepping
