// Products of the derivatives of accelerations with cotangents: v̇ is one operation on a tape, which goes back
// by one solution and one product of inverse dynamics.
//
//     r = τ + Eᵀ (passive + Jᵀ F − RNEA(q, v, E v̇)) + Jᵀλ = 0        q, v of the tree, E of mimic joints, F
//     loads
//
//     (Eᵀ M E) μ + Jᵀκ = a̅,  J μ = 0        τ̅ = μ        f̅ = E μ of passive forces and −RNEA
//
// The acceleration w of an implicit step is that of the state to which it leads: r depends on w through q(w)
// and v(w), too, and A = −∂r/∂w, whose rows are products with those of the identity, takes the place of M,
// see mechanism_adjoint.hpp.
//
// τ and passive forces are on the tape, and so is r, with numbers of inverse dynamics as inputs; their
// cotangents go through rnea_product.hpp. Schemes are run with numbers on the tape, whose accelerations are
// these (system.hpp): the derivatives of a step are those of its own text.
#pragma once

#include "dynamics/retract_product.hpp"
#include "dynamics/rnea_product.hpp"
#include "stepping/force_switches.hpp"
#include "stepping/implicit_equation.hpp"
#include "stepping/mechanism_adjoint.hpp"
#include "stepping/step_cotangents.hpp"

namespace pysim::stepping {

using spatial::Vec3;

/// Sums of cotangents of the numbers of a model that accelerations read beside those on the tape; null for
/// none.
template <class S>
struct AccelerationCotangents {
  S* theta;         ///< (bodies, ten)
  S* armature;      ///< (nv)
  Vec3<S>* places;  ///< [bodies] of joints in their parents
  S (&gravity)[3];
};

/// What evaluations of a step share: how rows depend on others, φ, which follows, and the switches that they
/// meet.
template <class S, bool differs>
struct SharedInStep {
  constraints::RowProduct<S, differs>& product;
  constraints::Dependence<S>* dependence;      ///< null to detect it
  S* phi;                                      ///< of the last evaluation
  const ForceSwitches<S>* switches = nullptr;  ///< null to count none
};

/// One evaluation, whose numbers stay in memory.
template <class S, bool differs>
class TapedAcceleration {
 public:
  using R = simd::Reverse<S, differs>;
  using Shared = SharedInStep<S, differs>;

  /// Memory is reserved for A if the step may be `implicit`.
  TapedAcceleration(const ModelOf<S>& model, const Shared& shared, bool implicit, Workspace<S>& w)
      : model_(model),
        shared_(shared),
        tree_(model, nullptr, w),
        adjoint_(model, implicit, w),
        q_(take<R>(w, model.nq)),
        v_(take<R>(w, model.nv)),
        rate_(take<R>(w, model.nv)),
        inverse_(take<R>(w, model.nv)),
        residual_(take<R>(w, model.reduced_nv)),
        result_(take<R>(w, model.reduced_nv)),
        lambda_(take<R>(w, model.rows)),
        tried_(take<R>(w, model.reduced_nv)),
        v_value_(take<S>(w, model.nv)),
        rate_value_(take<S>(w, model.nv)),
        met_(shared.switches == nullptr ? nullptr : take<S>(w, shared.switches->count())) {}

  /// Sets v̇ (reduced nv) at q and v of the user. `system` has numbers on the tape.
  void record(const System<R>& system, simd::Tape<S>& tape, R time, const R* q, const R* v, R* a) {
    Workspace<R> w = system.workspace;
    begin_ = tape.edges;
    const Forces forces = record_forces(system, time, q, v, w);
    solve(time, q, v, forces.tau, system.loads, {reinterpret_cast<S*>(w.next)});
    for (int i = 0; i < model_.reduced_nv; ++i) a[i] = R(result_[i].value);
    record_residual(system, tape, forces, a, w);
    Workspace<S> inner = {reinterpret_cast<S*>(w.next)};
    const S* const at = placed(inner);
    adjoint_.factor(at, v_value_, inner);
    end(system, tape, a);
  }

  /// Records the equation of a stage of an implicit step at its solution w (reduced nv).
  void record_solution(const System<R>& system, simd::Tape<S>& tape, const Stage<R>& stage, R* w) {
    Workspace<R> room = system.workspace;
    begin_ = tape.edges;
    is_solution_ = true;
    for (int i = 0; i < model_.reduced_nv; ++i) tried_[i] = R(w[i].value, &tape, tape.add_node());
    const NewtonIterate<R> at = take_iterate(system.model, room);
    place(system, stage, static_cast<const R*>(tried_), at);
    const Forces forces = record_forces(system, stage.time, at.q, at.v, room);
    if (model_.rows > 0)
      solve(stage.time, at.q, at.v, forces.tau, nullptr, {reinterpret_cast<S*>(room.next)});
    for (int i = 0; i < model_.reduced_nv; ++i) result_[i] = R(w[i].value);
    record_residual(system, tape, forces, tried_, room);
    form_matrix(tape, {reinterpret_cast<S*>(room.next)});
    end(system, tape, w);
  }

