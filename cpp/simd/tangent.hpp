// Forward mode of differentiation: a number and its slope along one direction.
//
//     y = f(x, z)        ẏ = ∂f/∂x ẋ + ∂f/∂z ż       [Griewank, Walther 2008, section 3.1]
//
// Kernels are templates over their number type. Run with Tangent<S>, one gives the product of its Jacobian
// with a direction, from the text that computes the values.
//
// Comparisons are those of the values, so the slope is that of the branch that was taken. A slope of zero
// stays zero through operations whose own slope is infinite, such as √0.
//
// Functions of this file are found where kernels call them by their qualified names only if it is included
// before the kernels.
#pragma once

#include "simd/lookup.hpp"
#include "simd/math.hpp"
#include "simd/parameter.hpp"
#include "simd/random.hpp"

namespace pysim::simd {

template <class S>
struct Tangent {
  using Real = typename S::Real;
  using Isa = typename S::Isa;
  using Parameter = typename S::Parameter;
  using Lanes = typename S::Lanes;
  using Integer = typename S::Integer;
  using Bits = typename S::Bits;
  static constexpr int width = S::width;

  S value, slope;

  Tangent() = default;
  PYSIM_INLINE Tangent(S x, S dx) : value(x), slope(dx) {}
  PYSIM_INLINE explicit Tangent(S x) : value(x), slope(all<S>(0)) {}
  PYSIM_INLINE explicit Tangent(Lanes x) : value{x}, slope(all<S>(0)) {}

