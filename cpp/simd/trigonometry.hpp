// Circular functions and their inverses.
//
// Sources: argument reduction, sine, cosine, arc sine and arc cosine after fdlibm (Sun Microsystems 1993),
// arc tangent after Cephes (Moshier 1989).
#pragma once

#include "simd/bits.hpp"
#include "simd/compensated_sum.hpp"

namespace pysim::simd {

/// x − n π/2 = r + low, |r| ≤ π/4, and n modulo 4 in the lowest bits of `quadrant`.
template <class S>
struct Reduced {
  S r, low;
  typename S::Bits quadrant;
};

/// Cody and Waite: π/2 in parts; n times each part but the last is exact for |n| < 2²⁰, |x| ≤ 1e6.
///
/// A fused x − n p admits a first part of all 53 bits: it is a multiple of 2⁻⁵³ and less than one, so exact.
template <class Isa, int W>
PYSIM_INLINE Reduced<Pack<double, W, Isa>> reduce_half_pi(Pack<double, W, Isa> x) {
  using S = Pack<double, W, Isa>;
  const S shifted = fma(x, all<S>(6.36619772367581382433e-01), rounder<S>());
  const S n = shifted - rounder<S>();
  Rounded<S> c;
  S tail;
  if constexpr (has_fma<Isa>()) {
    const S a = fnma(n, all<S>(1.57079632679489655800e+00), x);
    c = exact_sum(a, n * all<S>(-6.12323399538460989961e-17));
    tail = fnma(n, all<S>(3.52155986518320018165e-27), c.lost);
  } else {
    const S a = x - n * all<S>(1.57079632673412561417e+00);
    const Rounded<S> b = exact_sum(a, n * all<S>(-6.07710050630396597660e-11));
    c = exact_sum(b.sum, n * all<S>(-2.02226624871116645580e-21));
    tail = (b.lost + c.lost) - n * all<S>(8.47842766036889956997e-32);
  }
  const S r = c.sum + tail;
  return {r, tail - (r - c.sum), bits(shifted)};
}

/// Single precision is reduced in double precision.
template <class Isa, int W>
PYSIM_INLINE Reduced<Pack<float, W, Isa>> reduce_half_pi(Pack<float, W, Isa> x) {
  using S = Pack<float, W, Isa>;
  if constexpr (W == 1) {
    const double shifted = double(x.lanes) * 6.36619772367581382433e-01 + 6755399441055744.0;
    const double n = shifted - 6755399441055744.0;
    const double r = (double(x.lanes) - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11;
    const float near = float(r);
    return {{near}, {float(r - near)}, int(bit_cast<long long>(shifted))};
  } else {
    using Wide = typename Vector<double, W>::type;
    using WideBits = typename Vector<long long, W>::type;
    const Wide wide = convert<Wide>(x.lanes);
    const Wide shifted = wide * 6.36619772367581382433e-01 + 6755399441055744.0;
    const Wide n = shifted - 6755399441055744.0;
    const Wide r = (wide - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11;
    const auto quadrant = convert<typename S::Bits>(bit_cast<WideBits>(shifted));
    const auto near = convert<typename S::Lanes>(r);
    const auto low = convert<typename S::Lanes>(r - convert<Wide>(near));
    return {{near}, {low}, quadrant};
  }
}

/// Lanes beyond the fast reduction, one by one; the others are unchanged. In long double, because a C
/// library's double cosine may be wrong by several ulp for huge numbers closest to a zero.
template <class S>
PYSIM_COLD void sincos_beyond(S x, S limit, S& s, S& c) {
  for (int k = 0; k < S::width; ++k) {
    const auto a = lane(x, k);
    if (!((a < 0 ? -a : a) > lane(limit, k))) continue;
    set_lane(s, k, static_cast<typename S::Real>(sine_of(a)));
    set_lane(c, k, static_cast<typename S::Real>(cosine_of(a)));
  }
}

/// Sine and cosine, within 1 ulp for |x| ≤ 1e6 and correct beyond.
template <class S>
PYSIM_INLINE void sincos(S x, S& s, S& c) {
  constexpr double sine[] = {1.58969099521155010221e-10,
                             -2.50507602534068634195e-08,
                             2.75573137070700676789e-06,
                             -1.98412698298579493134e-04,
                             8.33333333332248946124e-03};
  constexpr double cosine[] = {-1.13596475577881948265e-11,
                               2.08757232129817482790e-09,
                               -2.75573143513906633035e-07,
                               2.48015872894767294178e-05,
                               -1.38888888888741095749e-03,
                               4.16666666666666019037e-02};
  using Real = typename S::Real;
  using Integer = typename S::Integer;
  const Reduced<S> x0 = reduce_half_pi(x);
  const S &r = x0.r, &low = x0.low;
  const S half = all<S>(Real(0.5)), one = all<S>(1);
  const S z = r * r, v = z * r;
  // sin(r + low) = r − ((z (low/2 − v P) − low) + v/6)
  const S p = polynomial(z, sine);
  const S sin_r = r - fma(v, all<S>(Real(1.66666666666666324348e-01)), fms(z, fnma(v, p, half * low), low));
  // cos(r + low) = w + (((1 − w) − z/2) + (z² Q − r low)),  w = 1 − z/2
  const S hz = half * z, w = one - hz;
  const S cos_r = w + (((one - w) - hz) + fms(z * z, polynomial(z, cosine), r * low));

  constexpr int top = 8 * sizeof(Real) - 1;
  const auto even = mask_of_bits<S>((x0.quadrant & Integer(1)) == Integer(0));
  const auto second = (x0.quadrant & Integer(2)) << (top - 1);
  const auto rotated = ((x0.quadrant + Integer(1)) & Integer(2)) << (top - 1);
  const S sin_x = from_bits<S>(bits(select(even, sin_r, cos_r)) ^ second);
  c = from_bits<S>(bits(select(even, cos_r, sin_r)) ^ rotated);
  s = select(x == all<S>(0), x, sin_x);  // preserves the sign of zero

  const S limit = all<S>(Real(1e6));
  if (PYSIM_UNLIKELY(any(magnitude(x) > limit))) sincos_beyond(x, limit, s, c);
}

template <class S>
PYSIM_INLINE S sin(S x) {
  S s, c;
  sincos(x, s, c);
  return s;
}

template <class S>
PYSIM_INLINE S cos(S x) {
  S s, c;
  sincos(x, s, c);
  return c;
}

/// Tangent, within 2.5 ulp.
template <class S>
PYSIM_INLINE S tan(S x) {
  S s, c;
  sincos(x, s, c);
  return s / c;
}

/// Angle of the point (x, y), in (−π, π], within 2 ulp; signed zeros as in C.
template <class S>
PYSIM_INLINE S atan2(S y, S x) {
  constexpr double p[] = {-8.750608600031904122785e-1,
                          -1.615753718733365076637e1,
                          -7.500855792314704667340e1,
                          -1.228866684490136173410e2,
                          -6.485021904942025371773e1};
  constexpr double q[] = {1,
                          2.485846490142306297962e1,
                          1.650270098316988542046e2,
                          4.328810604912902668951e2,
                          4.853903996359136964868e2,
                          1.945506571482613964425e2};
  using Real = typename S::Real;
  const S o = all<S>(0), one = all<S>(1), infinity = all<S>(Real(simd::infinity));
  const S ax = abs(x), ay = abs(y);
  const auto steep = ay > ax;
  const S small = select(steep, ax, ay), large = select(steep, ay, ax);
  S t = select(large == o, o, small / large);
  t = select((ax == infinity) & (ay == infinity), one, t);

  const auto upper = t > all<S>(Real(0.66));
  const S u = select(upper, (t - one) / (t + one), t);
  const S z = u * u;
  S angle = fma(u * z, polynomial(z, p) / polynomial(z, q), u);
  const S quarter = all<S>(Real(7.85398163397448309616e-1)), half_pi = all<S>(Real(1.57079632679489661923));
  const S more = all<S>(Real(6.123233995736765886130e-17));
  const S half = all<S>(Real(0.5)), two = all<S>(2);
  angle = select(upper, quarter + (angle + half * more), angle);
  angle = select(steep, half_pi - (angle - more), angle);
  const auto left = copysign(one, x) < o;
  angle = select(left, two * half_pi - (angle - two * more), angle);
  angle = copysign(angle, y);
  return select((x == x) & (y == y), angle, x + y);
}

/// Arc tangent, within 2 ulp.
template <class S>
PYSIM_INLINE S atan(S x) {
  return atan2(x, all<S>(1));
}

/// Common part of arc sine and arc cosine: for |x| < ½ the angle is x + x·ratio; else the half angle's sine
/// s = √((1 − |x|)/2) = first + second and half the angle is s + s·ratio.
template <class S>
struct HalfAngle {
  Mask<S> far;
  S s, first, second, ratio;
};

template <class S>
PYSIM_INLINE HalfAngle<S> half_angle(S a) {
  constexpr double p[] = {3.47933107596021167570e-05,
                          7.91534994289814532176e-04,
                          -4.00555345006794114027e-02,
                          2.01212532134862925881e-01,
                          -3.25565818622400915405e-01,
                          1.66666666666666657415e-01};
  constexpr double q[] = {7.70381505559019352791e-02,
                          -6.88283971605453293030e-01,
                          2.02094576023350569471e+00,
                          -2.40339491173441421878e+00,
                          1};
  const S half = all<S>(typename S::Real(0.5));
  const auto far = a >= half;
  const S z = select(far, half * (all<S>(1) - a), a * a);
  const S ratio = z * polynomial(z, p) / polynomial(z, q);
  const S s = sqrt(z), first = leading_half(s);
  const S second = select(s == all<S>(0), s, fnma(first, first, z) / (s + first));
  return {far, s, first, second, ratio};
}

/// Arc sine, within 1 ulp; NaN beyond ±1.
template <class S>
PYSIM_INLINE S asin(S x) {
  const S quarter = all<S>(either<S>(7.85398163397448278999e-01, 7.85398185253143310547e-01));
  const S more = all<S>(either<S>(6.12323399573676603587e-17, -4.37113900018624283e-08)), two = all<S>(2);
  const S a = magnitude(x);
  const HalfAngle<S> h = half_angle(a);
  const S near = fma(a, h.ratio, a);
  const S rest = fms(two * h.s, h.ratio, more - two * h.second);
  const S far = quarter - (rest - (quarter - two * h.first));
  return copysign(select(h.far, far, near), x);
}

/// Arc cosine, within 1 ulp; NaN beyond ±1.
template <class S>
PYSIM_INLINE S acos(S x) {
  const S half_pi = all<S>(either<S>(1.57079632679489655800e+00, 1.57079637050628662109));
  const S more = all<S>(either<S>(6.12323399573676603587e-17, -4.37113900018624283e-08)), two = all<S>(2);
  const HalfAngle<S> h = half_angle(magnitude(x));
  const S near = half_pi - (x - fnma(x, h.ratio, more));
  const S right = two * (h.first + fma(h.s, h.ratio, h.second));
  const S left = two * (half_pi - (h.s + fms(h.s, h.ratio, more)));
  return select(h.far, select(x > all<S>(0), right, left), near);
}

}  // namespace pysim::simd