  /// Takes cotangents of v̇ back to what the tape had before, after `later` operations have gone back.
  void pull(const simd::Tape<S>& tape, int later, const AccelerationCotangents<S>& sums, Workspace<S> w) {
    const int count = model_.reduced_nv;
    tape.pull(end_, later);
    S *const bar = take<S>(w, count), *const kappa = take<S>(w, model_.rows);
    for (int i = 0; i < count; ++i) bar[i] = tree::take_cotangent(result_[i]);
    for (int i = 0; i < model_.rows; ++i) kappa[i] = tree::take_cotangent(lambda_[i]);
    if (met_ != nullptr) shared_.switches->add(has_some(bar, count) | has_some(kappa, model_.rows), met_);
    adjoint_.solve(bar, kappa, w);
    for (int i = 0; i < count; ++i) tree::seed(residual_[i], bar[i]);
    pull_residual(tape, sums, kappa, w);
    for (int i = 0; is_solution_ && i < count; ++i) tree::take_cotangent(tried_[i]);
  }

  /// λ [rows] of an evaluation, on the tape.
  const R* lambda() const { return lambda_; }

  /// Operations before it.
  int begin() const { return begin_; }

 private:
  /// Forces of an evaluation: on the user's coordinates, and passive ones of the tree, null for none.
  struct Forces {
    const R *tau, *passive;
  };

  Forces record_forces(const System<R>& system, R time, const R* q, const R* v, Workspace<R>& w) {
    const ModelOf<R>& taped = system.model;
    R* const tau = take<R>(w, model_.reduced_nv);
    const R* const full_q = tree::full_q(taped, q, w);
    const R* const full_v = tree::full_v(taped, v, w);
    for (int i = 0; i < model_.nq; ++i) q_[i] = full_q[i];
    for (int i = 0; i < model_.nv; ++i) v_[i] = full_v[i];
    system.actuate(time, q, v, tau, w);
    if (met_ != nullptr) mark_switches(system, time, q, v, {reinterpret_cast<S*>(w.next)});
    if (!has_passive(model_) && system.loads == nullptr) return {tau, nullptr};
    R* const passive = take<R>(w, model_.nv);
    if (has_passive(model_)) {
      dynamics::passive_forces(taped, full_q, full_v, passive, w);
    } else {
      for (int i = 0; i < model_.nv; ++i) passive[i] = R(all<S>(0));
    }
    if (system.loads != nullptr) add_loads(taped, full_q, system.loads, passive, w);
    return {tau, passive};
  }

  /// Marks the switches of forces at q and v of the user, and of the tree as they were noted.
  void mark_switches(const System<R>& system, R time, const R* q, const R* v, Workspace<S> w) const {
    const auto values = [&w](const R* x, int count) { return values_of(x, count, w); };
    const R* const numbers = system.signals.numbers;
    const S *const full_q = values(q_, model_.nq), *const full_v = values(v_, model_.nv);
    shared_.switches->mark(full_q, full_v, met_, w);
    if (numbers == nullptr) return;
    const S *const users_q = values(q, model_.reduced_nq), *const users_v = values(v, model_.reduced_nv);
    const S* const held = values(numbers, model_.signals->numbers());
    shared_.switches->mark_bounds(time.value, users_q, users_v, held, met_, w);
  }

  /// Where one of the numbers is not zero.
  static simd::Mask<S> has_some(const S* x, int count) {
    auto some = simd::nowhere<S>();
    for (int i = 0; i < count; ++i) some |= !(x[i] == all<S>(0));
    return some;
  }

  static const S* values_of(const R* x, int count, Workspace<S>& w) {
    S* const to = take<S>(w, count);
    for (int i = 0; i < count; ++i) to[i] = x[i].value;
    return to;
  }

