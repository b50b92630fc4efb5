// Shortest path between two points through a sphere or a cylinder: it must pass through the inside, as a
// tendon through a ring or a tunnel [MuJoCo 2026].
//
//     L(θ) = √(ρ_a² + r² − 2 ρ_a r cos θ) + √(ρ_b² + r² − 2 ρ_b r cos(γ − θ)),  dL/dθ = 0
//     max(0, γ − β) ≤ θ ≤ min(γ, α)        γ, α, β as in wrapping.hpp; L is convex between these bounds
//
// It is straight where the straight line passes through the inside; elsewhere it bends at P on the surface,
// at an angle θ from a in the plane of a, b and the centre, or across the axis; unrolled, it is a straight
// line there. Second derivatives: P moves on the surface along t, across the path, and e, along the axis or
// the normal of the plane, with −w H⁻¹ wᵀ,
//
//     H = Σ over both ends (δ − (u·t)(u·e) …)/l + curvature of the surface · n·(u_a + u_b)
//     w_t = Σ (t − (u·t) u)·x/l         x the motion of an end, u the direction and l the distance from P to
//     it
#pragma once

#include "elements/wrapping.hpp"
#include "simd/trigonometry.hpp"

namespace pysim::elements {

/// Slope and curvature of the distance from a point on a circle of radius r to one at ρ, at an angle θ.
template <class S>
struct DistanceSlope {
  S first, second;
};

template <class S>
DistanceSlope<S> distance_slope(S rho, S r, S sine, S cosine) {
  const S both = rho * r, tiny = all<S>(typename S::Real(1e-30));
  const S l = sqrt(max(fma(rho, rho, r * r) - all<S>(2) * both * cosine, tiny));
  const S first = both * sine / l;
  return {first, (both * cosine - first * first) / l};
}

/// Angle θ at which a path from ρ_a to ρ_b, at an angle γ, bends; between its bounds, by safeguarded Newton
/// steps.
template <class S>
S bend_angle(S rho_a, S rho_b, S r, S gamma, S lower, S upper) {
  using Real = typename S::Real;
  constexpr int most = 60;
  const S half = all<S>(Real(0.5)), o = all<S>(0),
          enough = all<S>(sizeof(Real) == 8 ? Real(1e-14) : Real(1e-6));
  S theta = half * (lower + upper);
  Mask<S> going = simd::everywhere<S>();  // a lane stops at its own root, whatever the others do
  for (int k = 0; k < most && simd::any(going); ++k) {
    S sine_a, cosine_a, sine_b, cosine_b;
    simd::sincos(theta, sine_a, cosine_a);
    simd::sincos(gamma - theta, sine_b, cosine_b);
    const DistanceSlope<S> a = distance_slope(rho_a, r, sine_a, cosine_a),
                           b = distance_slope(rho_b, r, sine_b, cosine_b);
    const S slope = a.first - b.first, curvature = a.second + b.second;
    lower = select(slope < o, theta, lower);
    upper = select(slope > o, theta, upper);
    const S newton = theta - slope / select(curvature > o, curvature, all<S>(1));
    const auto inside = (curvature > o) & (newton >= lower) & (newton <= upper);
    const S next = select(going, select(inside, newton, half * (lower + upper)), theta);
    going = going & (abs(next - theta) > enough);
    theta = next;
  }
  return theta;
}

/// Where a path in a plane bends; z is 0.
template <class S>
struct Bend {
  Mask<S> touches;
  Vec3<S> P, t;  ///< place, and direction of the surface from a towards b
};

/// The shortest path between two points outside a circle that passes through it.
template <class S>
Bend<S> through_circle(const Vec3<S>& a, const Vec3<S>& b, S r) {
  const S o = all<S>(0), one = all<S>(1), tiny = all<S>(typename S::Real(1e-30));
  const S rho_a = max(sqrt(dot(a, a)), tiny), rho_b = max(sqrt(dot(b, b)), tiny);
  const S l_a = sqrt(max(fma(rho_a, rho_a, -(r * r)), o)), l_b = sqrt(max(fma(rho_b, rho_b, -(r * r)), o));
  const S crossed = cross(a, b).z, gamma = simd::atan2(abs(crossed), dot(a, b));
  const S alpha = simd::atan2(l_a, r), beta = simd::atan2(l_b, r);
  const auto touches = (rho_a > r) & (rho_b > r) & (gamma < alpha + beta);
  const S lower = select(touches, max(gamma - beta, o), o), upper = select(touches, min(gamma, alpha), o);
  const S theta = bend_angle<S>(rho_a, rho_b, r, gamma, lower, upper);
  S sine, cosine;
  simd::sincos(theta, sine, cosine);
  const Vec3<S> A = (one / rho_a) * a;
  const S sense = select(crossed < o, -one, one);
  const Vec3<S> across_A = {-(sense * A.y), sense * A.x, o};
  return {touches, r * fma(sine, across_A, cosine * A), fma(cosine, across_A, -sine * A)};
}

/// The path that bends at P of a surface with tangents t and e and normal n; `curved` is 1 where it is curved
/// along e, as a sphere is.
template <class S, bool with_curvature>
Wrap<S> bent(Mask<S> touches,
             const Vec3<S>& a,
             const Vec3<S>& b,
             const Vec3<S>& P,
             const Vec3<S>& t,
             const Vec3<S>& e,
             const Vec3<S>& n,
             S r,
             S curved) {
  const S o = all<S>(0), one = all<S>(1), tiny = all<S>(typename S::Real(1e-30));
  const Vec3<S> d_a = a - P, d_b = b - P;
  const S inverse_a = one / max(sqrt(dot(d_a, d_a)), tiny), inverse_b = one / max(sqrt(dot(d_b, d_b)), tiny);
  const Vec3<S> u_a = inverse_a * d_a, u_b = inverse_b * d_b;
  const S ta = dot(u_a, t), tb = dot(u_b, t), ea = dot(u_a, e), eb = dot(u_b, e);
  const S bow = dot(n, u_a + u_b) / r;
  const S H_tt = inverse_a * fnma(ta, ta, one) + inverse_b * fnma(tb, tb, one) + bow;
  const S H_te = -(inverse_a * ta * ea + inverse_b * tb * eb);
  const S H_ee = inverse_a * fnma(ea, ea, one) + inverse_b * fnma(eb, eb, one) + curved * bow;
  const auto safe = [&](S x) { return select(x > tiny, x, one); };
  const S share = H_te / safe(H_tt), second = fnma(share, H_te, H_ee);
  const Vec3<S> f = inverse_a * fnma(ta, u_a, t), g = inverse_b * fnma(tb, u_b, t);
  const Vec3<S> f_e = fnma(share, f, inverse_a * fnma(ea, u_a, e)),
                g_e = fnma(share, g, inverse_b * fnma(eb, u_b, e));
  const S p = -one / safe(H_tt), q = -one / safe(second);
  const Round<S> round = {touches, {}, {}, o, o, o, o, o};
  return assembled<S, with_curvature>(round, a, b, P, P, o, {f, g, p, p, p}, {f_e, g_e, q, q, q});
}

template <class S, bool with_curvature>
Wrap<S> through_cylinder(const Vec3<S>& a, const Vec3<S>& b, S r) {
  const S o = all<S>(0), one = all<S>(1), tiny = all<S>(typename S::Real(1e-30));
  const auto flat = [o](const Vec3<S>& x) { return Vec3<S>{x.x, x.y, o}; };
  const Bend<S> bend = through_circle<S>(flat(a), flat(b), r);
  const Vec3<S> d_a = flat(a) - bend.P, d_b = flat(b) - bend.P;
  const S l_a = sqrt(dot(d_a, d_a)), l_b = sqrt(dot(d_b, d_b));
  const S height = fma(b.z - a.z, l_a / max(l_a + l_b, tiny), a.z);
  const Vec3<S> P = {bend.P.x, bend.P.y, height}, axis = {o, o, one};
  return bent<S, with_curvature>(bend.touches, a, b, P, bend.t, axis, (one / r) * bend.P, r, o);
}

template <class S, bool with_curvature>
Wrap<S> through_sphere(const Vec3<S>& a, const Vec3<S>& b, S r) {
  using Real = typename S::Real;
  const S o = all<S>(0), one = all<S>(1);
  const Vec3<S> x = normalised(a), w = fnma(dot(b, x), x, b);
  const auto apart = dot(w, w) > all<S>(Real(1e-24)) * dot(b, b);
  const Vec3<S> y = normalised(select(apart, w, across(x)));
  const auto flat = [&](const Vec3<S>& v) { return Vec3<S>{dot(v, x), dot(v, y), o}; };
  const auto back = [&](const Vec3<S>& v) { return fma(v.x, x, v.y * y); };
  const Bend<S> bend = through_circle<S>(flat(a), flat(b), r);
  const Vec3<S> P = back(bend.P);
  return bent<S, with_curvature>(bend.touches, a, b, P, back(bend.t), cross(x, y), (one / r) * P, r, one);
}

}  // namespace pysim::elements
