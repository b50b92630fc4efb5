// One loop: frame A on a body and frame B on another move against each other as a joint lets them.
//
//     e = log(X_J(φ)⁻¹ X_AB)              φ ← φ ⊕ S⁺e until Sᵀe = 0: the joint's coordinates that fit best
//     g = Wᵀ e = 0                        W spans what the joint holds, Wᵀ S(φ) = 0
//     ġ = Wᵀ V_AB,   g̈ = Wᵀ (A_AB − Ṡ φ̇)  on the constraint, where V_AB = S φ̇
//
// V_AB is the twist of B against A in B; A_AB the rate of its components. Any joint closes a loop this way, a
// traced plugin too. Points held in a plane, on a line or at a distance have no joint: their rows are written
// out; so are a wheel's, in rolling.hpp.
#pragma once

#include "constraints/annihilator.hpp"
#include "constraints/rolling.hpp"
#include "dynamics/retract.hpp"
#include "spatial/se3.hpp"
#include "tree/joint.hpp"
#include "tree/workspace.hpp"

namespace pysim::constraints {

using spatial::Mat3;
using spatial::Pose;
using spatial::Vec3;
using tree::Joint;
using tree::Loop;
using tree::LoopKind;
using tree::ModelOf;
using tree::Workspace;

/// Motion of frame B against frame A, in B.
template <class S>
struct RelativeMotion {
  Pose<S> X_AB;
  Motion<S> V, A;
};

/// The rows of one loop: residual g, wrenches W in frame B, and the part of g̈ that no acceleration gives.
template <class S>
struct LoopRows {
  S g[6], bias[6];
  Force<S> W[6];
};

/// Largest step of φ that is not made, for poses and φ of size one, and how many are tried.
template <class Real>
struct FitTolerance {
  static constexpr Real step = sizeof(Real) == 8 ? Real(1e-13) : Real(5e-6);
  static constexpr int tries = 30;
};

/// Everything of loop k that hangs on φ alone, after the joint was evaluated there.
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

/// A screw's travel says how often it has turned, which its pose does not; without a pitch nothing does.
template <class S>
void count_turns(const ModelOf<S>& closure, int k, const Pose<S>& X_AB, S* phi) {
  const auto& constants = closure.constants[k];
  const Vec3<S> axis = tree::placement<S>(constants).R.z;
  const S pitch = all<S>(constants.pitch);
  S& turned = phi[closure.joint[k].q];
  turned = select(pitch == all<S>(0), turned, dot(axis, X_AB.p) / pitch);
}

/// Size of what a fit compares, for its tolerance.
template <class S>
S fit_size(const Joint& joint, const Pose<S>& X_AB, const S* phi) {
  S size = dot(X_AB.p, X_AB.p) + all<S>(1);
  for (int i = 0; i < joint.nq; ++i) size = fma(phi[joint.q + i], phi[joint.q + i], size);
  return sqrt(size);
}

/// Where a hinge fits best in closed form:  φ is the angle by which Rz(φ)ᵀ R has no turn about z left.
///
///     T⁻¹ X_AB = (R, p)      cos φ ∝ R_xx + R_yy,  sin φ ∝ R_yx − R_xy
template <class S>
struct HingeFit {
  Mat3<S> R;
  S cosine, sine;

  HingeFit(const Pose<S>& T, const Pose<S>& X_AB)
      : R(transpose_times(T.R, X_AB.R)), cosine(R.x.x + R.y.y), sine(R.x.y - R.y.x) {}
};

/// e at the angle that fits, without its sine.
template <class S>
void fit_hinge(const ModelOf<S>& closure, int k, const Pose<S>& X_AB, LoopFit<S>& f) {
  const Pose<S> T = tree::placement<S>(closure.constants[k]);
  const HingeFit<S> best(T, X_AB);
  const S length = sqrt(fma(best.sine, best.sine, best.cosine * best.cosine));
  const auto known = length > all<S>(0);  // tilted by half a turn, every angle fits alike
  const S inverse = all<S>(1) / length;
  const S c = select(known, inverse * best.cosine, all<S>(1));
  const S s = select(known, inverse * best.sine, all<S>(0));
  const auto back = [&](const Vec3<S>& u) {  // Rz(φ)ᵀ u
    return Vec3<S>{fma(s, u.y, c * u.x), fnma(s, u.x, c * u.y), u.z};
  };
  split_along(closure.joint[k], static_cast<const Motion<S>*>(nullptr), f.split);
  const Vec3<S> p = transpose_times(T.R, X_AB.p - T.p);
  const Pose<S> left = {{back(best.R.x), back(best.R.y), back(best.R.z)}, back(p)};
  f.split.split(spatial::log(left), f.parts);
}

/// Turns the φ of a hinge to where it fits; it keeps its whole turns, and stays as it is where it fits
/// already.
template <class S>
void follow_hinge(const ModelOf<S>& closure, int k, const Pose<S>& X_AB, S* phi) {
  using Real = typename S::Real;
  const HingeFit<S> best(tree::placement<S>(closure.constants[k]), X_AB);
  S& angle = phi[closure.joint[k].q];
  const S left = simd::atan2(best.sine, best.cosine) - angle;
  const S turns = left * all<S>(Real(0.15915494309189533577));
  const S whole = (turns + simd::rounder<S>()) - simd::rounder<S>();
  const S step = fnma(whole, all<S>(Real(6.28318530717958647692)), left);
  const S tolerance = all<S>(FitTolerance<Real>::step) * (abs(angle) + all<S>(1));
  const auto moves = (abs(step) > tolerance) & (abs(best.sine) + abs(best.cosine) > all<S>(0));
  angle += select(moves, step, all<S>(0));
}

/// Moves the φ of loop k to where the joint fits X_AB best, starting from where it is. A hinge needs no φ.
///
/// A world whose φ fits already is left as it is to the last bit.
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
    for (int i = 0; i < 6; ++i) step[i] = f.parts[i];
    f.split.coordinates(step);
    for (int i = 0; i < joint.nv; ++i) largest = max(largest, abs(step[i]));
    const auto moves = largest > tolerance;
    if (!simd::any<S>(moves)) break;
    S moved[7];
    dynamics::retract_joint(joint, static_cast<const S*>(phi + joint.q), static_cast<const S*>(step), moved);
    for (int i = 0; i < joint.nq; ++i) phi[joint.q + i] = select(moves, moved[i], phi[joint.q + i]);
    fit(closure, k, X_AB, static_cast<const S*>(phi), columns, f);
  }
}

