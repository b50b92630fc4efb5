// Accelerations that velocities cause (Coriolis and centrifugal ones), at the middle of the motion that they
// alone would give in a step:
//
//     A a = −(M(q_m) − M(q₀)) a − c(q_m, v_m)        v_m = v + h a/2,   q_m = q₀ ⊕ (h v/2 + h² a/4)
//     a ← a − A⁻¹ (M(q_m) a + c(q_m, v_m) + (A − M(q₀)) a)
//
// v  velocities at the start, changed by h times the accelerations of all other forces
// A  M(q₀) and the diagonal that implicit forces add
//
// This is the implicit midpoint rule of the free motion, which is time-reversible and of order 2: with
// q₁ = q₀ ⊕ (h v + h² a/2) and v₁ = v + h a, a robot in flight keeps its energy. A round costs one recursion
// of inverse dynamics and one solution with the factor of A that the step has. Where rounds do not converge,
// a is −A⁻¹ c(q₀, v₀), as an explicit step has it.
//
// Rounds begin and end without a jump: they count by a share that rises from 0 where they begin to matter,
// and the last one by a share that falls to 0 where it is left out.
#pragma once

#include "dynamics/retract.hpp"
#include "dynamics/step_matrix.hpp"

namespace pysim::stepping {

/// Rounds as they were made: a before each, its change, and how much of it counts. Memory for `most` of them.
template <class S>
struct VelocityRounds {
  static constexpr int most = 8;
  S *rate[most], *step[most];  ///< (nv)
  S weight[most];
  S changed[most], energy[most];  ///< share of the kinetic energy that each changes, and twice that energy
  int count = 0;
  S *before, *change, *a;  ///< (nv) v* without these terms, what the rounds change, and a
  S share = simd::all<S>(0);

  VelocityRounds(int nv, tree::Workspace<S>& w)
      : before(tree::take<S>(w, nv)), change(tree::take<S>(w, nv)), a(tree::take<S>(w, nv)) {
    for (int n = 0; n < most; ++n) {
      rate[n] = tree::take<S>(w, nv);
      step[n] = tree::take<S>(w, nv);
    }
  }
};

/// Share of the rounds that counts: more than 0 where velocities change within a step by more than rounding
/// in the sum of its errors, i.e. where a body turns by more than 10⁻⁴, or its bias acceleration is more
/// than 10⁻⁴ of its velocity per step; 1 from twice as much on.
template <class S>
struct TurningShare {
  using Real = typename S::Real;
  static constexpr Real small = Real(1e-8);             ///< squared
  static constexpr Real slope = Real(1) / (3 * small);  ///< of the share, by h² times the largest square

  static S speed(const dynamics::AbaBody<S>& B) {
    constexpr Real tiny = sizeof(Real) == 8 ? Real(1e-290) : Real(1e-28);
    return max(dot(B.V.v, B.V.v), simd::all<S>(tiny));
  }

  /// The larger of both, squared, of a body.
  static S of(const dynamics::AbaBody<S>& B) { return max(dot(B.V.w, B.V.w), dot(B.c.v, B.c.v) / speed(B)); }
};

template <class S>
class VelocityTerms {
 public:
  using Real = typename S::Real;
  using ModelOf = tree::ModelOf<S>;
  using Joint = tree::Joint;
  template <class T>
  using Vec3 = spatial::Vec3<T>;

  /// `base` is A − M(q₀); A is factored at q₀, and its bodies move with v₀.
  VelocityTerms(dynamics::StepMatrix<S>& A, const bool* single, const S* base, S h, tree::Workspace<S>& w)
      : A_(A),
        model_(A.recursion.model),
        single_(single),
        base_(base),
        h_(h),
        rate_(tree::take<S>(w, model_.nv)),
        change_(tree::take<S>(w, model_.nv)) {}

  /// See TurningShare.
  S share() const {
    S most = simd::all<S>(0);
    each_body([&](int b, const Joint&) { most = max(most, TurningShare<S>::of(A_.recursion.body[b])); });
    const S ratio = h_ * h_ * most / simd::all<S>(TurningShare<S>::small);
    return ramp((ratio - simd::all<S>(1)) / simd::all<S>(Real(3)));
  }

  /// Computes a in the worlds `wanted`, and its change by the rounds. `v` (nv) has h times −A⁻¹ c(q₀, v₀) in
  /// it already. Returns the worlds where the rounds converge. `rounds` takes them down; null for none.
  simd::Mask<S> solve(simd::Mask<S> wanted,
                      const S* q,
                      const S* v,
                      tree::Workspace<S> w,
                      VelocityRounds<S>* rounds = nullptr) {
    S *const start = tree::take<S>(w, model_.nv), *const residual_force = tree::take<S>(w, model_.nv),
             *const step = tree::take<S>(w, model_.nv);
    const S o = simd::all<S>(0);
    A_.velocity_rate(single_, rate_, w);
    for (int i = 0; i < model_.nv; ++i) residual_force[i] = o;  // of single bodies
    each_coordinate([&](int i) {
      start[i] = simd::fnma(h_, rate_[i], v[i]);
      change_[i] = o;
    });
    auto left = wanted, failed = simd::nowhere<S>();
    const S e = simd::all<S>(1);
    S before = e, counts = e;
    for (int n = 0; n < most_rounds && simd::any(left); ++n) {
      const S energy = residual(q, start, residual_force, w);
      A_.solve(single_, residual_force, step);
      S size = o;
      each_coordinate([&](int i) { size = fma(step[i], residual_force[i], size); });
      const S share = h_ * h_ * size / energy;  // of the kinetic energy
      failed |= left & !(share <= before);
      left &= !failed;
      S next = share / simd::all<S>(enough) - e;
      if (n > 0) next = min(next, share * share / (simd::all<S>(negligible) * before) - e);  // by one factor
      next = select(share > simd::all<S>(converging), e, ramp(next));
      before = select(left, share, before);
      if (rounds != nullptr) {
        simd::copy_each<S>(static_cast<const S*>(rate_), model_.nv, rounds->rate[n]);
        simd::copy_each<S>(static_cast<const S*>(step), model_.nv, rounds->step[n]);
        rounds->weight[n] = select(left, counts, o);
        rounds->changed[n] = share;
        rounds->energy[n] = energy;
        rounds->count = n + 1;
      }
      each_coordinate([&](int i) {
        rate_[i] = select(left, rate_[i] + counts * step[i], rate_[i]);
        change_[i] = select(left, change_[i] + counts * step[i], change_[i]);
      });
      left &= (counts == e) & (next > o);
      counts = next;
    }
    return wanted & !failed & (before <= simd::all<S>(converging));
  }

