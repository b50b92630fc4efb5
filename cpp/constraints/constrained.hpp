// Forward dynamics of a mechanism whose loops are closed and whose couplings hold.
//
//     M v̇ = τ − h + Jᵀ λ,  g̈ = J v̇ + bias = 0      ⟹      (J M⁻¹ Jᵀ) λ = −g̈₀,   v̇ = v̇₀ + M⁻¹ Jᵀ λ
//
// where v̇₀ and g̈₀ are those of the tree alone [Featherstone 2008, section 8.5]. J M⁻¹ Jᵀ is
// solved with its rank, so redundant rows are welcome.
#pragma once

#include "constraints/couplings.hpp"
#include "constraints/delassus.hpp"

namespace pysim::constraints {

/// A mechanism at one state with its rows, both factored.
template <class S>
struct ConstrainedMechanism {
  MechanismFactor<S> factor;
  Rows<S> rows;
  Delassus<S> delassus;

  ConstrainedMechanism(const ModelOf<S>& model, Workspace<S>& w)
      : factor(model, w), rows(take_rows(model, true, w)), delassus(model, w) {}

  /// v̇ of the user's coordinates, constraints and couplings included, and the constraints' forces λ [rows].
  /// φ of the loops follows q, but for that of hinges.
  void accelerate(const S* reduced_q,
                  const S* reduced_v,
                  const S* tau,
                  const Force<S>* f_ext,
                  bool passive,
                  S* phi,
                  S* a,
                  S* lambda,
                  Workspace<S> w,
                  Dependence<S>* dependence = nullptr) {
    const ModelOf<S>& model = factor.model;
    const S* q = tree::full_q(model, reduced_q, w);
    const S* v = tree::full_v(model, reduced_v, w);
    factor.move(q, v, w);
    S* force = nullptr;
    if (passive && model.joint_forces) {
      force = take<S>(w, model.nv);
      dynamics::passive_joint_forces(model, q, v, force, w);
    }
    factor.accelerate(q, v, tau, force, f_ext, passive, a, w);
    evaluate_rows(model, factor, phi, rows, true, w);
    evaluate_couplings(model, reduced_q, reduced_v, static_cast<const S*>(a), rows, w);
    delassus.factorise(factor, rows, dependence);
    for (int i = 0; i < model.rows; ++i) lambda[i] = -rows.gdd[i];
    hold(a, lambda, w);
    S* const push = take<S>(w, model.reduced_nv);
    delassus.push(factor, lambda, push);
    for (int i = 0; i < model.reduced_nv; ++i) a[i] += push[i];
  }

 private:
  /// λ ← Λ⁺ λ, of λ = −(J v̇₀ + bias). Near a singular position what the tree's own accelerations ask for is
  /// given in full.
  void hold(const S* a, S* lambda, Workspace<S> w) const {
    const auto slight = delassus.G.is_slight();
    if (none(slight)) return delassus.G.solve(lambda);
    const ModelOf<S>& model = factor.model;
    S *const apart = take<S>(w, model.rows), *const bias = take<S>(w, model.rows);
    for (int i = 0; i < model.rows; ++i) {
      apart[i] = lambda[i];
      bias[i] = lambda[i] + row_times(model, rows, i, a);
    }
    delassus.G.solve(lambda);
    delassus.G.solve_split(apart, bias);
    for (int i = 0; i < model.rows; ++i) lambda[i] = select(slight, apart[i], lambda[i]);
  }
};

}  // namespace pysim::constraints
