// Forward dynamics of a mechanism subject to its loops and couplings.
//
//     M v̇ = τ − h + Jᵀ λ,  g̈ = J v̇ + bias = 0      ⟹      G λ = −g̈₀,   v̇ = v̇₀ + M⁻¹ Jᵀ λ
//
// where v̇₀ and g̈₀ are those of the tree alone and G = J M⁻¹ Jᵀ is the Delassus matrix [Featherstone 2008,
// section 8.5]. G is solved with its rank, so rows may be redundant.
#pragma once

#include "constraints/couplings.hpp"
#include "constraints/singular/split_forces.hpp"
#include "dynamics/passive.hpp"

namespace pysim::constraints {

/// A mechanism at one state and its constraint rows, both factored.
template <class S>
struct ConstrainedMechanism {
  MechanismFactor<S> factor;
  Rows<S> rows;
  Delassus<S> delassus;
  Clock<S> clock;

  ConstrainedMechanism(const ModelOf<S>& model, const Clock<S>& at, Workspace<S>& w)
      : factor(model, w), rows(take_rows(model, true, w)), delassus(rows, w), clock(at) {}
  ConstrainedMechanism(const ConstrainedMechanism&) = delete;  // the matrix refers to the rows

  /// v̇ of the user's coordinates, constraints included, and the constraint forces λ [rows].
  /// φ of the loops follows q, except that of hinges.
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
    const bool bent = model.elements > model.straight_paths;
    if (passive && (model.joint_forces || bent || model.contacts != nullptr)) {
      force = take<S>(w, model.nv);
      dynamics::passive_joint_forces(model, q, v, force, w);
      if (bent) elements::add_element_forces<S>(model, q, v, force, w, false);
      if (model.contacts != nullptr) elements::add_contact_forces<S>(model, q, v, force, w);
    }
    factor.accelerate(q, v, tau, force, f_ext, passive, a, w);
    evaluate_rows(model, factor, clock, phi, rows, true, w);
    evaluate_couplings(model, clock, reduced_q, reduced_v, static_cast<const S*>(a), rows, w);
    delassus.factorise(factor, dependence);
    for (int i = 0; i < rows.count; ++i) lambda[i] = -rows.gdd[i];
    if (any(delassus.G.is_slight())) {
      split_forces(delassus, static_cast<const S*>(a), lambda, w);
    } else {
      delassus.G.solve(lambda);
    }
    S* const push = take<S>(w, model.reduced_nv);
    delassus.push(factor, lambda, push);
    for (int i = 0; i < model.reduced_nv; ++i) a[i] += push[i];
  }
};

}  // namespace pysim::constraints
