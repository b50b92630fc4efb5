// Shortest path between two points through the hole of a torus about the z axis of its frame.
//
//     R radius of the circle in the middle of the tube, r of the tube       ρ² = x² + y²
//     N = ((1 − R/ρ) x, (1 − R/ρ) y, z)/r     k = (ρ − R)/(r ρ)             k is 1/ρ times N along ρ
//     c = x x′₂ − y x′₁, constant [Clairaut]  K = k/r
//     κ = (1 − c²/ρ²)/r + k c²/ρ²
//
// The half plane at the angle φ about z has the tangents from a to a circle; P is that towards the hole:
//
//     N_ρ (a·e_ρ − R) + N_z a_z = r     ∂P/∂φ = ρ e_φ + r (−N_z e_ρ + N_ρ e_z) ∂ψ/∂φ,  N = (cos ψ, sin ψ)
//
// The search starts on a cylinder along the tube where that is nearest to the straight line; the path touches
// the torus exactly where it touches this cylinder. A path whose straight line passes outside of the ring is
// the one that goes round the tube through the hole.
#pragma once

#include "elements/geodesic_wrapping.hpp"

namespace pysim::elements {

/// x″ = −κ N, j″ = −K j.
template <class S>
struct TorusEquation {
  S R, inverse_r, c_squared;

  PYSIM_INLINE void operator()(const S* y, S* second) const {
    const S one = all<S>(1);
    const S square = one / fma(y[0], y[0], y[1] * y[1]), inverse = sqrt(square);
    const S lean = fnma(R, inverse, one), k = lean * inverse_r, turn = c_squared * square;
    const S curvature = fma(k, turn, (one - turn) * inverse_r), share = -(curvature * inverse_r);
    second[0] = (share * lean) * y[0];
    second[1] = (share * lean) * y[1];
    second[2] = share * y[2];
    second[3] = -(k * inverse_r) * y[3];
    second[4] = -(k * inverse_r) * y[4];
  }

  template <class T>
  TorusEquation<T> widened() const {
    return {simd::widen<T>(R), simd::widen<T>(inverse_r), simd::widen<T>(c_squared)};
  }
};

/// A torus, and the tangents from a point to it that pass the tube with a sense: 1 from ρ towards z, or −1.
template <class S>
struct Torus {
  S R, r;
  Vec3<S> a;
  S sense;

  TangentPlace<S> tangent(S phi) const {
    const S o = all<S>(0), tiny = all<S>(typename S::Real(1e-30));
    S sine, cosine;
    simd::sincos(phi, sine, cosine);
    const Vec3<S> out = {cosine, sine, o}, round = {-sine, cosine, o};
    const S u = dot(a, out) - R, square = fma(u, u, a.z * a.z);
    const S l = sqrt(max(square - r * r, tiny)), scale = all<S>(1) / max(square, tiny);
    const S N_out = scale * fnma(sense * l, a.z, r * u), N_up = scale * fma(sense * l, u, r * a.z);
    const Vec3<S> N = {N_out * cosine, N_out * sine, N_up}, up = {-N_up * cosine, -N_up * sine, N_out};
    // N_ρ ∂u/∂φ + (N_ρ a_z − N_z u) ∂ψ/∂φ = 0, and the bracket is −sense l
    const S turn = N_out * dot(a, round) / (sense * l);
    return {fma(r, N, R * out), N, fma(fma(r, N_out, R), round, (r * turn) * up)};
  }

  TorusEquation<S> equation(const Vec3<S>& P, const Vec3<S>& t) const {
    const S c = cross(P, t).z;
    return {R, all<S>(1) / r, c * c};
  }

