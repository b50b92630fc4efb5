// Random numbers of packs, functions of their place.
#pragma once

#include "simd/pack.hpp"
#include "simd/philox.hpp"

namespace pysim::simd {

/// Number within (0, 1) of every lane; see `philox_uniform`.
template <class S>
S random(S index, S key, S stream) {
  S value = index;
  for (int k = 0; k < S::width; ++k) {
    const double x = philox_uniform<typename S::Isa>(lane(index, k), lane(key, k), lane(stream, k));
    set_lane(value, k, static_cast<typename S::Real>(x));
  }
  return value;
}

}  // namespace pysim::simd
