// Sines and cosines of a state's hinges, taken before the tree is walked.
//
// A pack of worlds takes the sine of one joint in all its worlds at once. One world alone has nothing to fill
// its lanes with but its own coordinates: they are independent, so they are turned W at a time, those that
// are no angles with them. Every lane does the same arithmetic as the scalar code and gives the same bits.
#pragma once

#include "simd/math.hpp"
#include "simd/part.hpp"
#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::tree {

/// Doubles or floats of a full register.
template <class S>
constexpr int full_width() {
#if defined(__AVX512F__)
  return 64 / sizeof(typename S::Real);
#elif defined(__AVX__)
  return 32 / sizeof(typename S::Real);
#else
  return 16 / sizeof(typename S::Real);
#endif
}

/// sin q_i and cos q_i of the hinges.
template <class S>
struct Turns {
  const S *sin, *cos;  ///< [nq]
};

template <class S>
PYSIM_INLINE Turns<S> turns(const ModelOf<S>& model, const S* q, Workspace<S>& w) {
  using Full = simd::Pack<typename S::Real, full_width<S>(), typename S::Isa>;
  const int nq = model.nq, rounded = (nq + Full::width - 1) / Full::width * Full::width;
  S *const sin = w.template take<S>(rounded), *const cos = w.template take<S>(rounded);
  if constexpr (S::width > 1) {
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      if (joint.shape == Shape::revolute) simd::sincos(q[joint.q], sin[joint.q], cos[joint.q]);
    }
  } else {
    for (int i = 0; i < nq; i += Full::width) {
      const auto* angles = &q[i].lanes;
      Full s, c;
      simd::sincos(
          nq - i < Full::width ? simd::load_part<Full>(angles, nq - i) : simd::load<Full>(angles), s, c);
      simd::store(s, &sin[i].lanes);
      simd::store(c, &cos[i].lanes);
    }
  }
  return {sin, cos};
}

}  // namespace pysim::tree
