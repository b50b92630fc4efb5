// Partial loads and stores: the first numbers of a pack; memory after them is neither read nor written.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

/// Lane k from p[k] for k < count, zero for the others.
template <class S>
PYSIM_INLINE S load_part(const typename S::Real* p, int count) {
  if constexpr (in_two<S>) {
    constexpr int half = S::width / 2;
    if (count >= half) return join(load<HalfOf<S>>(p), load_part<HalfOf<S>>(p + half, count - half));
    return join(load_part<HalfOf<S>>(p, count), all<HalfOf<S>>(0));
  } else {
    return {load_lanes_before<typename S::Real, S::width, typename S::Isa>(p, count)};
  }
}

/// Lane k to p[k] for k < count; count is less than the number of lanes.
template <class S>
PYSIM_INLINE void store_part(const S& a, typename S::Real* p, int count) {
  if constexpr (in_two<S>) {
    constexpr int half = S::width / 2;
    if (count < half) return store_part(low(a), p, count);
    store(low(a), p);
    if (count > half) store_part(high(a), p + half, count - half);
  } else {
    store_lanes_before<typename S::Real, S::width, typename S::Isa>(a.lanes, p, count);
  }
}

}  // namespace pysim::simd
