// Mean angular velocity of a rigid body over a step, by Newton's method on the balance of its angular
// momentum:
//
//     I ω = b,  b = exp(−h ω/2) L        J = I − (h/2) b× J_l(−h ω/2)        ω ← ω + J⁻¹ (b − I ω)
//
// L  angular momentum about the centre of mass at the end of the step, on the body's axes at its start
//
// A fixed point ω ← I⁻¹ b diverges where h |ω| Imax / (2 Imin) > 1, as of a thin stick that turns about an
// oblique axis. Without the factor J_l Newton's method diverges where (h |ω|)² Imax / Imin is large.
#pragma once

#include "spatial/so3.hpp"
#include "spatial/symmetric.hpp"

namespace pysim::stepping {

/// ω of inertia I about the centre of mass, from its value `omega` at the start of the step. Worlds that have
/// converged keep their ω, so that it does not depend on the others of the pack.
template <class S>
spatial::Vec3<S> mean_angular_velocity(const spatial::Sym3<S>& I,
                                       const spatial::Vec3<S>& L,
                                       S h,
                                       spatial::Vec3<S> omega) {
  using Real = typename S::Real;
  using spatial::Vec3;
  constexpr int most_rounds = 8;  // four are enough up to h |ω| = 1, whatever the inertia
  constexpr Real tolerance = sizeof(Real) == 8 ? Real(1e-11) : Real(1e-4);  // squared by the last round
  const S half = simd::all<S>(Real(0.5)) * h, enough = simd::all<S>(tolerance * tolerance);
  auto left = simd::everywhere<S>();
  for (int n = 0; n < most_rounds && simd::any(left); ++n) {
    const Vec3<S> phi = -half * omega, b = spatial::exp(phi) * L;
    const auto turn = spatial::left_jacobian(phi);
    const Vec3<S> x = Vec3<S>{I.xx, I.xy, I.zx} - half * cross(b, turn.x);
    const Vec3<S> y = Vec3<S>{I.xy, I.yy, I.yz} - half * cross(b, turn.y);
    const Vec3<S> z = Vec3<S>{I.zx, I.yz, I.zz} - half * cross(b, turn.z);
    const Vec3<S> yz = cross(y, z), r = b - I * omega;
    const Vec3<S> change =
        (simd::all<S>(1) / dot(x, yz)) * Vec3<S>{dot(yz, r), dot(cross(z, x), r), dot(cross(x, y), r)};
    const Vec3<S> next = omega + change;
    omega = {select(left, next.x, omega.x), select(left, next.y, omega.y), select(left, next.z, omega.z)};
    left &= !(dot(change, change) <= enough * dot(omega, omega));
  }
  return omega;
}

}  // namespace pysim::stepping