  /// Adds Jᵀ F of wrenches on the bodies, in their frames.
  static void add_loads(
      const ModelOf<R>& model, const R* q, const spatial::Force<R>* loads, R* to, Workspace<R> w) {
    auto* const body = take<elements::PlacedBody<R>>(w, model.bodies);
    auto* const columns = take<spatial::Motion<R>>(w, model.stored_columns);
    const R* const still = nullptr;
    elements::place_bodies(model, q, still, body, columns);
    const auto wrenches = elements::take_wrenches<R>(model, body, w);
    for (int b = 0; b < model.bodies; ++b) wrenches.sum[b] = loads[b];
    for (int b = model.bodies - 1; b >= 0; --b) wrenches.project(model, columns, b, to);
  }

  /// Records r without Jᵀλ at v̇ (reduced nv).
  void record_residual(
      const System<R>& system, simd::Tape<S>& tape, const Forces& forces, const R* a, Workspace<R>& w) {
    const R* const full_a = tree::full_v(system.model, a, w);
    for (int i = 0; i < model_.nv; ++i) rate_[i] = full_a[i];
    invert({reinterpret_cast<S*>(w.next)});
    begin_residual_ = tape.edges;
    R* const left = take<R>(w, model_.nv);
    for (int i = 0; i < model_.nv; ++i) {
      inverse_[i] = R(inverse_[i].value, &tape, tape.add_node());
      left[i] = forces.passive == nullptr ? -inverse_[i] : forces.passive[i] - inverse_[i];
    }
    const R* const rest = tree::reduced_forces(system.model, static_cast<const R*>(left), w);
    for (int i = 0; i < model_.reduced_nv; ++i) residual_[i] = forces.tau[i] + rest[i];
    end_ = tape.edges;
  }

  /// Lets v̇ and λ be inputs of what follows. Work of prescribed motions acts on nothing: its rates are
  /// constants.
  void end(const System<R>& system, simd::Tape<S>& tape, R* a) {
    for (int i = 0; i < model_.reduced_nv; ++i) {
      a[i] = result_[i] = R(result_[i].value, &tape, tape.add_node());
    }
    for (int i = 0; i < model_.rows; ++i) lambda_[i] = R(adjoint_.lambda()[i], &tape, tape.add_node());
    if (!model_.timed || system.signals.numbers == nullptr) return;
    Workspace<R> w = system.workspace;
    R *const rate = take<R>(w, model_.rows), *const lambda = take<R>(w, model_.rows);
    for (int i = 0; i < model_.rows; ++i) {
      rate[i] = R(adjoint_.motion_rate()[i]);
      lambda[i] = R(adjoint_.lambda()[i]);
    }
    system.set_motion_powers(rate, lambda);
  }

  /// v̇ as a step computes it.
  void solve(R time, const R* q, const R* v, const R* tau, const spatial::Force<R>* loads, Workspace<S> w) {
    const auto values = [&w](const R* x, int count) { return values_of(x, count, w); };
    const S *const at = values(q, model_.reduced_nq), *const speed = values(v, model_.reduced_nv),
                   *const force = values(tau, model_.reduced_nv);
    S* const a = take<S>(w, model_.reduced_nv);
    auto* const on = loads == nullptr ? nullptr : take<spatial::Force<S>>(w, model_.bodies);
    for (int b = 0; on != nullptr && b < model_.bodies; ++b) {
      const auto &f = loads[b].f, &t = loads[b].t;
      on[b] = {{f.x.value, f.y.value, f.z.value}, {t.x.value, t.y.value, t.z.value}};
    }
    adjoint_.accelerate(time.value, at, speed, force, on, shared_.phi, shared_.dependence, a, w);
    for (int i = 0; i < model_.reduced_nv; ++i) result_[i] = R(a[i]);
  }

  /// q of the tree.
  const S* placed(Workspace<S>& w) const { return values_of(q_, model_.nq, w); }

  /// Forces of inverse dynamics at v̇, where the tree is placed from now on.
  void invert(Workspace<S> w) {
    const int nv = model_.nv;
    const S* const q = placed(w);
    S* const tau = take<S>(w, nv);
    for (int i = 0; i < nv; ++i) {
      v_value_[i] = v_[i].value;
      rate_value_[i] = rate_[i].value;
    }
    const spatial::Force<S>* const unloaded = nullptr;
    dynamics::rnea<S>(model_, q, v_value_, rate_value_, unloaded, tau, w);
    for (int i = 0; i < nv; ++i) inverse_[i] = R(tau[i]);
    tree_.place(q, v_value_, w);
  }

