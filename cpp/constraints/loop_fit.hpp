// Coordinates φ of the joint that closes a loop, fitted to the pose of frame B in frame A.
//
//     e = log(X_J(φ)⁻¹ X_AB)      φ ← φ ⊕ S⁺e until Sᵀe = 0
//
// A hinge needs no iterations: its fit and its e have closed forms. Frame A is turned so that X_J(0) = 1.
#pragma once

#include "constraints/annihilator.hpp"
#include "dynamics/retract.hpp"
#include "spatial/se3.hpp"
#include "tree/joint.hpp"
#include "tree/workspace.hpp"

namespace pysim::constraints {

using spatial::Mat3;
using spatial::Pose;
using spatial::Vec3;
using tree::Joint;
using tree::ModelOf;

/// Largest step of φ that is treated as zero, for poses and φ of order one, and the number of iterations.
template <class Real>
struct FitTolerance {
  static constexpr Real step = sizeof(Real) == 8 ? Real(1e-13) : Real(5e-6);
  static constexpr int tries = 30;
};

/// Everything of loop k that depends on φ alone, after the joint was evaluated.
template <class S>
struct LoopFit {
  Annihilator<S> split;
  S parts[6];  ///< Qᵀ e
};

template <class S>
void fit(
    const ModelOf<S>& closure, int k, const Pose<S>& X_AB, const S* phi, Motion<S>* columns, LoopFit<S>& f) {
  const Pose<S> X_J = tree::evaluate(closure, k, phi, columns);
  split_along(closure.joint[k], static_cast<const Motion<S>*>(columns), f.split);
  f.split.split(spatial::log(inverse(X_J) * X_AB), f.parts);
}

/// A screw's travel determines its whole turns, its pose does not; without a pitch nothing determines them.
template <class S>
void count_turns(const ModelOf<S>& closure, int k, const Pose<S>& X_AB, S* phi) {
  const auto& constants = closure.constants[k];
  const S pitch = all<S>(constants.pitch);
  S& turned = phi[closure.joint[k].q];
  turned = select(pitch == all<S>(0), turned, X_AB.p.z / pitch);
}

/// Magnitude of the compared quantities, for the tolerance.
template <class S>
S fit_size(const Joint& joint, const Pose<S>& X_AB, const S* phi) {
  S size = dot(X_AB.p, X_AB.p) + all<S>(1);
  for (int i = 0; i < joint.nq; ++i) size = fma(phi[joint.q + i], phi[joint.q + i], size);
  return sqrt(size);
}

/// Best fit of a hinge in closed form:  φ is the angle for which Rz(φ)ᵀ R has no rotation about z.
///
///     X_AB = (R, p)      cos φ ∝ R_xx + R_yy,  sin φ ∝ R_yx − R_xy
template <class S>
struct HingeFit {
  S cosine, sine;

  HingeFit(S cos, S sin) : cosine(cos), sine(sin) {}
  explicit HingeFit(const Mat3<S>& R) : HingeFit(R.x.x + R.y.y, R.x.y - R.y.x) {}
};

/// e at the fitted angle, without its sine.
template <class S>
void fit_hinge(const ModelOf<S>& closure, int k, const Pose<S>& X_AB, LoopFit<S>& f) {
  const HingeFit<S> best(X_AB.R);
  const S length = sqrt(fma(best.sine, best.sine, best.cosine * best.cosine));
  const auto known = length > all<S>(0);  // tilted by half a turn, every angle fits equally well
  const S inverse = all<S>(1) / length;
  const S c = select(known, inverse * best.cosine, all<S>(1));
  const S s = select(known, inverse * best.sine, all<S>(0));
  const auto back = [&](const Vec3<S>& u) {  // Rz(φ)ᵀ u
    return Vec3<S>{fma(s, u.y, c * u.x), fnma(s, u.x, c * u.y), u.z};
  };
  split_along(closure.joint[k], static_cast<const Motion<S>*>(nullptr), f.split);
  const Pose<S> left = {{back(X_AB.R.x), back(X_AB.R.y), back(X_AB.R.z)}, back(X_AB.p)};
  f.split.split(spatial::log(left), f.parts);
}

/// Updates the φ of a hinge to the best fit; whole turns are kept, and φ is unchanged if it fits
/// already.
template <class S>
void follow_hinge(const ModelOf<S>& closure, int k, const HingeFit<S>& best, S* phi) {
  using Real = typename S::Real;
  S& angle = phi[closure.joint[k].q];
  const S left = simd::atan2(best.sine, best.cosine) - angle;
  const S turns = left * all<S>(Real(0.15915494309189533577));
  const S whole = (turns + simd::rounder<S>()) - simd::rounder<S>();
  const S step = fnma(whole, all<S>(Real(6.28318530717958647692)), left);
  const S tolerance = all<S>(FitTolerance<Real>::step) * (abs(angle) + all<S>(1));
  const auto moves = (abs(step) > tolerance) & (abs(best.sine) + abs(best.cosine) > all<S>(0));
  angle += select(moves, step, all<S>(0));
}

/// S⁺e.
template <class S>
void fit_step(const LoopFit<S>& f, S* step) {
  for (int i = 0; i < 6; ++i) step[i] = f.parts[i];
  f.split.coordinates(step);
}

/// Updates the φ of loop k to the best fit to X_AB, starting from its present value. A hinge needs no φ.
///
/// A world whose φ fits already is unchanged to the last bit.
template <class S>
void fit_coordinates(
    const ModelOf<S>& closure, int k, const Pose<S>& X_AB, S* phi, Motion<S>* columns, LoopFit<S>& f) {
  using Tolerance = FitTolerance<typename S::Real>;
  const Joint& joint = closure.joint[k];
  const S o = all<S>(0);
  if (joint.shape == tree::Shape::revolute) return fit_hinge(closure, k, X_AB, f);
  const S tolerance = all<S>(Tolerance::step) * fit_size(joint, X_AB, static_cast<const S*>(phi));
  if (joint.shape == tree::Shape::helical) count_turns(closure, k, X_AB, phi);
  fit(closure, k, X_AB, static_cast<const S*>(phi), columns, f);
  for (int n = 0; n < Tolerance::tries; ++n) {
    S step[6], largest = o;
    fit_step(f, step);
    for (int i = 0; i < joint.nv; ++i) largest = max(largest, abs(step[i]));
    const auto moves = largest > tolerance;
    if (none(moves)) break;
    S moved[7];
    dynamics::retract(
        joint.block, joint.blocks, static_cast<const S*>(phi + joint.q), static_cast<const S*>(step), moved);
    for (int i = 0; i < joint.nq; ++i) phi[joint.q + i] = select(moves, moved[i], phi[joint.q + i]);
    fit(closure, k, X_AB, static_cast<const S*>(phi), columns, f);
  }
}

}  // namespace pysim::constraints