/// Rows of loop k closed by a joint, those it keeps.
template <class S>
void joint_rows(const ModelOf<S>& model,
                int k,
                const RelativeMotion<S>& motion,
                S* phi,
                LoopRows<S>& out,
                Workspace<S> w) {
  const ModelOf<S>& closure = *model.closure;
  const Joint& joint = closure.joint[k];
  Motion<S>* const columns = w.template take<Motion<S>>(closure.stored_columns);
  LoopFit<S> f;
  fit_coordinates(closure, k, motion.X_AB, phi, columns, f);
  S held[6] = {};
  if (joint.biased) {
    S parts[6];
    f.split.split(motion.V, parts);
    f.split.coordinates(parts);
    S* const rate = w.template take<S>(closure.nv);
    for (int i = 0; i < joint.nv; ++i) rate[joint.v + i] = parts[i];
    f.split.split(tree::bias(closure, k, columns, static_cast<const S*>(rate)), held);
  }
  const Loop& loop = model.loop[k];
  for (int n = 0; n < loop.rows; ++n) {
    const int i = loop.kept[n];
    out.W[i] = f.split.held(i);
    out.g[i] = f.parts[joint.nv + i];
    out.bias[i] = -held[joint.nv + i];
  }
}

/// Rows of a point of B held in A: along n it may not move. p, ṗ and the bias of p̈ in A:
///
///     ġ = n·R v,   g̈ = n·R (v̇ + ω×v)
template <class S>
void point_row(const RelativeMotion<S>& motion, const Vec3<S>& n, S g, int i, LoopRows<S>& out) {
  const Vec3<S> n_B = transpose_times(motion.X_AB.R, n);
  out.g[i] = g;
  out.W[i] = {n_B, spatial::zero3<S>()};
  out.bias[i] = dot(n_B, cross(motion.V.w, motion.V.v));
}

/// |p| = length:  n = p/|p|,  g̈ = n·p̈ + (|ṗ|² − (n·ṗ)²)/|p|.
template <class S>
void distance_row(const RelativeMotion<S>& motion, S length, LoopRows<S>& out) {
  const Vec3<S>& p = motion.X_AB.p;
  const S reach = sqrt(dot(p, p)), o = all<S>(0);
  const S inverse = select(reach > o, all<S>(1) / reach, o);
  const Vec3<S> n = inverse * p;
  point_row(motion, n, reach - length, 0, out);
  const S along = dot(out.W[0].f, motion.V.v);
  out.bias[0] = fma(inverse, fnma(along, along, dot(motion.V.v, motion.V.v)), out.bias[0]);
}

/// A wheel of `radius` on the plane of A; what only holds velocities has no residual.
template <class S>
void wheel_rows(const RelativeMotion<S>& motion, S radius, LoopRows<S>& out) {
  const S o = all<S>(0);
  const Vec3<S> n = transpose_times(motion.X_AB.R, Vec3<S>{o, o, all<S>(1)});
  const Wheel<S> wheel(n, motion.V.w, radius);
  out.g[0] = fnma(radius, wheel.rise, motion.X_AB.p.z);
  out.g[1] = out.g[2] = o;
  out.bias[0] = wheel.row(wheel.n, wheel.n_rate, motion.V, out.W[0]);
  out.bias[1] = wheel.row(wheel.t, wheel.t_rate, motion.V, out.W[1]);
  out.bias[2] = wheel.row(wheel.s, wheel.s_rate, motion.V, out.W[2]);
}

/// The rows of loop k; φ of its joint is moved to where it fits, but for a hinge's.
template <class S>
void loop_rows(const ModelOf<S>& model,
               int k,
               const RelativeMotion<S>& motion,
               S* phi,
               LoopRows<S>& out,
               Workspace<S> w) {
  const Loop& loop = model.loop[k];
  const S o = all<S>(0), e = all<S>(1);
  const Vec3<S>& p = motion.X_AB.p;
  switch (loop.kind) {
    case LoopKind::joint:
      return joint_rows(model, k, motion, phi, out, w);
    case LoopKind::plane:
      return point_row(motion, Vec3<S>{o, o, e}, p.z, 0, out);
    case LoopKind::line:
      point_row(motion, Vec3<S>{e, o, o}, p.x, 0, out);
      return point_row(motion, Vec3<S>{o, e, o}, p.y, 1, out);
    case LoopKind::distance:
      return distance_row(motion, all<S>(model.loop_constants[k].length), out);
    case LoopKind::wheel:
      return wheel_rows(motion, all<S>(model.loop_constants[k].length), out);
  }
}

}  // namespace pysim::constraints
