// Law of one contact point in a convex step: impulse and its slope, from the velocity at the end of the step.
//
//     γ_n = h K (x₀ − h v_n)₊^m (1 − d v_n)₊                                        [Hunt, Crossley 1975]
//     γ_t = −P(y),  y = h k_t (s₀ + (h + τ) v_t),  P onto the disc of radius μ γ_n, lagged
//                                                                                   [Castro et al. 2023]
//     x₀      penetration where the step begins [m]
//     s₀      tangential deflection carried along [m]
//     d       dissipation [s/m]
//     k_t, τ  tangential stiffness [N/m] and its relaxation time [s]
//     G       −∂γ/∂v = g_n n nᵀ + g_t (1 − n nᵀ) − g_s t tᵀ, positive semidefinite
//
// Rolling and spinning friction are such laws of the angular velocity ω, with lengths ρ of their own and the
// angular stiffness k_t L² [Iwashita, Oda 1998], L the radius of the smaller shape:
//
//     γ_r = −P(y_r),  y_r = h k_t L² (θ₀ + (h + τ) ω)_t,  P onto the disc of radius ρ_r μ γ_n
//     γ_s = −P(y_s),  y_s = h k_t L² (θ₀ + (h + τ) ω)_n,  P onto ±ρ_s μ γ_n
//
// γ is minus the gradient of a convex potential of v, for the radius is given (lagged): a step minimises a
// convex function. The deflection makes sticking exact [Cundall, Strack 1979; Simo, Hughes 1998, chapter 2].
#pragma once

#include "spatial/mat3.hpp"

namespace pysim::constraints {

using simd::all;
using simd::fma;
using simd::fnma;
using simd::select;
using spatial::Vec3;

/// Parameters of a pair of surfaces.
template <class Real>
struct ContactLaw {
  Real stiffness;          ///< K [N/m] or [N/m^1.5]
  bool hertz;              ///< m = 3/2, else 1
  Real dissipation;        ///< d [s/m]
  Real static_friction;    ///< μ where the point stuck in the last step
  Real dynamic_friction;   ///< μ where it slid
  Real tangential;         ///< k_t [N/m]
  Real relaxation;         ///< τ [s]
  Real rolling, spinning;  ///< ρ_r and ρ_s [m]
  Real lever;              ///< L [m]

  bool resists_turning() const { return rolling > 0 || spinning > 0; }

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.stiffness...), f(r.hertz...), f(r.dissipation...), f(r.static_friction...), f(r.dynamic_friction...),
        f(r.tangential...), f(r.relaxation...), f(r.rolling...), f(r.spinning...), f(r.lever...);
  }
};

/// A contact point in one step, on the axes of its body.
template <class S>
struct ContactPoint {
  Vec3<S> p, n;  ///< point [m] and normal, towards the body
  Vec3<S> s;     ///< s₀
  S x;           ///< x₀
  S mu, limit;   ///< μ, and the radius of the disc [N·s]
};

/// −∂γ/∂v and γ at a velocity.
template <class S>
struct ContactImpulse {
  Vec3<S> gamma, t;
  S normal_slope, slope, slide_slope;
  simd::Mask<S> sticks;

  /// G w.
  PYSIM_INLINE Vec3<S> slope_times(const Vec3<S>& n, const Vec3<S>& w) const {
    const S along = dot(n, w);
    const Vec3<S> plane = fma(slope, w, ((normal_slope - slope) * along) * n);
    return fnma(slide_slope * dot(t, w), t, plane);
  }

  /// G as a matrix.
  PYSIM_INLINE spatial::Sym3<S> matrix(const Vec3<S>& n) const {
    const S a = normal_slope - slope, b = -slide_slope;
    const auto entry = [&](S ni, S nj, S ti, S tj) { return fma(a * ni, nj, b * ti * tj); };
    return {slope + entry(n.x, n.x, t.x, t.x),
            slope + entry(n.y, n.y, t.y, t.y),
            slope + entry(n.z, n.z, t.z, t.z),
            entry(n.x, n.y, t.x, t.y),
            entry(n.y, n.z, t.y, t.z),
            entry(n.z, n.x, t.z, t.x)};
  }
};

/// The impulse of a point that neither pushes nor rubs.
template <class S>
PYSIM_INLINE ContactImpulse<S> no_impulse() {
  const S o = all<S>(0);
  const Vec3<S> zero = spatial::zero3<S>();
  return {zero, zero, o, o, o, simd::everywhere<S>()};
}

