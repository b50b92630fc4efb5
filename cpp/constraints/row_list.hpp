// List of constraint rows at one state, filled anew for every state.
//
//     g = 0      ġ = J v = 0      g̈ = J v̇ + bias = 0
//
// The rows of loops and couplings come first, in the model's order. Solvers of the constraint forces read
// this list rather than the model, so that rows can be added within a step.
#pragma once

#include "spatial/motion.hpp"
#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::constraints {

using simd::all;
using spatial::Force;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

template <class S>
struct Rows {
  int count, nv;                  ///< rows; number of reduced coordinates, the greatest length of a row
  const tree::SupportPath* path;  ///< [count] the bodies and coordinates on the row's support path
  const int* on_paths;            ///< bodies and coordinates of all paths
  const tree::RowBlock* block;    ///< [blocks] rows whose paths share coordinates, see tree::RowBlock
  int blocks;
  const tree::SharedRun* shared;
  S* g;         ///< [count] [m, rad]
  S* gd;        ///< [count] ġ
  S* gdd;       ///< [count] g̈ under the accelerations of the bodies; null if accelerations are not requested
  S* J;         ///< (count, nv): of each row the coordinates of its path, in their order
  S* reach;     ///< (count, nv) likewise: the square of the largest entry that a row could have at its place
  Force<S>* W;  ///< [count] the wrench of a loop's row on body b, in the engine's frame B

  /// The coordinates of row i, path[i].nv of them.
  PYSIM_INLINE const int* coordinates(int i) const { return on_paths + path[i].first_v; }

  /// Row i of J times x.
  PYSIM_INLINE S times(int i, const S* x) const {
    const int* const k = coordinates(i);
    S sum = all<S>(0);
    for (int m = 0; m < path[i].nv; ++m) sum = simd::fma(J[i * nv + m], x[k[m]], sum);
    return sum;
  }
};

/// Room for the rows of the model.
template <class S>
Rows<S> take_rows(const ModelOf<S>& model, bool with_accelerations, Workspace<S>& w) {
  const int rows = model.rows, nv = model.reduced_nv;
  const std::ptrdiff_t size = std::ptrdiff_t{1} * rows * nv;
  return {rows,
          nv,
          model.row_path,
          model.path,
          model.row_block,
          model.row_blocks,
          model.shared,
          take<S>(w, rows),
          take<S>(w, rows),
          with_accelerations ? take<S>(w, rows) : nullptr,
          take<S>(w, size),
          take<S>(w, size),
          take<Force<S>>(w, rows)};
}

/// Whether a row constrains a position rather than a rotation.
template <class S>
PYSIM_INLINE simd::Mask<S> holds_position(const Force<S>& W) {
  return dot(W.f, W.f) > all<S>(typename S::Real(0.5));
}

/// A unit force along axis i.
template <class S>
PYSIM_INLINE Force<S> unit_force(int i) {
  const S o = all<S>(0), e = all<S>(1);
  return {{i == 0 ? e : o, i == 1 ? e : o, i == 2 ? e : o}, spatial::zero3<S>()};
}

}  // namespace pysim::constraints
