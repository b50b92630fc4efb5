// The two uses of a convex step of length h: implicit Euler from where the world is, or a stage of an
// implicit scheme of order 2, see sdirk.hpp:
//
//     M(q) (v − v_a) = h f(q, v) + Σ Jᵀγ        q = q_a ⊕ h v, linear about a prediction (q̂, v̂)
//
// The balance of a step is linear about its start, that of a stage about the end that is predicted.
#pragma once

#include "constraints/contact_law.hpp"
#include "spatial/motion.hpp"
#include "spatial/so3.hpp"

namespace pysim::stepping {

using simd::all;
using simd::fma;
using simd::fnma;
using simd::Mask;
using simd::select;
using spatial::Force;
using spatial::Mat3;
using spatial::Vec3;

/// Inverse of a symmetric matrix.
template <class S>
spatial::Sym3<S> inverse(const spatial::Sym3<S>& A) {
  const Vec3<S> x = {A.xx, A.xy, A.zx}, y = {A.xy, A.yy, A.yz}, z = {A.zx, A.yz, A.zz};
  const Vec3<S> yz = cross(y, z), zx = cross(z, x), xy = cross(x, y);
  const S r = all<S>(1) / dot(x, yz);
  return {r * yz.x, r * zx.y, r * xy.z, r * yz.y, r * zx.z, r * yz.z};
}

/// A step of implicit Euler.
template <class S>
struct EulerStep {
  using Real = typename S::Real;

  /// Whether forces and poses are those of the predicted end; velocity terms are those of the middle else.
  static constexpr bool is_about_end = false;

  /// Time by which the poses of bodies are ahead of the start [s].
  S lead(S) const { return all<S>(0); }

  /// Time of driven loops, from that of forces.
  S time_of_rows(S time, S h) const { return fma(all<S>(Real(0.5)), h, time); }

  /// Velocities (nv) from which forces accelerate.
  const S* from(const S* v) const { return v; }

  /// τ with what the force of a spring and damper (k, d) at the end, k h v + d (v₁ − v), is more than at v;
  /// `slope` is d + h k.
  S add_implicit_force(S, S hk, S v, S, S tau) const { return fnma(hk, v, tau); }

  /// P and L of a single body about its centre of mass before the step; R are the axes of its frame.
  template <class Momentum>
  Force<S> momentum(int, const Mat3<S>&, const Momentum& now) const {
    return now();
  }

  /// Deflection that the next step begins with, from s and that at the end.
  Vec3<S> carried(const Vec3<S>&, const Vec3<S>& next) const { return next; }
  S carried(S, S next) const { return next; }

  /// Share of an impulse, or of the length of the step, by which the world goes on.
  Vec3<S> counted(const Vec3<S>& impulse) const { return impulse; }
  S counted(S h) const { return h; }

  /// Velocity along which impulses do work: the mean of those before and after, which is their share of the
  /// change of kinetic energy.
  template <class V>
  V velocity_of_work(const V& start, const V& now) const {
    return all<S>(Real(0.5)) * (start + now);
  }
};

/// A stage.
template <class S>
struct ConvexStage {
  const S* v;               ///< [nv] v_a of the tree's coordinates
  const Force<S>* momenta;  ///< [bodies] P and L at v_a of single bodies, on the axes of their joints' frames
  S carry;                  ///< deflections go on to s_a + carry (s₁ − s_a), and impulses count so often

  static constexpr bool is_about_end = true;

  S lead(S h) const { return h; }
  S time_of_rows(S time, S) const { return time; }
  const S* from(const S*) const { return v; }
  S add_implicit_force(S slope, S, S at, S start, S tau) const { return fma(slope, at - start, tau); }

  template <class Momentum>
  Force<S> momentum(int b, const Mat3<S>& R, const Momentum&) const {
    return {transpose_times(R, momenta[b].f), transpose_times(R, momenta[b].t)};
  }

  Vec3<S> carried(const Vec3<S>& s, const Vec3<S>& next) const { return fma(carry, next - s, s); }
  S carried(S s, S next) const { return fma(carry, next - s, s); }

  Vec3<S> counted(const Vec3<S>& impulse) const { return carry * impulse; }
  S counted(S h) const { return h * carry; }

  template <class V>
  V velocity_of_work(const V&, const V& now) const {
    return now;
  }
};

}  // namespace pysim::stepping
