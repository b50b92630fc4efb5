// Vectors and twists in rows of numbers.
#pragma once

#include "spatial/motion.hpp"

namespace pysim::engine {

template <class S>
PYSIM_INLINE spatial::Vec3<S> vec3_of(const S* x) {
  return {x[0], x[1], x[2]};
}

template <class S>
PYSIM_INLINE spatial::Motion<S> twist_of(const S* x) {
  return {vec3_of(x), vec3_of(x + 3)};
}

template <class S>
PYSIM_INLINE void put(const spatial::Vec3<S>& a, S* y) {
  y[0] = a.x, y[1] = a.y, y[2] = a.z;
}

template <class S>
PYSIM_INLINE void put(const spatial::Motion<S>& V, S* y) {
  put(V.v, y), put(V.w, y + 3);
}

}  // namespace pysim::engine