  /// Factors the equations of an implicit step. No cotangents are on the tape yet, and none are left.
  void form_matrix(const simd::Tape<S>& tape, Workspace<S> w) {
    const int count = model_.reduced_nv, rows = model_.rows;
    S *const armature = take<S>(w, model_.nv), *const kappa = take<S>(w, rows);
    S gravity[3];
    const auto pull = [&](int row, const auto& store) {
      for (int i = 0; i < rows; ++i) kappa[i] = all<S>(i == row ? -1 : 0);
      pull_residual(tape, {nullptr, armature, nullptr, gravity}, kappa, w);
      for (int j = 0; j < count; ++j) store(j, tree::take_cotangent(tried_[j]));
      for (int node = 0; node < tape.nodes; ++node) tape.cotangent[node] = all<S>(0);
    };
    for (int i = 0; i < count; ++i) {
      tree::seed(residual_[i], all<S>(1));
      pull(-1, [&](int j, S slope) { adjoint_.A()[j * count + i] = -slope; });
    }
    for (int i = 0; i < rows; ++i) {
      pull(i, [&](int j, S slope) { adjoint_.B()[i * count + j] = slope; });
    }
    adjoint_.factor_implicit();
  }

  /// Takes cotangents of r back to what the tape had before, and those −κ of g̈, and of the rates of
  /// prescribed motions, null for none.
  void pull_residual(const simd::Tape<S>& tape,
                     const AccelerationCotangents<S>& sums,
                     const S* kappa,
                     Workspace<S> w) {
    const S o = all<S>(0);
    const int nv = model_.nv;
    S *const q_bar = take<S>(w, nv), *const v_bar = take<S>(w, nv), *const rate_bar = take<S>(w, nv),
             *const f = take<S>(w, nv);
    tape.pull(begin_residual_, end_);
    for (int i = 0; i < nv; ++i) {
      f[i] = tree::take_cotangent(inverse_[i]);
      q_bar[i] = v_bar[i] = rate_bar[i] = o;
      sums.armature[i] = fma(f[i], rate_value_[i], sums.armature[i]);
    }
    tree_.gather_places(sums.places);
    spatial::Force<S>*V_bar = nullptr, *A_bar = nullptr;
    if (model_.rows > 0) {
      V_bar = take<spatial::Force<S>>(w, model_.bodies);
      A_bar = take<spatial::Force<S>>(w, model_.bodies);
      add_rows(f, kappa, {q_bar, v_bar, rate_bar, V_bar, A_bar}, w);
    }
    tree_.add(v_value_,
              rate_value_,
              f,
              true,
              q_bar,
              v_bar,
              rate_bar,
              sums.theta,
              V_bar,
              nullptr,
              sums.gravity,
              A_bar);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      S at[8] = {}, number_bar[8] = {};
      for (int i = 0; i < joint.nq; ++i) at[i] = q_[joint.q + i].value;
      dynamics::seed_joint<S>(joint, at, q_bar + joint.v, number_bar);
      for (int i = 0; i < joint.nq; ++i) tree::seed(q_[joint.q + i], number_bar[i]);
    }
    for (int i = 0; i < nv; ++i) {
      tree::seed(v_[i], v_bar[i]);
      tree::seed(rate_[i], rate_bar[i]);
    }
    tape.pull(begin_, begin_residual_);
  }

  /// Adds what constraint rows give; f = −E μ.
  void add_rows(const S* f,
                const S* kappa,
                const typename MechanismAdjoint<S, differs>::Cotangents& bar,
                Workspace<S> w) {
    S* const mu = take<S>(w, model_.nv);
    for (int i = 0; i < model_.nv; ++i) mu[i] = -f[i];
    for (int b = 0; b < model_.bodies; ++b) bar.V_bar[b] = bar.A_bar[b] = spatial::zero_force<S>();
    const S* const q = placed(w);
    adjoint_.add(tree_, q, v_value_, rate_value_, mu, kappa, bar, shared_.product, w);
  }

  const ModelOf<S>& model_;
  const Shared& shared_;
  dynamics::TreeProduct<S> tree_;
  MechanismAdjoint<S, differs> adjoint_;
  R *const q_, *const v_, *const rate_;  ///< of the tree
  R *const inverse_, *const residual_, *const result_,
                                           *const lambda_,
                                               *const tried_;  ///< RNEA, r, v̇, λ, and w as r reads it
  S *const v_value_, *const rate_value_;
  S* const met_;  ///< switches; null to count none
  bool is_solution_ = false;
  int begin_ = 0, begin_residual_ = 0, end_ = 0;  ///< operations of q, v and the forces, and of r
};

/// Accelerations of one step, in their order.
template <class S, bool differs>
class TapedAccelerations<simd::Reverse<S, differs>> {
 public:
  using R = simd::Reverse<S, differs>;
  static constexpr int most = 8;  ///< of a step, and of the blocks and signals at its end
  using Shared = SharedInStep<S, differs>;

