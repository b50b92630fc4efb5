// Two registers as one vector of twice the width.
//
// A kernel that is bound by latency, of divisions or of dependent operations, or by the traversal of
// joints, processes two registers of worlds in little more than the time of one. One that
// keeps the registers busy gains nothing, and spills.
//
// Without it rollouts of 256 worlds of scenes/four_bar.toml, double_pendulum.toml and knee.toml by rk4 take
// 1.19, 1.14 and 1.16 times as long on AVX-512. tests/simulation/test_paired_registers.py checks the bits.
#pragma once

#include "simd/vectors.hpp"

namespace pysim::simd {

template <class Half, class Isa>
struct Twin;

/// Comparisons of numbers and of their bits may give different integers; here they are one type.
template <class Isa, class Half>
PYSIM_INLINE auto mask_of(Half low, Half high) {
  using Real = typename RealOf<sizeof(ElementOf<Half>)>::type;
  using Numbers = typename Vector<Real, sizeof(Half) / sizeof(Real)>::type;
  using Mask = decltype(Numbers{} < Numbers{});
  return Twin<Mask, Isa>(bit_cast<Mask>(low), bit_cast<Mask>(high));
}

/// Operations of the compiler's vectors on each half of a twin.
template <class Half, class Isa>
struct Twin {
  using Element = ElementOf<Half>;

  Half low, high;

  Twin() = default;
  PYSIM_INLINE Twin(Half l, Half h) : low(l), high(h) {}
  PYSIM_INLINE Twin(Element x) : low(x - Half{}), high(low) {}  ///< a number is broadcast to a vector

  PYSIM_INLINE friend Twin operator-(Twin a) { return {-a.low, -a.high}; }
  PYSIM_INLINE friend Twin operator~(Twin a) { return {~a.low, ~a.high}; }
  PYSIM_INLINE friend Twin operator+(Twin a, Twin b) { return {a.low + b.low, a.high + b.high}; }
  PYSIM_INLINE friend Twin operator-(Twin a, Twin b) { return {a.low - b.low, a.high - b.high}; }
  PYSIM_INLINE friend Twin operator*(Twin a, Twin b) { return {a.low * b.low, a.high * b.high}; }
  PYSIM_INLINE friend Twin operator/(Twin a, Twin b) { return {a.low / b.low, a.high / b.high}; }
  PYSIM_INLINE friend Twin operator&(Twin a, Twin b) { return {a.low & b.low, a.high & b.high}; }
  PYSIM_INLINE friend Twin operator|(Twin a, Twin b) { return {a.low | b.low, a.high | b.high}; }
  PYSIM_INLINE friend Twin operator^(Twin a, Twin b) { return {a.low ^ b.low, a.high ^ b.high}; }
  PYSIM_INLINE friend Twin operator<<(Twin a, int bits) { return {a.low << bits, a.high << bits}; }
  PYSIM_INLINE friend Twin operator>>(Twin a, int bits) { return {a.low >> bits, a.high >> bits}; }

  PYSIM_INLINE friend auto operator<(Twin a, Twin b) { return mask_of<Isa>(a.low < b.low, a.high < b.high); }
  PYSIM_INLINE friend auto operator>(Twin a, Twin b) { return mask_of<Isa>(a.low > b.low, a.high > b.high); }
  PYSIM_INLINE friend auto operator<=(Twin a, Twin b) {
    return mask_of<Isa>(a.low <= b.low, a.high <= b.high);
  }
  PYSIM_INLINE friend auto operator>=(Twin a, Twin b) {
    return mask_of<Isa>(a.low >= b.low, a.high >= b.high);
  }
  PYSIM_INLINE friend auto operator==(Twin a, Twin b) {
    return mask_of<Isa>(a.low == b.low, a.high == b.high);
  }
};

}  // namespace pysim::simd
