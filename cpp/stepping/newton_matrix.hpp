// The derivative of an implicit step's equation, by the analytical derivatives of inverse dynamics.
//
//     M (w − v̇(q(w), v(w))) = τ_ID(q, v, w) − Q(q, v)        A = M + G ∂τ/∂v + B ∂τ/∂q
//     with constraints       A = M + Pᵀ (G ∂τ/∂v + B ∂τ/∂q) P
//
// P lets through what the constraints allow. Left out: J_r of a step, which is near 1, and how the
// constraints' directions turn; iterations correct both. But where a step passes a singular position at a
// distance θ, what v + G δw leaves of ġ = 0 changes v̇ by G |v| / θ δw, about 1 for steps of any length: then
// nothing is left out,
//
//     A = M ∂(w − v̇)/∂w      by differences
#pragma once

#include "constraints/tangent.hpp"
#include "constraints/torque_derivatives.hpp"
#include "dynamics/tree_elimination.hpp"
#include "stepping/stage.hpp"

namespace pysim::stepping {

/// A, factored, and M; worlds that asked for no derivatives have the identity for M⁻¹ A.
template <class S>
struct NewtonMatrix {
  int n;
  const int* above;
  S *A, *M;
};

template <class S>
NewtonMatrix<S> take_newton_matrix(const ModelOf<S>& model, Workspace<S>& w) {
  const int n = model.own_nv;
  const bool tied = model.coupled || model.rows > 0 || model.springs > 0;
  const std::ptrdiff_t size = std::ptrdiff_t{1} * n * n;
  return {n, tied ? nullptr : model.above, w.template take<S>(size), w.template take<S>(size)};
}

/// X ← Pᵀ X P.
template <class S>
void restrict_to_tangent(int n, const S* P, S* X, Workspace<S> w) {
  S* const XP = w.template take<S>(std::ptrdiff_t{1} * n * n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      S sum = all<S>(0);
      for (int k = 0; k < n; ++k) sum = fma(X[i * n + k], P[k * n + j], sum);
      XP[i * n + j] = sum;
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      S sum = all<S>(0);
      for (int k = 0; k < n; ++k) sum = fma(P[k * n + i], XP[k * n + j], sum);
      X[i * n + j] = sum;
    }
  }
}

/// A = M ∂(w − v̇)/∂w by forward differences, from `at` and M.
template <class S>
void differentiate(
    System<S> system, const Stage<S>& stage, const Trial<S>& at, const S* w, const S* M, S* A) {
  const int n = system.model.own_nv;
  Workspace<S>& room = system.workspace;
  S *const moved = room.template take<S>(n), *const slopes = room.template take<S>(std::ptrdiff_t{1} * n * n);
  const Trial<S> there = take_trial(system.model, room);
  const S change = all<S>(typename S::Real(sizeof(typename S::Real) == 8 ? 1e-7 : 1e-3)) / stage.G;
  for (int i = 0; i < n; ++i) moved[i] = w[i];
  for (int j = 0; j < n; ++j) {
    moved[j] = w[j] + change;
    evaluate(system, stage, static_cast<const S*>(moved), there);
    moved[j] = w[j];
    for (int i = 0; i < n; ++i) slopes[i * n + j] = (there.rest[i] - at.rest[i]) / change;
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      A[i * n + j] = all<S>(0);
      for (int k = 0; k < n; ++k) A[i * n + j] = fma(M[i * n + k], slopes[k * n + j], A[i * n + j]);
    }
  }
}

/// Forms and factors A at the acceleration w of the `wanted` worlds; the others keep theirs.
template <class S>
void form(const System<S>& system,
          const Stage<S>& stage,
          const Trial<S>& at,
          const S* w,
          typename S::Mask wanted,
          const NewtonMatrix<S>& matrix) {
  const auto& model = system.model;
  const int n = matrix.n;
  Workspace<S> scratch = system.workspace;
  S* const A = scratch.template take<S>(std::ptrdiff_t{1} * n * n);
  const auto D = constraints::take_matrices<S>(n, scratch);
  Workspace<S> inner = scratch;
  const S* q = tree::tree_q(model, static_cast<const S*>(at.q), inner);
  const S* v = tree::tree_v(model, static_cast<const S*>(at.v), inner);
  const S* a = tree::tree_v(model, w, inner);
  const spatial::Force<S>* none = nullptr;
  const auto d = dynamics::prepare_rnea_derivatives(model, q, v, a, none, inner);
  constraints::own_torque_derivatives(model, d, q, v, true, D, inner);
  if (system.by_differences) {
    System<S> behind = system;
    behind.workspace = inner;
    differentiate(behind, stage, at, w, static_cast<const S*>(D.a), A);
  } else {
    for (int i = 0; i < n * n; ++i) A[i] = fma(stage.G, D.v[i], stage.B * D.q[i]);
    if (model.rows > 0) {
      S* const P = inner.template take<S>(std::ptrdiff_t{1} * n * n);
      constraints::tangent_projector(
          model, static_cast<const S*>(at.q), static_cast<const S*>(at.v), system.loop_q, P, inner);
      restrict_to_tangent(n, static_cast<const S*>(P), A, inner);
    }
    for (int i = 0; i < n * n; ++i) A[i] += D.a[i];
  }
  dynamics::factor_tree_matrix(n, matrix.above, A);
  for (int i = 0; i < n * n; ++i) {
    matrix.A[i] = select(wanted, A[i], matrix.A[i]);
    matrix.M[i] = select(wanted, D.a[i], matrix.M[i]);
  }
}

/// x ← A⁻¹ M x; `room` has n numbers.
template <class S>
void precondition(const NewtonMatrix<S>& matrix, S* x, S* room) {
  const int n = matrix.n;
  for (int i = 0; i < n; ++i) {
    room[i] = all<S>(0);
    for (int j = 0; j < n; ++j) room[i] = fma(matrix.M[i * n + j], x[j], room[i]);
  }
  dynamics::solve_tree_matrix(n, matrix.above, static_cast<const S*>(matrix.A), room);
  for (int i = 0; i < n; ++i) x[i] = room[i];
}

}  // namespace pysim::stepping