  /// What an implicit step has found.
  struct Choices {
    const S* w = nullptr;  ///< (reduced nv) acceleration that solved it
    simd::Mask<R> by_euler = simd::nowhere<R>(),
                  reverses = simd::nowhere<R>();  ///< see generalized_alpha.hpp
  };

  TapedAccelerations(
      const ModelOf<S>& model, const Shared& shared, simd::Tape<S>& tape, bool implicit, Workspace<S>& w)
      : tape_(tape),
        shared_(shared),
        evaluation_{{model, shared, implicit, w},
                    {model, shared, implicit, w},
                    {model, shared, implicit, w},
                    {model, shared, implicit, w},
                    {model, shared, implicit, w},
                    {model, shared, implicit, w},
                    {model, shared, implicit, w},
                    {model, shared, implicit, w}},
        theta_(take<R>(w, std::ptrdiff_t{10} * model.bodies)) {}

  TapedAccelerations(const TapedAccelerations&) = delete;
  TapedAccelerations& operator=(const TapedAccelerations&) = delete;

  /// Takes inertias of bodies that move freely as inputs: steps read them beside accelerations.
  void begin(const ModelOf<S>& model, const Choices& choices) {
    choices_ = choices;
    for (int b = 0; b < model.bodies; ++b) {
      const bool is_free = model.joint[b].shape == tree::Shape::free;
      for (int i = 10 * b; i < 10 * (b + 1); ++i) {
        const S value = all<S>(model.constants[b].inertia[i - 10 * b]);
        theta_[i] = is_free ? R(value, &tape_, tape_.add_node()) : R(value);
      }
    }
  }

  const Choices& choices() const { return choices_; }

  void accelerate(const System<R>& system, R time, const R* q, const R* v, R* a) {
    evaluation_[count_++].record(system, tape_, time, q, v, a);
  }

  /// Sets w (reduced nv), which solved the equation of a stage.
  simd::Mask<R> solve(const System<R>& system, const Stage<R>& stage, R* w) {
    for (int i = 0; i < system.model.reduced_nv; ++i) w[i] = R(choices_.w[i]);
    evaluation_[count_++].record_solution(system, tape_, stage, w);
    return simd::everywhere<R>();
  }

  /// Adds the wrenches of loops on the bodies, at q of the user, which the last evaluation has found there.
  void add_loop_wrenches(const System<R>& system, R time, const R* q, spatial::Force<R>* sum) const {
    const auto& model = system.model;
    Workspace<R> w = system.workspace;
    auto* const body = take<elements::PlacedBody<R>>(w, model.bodies);
    auto* const columns = take<spatial::Motion<R>>(w, model.stored_columns);
    auto* const X_WB = take<spatial::Pose<R>>(w, model.bodies);
    const R *const full = tree::full_q(model, q, w), *const still = nullptr;
    elements::place_bodies(model, full, still, body, columns);
    for (int b = 0; b < model.bodies; ++b) X_WB[b] = body[b].X_WB;
    const R* const lambda = evaluation_[count_ - 1].lambda();
    shared_.product.add_wrenches(X_WB, time.value, shared_.phi, lambda, sum, {reinterpret_cast<S*>(w.next)});
  }

  spatial::Inertia<R> inertia(int b) const { return spatial::all_inertia<R>(theta_ + 10 * b); }

  /// Takes cotangents of the operations [begin, later) on the tape back, and adds to the sums.
  void pull(int later, const AccelerationCotangents<S>& sums, Workspace<S> w, int begin = 0) {
    for (int k = count_ - 1; k >= 0 && evaluation_[k].begin() >= begin; --k) {
      if (evaluation_[k].begin() >= later) continue;
      evaluation_[k].pull(tape_, later, sums, w);
      later = evaluation_[k].begin();
    }
    tape_.pull(begin, later);
  }

  /// Adds what steps read of inertias to `theta` (bodies, ten), null for none.
  void read(int bodies, S* theta) const {
    for (int i = 0; i < 10 * bodies; ++i) {
      if (theta_[i].is_constant()) continue;
      const S bar = tree::take_cotangent(theta_[i]);
      if (theta != nullptr) theta[i] += bar;
    }
  }

 private:
  simd::Tape<S>& tape_;
  const Shared& shared_;
  TapedAcceleration<S, differs> evaluation_[most];
  R* const theta_;
  Choices choices_;
  int count_ = 0;
};

}  // namespace pysim::stepping