/// f_n at a penetration x and an opening velocity v_n [N].
template <class S>
PYSIM_INLINE S normal_force(const ContactLaw<typename S::Parameter>& law, S x, S v_n) {
  const S o = all<S>(0), depth = max(x, o);
  const S u = max(fnma(all<S>(law.dissipation), v_n, all<S>(1)), o);
  return all<S>(law.stiffness) * (law.hertz ? depth * sqrt(depth) : depth) * u;
}

/// γ_n = h f_n at the end of the step, and −∂γ_n/∂v_n.
template <class S>
PYSIM_INLINE void normal_impulse(
    const ContactLaw<typename S::Parameter>& law, S x0, S h, S v_n, S& gamma, S& slope) {
  const S o = all<S>(0), d = all<S>(law.dissipation);
  const S x = max(fnma(h, v_n, x0), o), u = max(fnma(d, v_n, all<S>(1)), o);
  const S hK = h * all<S>(law.stiffness);
  const auto pushes = (x > o) & (u > o);
  if (law.hertz) {
    const S root = sqrt(x), x_m = x * root;
    gamma = hK * x_m * u;
    slope = select(pushes, hK * fma(d, x_m, all<S>(typename S::Real(1.5)) * h * root * u), o);
  } else {
    gamma = hK * x * u;
    slope = select(pushes, hK * fma(d, x, h * u), o);
  }
}

/// Potential of γ_n, from v_n to where the impulse ends: F(x₀ − h v_n) − F(x₀ − h v_end) with
///
///     F(x) = ∫ K x^m (1 − d (x₀ − x)/h) dx = K x^(m+1) ((1 − d x₀/h)/(m + 1) + (d x/h)/(m + 2))
///
/// and for m = 1, where these cancel deep in a surface, K t (x_e r + t (r + b x_e)/2 + b t²/3) with t = x −
/// x_e, b = d/h and r = 1 − d (x₀ − x_e)/h, which is 0 where the impulse ends by r.
template <class S>
S normal_potential(const ContactLaw<typename S::Parameter>& law, S x0, S h, S v_n) {
  using Real = typename S::Real;
  const S o = all<S>(0), e = all<S>(1), d = all<S>(law.dissipation),
          m = all<S>(law.hertz ? Real(1.5) : Real(1));
  const auto F = [&](S x) {
    const S power = law.hertz ? x * x * sqrt(x) : x * x;
    return all<S>(law.stiffness) * power * (fnma(d, x0 / h, e) / (m + e) + d * x / (h * (m + all<S>(2))));
  };
  const S x = max(fnma(h, v_n, x0), o), x_end = select(d > o, max(x0 - h / d, o), o);
  if (law.hertz) return select(x > x_end, F(x) - F(x_end), o);
  const S t = max(x - x_end, o), b = d / h, r = select(x_end > o, o, fnma(b, x0, e));
  const S mean = fma(all<S>(Real(0.5)), fma(b, x_end, r), b * t * all<S>(Real(1) / Real(3)));
  return all<S>(law.stiffness) * t * fma(mean, t, x_end * r);
}

/// Potential of friction −P(y), P onto the ball of a radius, where y has this size and the slope c [Huber
/// 1964].
template <class S>
S friction_potential(S size, S radius, S c) {
  const S half = all<S>(typename S::Real(0.5));
  return select(size <= radius, half * size * size, radius * fnma(half, radius, size)) / c;
}

/// h k_t (h + τ), the slope of sticking friction.
template <class S>
PYSIM_INLINE S sticking_slope(const ContactLaw<typename S::Parameter>& law, S h) {
  return h * all<S>(law.tangential) * (h + all<S>(law.relaxation));
}

/// The impulse at the velocity v of the point, on the axes of its body.
template <class S>
ContactImpulse<S> contact_impulse(const ContactLaw<typename S::Parameter>& law,
                                  const ContactPoint<S>& at,
                                  S h,
                                  const Vec3<S>& v) {
  const S o = all<S>(0), e = all<S>(1);
  ContactImpulse<S> I;
  const S v_n = dot(at.n, v);
  S gamma_n;
  normal_impulse(law, at.x, h, v_n, gamma_n, I.normal_slope);
  const S c = sticking_slope<S>(law, h);
  const Vec3<S> v_t = fnma(v_n, at.n, v);
  const Vec3<S> y = fma(c, v_t, (h * all<S>(law.tangential)) * at.s);
  const S size = sqrt(dot(y, y));
  I.sticks = size <= at.limit;
  const S inverse = e / select(I.sticks, e, size);
  const S scale = select(I.sticks, e, at.limit * inverse);
  I.slope = select(at.limit > o, scale * c, o);
  I.slide_slope = select(I.sticks, o, I.slope);
  I.t = inverse * y;
  I.gamma = fma(gamma_n, at.n, -scale * y);
  return I;
}

