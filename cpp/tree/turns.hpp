// Sines and cosines of all coordinates of one state, side by side in lanes.
//
// A pack of worlds takes the sine of one joint in all its worlds at once. One world alone has nothing to fill
// its lanes with but its own coordinates: they are independent, so they are turned W at a time before the
// tree is walked. Every lane does the same arithmetic as the scalar code and gives the same bits.
#pragma once

#include "simd/math.hpp"
#include "simd/part.hpp"
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

/// sin q_i and cos q_i of one world; null for a pack of worlds, which takes them joint by joint.
template <class S>
struct Turns {
  const S *sin, *cos;  ///< [nq]
};

/// Of all nq coordinates, those that are no angles included.
template <class S>
PYSIM_INLINE Turns<S> turns(const S* q, int nq, Workspace<S>& w) {
  if constexpr (S::width > 1) {
    return {nullptr, nullptr};
  } else {
    using Full = simd::Pack<typename S::Real, full_width<S>(), typename S::Isa>;
    const int rounded = (nq + Full::width - 1) / Full::width * Full::width;
    S *const sin = w.template take<S>(rounded), *const cos = w.template take<S>(rounded);
    for (int i = 0; i < nq; i += Full::width) {
      const auto* angles = &q[i].lanes;
      Full s, c;
      simd::sincos(
          nq - i < Full::width ? simd::load_part<Full>(angles, nq - i) : simd::load<Full>(angles), s, c);
      simd::store(s, &sin[i].lanes);
      simd::store(c, &cos[i].lanes);
    }
    return {sin, cos};
  }
}

}  // namespace pysim::tree
