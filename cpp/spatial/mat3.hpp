// 3×3 matrices: general ones by columns, symmetric ones by six numbers.
#pragma once

#include "spatial/vec3.hpp"

namespace pysim::spatial {

/// Columns x, y, z. For a rotation R_AB these are the axes of B in A.
template <class S>
struct Mat3 {
  Vec3<S> x, y, z;
};

/// Symmetric: xx, yy, zz, xy, yz, zx.
template <class S>
struct Sym3 {
  S xx, yy, zz, xy, yz, zx;

  PYSIM_INLINE friend Sym3 operator+(const Sym3& a, const Sym3& b) {
    return {a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.yz + b.yz, a.zx + b.zx};
  }
};

template <class S>
PYSIM_INLINE Mat3<S> identity3() {
  const S o = all<S>(0), e = all<S>(1);
  return {{e, o, o}, {o, e, o}, {o, o, e}};
}

/// A matrix from nine numbers, column-major; as all3.
template <class S, class Number>
PYSIM_INLINE Mat3<S> all33(const Number* p) {
  return {all3<S>(p), all3<S>(p + 3), all3<S>(p + 6)};
}

template <class S>
PYSIM_INLINE Vec3<S> operator*(const Mat3<S>& A, const Vec3<S>& b) {
  return fma(b.z, A.z, fma(b.y, A.y, b.x * A.x));
}

/// c + A b.
template <class S>
PYSIM_INLINE Vec3<S> multiply_add(const Mat3<S>& A, const Vec3<S>& b, const Vec3<S>& c) {
  return fma(b.z, A.z, fma(b.y, A.y, fma(b.x, A.x, c)));
}

template <class S>
PYSIM_INLINE Mat3<S> operator*(const Mat3<S>& A, const Mat3<S>& B) {
  return {A * B.x, A * B.y, A * B.z};
}

template <class S>
PYSIM_INLINE Mat3<S> operator+(const Mat3<S>& A, const Mat3<S>& B) {
  return {A.x + B.x, A.y + B.y, A.z + B.z};
}

template <class S>
PYSIM_INLINE Mat3<S> transpose(const Mat3<S>& A) {
  return {{A.x.x, A.y.x, A.z.x}, {A.x.y, A.y.y, A.z.y}, {A.x.z, A.y.z, A.z.z}};
}

/// Aᵀ b, without forming Aᵀ.
template <class S>
PYSIM_INLINE Vec3<S> transpose_times(const Mat3<S>& A, const Vec3<S>& b) {
  return {dot(A.x, b), dot(A.y, b), dot(A.z, b)};
}

/// c + Aᵀ b.
template <class S>
PYSIM_INLINE Vec3<S> transpose_multiply_add(const Mat3<S>& A, const Vec3<S>& b, const Vec3<S>& c) {
  return {dot_add(A.x, b, c.x), dot_add(A.y, b, c.y), dot_add(A.z, b, c.z)};
}

template <class S>
PYSIM_INLINE Mat3<S> transpose_times(const Mat3<S>& A, const Mat3<S>& B) {
  return {transpose_times(A, B.x), transpose_times(A, B.y), transpose_times(A, B.z)};
}

template <class S>
PYSIM_INLINE Vec3<S> operator*(const Sym3<S>& A, const Vec3<S>& b) {
  return {fma(A.zx, b.z, fma(A.xy, b.y, A.xx * b.x)),
          fma(A.yz, b.z, fma(A.yy, b.y, A.xy * b.x)),
          fma(A.zz, b.z, fma(A.yz, b.y, A.zx * b.x))};
}

/// A − k uᵀ, for a k that is a multiple of u.
template <class S>
PYSIM_INLINE Sym3<S> minus_outer(const Sym3<S>& A, const Vec3<S>& k, const Vec3<S>& u) {
  return {fnma(k.x, u.x, A.xx),
          fnma(k.y, u.y, A.yy),
          fnma(k.z, u.z, A.zz),
          fnma(k.x, u.y, A.xy),
          fnma(k.y, u.z, A.yz),
          fnma(k.z, u.x, A.zx)};
}

/// The columns of a symmetric matrix.
template <class S>
PYSIM_INLINE Mat3<S> columns(const Sym3<S>& A) {
  return {{A.xx, A.xy, A.zx}, {A.xy, A.yy, A.yz}, {A.zx, A.yz, A.zz}};
}

/// R A Rᵀ of a symmetric A: the same tensor on the axes that R maps to.
template <class S>
PYSIM_INLINE Sym3<S> rotate(const Mat3<S>& R, const Sym3<S>& A) {
  // B = R A by columns, then the six entries of B Rᵀ that are needed.
  const Vec3<S> bx = fma(A.zx, R.z, fma(A.xy, R.y, A.xx * R.x));
  const Vec3<S> by = fma(A.yz, R.z, fma(A.yy, R.y, A.xy * R.x));
  const Vec3<S> bz = fma(A.zz, R.z, fma(A.yz, R.y, A.zx * R.x));
  return {fma(bz.x, R.z.x, fma(by.x, R.y.x, bx.x * R.x.x)),
          fma(bz.y, R.z.y, fma(by.y, R.y.y, bx.y * R.x.y)),
          fma(bz.z, R.z.z, fma(by.z, R.y.z, bx.z * R.x.z)),
          fma(bz.x, R.z.y, fma(by.x, R.y.y, bx.x * R.x.y)),
          fma(bz.y, R.z.z, fma(by.y, R.y.z, bx.y * R.x.z)),
          fma(bz.z, R.z.x, fma(by.z, R.y.x, bx.z * R.x.x))};
}

/// R A Rᵀ of a general A.
template <class S>
PYSIM_INLINE Mat3<S> rotate(const Mat3<S>& R, const Mat3<S>& A) {
  const Mat3<S> B = R * A;
  return {fma(R.z.x, B.z, fma(R.y.x, B.y, R.x.x * B.x)),
          fma(R.z.y, B.z, fma(R.y.y, B.y, R.x.y * B.x)),
          fma(R.z.z, B.z, fma(R.y.z, B.y, R.x.z * B.x))};
}

}  // namespace pysim::spatial
