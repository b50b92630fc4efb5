// What is known of the rows of the constraints at one state.
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
  S* g;         ///< [rows] [m, rad]
  S* gd;        ///< [rows] ġ
  S* gdd;       ///< [rows] g̈ under the accelerations of the bodies; null where nobody asks
  S* J;         ///< (rows, reduced_nv): of each row the coordinates of its way, in their order
  S* reach;     ///< (rows, reduced_nv) likewise: the square of what a row in any direction could feel at its
                ///< place
  Force<S>* W;  ///< [rows] the wrench of a loop's row on body b, in the engine's frame B
};

template <class S>
Rows<S> take_rows(const ModelOf<S>& model, bool with_accelerations, Workspace<S>& w) {
  const std::ptrdiff_t rows = model.rows;
  Rows<S> r;
  r.g = take<S>(w, rows);
  r.gd = take<S>(w, rows);
  r.gdd = with_accelerations ? take<S>(w, rows) : nullptr;
  r.J = take<S>(w, rows * model.reduced_nv);
  r.reach = take<S>(w, rows * model.reduced_nv);
  r.W = take<Force<S>>(w, rows);
  return r;
}

/// Whether a row holds a position, rather than a turn.
template <class S>
PYSIM_INLINE simd::Mask<S> holds_position(const Force<S>& W) {
  return dot(W.f, W.f) > all<S>(typename S::Real(0.5));
}

/// A force of one along axis i.
template <class S>
PYSIM_INLINE Force<S> unit_force(int i) {
  const S o = all<S>(0), e = all<S>(1);
  return {{i == 0 ? e : o, i == 1 ? e : o, i == 2 ? e : o}, spatial::zero3<S>()};
}

}  // namespace pysim::constraints
