// Products of the derivatives of the laws of contact points with cotangents.
//
//     γ(u; n, s, x, r, K, d, k_t, τ)      γ̄  →  n̄, s̄, x̄, r̄, ū and those of the law's numbers
//
// Letters are those of contact_law.hpp; r is the radius of the disc. A point is on one side of every corner
// (touches, sticks), and its derivative is that of this side. Hertz' root has none at x = 0, where nothing
// pushes.
#pragma once

#include "constraints/contact_law.hpp"

namespace pysim::constraints {

/// Counts or adds the numbers of a law, in the order of ContactLaw::visit; no type is one.
struct LawNumberCount {
  int count = 0;
  constexpr void operator()(const double&) { ++count; }
  constexpr void operator()(const bool&) {}
};

constexpr int count_law_numbers() {
  const ContactLaw<double> law = {};
  LawNumberCount numbers;
  ContactLaw<double>::visit(numbers, law);
  return numbers.count;
}

/// Of a law.
constexpr int law_numbers = count_law_numbers();

template <class S>
struct LawNumberSum {
  S* to;
  void operator()(const S& x) { *to++ += x; }
  void operator()(const bool&) {}
};

/// Adds the numbers of a law to those [law_numbers] of a sum.
template <class S>
void add_law_numbers(const ContactLaw<S>& law, S* sum) {
  ContactLaw<S>::visit(LawNumberSum<S>{sum}, law);
}

/// Cotangents of what the impulse and the deflection of a contact point depend on; sums.
template <class S>
struct ContactCotangents {
  Vec3<S> n, s, u;
  S x, mu, limit;
  ContactLaw<S> law;
};

template <class S>
PYSIM_INLINE Vec3<S> across(const Vec3<S>& n, const Vec3<S>& a) {
  return fnma(dot(n, a), n, a);
}

/// y of a contact point at the velocity v, the impulse of friction with the other sign if it sticks.
template <class S>
PYSIM_INLINE Vec3<S> sticking_impulse(const ContactLaw<typename S::Parameter>& law,
                                      const ContactPoint<S>& at,
                                      S h,
                                      const Vec3<S>& v) {
  return fma(sticking_slope<S>(law, h), across(at.n, v), (h * all<S>(law.tangential)) * at.s);
}

template <class S>
PYSIM_INLINE Vec3<S> where(simd::Mask<S> mask, const Vec3<S>& a) {
  const S o = all<S>(0);
  return {select(mask, a.x, o), select(mask, a.y, o), select(mask, a.z, o)};
}

/// Of a part (1 − n nᵀ) a: adds to the cotangents of n and a.
template <class S>
PYSIM_INLINE void across_product(
    const Vec3<S>& n, const Vec3<S>& a, const Vec3<S>& bar, Vec3<S>& n_bar, Vec3<S>& a_bar) {
  const S along = dot(n, bar);
  a_bar += fnma(along, n, bar);
  n_bar = n_bar - fma(dot(n, a), bar, along * a);
}

/// Of `normal_force`: adds to the cotangents of x, v_n and the law.
template <class S>
void normal_force_product(const ContactLaw<typename S::Parameter>& law,
                          S x,
                          S v_n,
                          S bar,
                          S& x_bar,
                          S& v_n_bar,
                          ContactLaw<S>& law_bar) {
  const S o = all<S>(0), depth = max(x, o), d = all<S>(law.dissipation), K = all<S>(law.stiffness);
  const S open = fnma(d, v_n, all<S>(1)), u = max(open, o);
  const S root = law.hertz ? sqrt(depth) : all<S>(1), power = depth * root;
  const S by_x = select(x > o, K * (law.hertz ? all<S>(typename S::Real(1.5)) * root : root) * u, o);
  const S by_open = select(open > o, K * power, o) * bar;
  x_bar = fma(bar, by_x, x_bar);
  v_n_bar = fnma(d, by_open, v_n_bar);
  law_bar.dissipation = fnma(v_n, by_open, law_bar.dissipation);
  law_bar.stiffness = fma(bar, power * u, law_bar.stiffness);
}

/// Of `contact_impulse`, that of an impulse I.
template <class S>
void contact_impulse_product(const ContactLaw<typename S::Parameter>& law,
                             const ContactPoint<S>& at,
                             S h,
                             const Vec3<S>& v,
                             const ContactImpulse<S>& I,
                             const Vec3<S>& bar,
                             ContactCotangents<S>& sums) {
  const S o = all<S>(0), span = h + all<S>(law.relaxation), hk = h * all<S>(law.tangential), c = hk * span;
  const S v_n = dot(at.n, v);
  const Vec3<S> v_t = fnma(v_n, at.n, v), y = fma(c, v_t, hk * at.s);
  // −P(y), with t = y/|y| where it slides
  const S along = dot(I.t, bar), scale = select(I.sticks, all<S>(1), at.limit / dot(I.t, y));
  const Vec3<S> part = -scale * fnma(select(I.sticks, o, along), I.t, bar);
  sums.limit = sums.limit - select(I.sticks, o, along);
  sums.s += hk * part;
  const S c_bar = dot(part, v_t);
  sums.law.tangential += h * fma(span, c_bar, dot(part, at.s));
  sums.law.relaxation = fma(hk, c_bar, sums.law.relaxation);
  across_product(at.n, v, c * part, sums.n, sums.u);
  // γ_n n
  const S gamma_n = dot(at.n, I.gamma) + scale * dot(at.n, y), pushed = h * dot(at.n, bar);
  sums.n = fma(gamma_n, bar, sums.n);
  S x_bar = o, v_n_bar = o;
  normal_force_product<S>(law, fnma(h, v_n, at.x), v_n, pushed, x_bar, v_n_bar, sums.law);
  sums.x += x_bar;
  v_n_bar = fnma(h, x_bar, v_n_bar);
  sums.u = fma(v_n_bar, at.n, sums.u);
  sums.n = fma(v_n_bar, v, sums.n);
}

/// Of `next_deflection`; adds to the cotangent of the impulse, too.
template <class S>
void next_deflection_product(const ContactLaw<typename S::Parameter>& law,
                             const ContactPoint<S>& at,
                             S h,
                             const Vec3<S>& v,
                             const ContactImpulse<S>& I,
                             const Vec3<S>& bar,
                             Vec3<S>& gamma_bar,
                             ContactCotangents<S>& sums) {
  const S tau = all<S>(law.relaxation), k = all<S>(law.tangential), share = all<S>(1) / (h + tau);
  const Vec3<S> stuck = where(I.sticks, bar), slid = bar - stuck;
  sums.s += fma(share * tau, slid, stuck);
  across_product(at.n, v, h * stuck, sums.n, sums.u);
  const Vec3<S> friction = across(at.n, I.gamma);
  across_product(at.n, I.gamma, (-share / k) * slid, sums.n, gamma_bar);
  const Vec3<S> next = slid_deflection<S>(law, k, h, at.s, friction);
  sums.law.tangential += (share / (k * k)) * dot(friction, slid);
  sums.law.relaxation += share * dot(at.s - next, slid);
}

/// Of `remembered_deflection` of stiffness k: returns the cotangent of s, adds to those of k and of the
/// limit.
template <class S>
Vec3<S> remembered_deflection_product(
    S k, S h, S limit, const Vec3<S>& s, const Vec3<S>& bar, S& k_bar, S& limit_bar) {
  const S o = all<S>(0), e = all<S>(1), ten = all<S>(typename S::Real(10)), held = max(limit, o);
  const S most = ten * held / (h * k), size = sqrt(dot(s, s));
  const auto is_far = size > most;
  const S inverse = e / select(is_far, size, e);
  const Vec3<S> t = inverse * s;
  const S along = select(is_far, dot(t, bar), o);
  limit_bar += select(limit > o, along * ten / (h * k), o);
  k_bar = k_bar - along * most / k;
  return select(is_far, most * inverse, e) * fnma(along, t, bar);
}

/// Of `turning_impulse`, that of an impulse I at the angular velocity w; `u` of the sums is that of w, `s`
/// that of θ₀.
template <class S>
void turning_impulse_product(const ContactLaw<typename S::Parameter>& law,
                             const Vec3<S>& n,
                             const Vec3<S>& s,
                             S limit,
                             S h,
                             const Vec3<S>& w,
                             const ContactImpulse<S>& I,
                             const Vec3<S>& bar,
                             ContactCotangents<S>& sums) {
  const S o = all<S>(0), span = h + all<S>(law.relaxation), hk = angular_stiffness<S>(law, h);
  const S rho = all<S>(law.rolling), sigma = all<S>(law.spinning);
  const S rolls = select(rho > o, all<S>(1), o), spins = select(sigma > o, all<S>(1), o);
  const Vec3<S> theta = fma(span, w, s);
  const S along = dot(n, theta);
  const Vec3<S> flat = fnma(along, n, theta), y = (rolls * hk) * flat;
  const S pushed = dot(I.t, bar);
  const S scale = select(I.sticks, all<S>(1), rho * limit / dot(I.t, y));
  const Vec3<S> part = -scale * fnma(select(I.sticks, o, pushed), I.t, bar);
  const S most_bar = -select(I.sticks, o, pushed);
  sums.limit = fma(rho, most_bar, sums.limit);
  sums.law.rolling = fma(limit, most_bar, sums.law.rolling);
  Vec3<S> theta_bar = spatial::zero3<S>();
  across_product(n, theta, (rolls * hk) * part, sums.n, theta_bar);
  S hk_bar = rolls * dot(part, flat);
  const S y_n = spins * hk * along, most_n = sigma * limit, clipped = max(min(y_n, most_n), -most_n);
  const S clipped_bar = -dot(n, bar);
  sums.n = fnma(clipped, bar, sums.n);
  const auto within = abs(y_n) <= most_n;
  const S bound_bar = select(within, o, flip_sign(clipped_bar, y_n));
  sums.limit = fma(sigma, bound_bar, sums.limit);
  sums.law.spinning = fma(limit, bound_bar, sums.law.spinning);
  const S y_n_bar = spins * select(within, clipped_bar, o);
  hk_bar = fma(along, y_n_bar, hk_bar);
  theta_bar = fma(hk * y_n_bar, n, theta_bar);
  sums.n = fma(hk * y_n_bar, theta, sums.n);
  const S lever = all<S>(law.lever);
  sums.law.tangential = fma(h * lever * lever, hk_bar, sums.law.tangential);
  sums.u = fma(span, theta_bar, sums.u);
  sums.s += theta_bar;
  sums.law.relaxation += dot(w, theta_bar);
}

/// Of `next_turning`; adds to the cotangent of the impulse, too.
template <class S>
void next_turning_product(const ContactLaw<typename S::Parameter>& law,
                          const Vec3<S>& n,
                          const Vec3<S>& s,
                          S h,
                          const Vec3<S>& w,
                          const ContactImpulse<S>& I,
                          const Vec3<S>& bar,
                          Vec3<S>& gamma_bar,
                          ContactCotangents<S>& sums) {
  const S o = all<S>(0), e = all<S>(1), tau = all<S>(law.relaxation), share = e / (h + tau);
  const S lever = all<S>(law.lever), k = all<S>(law.tangential) * (lever * lever);
  const Vec3<S> stuck = fma(h, w, s), slid = slid_deflection<S>(law, k, h, s, I.gamma);
  const S rolls = select(all<S>(law.rolling) > o, e, o), spins = select(all<S>(law.spinning) > o, e, o);
  const auto sticks = I.sticks & (I.slope > o), holds = I.normal_slope > o;
  // rolls (1 − n nᵀ) a + spins (n·b) n, where a and b are stuck or slid
  const Vec3<S> a = {select(sticks, stuck.x, slid.x),
                     select(sticks, stuck.y, slid.y),
                     select(sticks, stuck.z, slid.z)},
                b = {select(holds, stuck.x, slid.x),
                     select(holds, stuck.y, slid.y),
                     select(holds, stuck.z, slid.z)};
  Vec3<S> a_bar = spatial::zero3<S>();
  across_product(n, a, rolls * bar, sums.n, a_bar);
  const S spun = spins * dot(n, bar), along = dot(n, b);
  const Vec3<S> b_bar = spun * n;
  sums.n += fma(spun, b, (spins * along) * bar);
  const Vec3<S> stuck_bar = where(sticks, a_bar) + where(holds, b_bar), slid_bar = a_bar + b_bar - stuck_bar;
  sums.s += fma(share * tau, slid_bar, stuck_bar);
  sums.u = fma(h, stuck_bar, sums.u);
  gamma_bar = fma(-share / k, slid_bar, gamma_bar);
  sums.law.tangential += (share / (k * all<S>(law.tangential))) * dot(I.gamma, slid_bar);
  sums.law.relaxation += share * dot(s - slid, slid_bar);
}

}  // namespace pysim::constraints
