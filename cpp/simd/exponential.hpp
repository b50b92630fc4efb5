// Exponential, logarithm, powers and the hyperbolic tangent.
//
// Sources: e_exp.c, e_log.c and e_pow.c of fdlibm (Sun Microsystems 1993), tanh.c of Cephes (Moshier 1989),
// with selections instead of branches.
#pragma once

#include "simd/bits.hpp"

namespace pysim::simd {

/// e^x, within 1 ulp; overflows to infinity, underflows to zero.
template <class S>
PYSIM_INLINE S exp(S x) {
  constexpr double p[] = {4.13813679705723846039e-08,
                          -1.65339022054652515390e-06,
                          6.61375632143793436117e-05,
                          -2.77777777770155933842e-03,
                          1.66666666666666019037e-01};
  using Real = typename S::Real;
  constexpr bool wide = sizeof(Real) == 8;
  const S largest = all<S>(Real(wide ? 709.782712893384 : 88.7228391)),
          smallest = all<S>(Real(wide ? -746 : -105));
  const S y = min(max(x, smallest), all<S>(Real(wide ? 710 : 89)));
  const S k = fma(y, all<S>(Real(1.44269504088896338700)), rounder<S>()) - rounder<S>();
  const S high = y - k * all<S>(Real(wide ? 6.93147180369123816490e-01 : 0.693359375));
  const S low = k * all<S>(Real(wide ? 1.90821492927058770002e-10 : -2.12194440e-4));
  const S r = high - low;
  const S t = r * r;
  const S c = fnma(t, polynomial(t, p), r);
  const S one = all<S>(1), two = all<S>(2);
  const S e = one - ((low - (r * c) / (two - c)) - high);
  // 2^k in two factors, so that neither leaves the normal exponents
  const S half = fma(k, all<S>(Real(0.5)), rounder<S>()) - rounder<S>();
  const S scaled = (e * power_of_two(half)) * power_of_two(k - half);
  const S bounded = select(x > largest, all<S>(Real(simd::infinity)), scaled);
  return select(x == x, bounded, x);
}

/// Natural logarithm, within 1 ulp.
///
///     x = 2^k (1 + f),  √½ < 1 + f < √2,  s = f / (2 + f),  log(1 + f) = f − f²/2 + s (f²/2 + R(s²))
template <class S>
PYSIM_INLINE S log(S x) {
  constexpr double r[] = {1.479819860511658591e-01,
                          1.531383769920937332e-01,
                          1.818357216161805012e-01,
                          2.222219843214978396e-01,
                          2.857142874366239149e-01,
                          3.999999999940941908e-01,
                          6.666666666666735130e-01};
  using Real = typename S::Real;
  const S o = all<S>(0), one = all<S>(1), half = all<S>(Real(0.5)), infinity = all<S>(Real(simd::infinity));
  const Scaled<S> split = split_exponent(x);
  const auto upper = split.m > all<S>(Real(1.41421356237309504880));
  const S k = select(upper, split.k + one, split.k);
  const S f = select(upper, half * split.m, split.m) - one;
  const S s = f / (all<S>(2) + f), z = s * s, square = half * (f * f);
  const S low = k * all<S>(either<S>(1.90821492927058770002e-10, 9.0580006145e-06));
  const S high = k * all<S>(either<S>(6.93147180369123816490e-01, 6.9313812256e-01));
  const S value = high - ((square - fma(s, square + z * polynomial(z, r), low)) - f);
  const S positive = select(x < infinity, value, x);
  return select(x > o, positive, select(x == o, -infinity, all<S>(Real(simd::not_a_number))));
}

/// Hyperbolic tangent, within 1.5 ulp.
template <class S>
PYSIM_INLINE S tanh(S x) {
  constexpr double p[] = {-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3};
  constexpr double q[] = {1, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3};
  const S a = magnitude(x), z = x * x;
  const S small = copysign(fma(x * z, polynomial(z, p) / polynomial(z, q), x), x);
  const S one = all<S>(1), two = all<S>(2);
  const S large = copysign(one - two / (exp(two * a) + one), x);
  const S bounded = select(a < all<S>(typename S::Real(0.625)), small, large);
  return select(x == x, bounded, x);
}

/// log2 |x| in two parts, the first with few digits, for positive finite x.
template <class S>
PYSIM_INLINE void log2_in_two(S x, S& first, S& second) {
  constexpr double l[] = {2.06975017800338417784e-01,
                          2.30660745775561754067e-01,
                          2.72728123808534006489e-01,
                          3.33333329818377432918e-01,
                          4.28571428578550184252e-01,
                          5.99999999999994648725e-01};
  const S one = all<S>(1), half = all<S>(0.5), three = all<S>(3);
  const Scaled<S> split = split_exponent(x);
  // a = m or m/2, within √(3/2) of b = 1 or 3/2
  const auto top = split.m > all<S>(1.7320508075688772);
  const auto middle = (split.m > all<S>(1.2247448713915890)) & (split.m <= all<S>(1.7320508075688772));
  const S a = select(top, half * split.m, split.m), k = select(top, split.k + one, split.k);
  const S b = select(middle, all<S>(1.5), one);
  const S log2_b = select(middle, all<S>(5.84962487220764160156e-01), all<S>(0));
  const S log2_b_low = select(middle, all<S>(1.35003920212974897128e-08), all<S>(0));
  // s = (a − b)/(a + b) = s₁ + s₂
  const S u = a - b, v = one / (a + b), s = u * v, s1 = leading_half(s);
  const S sum1 = leading_half(a + b), sum2 = a - (sum1 - b);
  const S s2 = v * ((u - s1 * sum1) - s1 * sum2);
  // 3/2 log(a/b) = 3 s + s³ + s³ …
  const S z = s * s;
  const S r = z * z * polynomial(z, l) + s2 * (s1 + s);
  const S z1 = s1 * s1, t1 = leading_half((three + z1) + r), t2 = r - ((t1 - three) - z1);
  const S p = s1 * t1, q = s2 * t1 + t2 * s, p1 = leading_half(p + q), p2 = q - (p1 - p);
  // times 2/(3 log 2), plus log2 b + k
  const S high = all<S>(9.61796700954437255859e-01) * p1;
  const S low =
      (all<S>(-7.02846165095275826516e-09) * p1 + p2 * all<S>(9.61796693925975554329e-01)) + log2_b_low;
  first = leading_half(((high + low) + log2_b) + k);
  second = low - (((first - k) - log2_b) - high);
}

/// 2^(a + b), |b| small against |a|.
template <class S>
PYSIM_INLINE S exp2_of_two(S a, S b) {
  constexpr double p[] = {4.13813679705723846039e-08,
                          -1.65339022054652515390e-06,
                          6.61375632143793436117e-05,
                          -2.77777777770155933842e-03,
                          1.66666666666666019037e-01};
  const S one = all<S>(1), two = all<S>(2), beyond = all<S>(1100);
  const S bounded = min(max(a + b, -beyond), beyond);
  const S n = (bounded + rounder<S>()) - rounder<S>();
  const S a0 = a - n, t = leading_half(b + a0);
  const S u = t * all<S>(6.93147182464599609375e-01);
  const S v = (b - (t - a0)) * all<S>(6.93147180559945286227e-01) + t * all<S>(-1.90465429995776804525e-09);
  const S z = u + v, w = v - (z - u), zz = z * z;
  const S c = z - zz * polynomial(zz, p);
  const S e = one - (((z * c) / (c - two) - (w + z * w)) - z);
  const S halved = fma(n, all<S>(0.5), rounder<S>()) - rounder<S>();
  const S power = (e * power_of_two(halved)) * power_of_two(n - halved);
  return select(bounded == beyond, all<S>(simd::infinity), select(bounded == -beyond, all<S>(0), power));
}

/// x^y within 1 ulp, special cases as in C.
template <int W, class Isa>
PYSIM_INLINE Pack<double, W, Isa> pow(Pack<double, W, Isa> x, Pack<double, W, Isa> y) {
  using S = Pack<double, W, Isa>;
  const S o = all<S>(0), one = all<S>(1), infinity = all<S>(simd::infinity), a = magnitude(x);
  // beyond 2⁶⁴ every power except of 1 overflows or underflows
  const S bound = all<S>(18446744073709551616.0), bounded = min(max(y, -bound), bound);
  S l1, l2;
  log2_in_two(a, l1, l2);
  const S y1 = leading_half(bounded);
  S power = exp2_of_two(y1 * l1, (bounded - y1) * l1 + bounded * l2);
  power = select((a == o) | (a == infinity), select((a > one) == (y > o), infinity, o), power);

  const S half = all<S>(0.5) * y;
  const auto is_integer = y == floor(y);
  const auto odd = is_integer & (half > floor(half));
  power = select(odd, flip_sign(power, x), power);
  const S nan = all<S>(simd::not_a_number);
  power = select((x < o) & (a < infinity), select(is_integer, power, nan), power);
  power = select((x == x) & (y == y), power, nan);
  return select((y == o) | (x == one), one, power);
}

/// Single precision is computed in double, half a pack at a time.
template <int W, class Isa>
PYSIM_INLINE Pack<float, W, Isa> pow(Pack<float, W, Isa> x, Pack<float, W, Isa> y) {
  using Wide = Pack<double, (W + 1) / 2, Isa>;
  Pack<float, W, Isa> power = x;
  for (int from = 0; from < W; from += Wide::width) {
    Wide a, b;
    for (int k = 0; k < Wide::width; ++k) set_lane(a, k, double(lane(x, from + k)));
    for (int k = 0; k < Wide::width; ++k) set_lane(b, k, double(lane(y, from + k)));
    const Wide c = pow(a, b);
    for (int k = 0; k < Wide::width; ++k) set_lane(power, from + k, float(lane(c, k)));
  }
  return power;
}

}  // namespace pysim::simd
