// Product of the derivatives of rows K v = r in a convex step with cotangents.
//
//     A (v₁ − ṽ) + Kᵀμ = Σ Jᵀγ,  K v₁ = r             ṽ  velocity of the trees alone, v₁ that of a pass
//
// With cotangents of v₁, H λ + Kᵀκ = v̄₁, K λ = 0, the rows receive  −λᵀ dKᵀμ − κᵀ d(K v₁ − r).
#pragma once

#include "constraints/row_product.hpp"
#include "constraints/velocity_rows.hpp"
#include "dynamics/step_matrix.hpp"

namespace pysim::stepping {

/// Sets A λ (nv), where `base` is what A has beside M, and L [bodies] are the twists that λ gives.
template <class S>
void apply_step_matrix(const tree::ModelOf<S>& model,
                       const dynamics::TreeProduct<S>& tree,
                       const S* base,
                       const S* lambda,
                       const spatial::Motion<S>* L,
                       S* to,
                       tree::Workspace<S> w) {
  auto* const momentum = tree::take<spatial::Force<S>>(w, model.bodies);
  for (int b = 0; b < model.bodies; ++b) momentum[b] = dynamics::body_inertia<S>(model, b) * L[b];
  S* const minus = tree::take<S>(w, model.nv);
  for (int i = 0; i < model.nv; ++i) {
    to[i] = (simd::all<S>(model.armature[i]) + base[i]) * lambda[i];
    minus[i] = -lambda[i];
  }
  dynamics::subtract_beside_diagonal(model, base, static_cast<const S*>(minus), to);
  tree.gather(L, lambda, momentum, nullptr, to);
}

template <class S, bool differs>
class HeldRowsProduct {
 public:
  static constexpr int passes = 2;

  /// What rows read of a step.
  struct Step {
    const S *base, *free;  ///< what A has beside M, and ṽ (nv)
    const S *q, *phi;
    S time;                    ///< of the rows
    const S* const* velocity;  ///< v₁ of the passes (nv)
    int made;                  ///< passes
  };

  HeldRowsProduct(const tree::ModelOf<S>& model,
                  constraints::VelocityRows<S>& rows,
                  dynamics::StepMatrix<S>& A,
                  tree::Workspace<S>& w)
      : model_(model), rows_(rows), A_(A) {
    for (Pass& pass : pass_) {
      pass = {tree::take<S>(w, model.nv), tree::take<S>(w, rows.count()), tree::take<S>(w, rows.count())};
    }
  }

  /// Begins a step: finds −μ of its passes, for whose impulses `push(pass, to, w)` sets Σ Jᵀγ (nv).
  template <class Push>
  void begin(const Step& step, const Push& push, tree::Workspace<S> w) {
    step_ = step;
    if (!A_.in_rows) {
      A_.recursion.unload();
      A_.recursion.factor(step.base);
    }
    rows_.factor([&](const S* b, S* x) { A_.solve(b, x); });
    S *const v = tree::take<S>(w, model_.nv), *const sum = tree::take<S>(w, model_.nv);
    for (int pass = 0; pass < step.made; ++pass) {
      push(pass, sum, w);
      A_.solve(static_cast<const S*>(sum), v);
      for (int i = 0; i < model_.nv; ++i) v[i] += step.free[i];
      rows_.project_velocity(v);
      for (int i = 0; i < rows_.count(); ++i) pass_[pass].mu[i] = -rows_.multipliers()[i];
    }
  }

  /// Takes down λ of a pass, and −κ, which the rows have from its solution.
  void keep(int pass, const S* lambda) {
    const Pass& own = pass_[pass];
    simd::copy_each<S>(lambda, model_.nv, own.lambda);
    for (int i = 0; i < rows_.count(); ++i) own.kappa[i] = -rows_.multipliers()[i];
  }

  /// Adds what the rows receive to q̄ (nv), where `tree` is at q, and to numbers on the tape.
  void pull(const dynamics::TreeProduct<S>& tree,
            S* q_bar,
            constraints::RowProduct<S, differs>& product,
            tree::Workspace<S> w) {
    for (int pass = 0; pass < step_.made; ++pass) {
      const Pass& own = pass_[pass];
      product.add(
          tree,
          step_.q,
          step_.phi,
          step_.time,
          {{{own.lambda, own.mu, false, nullptr}, {step_.velocity[pass], own.kappa, true, nullptr}}, 2},
          nullptr,
          q_bar,
          w);
    }
  }

 private:
  struct Pass {
    S *lambda, *mu, *kappa;  ///< the last two negative
  };

  const tree::ModelOf<S>& model_;
  constraints::VelocityRows<S>& rows_;
  dynamics::StepMatrix<S>& A_;
  Pass pass_[passes];
  Step step_ = {};
};

}  // namespace pysim::stepping