/// Impulses at velocities v + α Δv of a point, as far as their components along Δv need:
///
///     x = x₀ + α x'      u = u₀ + α u'                        penetration, and 1 − d v_n
///     Δv·y = p + t g     |y|² = y₀² + c t (2 p + t g)         t = α − α₀
///
/// α₀ is where |y| is least within 0 … 1: there and beyond, no large numbers cancel in |y|².
template <class S>
struct ImpulseLine {
  S x, dx, u, du;
  S push;  ///< Δv_n h K
  S least_at, least, p, g, c;
  S limit;
  bool hertz;

  /// Δv·γ.
  PYSIM_INLINE S operator()(S alpha) const {
    const S o = all<S>(0), depth = max(fma(alpha, dx, x), o), open = max(fma(alpha, du, u), o);
    const S pushed = push * (hertz ? depth * sqrt(depth) : depth);
    const S t = alpha - least_at, y = fma(t, g, p), square = fma(c * t, p + y, least);
    const auto slides = square > limit * limit;
    const S scale = select(slides, limit / sqrt(select(slides, square, all<S>(1))), all<S>(1));
    return fnma(scale, y, pushed * open);
  }
};

template <class S>
PYSIM_INLINE ImpulseLine<S> impulse_line(const ContactLaw<typename S::Parameter>& law,
                                         const ContactPoint<S>& at,
                                         S h,
                                         const Vec3<S>& v,
                                         const Vec3<S>& dv) {
  const S o = all<S>(0), e = all<S>(1), d = all<S>(law.dissipation), c = sticking_slope<S>(law, h);
  const S v_n = dot(at.n, v), dv_n = dot(at.n, dv);
  const Vec3<S> dv_t = fnma(dv_n, at.n, dv);
  const Vec3<S> y = fma(c, fnma(v_n, at.n, v), (h * all<S>(law.tangential)) * at.s);
  const S square = dot(dv_t, dv_t), fall = -dot(dv_t, y), span = c * square;
  const S least_at = select(fall > o, min(fall / select(fall < span, span, fall), e), o);
  const Vec3<S> y_least = fma(c * least_at, dv_t, y);
  ImpulseLine<S> line;
  line.x = fnma(h, v_n, at.x);
  line.dx = -h * dv_n;
  line.u = fnma(d, v_n, e);
  line.du = -d * dv_n;
  line.push = dv_n * h * all<S>(law.stiffness);
  line.least_at = least_at;
  line.least = dot(y_least, y_least);
  line.p = dot(dv_t, y_least);
  line.g = span;
  line.c = c;
  line.limit = at.limit;
  line.hertz = law.hertz;
  return line;
}

/// Potential of `contact_impulse`.
template <class S>
S contact_potential(const ContactLaw<typename S::Parameter>& law,
                    const ContactPoint<S>& at,
                    S h,
                    const Vec3<S>& v) {
  const S v_n = dot(at.n, v), c = sticking_slope<S>(law, h);
  const Vec3<S> y = fma(c, fnma(v_n, at.n, v), (h * all<S>(law.tangential)) * at.s);
  return normal_potential(law, at.x, h, v_n) + friction_potential(sqrt(dot(y, y)), at.limit, c);
}

/// h k_t L².
template <class S>
PYSIM_INLINE S angular_stiffness(const ContactLaw<typename S::Parameter>& law, S h) {
  const S lever = all<S>(law.lever);
  return h * all<S>(law.tangential) * (lever * lever);
}

/// Rolling and spinning friction at the angular velocity w, with the radius of sliding friction; s is the
/// angular deflection θ₀.
template <class S>
ContactImpulse<S> turning_impulse(const ContactLaw<typename S::Parameter>& law,
                                  const Vec3<S>& n,
                                  const Vec3<S>& s,
                                  S limit,
                                  S h,
                                  const Vec3<S>& w) {
  const S o = all<S>(0), e = all<S>(1), span = h + all<S>(law.relaxation), hk = angular_stiffness(law, h);
  const S roll = select(all<S>(law.rolling) > o, hk, o), spin = select(all<S>(law.spinning) > o, hk, o);
  ContactImpulse<S> I;
  const Vec3<S> theta = fma(span, w, s);
  const S along = dot(n, theta);
  const Vec3<S> y = roll * fnma(along, n, theta);
  const S size = sqrt(dot(y, y)), most = all<S>(law.rolling) * limit;
  I.sticks = size <= most;
  const S inverse = e / select(I.sticks, e, size);
  const S scale = select(I.sticks, e, most * inverse);
  I.slope = select(limit > o, scale * roll * span, o);
  I.slide_slope = select(I.sticks, o, I.slope);
  I.t = inverse * y;
  const S y_n = spin * along, most_n = all<S>(law.spinning) * limit;
  I.normal_slope = select((limit > o) & (abs(y_n) <= most_n), spin * span, o);
  I.gamma = fma(-max(min(y_n, most_n), -most_n), n, -scale * y);
  return I;
}

