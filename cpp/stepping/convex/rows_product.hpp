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
      pass = {tree::take<S>(w, model.nv), tree::take<S>(w, model.nv), tree::take<S>(w, rows.count())};
    }
  }

  /// Takes down λ of a pass, and κ, which the rows have from its solution; `push` (nv) is Σ Jᵀγ.
  void keep(int pass, const S* lambda, const S* push) {
    const Pass& own = pass_[pass];
    simd::copy_each<S>(lambda, model_.nv, own.lambda);
    simd::copy_each<S>(push, model_.nv, own.push);
    simd::copy_each<S>(rows_.multipliers(), rows_.count(), own.kappa);
  }

  /// Adds what the rows receive to q̄ (nv), where `tree` is at q, and to numbers on the tape.
  void pull(const Step& step,
            const dynamics::TreeProduct<S>& tree,
            S* q_bar,
            constraints::RowProduct<S, differs>& product,
            tree::Workspace<S> w) {
    const int nv = model_.nv, count = rows_.count();
    if (!A_.in_rows) {
      A_.recursion.unload();
      A_.recursion.factor(step.base);
    }
    rows_.factor([&](const S* b, S* x) { A_.solve(b, x); });
    S *const v = tree::take<S>(w, nv), *const mu = tree::take<S>(w, count),
             *const kappa = tree::take<S>(w, count);
    for (int pass = 0; pass < step.made; ++pass) {
      const Pass& own = pass_[pass];
      A_.solve(own.push, v);
      for (int i = 0; i < nv; ++i) v[i] += step.free[i];
      rows_.project_velocity(v);
      for (int i = 0; i < count; ++i) {
        mu[i] = -rows_.multipliers()[i];
        kappa[i] = -own.kappa[i];
      }
      product.add(tree,
                  step.q,
                  step.phi,
                  step.time,
                  {{{own.lambda, mu, false, nullptr}, {step.velocity[pass], kappa, true, nullptr}}, 2},
                  nullptr,
                  q_bar,
                  w);
    }
  }

 private:
  struct Pass {
    S *lambda, *push, *kappa;
  };

  const tree::ModelOf<S>& model_;
  constraints::VelocityRows<S>& rows_;
  dynamics::StepMatrix<S>& A_;
  Pass pass_[passes];
};

}  // namespace pysim::stepping
