// Velocity of a convex step without contacts:
//
//     A (v* − v₀) = h (τ − h(q₀, v₀)) − h² K v₀        A = M + h D + h² K
//
// Velocities are on the axes that bodies have at the start: contacts see no rotation of the axes within a
// step. Gyroscopic terms are implicit: a body that moves freely and alone turns with ω = I⁻¹ exp(−h ω/2) L;
// velocity terms of other trees are those of the middle of the step (velocity_terms.hpp).
#pragma once

#include "constraints/velocity_rows.hpp"
#include "contact/run.hpp"
#include "dynamics/turning_stiffness.hpp"
#include "stepping/actuator_damping.hpp"
#include "stepping/convex/stage.hpp"
#include "stepping/free_rotation.hpp"
#include "stepping/system.hpp"
#include "stepping/velocity_terms.hpp"

namespace pysim::stepping {

using dynamics::load3;
using dynamics::store;
using spatial::Motion;

/// Centre of mass of a body.
template <class S>
Vec3<S> centre(const spatial::Inertia<S>& M) {
  return (all<S>(1) / M.m) * M.mc;
}

/// Springs and dampers of the joints: adds their forces to τ (nv), and sets `base` to what their implicit
/// integration adds to A, as dynamics/step_blocks.hpp has it.
template <class S, class Stage>
void add_joint_forces(const ModelOf<S>& model,
                      const contact::Contacts<typename S::Parameter>& contacts,
                      const Stage& stage,
                      S h,
                      const S* q,
                      const S* v,
                      S* base,
                      S* tau,
                      Workspace<S> w) {
  for (int i = 0; i < dynamics::step_block_numbers(model.nv); ++i) base[i] = all<S>(0);
  if (!model.joint_forces) return;
  ModelOf<S> smooth = model;
  smooth.passive = contacts.smooth;
  S* const passive = take<S>(w, model.nv);
  dynamics::passive_joint_forces(smooth, q, v, passive, w);
  S* const stiffness = take<S>(w, dynamics::step_block_numbers(model.nv));
  for (int i = 0; i < model.nv; ++i) {
    stiffness[i] = all<S>(contacts.diagonal[i]);
    stiffness[model.nv + i] = all<S>(0);
  }
  dynamics::add_turning_stiffness(smooth, q, stiffness);
  const S* const from = stage.from(v);
  for (int i = 0; i < model.nv; ++i) {
    const S hK = h * stiffness[i];
    base[i] = h * (all<S>(smooth.passive[i].damping) + hK);
    tau[i] += stage.add_implicit_force(base[i] / h, hK, v[i], from[i], passive[i]);
  }
  dynamics::each_entry_beside_diagonal(smooth, [&](int i, int j, int at) {
    const S hK = h * stiffness[at];
    base[at] = h * hK;
    tau[i] = stage.add_implicit_force(hK, hK, v[j], from[j], tau[i]);
    tau[j] = stage.add_implicit_force(hK, hK, v[i], from[i], tau[j]);
  });
}

/// Adds a share of the change of velocity terms to velocities (n) where the rounds converge (`moving`), and
/// leaves what they shift the position that the velocities at the end would give.
template <class S>
void add_velocity_terms(
    Mask<S> moving, S share, S h, const S* change, const S* rate, int n, S* velocity, S* shift) {
  const S o = all<S>(0), half = all<S>(typename S::Real(0.5)) * h * h;
  for (int i = 0; i < n; ++i) {
    velocity[i] = select(moving, fma(h * share, change[i], velocity[i]), velocity[i]);
    shift[i] = select(moving, -half * (share * rate[i]), o);
  }
}

/// Linear velocity of a free joint in v* (6 numbers), on the axes of the start, from v at the start and the
/// rate of velocity terms.
template <class S>
void turn_root(S h, S share, const S* v, const S* rate, S* to, S* shift) {
  const Vec3<S> at_end = load3(to), before = load3(v);
  Vec3<S> linear = fma(h, cross(load3(v + 3), before), at_end);
  const auto moving = share > all<S>(0);
  if (any(moving)) {
    const Vec3<S> turn = fma(h, load3(to + 3), load3(shift + 3));
    const Vec3<S> turned = spatial::rotation(spatial::exp_quaternion(turn)) * at_end;
    const Vec3<S> part = fma(share, turned - linear, linear);
    linear = collision::select(moving, collision::select(share == all<S>(1), turned, part), linear);
    const Vec3<S> drift = fnma(h, load3(rate), at_end);  // where the velocity terms begin
    const Vec3<S> off = all<S>(typename S::Real(0.5)) * (share * h) * (drift - turned);
    store(collision::select(moving, off, spatial::zero3<S>()), shift);
  }
  store(linear, to);
}

/// v* of a single body (6 numbers) and its P and L, from those before the step, under the wrench F and
/// gravity g, all on the body's axes at the start, where it moves with V.
template <class S, class Stage>
Force<S> turn_single(const Stage&,
                     const spatial::Inertia<S>& M,
                     const Motion<S>& V,
                     const Force<S>& before,
                     const Force<S>& F,
                     const Vec3<S>& g,
                     S h,
                     S* to) {
  const Vec3<S> c = centre(M);
  const auto I = translate(-c, M).I;
  const Vec3<S> P = fma(h, fma(M.m, g, F.f), before.f);
  const Vec3<S> L = fma(h, F.t - cross(c, F.f), before.t);
  Vec3<S> omega;
  if constexpr (Stage::is_about_end) {
    omega = inverse(I) * L;
  } else {
    omega = mean_angular_velocity(I, L, h, V.w);
  }
  store((all<S>(1) / M.m) * P - cross(omega, c), to);
  store(omega, to + 3);
  return {P, L};
}

/// P and L of a body about its centre of mass.
template <class S>
Force<S> momentum_about_centre(const spatial::Inertia<S>& M, const Motion<S>& V) {
  const Force<S> now = M * V;
  return {now.f, now.t - cross(centre(M), now.f)};
}

template <class S, class Stage>
class FreeVelocity {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;

