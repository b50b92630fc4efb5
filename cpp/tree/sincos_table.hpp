// Sines and cosines of a state's hinges, computed before the traversal of the tree.
//
// A pack of worlds computes the sine of one joint for all its worlds at once. A single world can fill its
// lanes with its own coordinates only: they are independent, so W at a time are computed, including those
// that are not angles. Every lane does the same arithmetic as the scalar code and gives the same bits.
#pragma once

#include "simd/full_register.hpp"
#include "simd/math.hpp"
#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::tree {

/// Sines and cosines of n angles; those of one world are computed side by side.
template <class S>
PYSIM_INLINE void sincos_each(const S* angles, int n, S* sin, S* cos) {
  if constexpr (!simd::is_one_number<S>) {
    for (int i = 0; i < n; ++i) simd::sincos(angles[i], sin[i], cos[i]);
  } else {
    using Wide = simd::Wide<S>;
    for (int i = 0; i < n; i += Wide::width) {
      const auto* first = &angles[i].lanes;
      const bool whole = i + Wide::width <= n;
      Wide s, c;
      simd::sincos(whole ? simd::load<Wide>(first) : simd::load_part<Wide>(first, n - i), s, c);
      if (whole) {
        simd::store(s, &sin[i].lanes);
        simd::store(c, &cos[i].lanes);
      } else {
        simd::store_part(s, &sin[i].lanes, n - i);
        simd::store_part(c, &cos[i].lanes, n - i);
      }
    }
  }
}

/// sin q_i and cos q_i of the hinges.
template <class S>
struct SincosTable {
  const S *sin, *cos;  ///< [nq]
};

template <class S>
PYSIM_INLINE SincosTable<S> sincos_table(const ModelOf<S>& model, const S* q, Workspace<S>& w) {
  S *const sin = take<S>(w, model.nq), *const cos = take<S>(w, model.nq);
  if constexpr (S::width > 1) {
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      if (joint.shape == Shape::revolute) simd::sincos(q[joint.q], sin[joint.q], cos[joint.q]);
    }
  } else {
    sincos_each(q, model.nq, sin, cos);
  }
  return {sin, cos};
}

}  // namespace pysim::tree
