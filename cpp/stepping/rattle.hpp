// A symmetric scheme held on the constraints, symmetric still [Andersen 1983; Hairer, Lubich, Wanner 2006,
// sections V.4.1 and VII.1.4; Marsden and West 2001, section 3.5].
//
//     v₀⁺ = v₀ + M(q₀)⁻¹ J(q₀)ᵀ λ      (q₁, v₁⁻) = Φ(q₀, v₀⁺)      λ such that g(q₁) = 0
//     v₁  = v₁⁻ + M(q₁)⁻¹ J(q₁)ᵀ μ     J(q₁) v₁ = 0, by the projection that ends every step
//
// Run backwards it makes the same step, so energy does not drift. Around a variational scheme of the tree
// alone it is the constrained variational scheme; around a scheme whose accelerations keep to the
// constraints, λ is what a step's curvature leaves.
#pragma once

#include "stepping/memory.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// The constraints at the start of a step, and how far any other q is off them.
template <class S>
class Start {
 public:
  Start(const System<S>& system, const S* q, const S* v, Workspace<S>& w)
      : system_(system),
        factor_(system.model, w),
        away_(system.model, w),
        rows_(constraints::take_rows(system.model, w)),
        inertia_(system.model, w),
        lambda_(w.template take<S>(system.model.rows)) {
    const auto& model = system.model;
    Workspace<S> inner = w;
    factor_.factorise(tree::tree_q(model, q, inner), tree::tree_v(model, v, inner), inner);
    constraints::evaluate_rows(model, factor_, system.loop_q, rows_, true, inner);
    constraints::evaluate_relations<S>(model, q, v, nullptr, rows_, inner);
    inertia_.factorise(factor_, rows_);
  }

  /// Largest |g(q)|.
  S residual(const S* q, const S* v, Workspace<S> w) {
    const auto& model = system_.model;
    away_.kinematics(tree::tree_q(model, q, w), tree::tree_v(model, v, w), w);
    constraints::evaluate_rows(model, away_, system_.loop_q, rows_, false, w);
    constraints::evaluate_relations<S>(model, q, v, nullptr, rows_, w);
    return constraints::largest(static_cast<const S*>(rows_.g), model.rows);
  }

  /// x = M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ g of the residual found last.
  void way_back(S* x) {
    for (int i = 0; i < system_.model.rows; ++i) lambda_[i] = rows_.g[i];
    inertia_.Lambda.solve(lambda_);
    inertia_.push(factor_, lambda_, x);
  }

 private:
  const System<S>& system_;
  constraints::InertiaFactor<S> factor_, away_;
  constraints::Rows<S> rows_;
  constraints::ConstraintInertia<S> inertia_;
  S* lambda_;
};

template <class Base>
struct Rattle {
  static constexpr int most = 20;  ///< corrections of λ

  template <class S>
  static void step(const System<S>& system, S time, S h, S* q, S* v) {
    const S one = all<S>(1);
    const Memory<S> memory = {system.memory, system.model.own_nv};
    const S good = attempt(system, one, time, h, q, v, memory);
    const S failed = select(good == one, all<S>(0), all<S>(__builtin_nan("")));
    for (int i = 0; i < system.model.own_nq; ++i) q[i] += failed;
  }

  /// 1 where the step succeeds.
  template <class S>
  static S attempt(const System<S>& system, S wanted, S time, S h, S* q, S* v, const Memory<S>& memory) {
    using Tolerance = constraints::ProjectionTolerance<typename S::Real>;
    if (system.model.rows == 0) return Base::attempt(system, wanted, time, h, q, v, memory, false);
    System<S> inner = system;
    Workspace<S>& room = inner.workspace;
    const auto take = [&](int count) { return room.template take<S>(count); };
    const int nq = system.model.own_nq, nv = system.model.own_nv;
    S *const push = take(nv), *const more = take(nv), *const q1 = take(nq), *const v1 = take(nv);
    S *const try_q = take(nq + system.model.callback_numbers), *const try_v = take(nv);
    const Memory<S> trial = memory.numbers == nullptr ? memory : memory.copy(room);
    const S one = all<S>(1), none = all<S>(0);
    Base::expect(inner, time, h, q, v, push);
    Start<S> start(inner, q, v, room);

    S active = wanted, good = wanted, last = all<S>(__builtin_inf());
    for (int n = 0; n < most && simd::any<S>(active == one); ++n) {
      for (int i = 0; i < nq; ++i) try_q[i] = q[i];
      for (int i = 0; i < nv; ++i) try_v[i] = v[i] + push[i];
      const S made = Base::attempt(inner, active, time, h, try_q, try_v, trial, n > 0);
      const S off = start.residual(static_cast<const S*>(try_q), static_cast<const S*>(try_v), room);
      const S nearer = active * (n == 0 ? one : select(off < last, one, none));
      const auto taken = nearer == one;
      for (int i = 0; i < nq; ++i) q1[i] = select(taken, try_q[i], q1[i]);
      for (int i = 0; i < nv; ++i) v1[i] = select(taken, try_v[i], v1[i]);
      if (memory.numbers != nullptr) memory.keep(trial, active == one, taken);
      good = select(taken, made, good);
      const S gains = select(off > all<S>(Tolerance::enough), one, select(off + off < last, one, none));
      active = nearer * made * select(off > all<S>(Tolerance::residual), gains, none);
      last = off;
      start.way_back(more);
      for (int i = 0; i < nv; ++i) push[i] -= select(active == one, more[i] / h, none);
    }
    for (int i = 0; i < nq; ++i) q[i] = q1[i];
    for (int i = 0; i < nv; ++i) v[i] = v1[i];
    return good;
  }
};

}  // namespace pysim::stepping