/// Potential of `turning_impulse`.
template <class S>
S turning_potential(const ContactLaw<typename S::Parameter>& law,
                    const Vec3<S>& n,
                    const Vec3<S>& s,
                    S limit,
                    S h,
                    const Vec3<S>& w) {
  const S o = all<S>(0), span = h + all<S>(law.relaxation), hk = angular_stiffness(law, h);
  const Vec3<S> theta = fma(span, w, s);
  const S along = dot(n, theta);
  const Vec3<S> across = fnma(along, n, theta);
  const S roll = friction_potential(hk * sqrt(dot(across, across)), all<S>(law.rolling) * limit, hk * span),
          spin = friction_potential(hk * abs(along), all<S>(law.spinning) * limit, hk * span);
  return select(all<S>(law.rolling) > o, roll, o) + select(all<S>(law.spinning) > o, spin, o);
}

/// Deflection that sliding friction leaves, (τ s₀ − γ_t/k_t)/(h + τ): return mapping [Simo, Hughes 1998]. It
/// is s₀ + h v_t where sliding begins, so no force jumps there.
template <class S>
Vec3<S> slid_deflection(const ContactLaw<typename S::Parameter>& law,
                        S stiffness,
                        S h,
                        const Vec3<S>& s,
                        const Vec3<S>& friction) {
  const S tau = all<S>(law.relaxation), share = all<S>(1) / (h + tau);
  return fma(share * tau, s, (-share / stiffness) * friction);
}

/// A deflection that is remembered: as it is, unless it is far more than friction can hold with an impulse
/// bounded by `limit`, where it shrinks with the bound. A point that lifts off so forgets its deflection
/// without a jump.
template <class S>
Vec3<S> remembered_deflection(S stiffness, S h, S limit, const Vec3<S>& s) {
  const S e = all<S>(1), most = all<S>(typename S::Real(10)) * max(limit, all<S>(0)) / (h * stiffness);
  const S size = sqrt(dot(s, s));
  const auto is_far = size > most;
  return select(is_far, most / select(is_far, size, e), e) * s;
}

/// The angular deflection that the next step begins with; zero across or along n where nothing resists it.
template <class S>
Vec3<S> next_turning(const ContactLaw<typename S::Parameter>& law,
                     const Vec3<S>& n,
                     const Vec3<S>& s,
                     S h,
                     const Vec3<S>& w,
                     const ContactImpulse<S>& I) {
  const S o = all<S>(0), lever = all<S>(law.lever);
  const Vec3<S> stuck = fma(h, w, s);
  const Vec3<S> slid = slid_deflection(law, all<S>(law.tangential) * (lever * lever), h, s, I.gamma);
  const S stuck_n = dot(n, stuck), slid_n = dot(n, slid);
  const Vec3<S> stuck_t = fnma(stuck_n, n, stuck), slid_t = fnma(slid_n, n, slid);
  const S rolls = select(all<S>(law.rolling) > o, all<S>(1), o);
  const S spun = select(all<S>(law.spinning) > o, select(I.normal_slope > o, stuck_n, slid_n), o);
  const auto sticks = I.sticks & (I.slope > o);
  return {fma(spun, n.x, rolls * select(sticks, stuck_t.x, slid_t.x)),
          fma(spun, n.y, rolls * select(sticks, stuck_t.y, slid_t.y)),
          fma(spun, n.z, rolls * select(sticks, stuck_t.z, slid_t.z))};
}

/// The deflection that the next step begins with.
template <class S>
Vec3<S> next_deflection(const ContactLaw<typename S::Parameter>& law,
                        const ContactPoint<S>& at,
                        S h,
                        const Vec3<S>& v,
                        const ContactImpulse<S>& I) {
  const S v_n = dot(at.n, v);
  const Vec3<S> stuck = fma(h, fnma(v_n, at.n, v), at.s);
  const Vec3<S> friction = fnma(dot(at.n, I.gamma), at.n, I.gamma);
  const Vec3<S> slid = slid_deflection(law, all<S>(law.tangential), h, at.s, friction);
  return {select(I.sticks, stuck.x, slid.x),
          select(I.sticks, stuck.y, slid.y),
          select(I.sticks, stuck.z, slid.z)};
}

}  // namespace pysim::constraints