  const S* rate() const { return rate_; }      ///< a (nv)
  const S* change() const { return change_; }  ///< a + A⁻¹ c(q₀, v₀) (nv)

  /// Shares of the kinetic energy that a round changes: below the first the next one is left out, and so is
  /// one whose own share would be below the second, and up to twice as much it counts in part; a change above
  /// the third in the last round shows that rounds do not converge.
  static constexpr Real enough = Real(1e-9), negligible = Real(1e-12), converging = Real(1e-6);

 private:
  static constexpr int most_rounds = VelocityRounds<S>::most;
  static S ramp(S x) { return max(min(x, simd::all<S>(1)), simd::all<S>(0)); }

  template <class Visit>
  void each_body(const Visit& visit) const {
    for (int b = 0; b < model_.bodies; ++b) {
      if (!single_[b]) visit(b, model_.joint[b]);
    }
  }

  template <class Visit>
  void each_coordinate(const Visit& visit) const {
    each_body([&](int, const Joint& joint) {
      for (int i = joint.v; i < joint.v + joint.nv; ++i) visit(i);
    });
  }

  /// −(M(q_m) a + c(q_m, v_m) + (A − M(q₀)) a) in `residual_force` (nv); returns V·M V of all bodies there.
  S residual(const S* q, const S* start, S* residual_force, tree::Workspace<S> w) const {
    const ModelOf& model = model_;
    S *const q_m = tree::take<S>(w, model.nq), *const v_m = tree::take<S>(w, model.nv);
    S dq[tree::max_joint_nv];
    const S half = simd::all<S>(Real(0.5)) * h_;
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      for (int i = 0; single_[b] && i < joint.nq; ++i) q_m[joint.q + i] = q[joint.q + i];
      if (single_[b]) continue;
      for (int i = 0; i < joint.nv; ++i) {
        const int k = joint.v + i;
        v_m[k] = fma(half, rate_[k], start[k]);
        dq[i] = half * v_m[k];
      }
      dynamics::retract<S>(joint.block, joint.blocks, q + joint.q, dq, q_m + joint.q);
    }
    auto* const X_PB = tree::take<spatial::Pose<S>>(w, model.bodies);
    auto *const V = tree::take<spatial::Motion<S>>(w, model.bodies),
                *const acc = tree::take<spatial::Motion<S>>(w, model.bodies),
                *const columns = tree::take<spatial::Motion<S>>(w, model.stored_columns);
    auto* const F = tree::take<spatial::Force<S>>(w, model.bodies);
    const tree::SincosTable<S> sincos = tree::sincos_table(model, static_cast<const S*>(q_m), w);
    S energy = simd::all<S>(sizeof(Real) == 8 ? Real(1e-300) : Real(1e-30));
    each_body([&](int b, const Joint& joint) {
      tree::evaluate(model, b, static_cast<const S*>(q_m), sincos, columns, X_PB[b]);
      const bool at_root = joint.parent < 0;
      const auto carried = [&](const spatial::Motion<S>* of) {
        return at_root ? spatial::zero_motion<S>() : to_child(X_PB[b], of[joint.parent]);
      };
      V[b] = plus_joint_twist(carried(V), joint, columns, static_cast<const S*>(v_m));
      acc[b] = plus_joint_twist(carried(acc), joint, columns, static_cast<const S*>(rate_));
      acc[b] = tree::plus_cross_joint_twist(acc[b], V[b], joint, columns, static_cast<const S*>(v_m));
      if (joint.biased) acc[b] += tree::bias(model, b, columns, static_cast<const S*>(v_m));
      const auto M = dynamics::body_inertia<S>(model, b);
      const spatial::Force<S> momentum = M * V[b];
      energy += dot(V[b], momentum);
      F[b] = newton_euler(M, V[b], acc[b]);
    });
    for (int b = model.bodies - 1; b >= 0; --b) {
      if (single_[b]) continue;
      const Joint& joint = model.joint[b];
      for (int i = 0; i < joint.nv; ++i) {
        const int k = joint.v + i;
        const S other = simd::all<S>(model.armature[k]) + base_[k];
        residual_force[k] = simd::fnma(other, rate_[k], -dot(tree::axis(joint, columns, i), F[b]));
      }
      if (joint.parent >= 0) F[joint.parent] = plus_to_parent(F[joint.parent], X_PB[b], F[b]);
    }
    dynamics::subtract_beside_diagonal(model, base_, static_cast<const S*>(rate_), residual_force);
    return energy;
  }

  dynamics::StepMatrix<S>& A_;
  const ModelOf& model_;
  const bool* single_;
  const S* base_;
  const S h_;
  S *rate_, *change_;
};

}  // namespace pysim::stepping