  FreeVelocity(const System<S>& system,
               const contact::Contacts<Parameter>& contacts,
               const Stage& stage,
               dynamics::StepMatrix<S>& A,
               constraints::VelocityRows<S>& rows,
               S h,
               Workspace<S>& w)
      : velocity(take<S>(w, system.model.nv)),
        base(take<S>(w, dynamics::step_block_numbers(system.model.nv))),
        shift(take<S>(w, system.model.nv)),
        momentum(take<Force<S>>(w, system.model.bodies)),
        damping(system, w),
        system_(system),
        model_(system.model),
        contacts_(contacts),
        stage_(stage),
        A_(A),
        factor_(A.recursion),
        rows_(rows),
        h_(h) {}

  S* const velocity;         ///< [nv] v*
  S* const base;             ///< [2 nv] that A has beside M, see dynamics/step_blocks.hpp
  S* const shift;            ///< [nv] by which q₁ differs from q₀ ⊕ h v₁, on the axes of the start
  bool is_shifted = false;   ///< whether that is so in some world
  Force<S>* const momentum;  ///< [bodies] P and L of single bodies about their centres of mass
  ActuatorDamping<S> damping;
  VelocityRounds<S>* rounds = nullptr;  ///< takes down how velocity terms are computed; null for none

  /// Axes of a single body in its joint's frame in the world, which is fixed but may be turned.
  Mat3<S> axes(int b) const {
    return spatial::rotation(dynamics::load_quaternion(q_ + model_.joint[b].q + 3));
  }

  /// Computes all of these at q and v of the tree, where A has its bodies. `x0` are the states
  /// of elements at the beginning, null for none; actuators see those that follow at q and v.
  void evaluate(
      S time, const S* q, const S* v, const contact::ContactState<S>& state, const S* x0, Workspace<S> w) {
    q_ = q;
    const int nv = model_.nv;
    S *const tau = take<S>(w, nv), *const a = take<S>(w, nv);
    actuate(time, q, v, x0, tau, w);
    add_joint_forces(model_, contacts_, stage_, h_, q, v, base, tau, w);
    damping.add(stage_, v, h_, base, tau);
    if (model_.elements > model_.straight_paths) elements::add_element_forces<S>(model_, q, v, tau, w, false);
    A_.accelerate(base, contacts_.single, tau, a, w);
    const S* const from = stage_.from(v);
    for (int i = 0; i < nv; ++i) {
      velocity[i] = fma(h_, a[i], from[i]);
      shift[i] = all<S>(0);
    }
    if constexpr (!Stage::is_about_end) turn_trees(q, v, w);
    for (int b = 0; b < model_.bodies; ++b) {
      if (contacts_.single[b]) turn_single(b, tau + model_.joint[b].v);
    }
    if (!rows_.empty()) {
      rows_.evaluate(factor_, {stage_.time_of_rows(time, h_), all<S>(1)}, state.q, state.v, state.loop_q, w);
      rows_.factor([&](const S* b, S* x) { A_.solve(b, x); });
      rows_.project_velocity(velocity);
    }
  }

