// RATTLE: a symmetric scheme on the constraints, still symmetric [Andersen 1983; Hairer, Lubich, Wanner 2006,
// sections V.4.1 and VII.1.4; Marsden and West 2001, section 3.5].
//
//     v₀⁺ = v₀ + M(q₀)⁻¹ J(q₀)ᵀ λ      (q₁, v₁⁻) = Φ(q₀, v₀⁺)      λ such that g(q₁) = 0
//     v₁  = v₁⁻ + M(q₁)⁻¹ J(q₁)ᵀ μ     ġ(q₁, v₁) = 0, by the projection that ends every step
//
// The step is time-reversible, so energy does not drift. Around a variational scheme of the tree
// alone it is the constrained variational scheme; around a scheme whose accelerations satisfy the
// constraints, λ corrects the curvature over a step.
#pragma once

#include "stepping/solver_state.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// The constraints at the start of a step, and the residual at any other q.
template <class S>
class StartConstraints {
 public:
  StartConstraints(const System<S>& system, S time, const S* q, const S* v, Workspace<S>& w)
      : system_(system),
        factor_(system.model, w),
        end_(system.model, w),
        rows_(constraints::take_rows(system.model, false, w)),
        end_rows_(constraints::take_rows(system.model, false, w)),
        delassus_(rows_, w),
        end_delassus_(end_rows_, w),
        lambda_(take<S>(w, system.model.rows)) {
    const auto& model = system.model;
    Workspace<S> inner = w;
    const S* full_q = tree::full_q(model, q, inner);
    factor_.move(full_q, tree::full_v(model, v, inner), inner);
    factor_.factor(full_q, inner);
    const constraints::Clock<S> clock = {time, all<S>(1)};
    constraints::evaluate_rows(model, factor_, clock, system.loop_q, rows_, true, inner);
    constraints::evaluate_couplings<S>(model, clock, q, v, nullptr, rows_, inner);
    delassus_.factorise(factor_);
    if (system.dependence != nullptr) system.dependence->watch(delassus_.G);
    turning_ = delassus_.G.smallest < all<S>(nearly_singular);
    turns_ = any(turning_);
  }

  /// Largest |g(t, q)|.
  S residual(S time, const S* q, const S* v, Workspace<S> w) {
    const auto& model = system_.model;
    end_.place(tree::full_q(model, q, w), tree::full_v(model, v, w), w);
    const constraints::Clock<S> clock = {time, all<S>(1)};
    constraints::evaluate_rows(model, end_, clock, system_.loop_q, end_rows_, turns_, w);
    constraints::evaluate_couplings<S>(model, clock, q, v, nullptr, end_rows_, w);
    return largest(static_cast<const S*>(end_rows_.g), model.rows);
  }

  /// x = M⁻¹ J₀ᵀ G₀⁺ g of the last residual, which J₀ reduces as well as J₁ of the end does. Near
  /// a singular position some row of J₀ almost vanishes and J₁ may be many times as large: then
  /// x = M⁻¹ J₀ᵀ G₀⁺ J₀ y, the projection on J₀ᵀ of the correction at the end, y = M⁻¹ J₁ᵀ G₁⁺ g.
  void correction(S* x, Workspace<S> w) {
    for (int i = 0; i < system_.model.rows; ++i) lambda_[i] = end_rows_.g[i];
    delassus_.correct(factor_, lambda_, x);
    if (!turns_) return;
    S* const y = take<S>(w, system_.model.reduced_nv);
    end_delassus_.factorise(factor_);
    for (int i = 0; i < system_.model.rows; ++i) lambda_[i] = end_rows_.g[i];
    end_delassus_.correct(factor_, lambda_, y);
    for (int i = 0; i < system_.model.rows; ++i) {
      lambda_[i] = rows_.times(i, y);
    }
    delassus_.G.solve_unregularised(lambda_);
    delassus_.push(factor_, lambda_, y);
    simd::copy_where<S>(turning_, y, system_.model.reduced_nv, x);
  }

 private:
  /// Least pivot of G₀ at which J₀ replaces J₁: sin² of the angle between rows.
  static constexpr typename S::Real nearly_singular = typename S::Real(1e-3);

  const System<S>& system_;
  constraints::MechanismFactor<S> factor_, end_;
  constraints::Rows<S> rows_, end_rows_;
  constraints::Delassus<S> delassus_, end_delassus_;
  S* lambda_;
  simd::Mask<S> turning_;  ///< where J changes much within a step
  bool turns_;             ///< in some world
};

/// A step during its iterations: the end of the best iterate so far, and the status of each world.
template <class S>
struct RattleIterate {
  S *q, *v;                    ///< its end
  simd::Mask<S> active, good;  ///< where λ is corrected still; where the scheme succeeded
  S last;                      ///< residual

  /// Stores an end with residual `off` if it is the best; returns it, and continues while it decreases.
  simd::Mask<S> take(int nq, int nv, const S* next_q, const S* next_v, simd::Mask<S> made, S off) {
    using Tolerance = constraints::ProjectionTolerance<typename S::Real>;
    const auto nearer = active & ((off < last) | !(last < all<S>(simd::infinity)));
    simd::copy_where<S>(nearer, next_q, nq, q);
    simd::copy_where<S>(nearer, next_v, nv, v);
    good = select(nearer, made, good);
    const auto gains = (off > all<S>(Tolerance::enough)) | (off + off < last);
    active = nearer & made & gains & (off > all<S>(Tolerance::residual));
    last = off;
    return nearer;
  }
};

template <class Base>
struct Rattle {
  static constexpr int most = 20;  ///< corrections of λ

