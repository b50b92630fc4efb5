// Product of the derivatives of a step's matrix A = M + E with cotangents.
#pragma once

#include "dynamics/aba.hpp"
#include "dynamics/rnea_product.hpp"
#include "dynamics/step_blocks.hpp"

namespace pysim::dynamics {

/// A + diagonal, in products: −λᵀ ∂A x for rows of a step.
template <class S>
struct StepMatrixCotangents {
  S* q;      ///< (nv)
  S* base;   ///< of what A has beside M, see dynamics/step_blocks.hpp
  S* theta;  ///< (bodies, ten); null for none
};

/// Adds −λᵀ ∂A x. L [bodies] are the twists that λ gives, and L_bar cotangents of them, which are lost.
template <class S>
void subtract_matrix_product(const ModelOf<S>& model,
                             const TreeProduct<S>& tree,
                             const S* lambda,
                             const Motion<S>* L,
                             Force<S>* L_bar,
                             const S* x,
                             const StepMatrixCotangents<S>& bar,
                             Workspace<S> w) {
  auto* const X = take<Motion<S>>(w, model.bodies);
  auto* const X_bar = take<Force<S>>(w, model.bodies);
  tree.spread(x, X);
  for (int b = 0; b < model.bodies; ++b) {
    const auto M = body_inertia<S>(model, b);
    L_bar[b] = L_bar[b] - M * X[b];
    X_bar[b] = -(M * L[b]);
    if (bar.theta == nullptr) continue;
    add_inertia_cotangents(simd::all<S>(-1), L[b], X[b], bar.theta + 10 * b);
  }
  S* const none = nullptr;
  tree.gather(L, lambda, L_bar, bar.q, none);
  tree.gather(X, x, X_bar, bar.q, none);
  subtract_block_cotangents(model, lambda, x, bar.base);
}

/// The same without further cotangents of the twists.
template <class S>
void subtract_matrix_product(const ModelOf<S>& model,
                             const TreeProduct<S>& tree,
                             const S* lambda,
                             const S* x,
                             const StepMatrixCotangents<S>& bar,
                             Workspace<S> w) {
  auto* const L = take<Motion<S>>(w, model.bodies);
  auto* const L_bar = take<Force<S>>(w, model.bodies);
  tree.spread(lambda, L);
  for (int b = 0; b < model.bodies; ++b) L_bar[b] = spatial::zero_force<S>();
  subtract_matrix_product(model, tree, lambda, L, L_bar, x, bar, w);
}

}  // namespace pysim::dynamics
