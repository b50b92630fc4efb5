// Vectors of three numbers, each a pack of W worlds.
#pragma once

#include "simd/pack.hpp"

namespace pysim::spatial {

using simd::all;
using simd::fma;
using simd::fms;
using simd::fnma;

template <class S>
struct Vec3 {
  S x, y, z;

  PYSIM_INLINE friend Vec3 operator-(const Vec3& a) { return {-a.x, -a.y, -a.z}; }
  PYSIM_INLINE friend Vec3 operator+(const Vec3& a, const Vec3& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  PYSIM_INLINE friend Vec3 operator-(const Vec3& a, const Vec3& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  PYSIM_INLINE friend Vec3 operator*(S s, const Vec3& a) { return {s * a.x, s * a.y, s * a.z}; }
  PYSIM_INLINE Vec3& operator+=(const Vec3& b) { return *this = *this + b; }
  PYSIM_INLINE Vec3& operator-=(const Vec3& b) { return *this = *this - b; }
};

template <class S>
PYSIM_INLINE Vec3<S> zero3() {
  const S o = all<S>(0);
  return {o, o, o};
}

/// The same vector in every world, from three consecutive numbers; or one per world, from packs of them.
template <class S, class Number>
PYSIM_INLINE Vec3<S> all3(const Number* p) {
  return {all<S>(p[0]), all<S>(p[1]), all<S>(p[2])};
}

template <class S>
PYSIM_INLINE S dot(const Vec3<S>& a, const Vec3<S>& b) {
  return fma(a.z, b.z, fma(a.y, b.y, a.x * b.x));
}

/// c + a·b.
template <class S>
PYSIM_INLINE S dot_add(const Vec3<S>& a, const Vec3<S>& b, S c) {
  return fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, c)));
}

template <class S>
PYSIM_INLINE Vec3<S> cross(const Vec3<S>& a, const Vec3<S>& b) {
  return {fnma(a.z, b.y, a.y * b.z), fnma(a.x, b.z, a.z * b.x), fnma(a.y, b.x, a.x * b.y)};
}

/// c + s a.
template <class S>
PYSIM_INLINE Vec3<S> fma(S s, const Vec3<S>& a, const Vec3<S>& c) {
  return {fma(s, a.x, c.x), fma(s, a.y, c.y), fma(s, a.z, c.z)};
}

/// c − s a.
template <class S>
PYSIM_INLINE Vec3<S> fnma(S s, const Vec3<S>& a, const Vec3<S>& c) {
  return {fnma(s, a.x, c.x), fnma(s, a.y, c.y), fnma(s, a.z, c.z)};
}

/// c + a × b.
template <class S>
PYSIM_INLINE Vec3<S> cross_add(const Vec3<S>& a, const Vec3<S>& b, const Vec3<S>& c) {
  return {fnma(a.z, b.y, fma(a.y, b.z, c.x)),
          fma(a.z, b.x, fnma(a.x, b.z, c.y)),
          fnma(a.y, b.x, fma(a.x, b.y, c.z))};
}

}  // namespace pysim::spatial