  template <class S>
  static void step(const System<S>& system, S time, S h, S* q, S* v) {
    const SolverState<S> memory = {system.memory, system.model.reduced_nv};
    const auto good = attempt(system, simd::everywhere<S>(), time, h, q, v, memory);
    const S failed = select(good, all<S>(0), all<S>(simd::not_a_number));
    for (int i = 0; i < system.model.reduced_nq; ++i) q[i] += failed;
  }

  /// A step of the `wanted` worlds; returns those in which it succeeds. Numbers on a tape have the change of
  /// v at the start that they are given.
  template <class S>
  static simd::Mask<S> attempt(
      const System<S>& system, simd::Mask<S> wanted, S time, S h, S* q, S* v, const SolverState<S>& memory) {
    if (system.model.rows == 0) return Base::attempt(system, wanted, time, h, q, v, memory, false);
    if constexpr (simd::is_on_tape<S>) {
      for (int i = 0; i < system.model.reduced_nv; ++i) v[i] += system.start_change[i];
      return Base::attempt(system, wanted, time, h, q, v, memory, false);
    } else {
      return iterate(system, wanted, time, h, q, v, memory);
    }
  }

 private:
  template <class S>
  static simd::Mask<S> iterate(
      const System<S>& system, simd::Mask<S> wanted, S time, S h, S* q, S* v, const SolverState<S>& memory) {
    System<S> inner = system;
    Workspace<S>& room = inner.workspace;
    const int nq = system.model.reduced_nq, nv = system.model.reduced_nv, loop_nq = system.model.loop_nq();
    S *const push = take<S>(room, nv), *const more = take<S>(room, nv), *const phi = take<S>(room, loop_nq);
    S *const next_q = take<S>(room, nq + system.model.callback_numbers), *const next_v = take<S>(room, nv);
    RattleIterate<S> iterate = {take<S>(room, nq), take<S>(room, nv), wanted, wanted, all<S>(simd::infinity)};
    const SolverState<S> trial = memory.numbers == nullptr ? memory : memory.copy(room);
    const System<S> begun = inner.with_own_signals(room);
    inner.signals = inner.with_own_signals(room).signals;
    Base::expect(inner, time, h, q, v, push);
    S* const power = take<S>(room, system.states());  // by place
    if constexpr (!Base::includes_reactions) read_motion_powers(inner, power);
    StartConstraints<S> start(inner, time, q, v, room);

    for (int n = 0; n < most && any(iterate.active); ++n) {
      for (int i = 0; i < nq; ++i) next_q[i] = q[i];
      for (int i = 0; i < nv; ++i) next_v[i] = v[i] + push[i];
      simd::copy_each<S>(inner.loop_q, loop_nq, phi);
      const auto tried = iterate.active;
      inner.keep_signals(simd::everywhere<S>(), begun);
      const auto made = Base::attempt(inner, iterate.active, time, h, next_q, next_v, trial, n > 0);
      const S off =
          start.residual(time + h, static_cast<const S*>(next_q), static_cast<const S*>(next_v), room);
      inner.keep_loop_q(!tried, phi);
      const auto taken = iterate.take(nq, nv, next_q, next_v, made, off);
      if (memory.numbers != nullptr) memory.keep(trial, tried, taken);
      if (system.start_change != nullptr) simd::copy_where<S>(taken, push, nv, system.start_change);
      system.keep_signals(taken, inner);
      start.correction(more, room);
      for (int i = 0; i < nv; ++i) push[i] -= select(iterate.active, more[i] / h, all<S>(0));
    }
    for (int i = 0; i < nq; ++i) q[i] = iterate.q[i];
    for (int i = 0; i < nv; ++i) v[i] = iterate.v[i];
    if constexpr (!Base::includes_reactions) {
      inner.keep_signals(simd::everywhere<S>(), system);
      if (integrates_motions(system)) add_motion_work(system, inner, time, h, iterate, power);
    }
    return iterate.good;
  }

  /// Whether the work of some prescribed motion is integrated.
  template <class S>
  static bool integrates_motions(const System<S>& system) {
    return system.model.timed && system.signals.numbers != nullptr;
  }

  /// Powers of prescribed motions after an evaluation of the acceleration.
  template <class S>
  static void read_motion_powers(const System<S>& system, S* power) {
    if (!integrates_motions(system)) return;
    constraints::visit_motions<S>(system.model, [&](int, int, int place) {
      if (place >= 0) power[place] = system.signals.rate[place];
    });
  }

  /// Work of prescribed motions in a step, h/2 (P₀ + P₁), at its end on the constraints.
  template <class S>
  static void add_motion_work(const System<S>& system,
                              System<S> inner,
                              S time,
                              S h,
                              const RattleIterate<S>& iterate,
                              const S* power) {
    Workspace<S>& room = inner.workspace;
    const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
    S *const q = take<S>(room, nq + system.model.callback_numbers), *const v = take<S>(room, nv);
    S *const a = take<S>(room, nv), *const last = take<S>(room, system.states());
    simd::copy_each<S>(iterate.q, nq, q);
    simd::copy_each<S>(iterate.v, nv, v);
    inner.loop_q = system.copy_loop_q(room);
    inner.dependence = nullptr;
    inner.signals.base = nullptr;
    inner.project(time + h, q, v);
    inner.acceleration(time + h, q, v, a);
    read_motion_powers(inner, last);
    constraints::visit_motions<S>(system.model, [&](int, int, int place) {
      if (place < 0) return;
      const S more = all<S>(0.5) * h * (power[place] + last[place]);
      system.signals.numbers[place] += select(iterate.good, more, all<S>(0));
    });
  }
};

}  // namespace pysim::stepping