 private:
  /// τ(t) on the tree's coordinates, and its derivatives that the step is implicit in.
  void actuate(S time, const S* q, const S* v, const S* x0, S* tau, Workspace<S> w) {
    System<S> inner = system_;
    if (x0 != nullptr) {
      inner.signals.base = inner.signals.start = x0;
      inner.signals.factor = h_;
    }
    if (!model_.mimic) {
      inner.actuate(time, q, v, tau, w);
      damping.evaluate(inner, time, q, v, w);
      return;
    }
    S *const users_q = take<S>(w, model_.reduced_nq), *const users_v = take<S>(w, model_.reduced_nv),
             *const reduced = take<S>(w, model_.reduced_nv);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (joint.reduced_v < 0) continue;
      simd::copy_each<S>(q + joint.q, joint.nq, users_q + joint.reduced_q);
      simd::copy_each<S>(v + joint.v, joint.nv, users_v + joint.reduced_v);
    }
    inner.actuate(time, users_q, users_v, reduced, w);
    damping.evaluate(inner, time, users_q, users_v, w);
    rows_.spread_forces(reduced, tau);
  }

  /// Velocity terms of trees, and the linear velocities of their roots on the axes of the start.
  void turn_trees(const S* q, const S* v, Workspace<S> w) {
    S share = all<S>(0);
    if (rounds != nullptr) simd::copy_each<S>(static_cast<const S*>(velocity), model_.nv, rounds->before);
    VelocityTerms<S> terms(A_, contacts_.single, base, h_, w);
    if (rows_.empty()) share = terms.share();
    if (any(share > all<S>(0))) add_velocity_terms(share, q, terms, w);
    is_shifted = any(share > all<S>(0));
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (joint.shape != tree::Shape::free || contacts_.single[b]) continue;
      turn_root(h_, share, v + joint.v, terms.rate() + joint.v, velocity + joint.v, shift + joint.v);
    }
  }

  /// Replaces a share of the velocity terms of v* by those at the middle of the step, and leaves what they
  /// shift the position that the velocities at the end would give. Leaves the share where that is done.
  void add_velocity_terms(S& share, const S* q, VelocityTerms<S>& terms, Workspace<S> w) {
    const S o = all<S>(0);
    const auto moving = terms.solve(share > o, q, static_cast<const S*>(velocity), w, rounds);
    share = select(moving, share, o);
    if (rounds != nullptr) {
      rounds->share = share;
      simd::copy_each<S>(terms.change(), model_.nv, rounds->change);
      simd::copy_each<S>(terms.rate(), model_.nv, rounds->a);
    }
    for (int b = 0; b < model_.bodies; ++b) {
      if (contacts_.single[b]) continue;
      const int i = model_.joint[b].v, n = model_.joint[b].nv;
      stepping::add_velocity_terms(
          moving, share, h_, terms.change() + i, terms.rate() + i, n, velocity + i, shift + i);
    }
  }

  /// v* of a single body from its momenta on the axes of the start, or of a stage's prediction.
  void turn_single(int b, const S* tau) {
    const auto M = dynamics::body_inertia<S>(model_, b);
    const Motion<S>& V = factor_.body[b].V;
    const Force<S> before = stage_.momentum(b, axes(b), [&] { return momentum_about_centre(M, V); });
    const Force<S> F = Force<S>{load3(tau), load3(tau + 3)} - factor_.body[b].pA;
    const Vec3<S> g = transpose_times(factor_.X_WB[b].R, spatial::all3<S>(model_.gravity));
    S* const to = velocity + model_.joint[b].v;
    momentum[b] = stepping::turn_single(stage_, M, V, before, F, g, h_, to);
  }

  const System<S>& system_;
  const ModelOf<S>& model_;
  const contact::Contacts<Parameter>& contacts_;
  const Stage& stage_;
  dynamics::StepMatrix<S>& A_;
  const dynamics::LoadedFactor<S>& factor_;  ///< its bodies
  constraints::VelocityRows<S>& rows_;
  const S h_;
  const S* q_ = nullptr;
};

}  // namespace pysim::stepping
