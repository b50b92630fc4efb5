// Derivative of an implicit step's equation, from the analytical derivatives of inverse dynamics.
//
//     M (w − v̇(q(w), v(w))) = τ_ID(q, v, w) − Q(q, v)        A = M + G ∂τ/∂v + B ∂τ/∂q
//     with constraints                                       A = M (1 − G ∂v̇/∂v − B ∂v̇/∂q)
//
// J_r of a step, which is near 1, is neglected; iterations correct it.
//
// On long branches, where the factor of A takes time in proportion to n³, that of the joints' springs and
// dampers alone, M + E, takes time in proportion to n, and iterations correct what it neglects: Coriolis
// forces, the change of the inertia and of weights, elements between bodies, and the change of J.
#pragma once

#include "constraints/constrained_derivatives.hpp"
#include "constraints/sprung_mechanism.hpp"
#include "constraints/torque_derivatives.hpp"
#include "dynamics/tree_elimination.hpp"
#include "stepping/implicit_equation.hpp"
#include "stepping/signal_derivatives.hpp"

namespace pysim::stepping {

/// A, factored, and M; worlds that request no derivatives have the identity for M⁻¹ A. On long branches, also
/// M + E, factored, and a spare one.
template <class S>
struct NewtonMatrix {
  int n;
  const int* above;
  S *A, *M;
  bool has_sprung;
  constraints::SprungMechanism<S> sprung, spare;
};

/// Whether the factor of M + E costs less than that of A, by the numbers of coordinates above each, squared;
/// that of constraint rows grows with their number squared.
template <class S>
bool suits_sprung_factor(const ModelOf<S>& model) {
  constexpr std::ptrdiff_t most = 150;  // mean; 21 hinges in a row have 137, 8 balls 158
  constexpr int most_rows = 4;          // one row to as many coordinates
  if (model.mimic || most_rows * model.rows > model.nv || !model.joint_forces) return false;
  std::ptrdiff_t sum = 0;
  for (int b = 0; b < model.bodies; ++b) {
    std::ptrdiff_t depth = 0;
    for (int c = model.joint[b].parent; c >= 0; c = model.joint[c].parent) depth += model.joint[c].nv;
    sum += model.joint[b].nv * depth * depth;
  }
  return sum > most * model.nv;
}

template <class S>
NewtonMatrix<S> take_newton_matrix(const ModelOf<S>& model, Workspace<S>& w) {
  const int n = model.reduced_nv;
  const bool tied =
      model.mimic || model.rows > 0 || has_forces_between_bodies(model) || model.signals != nullptr;
  const std::ptrdiff_t size = std::ptrdiff_t{1} * n * n;
  const bool has_sprung = suits_sprung_factor<S>(model);
  S *const A = take<S>(w, size), *const M = take<S>(w, size);
  return {n, tied ? nullptr : model.above, A, M, has_sprung, {model, has_sprung, w}, {model, has_sprung, w}};
}

/// A and M at one state, row-major.
template <class S>
struct Formed {
  S *A, *M;
};

/// For a tree, at the acceleration w.
template <class S>
Formed<S> form_of_tree(const System<S>& system,
                       const Stage<S>& stage,
                       const NewtonIterate<S>& at,
                       const S* w,
                       Workspace<S>& room) {
  const auto& model = system.model;
  const auto D = constraints::take_matrices<S>(model.reduced_nv, room);
  Workspace<S> scratch = room;
  const S* q = tree::full_q(model, static_cast<const S*>(at.q), scratch);
  const S* v = tree::full_v(model, static_cast<const S*>(at.v), scratch);
  const S* a = tree::full_v(model, w, scratch);
  const spatial::Force<S>* none = nullptr;
  const auto d = dynamics::prepare_rnea_derivatives(model, q, v, a, none, scratch);
  constraints::reduced_torque_derivatives(model, d, q, v, true, D, scratch);
  if (system.signals.numbers != nullptr) {
    add_signal_derivatives<S>(model, stage.time, at.q, at.v, system.signals, all<S>(-1), D.q, D.v, scratch);
  }
  for (int i = 0; i < D.n * D.n; ++i) D.q[i] = D.a[i] + fma(stage.G, D.v[i], stage.B * D.q[i]);
  return {D.q, D.a};
}

/// For a mechanism with constraints, at its own acceleration.
template <class S>
Formed<S> form_of_constrained(const System<S>& system,
                              const Stage<S>& stage,
                              const NewtonIterate<S>& at,
                              Workspace<S>& room) {
  const int n = system.model.reduced_nv;
  const S *const q = at.q, *const v = at.v;
  const spatial::Force<S>* none = nullptr;
  S *const tau = take<S>(room, n), *const phi = system.copy_loop_q(room);
  system.actuate(stage.time, q, v, tau, room);
  constraints::ConstrainedMechanism<S> mechanism(system.model, {stage.time, all<S>(1)}, room);
  auto dependence = system.copy_dependence(room);
  auto* const known = system.dependence == nullptr ? nullptr : &dependence;
  const auto D = constraints::kkt_slopes<S>(mechanism, q, v, tau, none, true, phi, room, known);
  if (system.signals.numbers != nullptr) {
    add_signal_derivatives(system.model, stage.time, q, v, system.signals, all<S>(-1), D.q, D.v, room);
  }
  const auto inverse = constraints::kkt_inverse<S>(mechanism, q, false, room);
  const auto slopes = constraints::take_matrices<S>(n, room);
  constraints::solve_slopes(inverse, D, 0, n, slopes);
  S* const A = slopes.v;
  for (int i = 0; i < n * n; ++i) {
    slopes.q[i] = fma(stage.G, slopes.v[i], stage.B * slopes.q[i]);
    A[i] = D.M[i];
  }
  constraints::subtract_product<S>({D.M, n, n, n}, {slopes.q, n, n, n}, {A, n, n, n});
  return {A, D.M};
}

/// Factors M + E at q(w), v(w) of the `wanted` worlds; the others keep theirs.
template <class S>
void form_sprung(const System<S>& system,
                 const Stage<S>& stage,
                 const NewtonIterate<S>& at,
                 simd::Mask<S> wanted,
                 NewtonMatrix<S>& matrix) {
  const constraints::RowState<S> rows = {{stage.time, all<S>(1)}, system.loop_q, system.dependence};
  matrix.spare.factor(at.q, at.v, stage.G, stage.B, rows, system.workspace);
  matrix.sprung.keep(wanted, matrix.spare);
}

/// Forms and factors A at the acceleration w of the `wanted` worlds; the others keep theirs.
template <class S>
void form(const System<S>& system,
          const Stage<S>& stage,
          const NewtonIterate<S>& at,
          const S* w,
          simd::Mask<S> wanted,
          const NewtonMatrix<S>& matrix) {
  const int n = matrix.n;
  Workspace<S> scratch = system.workspace;
  const Formed<S> now = system.model.rows > 0 ? form_of_constrained(system, stage, at, scratch)
                                              : form_of_tree(system, stage, at, w, scratch);
  dynamics::factor_tree_matrix(n, matrix.above, now.A);
  for (int i = 0; i < n * n; ++i) {
    matrix.A[i] = select(wanted, now.A[i], matrix.A[i]);
    matrix.M[i] = select(wanted, now.M[i], matrix.M[i]);
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