  friend Tangent operator-(const Tangent& a) { return {-a.value, -a.slope}; }
  friend Tangent operator+(const Tangent& a, const Tangent& b) {
    return {a.value + b.value, a.slope + b.slope};
  }
  friend Tangent operator-(const Tangent& a, const Tangent& b) {
    return {a.value - b.value, a.slope - b.slope};
  }
  friend Tangent operator*(const Tangent& a, const Tangent& b) {
    return {a.value * b.value, fma(a.value, b.slope, a.slope * b.value)};
  }
  friend Tangent operator/(const Tangent& a, const Tangent& b) {
    const S y = a.value / b.value;
    return {y, fnma(y, b.slope, a.slope) / b.value};
  }
  friend Mask<Tangent> operator<(const Tangent& a, const Tangent& b) { return {(a.value < b.value).lanes}; }
  friend Mask<Tangent> operator>(const Tangent& a, const Tangent& b) { return {(a.value > b.value).lanes}; }
  friend Mask<Tangent> operator<=(const Tangent& a, const Tangent& b) { return {(a.value <= b.value).lanes}; }
  friend Mask<Tangent> operator>=(const Tangent& a, const Tangent& b) { return {(a.value >= b.value).lanes}; }
  friend Mask<Tangent> operator==(const Tangent& a, const Tangent& b) { return {(a.value == b.value).lanes}; }
  Tangent& operator+=(const Tangent& b) { return *this = *this + b; }
  Tangent& operator-=(const Tangent& b) { return *this = *this - b; }
  Tangent& operator*=(const Tangent& b) { return *this = *this * b; }
};

template <class S>
typename S::Real lane(const Tangent<S>& a, int k) {
  return lane(a.value, k);
}

/// `factor` times a slope, 0 of a slope of 0.
template <class S>
S chained(const S& factor, const S& slope) {
  const S o = all<S>(0);
  return select(slope == o, o, factor * slope);
}

template <class S>
Tangent<S> fma(const Tangent<S>& a, const Tangent<S>& b, const Tangent<S>& c) {
  return {fma(a.value, b.value, c.value), fma(a.value, b.slope, fma(a.slope, b.value, c.slope))};
}

template <class S>
Tangent<S> fnma(const Tangent<S>& a, const Tangent<S>& b, const Tangent<S>& c) {
  return fma(-a, b, c);
}

template <class S>
Tangent<S> fms(const Tangent<S>& a, const Tangent<S>& b, const Tangent<S>& c) {
  return fma(a, b, -c);
}

template <class S>
Tangent<S> select(Mask<Tangent<S>> mask, const Tangent<S>& a, const Tangent<S>& b) {
  const Mask<S> own = {mask.lanes};
  return {select(own, a.value, b.value), select(own, a.slope, b.slope)};
}

template <class S>
Tangent<S> sqrt(const Tangent<S>& a) {
  const S y = sqrt(a.value);
  return {y, chained(all<S>(0.5) / y, a.slope)};
}

template <class S>
void sincos(const Tangent<S>& a, Tangent<S>& s, Tangent<S>& c) {
  S sine, cosine;
  sincos(a.value, sine, cosine);
  const S slope = a.slope;
  s = {sine, cosine * slope};
  c = {cosine, -(sine * slope)};
}

template <class S>
Tangent<S> sin(const Tangent<S>& a) {
  Tangent<S> s, c;
  sincos(a, s, c);
  return s;
}

template <class S>
Tangent<S> cos(const Tangent<S>& a) {
  Tangent<S> s, c;
  sincos(a, s, c);
  return c;
}

template <class S>
Tangent<S> tan(const Tangent<S>& a) {
  const S y = tan(a.value);
  return {y, fma(y, y, all<S>(1)) * a.slope};
}

template <class S>
Tangent<S> asin(const Tangent<S>& a) {
  return {asin(a.value), chained(all<S>(1) / sqrt(fnma(a.value, a.value, all<S>(1))), a.slope)};
}

template <class S>
Tangent<S> acos(const Tangent<S>& a) {
  return {acos(a.value), chained(all<S>(-1) / sqrt(fnma(a.value, a.value, all<S>(1))), a.slope)};
}

template <class S>
Tangent<S> atan(const Tangent<S>& a) {
  return {atan(a.value), a.slope / fma(a.value, a.value, all<S>(1))};
}

template <class S>
Tangent<S> atan2(const Tangent<S>& y, const Tangent<S>& x) {
  const S inverse = all<S>(1) / fma(x.value, x.value, y.value * y.value);
  return {atan2(y.value, x.value), chained(inverse, fnma(y.value, x.slope, x.value * y.slope))};
}

template <class S>
Tangent<S> exp(const Tangent<S>& a) {
  const S y = exp(a.value);
  return {y, chained(y, a.slope)};
}

template <class S>
Tangent<S> log(const Tangent<S>& a) {
  return {log(a.value), chained(all<S>(1) / a.value, a.slope)};
}

template <class S>
Tangent<S> tanh(const Tangent<S>& a) {
  const S y = tanh(a.value);
  return {y, fnma(y, y, all<S>(1)) * a.slope};
}

template <class S>
Tangent<S> pow(const Tangent<S>& a, const Tangent<S>& b) {
  const S y = pow(a.value, b.value), by_a = b.value * pow(a.value, b.value - all<S>(1));
  return {y, chained(by_a, a.slope) + chained(y * log(a.value), b.slope)};
}

template <class S>
Tangent<S> hypot(const Tangent<S>& a, const Tangent<S>& b) {
  const S y = hypot(a.value, b.value), inverse = all<S>(1) / y;
  return {y, chained(inverse, fma(a.value, a.slope, b.value * b.slope))};
}

template <class S>
Tangent<S> flip_sign(const Tangent<S>& a, const Tangent<S>& b) {
  return {flip_sign(a.value, b.value), flip_sign(all<S>(1), b.value) * a.slope};
}

template <class S>
Tangent<S> magnitude(const Tangent<S>& a) {
  return flip_sign(a, a);
}

template <class S>
Tangent<S> floor(const Tangent<S>& a) {
  return Tangent<S>(floor(a.value));
}

/// Rows of tables are chosen by whole numbers, on which nothing depends continuously.
template <class S, class Entry>
Tangent<S> lookup(const Entry* table, const Tangent<S>& index, int stride, int rows) {
  return Tangent<S>(lookup(table, index.value, stride, rows));
}

template <class S>
Tangent<S> random(const Tangent<S>& a, const Tangent<S>& b, const Tangent<S>& c) {
  return Tangent<S>(random(a.value, b.value, c.value));
}

}  // namespace pysim::simd
