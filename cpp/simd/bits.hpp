// Bits of floating-point numbers: signs, exponents, leading halves, rounding; used by elementary functions.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

/// One value for double, another for float.
template <class S>
constexpr typename S::Real either(double for_double, double for_float) {
  return static_cast<typename S::Real>(sizeof(typename S::Real) == 8 ? for_double : for_float);
}

/// Σ c_i x^i by Horner, highest power first.
template <class S, int n>
PYSIM_INLINE S polynomial(S x, const double (&c)[n]) {
  S y = all<S>(static_cast<typename S::Real>(c[0]));
  for (int i = 1; i < n; ++i) y = fma(y, x, all<S>(static_cast<typename S::Real>(c[i])));
  return y;
}

template <class S>
PYSIM_INLINE typename S::Bits bits(S x) {
  return bit_cast<typename S::Bits>(x.lanes);
}

template <class S>
PYSIM_INLINE S from_bits(typename S::Bits b) {
  return {bit_cast<typename S::Lanes>(b)};
}

/// Only the sign bit of x.
template <class S>
PYSIM_INLINE typename S::Bits sign_bit(S x) {
  return bits(x) & bits(all<S>(static_cast<typename S::Real>(-0.0)));
}

/// |x|, of zeros too.
template <class S>
PYSIM_INLINE S magnitude(S x) {
  return from_bits<S>(bits(x) & ~bits(all<S>(static_cast<typename S::Real>(-0.0))));
}

/// |x| with the sign of y.
template <class S>
PYSIM_INLINE S copysign(S x, S y) {
  return from_bits<S>(bits(magnitude(x)) | sign_bit(y));
}

/// x with its sign changed where that of y is negative.
template <class S>
PYSIM_INLINE S flip_sign(S x, S y) {
  return from_bits<S>(bits(x) ^ sign_bit(y));
}

/// Adding this rounds to an integer, which is then in the lowest bits.
template <class S>
PYSIM_INLINE S rounder() {
  return all<S>(
      static_cast<typename S::Real>(sizeof(typename S::Real) == 8 ? 6755399441055744.0 : 12582912.0));
}

/// b · 2^n, where bits that leave the integer are lost.
template <class S>
PYSIM_INLINE typename S::Bits shift_left(typename S::Bits b, int n) {
  if constexpr (S::width == 1) {  // a shift of vectors loses them, one of a signed integer is undefined
    return static_cast<typename S::Bits>(
        static_cast<typename IntegerOf<sizeof(typename S::Real)>::unsigned_type>(b) << n);
  } else {
    return b << n;
  }
}

/// 2^k for integers k (given as numbers) in the range of normal exponents.
template <class S>
PYSIM_INLINE S power_of_two(S k) {
  constexpr int mantissa = sizeof(typename S::Real) == 8 ? 52 : 23;
  constexpr typename S::Integer bias = sizeof(typename S::Real) == 8 ? 1023 : 127;
  // in k + rounder the integer k is in the lowest bits; the rounder's own bits there are zero
  return from_bits<S>(shift_left<S>(bits(k + rounder<S>()) + bias, mantissa));
}

/// x = m 2^k with 1 ≤ m < 2, for positive finite x.
template <class S>
struct Scaled {
  S m, k;
};

/// Subnormal numbers included; the caller replaces the results for zero, negative numbers, infinity and NaN.
template <class S>
PYSIM_INLINE Scaled<S> split_exponent(S x) {
  using Integer = typename S::Integer;
  constexpr int mantissa = sizeof(Integer) == 8 ? 52 : 23;
  constexpr Integer bias = sizeof(Integer) == 8 ? 1023 : 127, one = bias << mantissa;
  const auto tiny = x < all<S>(either<S>(2.2250738585072014e-308, 1.1754943508222875e-38));
  const S y = select(tiny, x * all<S>(either<S>(18014398509481984.0, 33554432.0)), x);
  // the biased exponent, in the lowest bits of the rounder, is an integer as a number
  const auto biased = (bits(y) >> mantissa) & Integer(2 * bias + 1);
  const S k = from_bits<S>(bits(rounder<S>()) | biased) -
              all<S>(either<S>(6755399441055744.0 + 1023, 12582912.0 + 127));
  const S m = from_bits<S>((bits(y) & ((Integer(1) << mantissa) - 1)) | one);
  return {m, select(tiny, k - all<S>(either<S>(54, 25)), k)};
}

/// x with the lower half of its significant digits cleared, so that squares and products of two are exact.
template <class S>
PYSIM_INLINE S leading_half(S x) {
  using Integer = typename S::Integer;
  return from_bits<S>(bits(x) & Integer(sizeof(Integer) == 8 ? -4294967296LL : -4096));
}

/// The largest integer that is not above x.
template <class S>
PYSIM_INLINE S floor(S x) {
  const S whole = all<S>(either<S>(4503599627370496.0, 8388608.0)), a = magnitude(x);
  const S near = copysign((a + whole) - whole, x);
  const S below = near - select(near > x, all<S>(1), all<S>(0));
  return select(a < whole, copysign(below, x), x);
}

}  // namespace pysim::simd