  GeodesicEnd<S> end(const Vec3<S>& Q, const Vec3<S>& T) const {
    const S one = all<S>(1), inverse = one / sqrt(fma(Q.x, Q.x, Q.y * Q.y)), lean = fnma(R, inverse, one);
    const S along = cross(Q, T).z * inverse, square = along * along;
    const S bow = fma(lean, square, one - square);
    const S least = all<S>(typename S::Real(0.2));
    return {normalised(Vec3<S>{lean * Q.x, lean * Q.y, Q.z}), r / max(bow, least)};
  }
};

/// Place of a straight line from a to b, as a share of it, that is nearest to the circle of radius R about z.
template <class S>
S nearest_to_ring(const Vec3<S>& a, const Vec3<S>& b, S R) {
  using Real = typename S::Real;
  constexpr int parts = 8, most = 30;
  const S o = all<S>(0), one = all<S>(1), tiny = all<S>(Real(1e-30));
  const Vec3<S> d = b - a;
  const auto place = [&](S t) { return fma(t, d, a); };
  const auto distance = [&](const Vec3<S>& x) {
    const S off = sqrt(fma(x.x, x.x, x.y * x.y)) - R;
    return fma(off, off, x.z * x.z);
  };
  S t = o, least = distance(a);
  for (int k = 1; k <= parts; ++k) {
    const S next = all<S>(Real(k) / Real(parts)), found = distance(place(next));
    t = select(found < least, next, t);
    least = min(found, least);
  }
  S lower = max(t - all<S>(Real(1) / Real(parts)), o), upper = min(t + all<S>(Real(1) / Real(parts)), one);
  const S enough = all<S>(sizeof(Real) == 8 ? Real(1e-14) : Real(1e-6));
  Mask<S> going = simd::everywhere<S>();
  for (int k = 0; k < most && simd::any(going); ++k) {
    const Vec3<S> x = place(t);
    const S rho = max(sqrt(fma(x.x, x.x, x.y * x.y)), tiny), outward = fma(x.x, d.x, x.y * d.y) / rho;
    const S slope = fma(rho - R, outward, x.z * d.z);
    const S flat = fma(d.x, d.x, fma(d.y, d.y, -(outward * outward)));
    const S curvature = fma(outward, outward, fma(d.z, d.z, (rho - R) / rho * flat));
    lower = select(slope < o, t, lower);
    upper = select(slope > o, t, upper);
    const S newton = t - slope / select(curvature > o, curvature, one);
    const auto inside = (curvature > o) & (newton >= lower) & (newton <= upper);
    const S next = select(going, select(inside, newton, all<S>(Real(0.5)) * (lower + upper)), t);
    going = going & (abs(next - t) > enough);
    t = next;
  }
  return t;
}

template <class S, bool with_curvature>
Wrap<S> through_torus(const Vec3<S>& a, const Vec3<S>& b, S R, S r) {
  using Real = typename S::Real;
  const S o = all<S>(0), one = all<S>(1), half = all<S>(Real(0.5)), tiny = all<S>(Real(1e-30));
  const Vec3<S> x = fma(nearest_to_ring(a, b, R), b - a, a);
  const S rho = sqrt(fma(x.x, x.x, x.y * x.y)), safe = max(rho, tiny);
  const Vec3<S> out = {select(rho > tiny, x.x / safe, one), select(rho > tiny, x.y / safe, o), o};
  const Vec3<S> round = {-out.y, out.x, o};
  // the cylinder's axes are e_ρ, z and −e_φ
  const auto turned = [&](const Vec3<S>& v) { return Vec3<S>{dot(v, out) - R, v.z, -dot(v, round)}; };
  const Vec3<S> A = turned(a), B = turned(b);
  const Wrap<S> tube = over_cylinder<S, false>(A, B, r, {-one, o, o}, all<S>(Real(1e30)));
  const Round<S> touching = {tube.touches, {}, {}, o, o, o, o, o};
  const CurvatureTerm<S> none = no_curvature<S>();
  if (!simd::any(tube.touches)) return assembled<S, with_curvature>(touching, a, b, a, b, o, none, none);
  const S sense = select(fma(A.x, tube.P.y, -(A.y * tube.P.x)) < o, -one, one);
  const S phi = simd::atan2(out.y, out.x) + simd::atan2(-tube.P.z, R + tube.P.x);
  const S stretch = all<S>(Real(4)) * max(one / r, one / (R - r));
  const S steps = select(tube.touches, min(one + simd::floor(tube.arc * stretch), all<S>(32)), o);
  const Torus<S> torus = {R, r, a, sense};
  return over_geodesic<S, with_curvature>(
      torus, touching, a, b, {phi, tube.arc, half * r / R, steps, touching.touches});
}

}  // namespace pysim::elements
