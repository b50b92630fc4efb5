// Forward dynamics of a mechanism whose loops are closed and whose couplings hold.
//
//     M v̇ = τ − h + Jᵀ λ,  g̈ = J v̇ + bias = 0      ⟹      (J M⁻¹ Jᵀ) λ = −g̈₀,   v̇ = v̇₀ + M⁻¹ Jᵀ λ
//
// where v̇₀ and g̈₀ are those of the tree alone [Featherstone 2008, section 8.5]. J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ comes
// from one sweep to the root for each row; it is solved with its rank, so redundant rows are welcome.
#pragma once

#include "constraints/relations.hpp"
#include "constraints/semidefinite.hpp"

namespace pysim::constraints {

/// Λ = J M⁻¹ Jᵀ, factored, and the rows of Y = L⁻¹ Jᵀ.
template <class S>
struct ConstraintInertia {
  int rows, nv;
  S* Y;          ///< (rows, nv)
  S* scaled;     ///< [nv] a row of Y D⁻¹
  S* reference;  ///< [rows]
  Semidefinite<S> Lambda;

  ConstraintInertia(const ModelOf<S>& model, Workspace<S>& w) : rows(model.rows), nv(model.own_nv) {
    Y = w.template take<S>(std::ptrdiff_t{1} * rows * nv);
    scaled = w.template take<S>(nv);
    Lambda.n = rows;
    Lambda.reference = reference = w.template take<S>(rows);
    Lambda.A = w.template take<S>(std::ptrdiff_t{1} * rows * rows);
    Lambda.inv_D = w.template take<S>(rows);
    Lambda.scale = w.template take<S>(rows);
    Lambda.pass = w.template take<S>(rows);
    Lambda.column = w.template take<S>(rows);
    Lambda.E = w.template take<S>(rows);
    Lambda.right = w.template take<S>(rows);
    Lambda.met = w.take_indices(rows);
    Lambda.first = w.take_indices(rows);
  }

  void factorise(FactoredMechanism<S>& factor, const Rows<S>& r) {
    const auto& model = factor.model;
    for (int i = 0; i < rows * nv; ++i) Y[i] = r.J[i];
    for (int i = 0; i < rows; ++i) {
      factor.forward(model.row_way[i], Y + i * nv);
      multiply_rows(factor, i);
    }
    refer(model, r);
    Lambda.factorise();
  }

  /// Row i of Y D⁻¹ Yᵀ, up to its diagonal: with those rows before it that reach a body it reaches.
  void multiply_rows(const FactoredMechanism<S>& factor, int i) {
    const auto& model = factor.model;
    const tree::Meeting& meeting = model.row_meeting[i];
    const int* const met = model.met + meeting.first;
    S* const row = Lambda.A + i * rows;
    Lambda.first[i] = met[0];
    for (int j = met[0]; j < i; ++j) row[j] = all<S>(0);
    for (int k = 0; k < nv; ++k) scaled[k] = Y[i * nv + k] * factor.inv_D[k];
    for (int n = 0; n < meeting.count; ++n) row[met[n]] = product(model, i, met[n]);
  }

  /// The largest diagonal among a row's kin: rows of its loop that hold positions, or that hold turns.
  void refer(const ModelOf<S>& model, const Rows<S>& r) {
    const S half = all<S>(typename S::Real(0.5)), o = all<S>(0);
    for (int i = 0; i < rows; ++i) reference[i] = Lambda.A[i * rows + i];
    for (int k = 0; k < model.loops; ++k) {
      const Loop& loop = model.loop[k];
      S of_positions = o, of_turns = o;
      for (int i = loop.row; i < loop.row + loop.rows; ++i) {
        const S size = Lambda.A[i * rows + i];
        const auto holds_position = dot(r.W[i].f, r.W[i].f) > half;
        of_positions = max(of_positions, select(holds_position, size, o));
        of_turns = max(of_turns, select(holds_position, o, size));
      }
      for (int i = loop.row; i < loop.row + loop.rows; ++i) {
        reference[i] = select(dot(r.W[i].f, r.W[i].f) > half, of_positions, of_turns);
      }
    }
  }

  /// Yᵢ D⁻¹ Yⱼᵀ, over the bodies that lie on both rows' ways; `scaled` is Yᵢ D⁻¹.
  S product(const ModelOf<S>& model, int i, int j) const {
    const S* const z = Y + j * nv;
    S sum = all<S>(0);
    if (model.coupled) {
      for (int k = 0; k < nv; ++k) sum = fma(scaled[k], z[k], sum);
      return sum;
    }
    const tree::Way &own = model.row_way[i], &other = model.row_way[j];
    const int *a = model.way + own.first, *b = model.way + other.first;
    for (const int *const a_end = a + own.count, *const b_end = b + other.count; a < a_end && b < b_end;) {
      if (*a == *b) {
        const Joint& joint = model.joint[*a];
        for (int k = joint.v; k < joint.v + joint.nv; ++k) sum = fma(scaled[k], z[k], sum);
      }
      const int at = *a;  // both descend
      a += *b <= at;
      b += at <= *b;
    }
    return sum;
  }

  /// x = M⁻¹ Jᵀ λ.
  void push(FactoredMechanism<S>& factor, const S* lambda, S* x) const {
    for (int k = 0; k < nv; ++k) x[k] = all<S>(0);
    for (int i = 0; i < rows; ++i) {
      for (int k = 0; k < nv; ++k) x[k] = fma(lambda[i], Y[i * nv + k], x[k]);
    }
    factor.backward(x);
  }
};

/// Passive forces in tree coordinates; springs between bodies hang where these were placed already.
template <class S>
void passive_forces(const FactoredMechanism<S>& factor, const S* q, const S* v, S* tau, Workspace<S> w) {
  const auto& model = factor.model;
  dynamics::passive_joint_forces(model, q, v, tau, w);
  if (model.springs == 0) return;
  auto* const carrier = w.template take<dynamics::Carrier<S>>(model.bodies);
  for (int b = 0; b < model.bodies; ++b) {
    carrier[b] = {factor.body[b].X_PB, factor.X_WB[b], factor.body[b].V};
  }
  dynamics::add_spring_forces(model, carrier, static_cast<const Motion<S>*>(factor.columns), tau);
}

/// v̇ of the user's coordinates, constraints and couplings included, and the constraints' forces λ [rows].
/// φ of the loops follows q.
template <class S>
void constrained_acceleration(const ModelOf<S>& model,
                              const S* own_q,
                              const S* own_v,
                              const S* tau,
                              const Force<S>* f_ext,
                              bool passive,
                              S* phi,
                              S* a,
                              S* lambda,
                              Workspace<S> w) {
  const S* q = tree::tree_q(model, own_q, w);
  const S* v = tree::tree_v(model, own_v, w);
  FactoredMechanism<S> factor(model, w);
  factor.move(q, v, f_ext, w);
  S* force = nullptr;
  if (passive && model.has_passive) {
    force = w.template take<S>(model.nv);
    passive_forces(factor, q, v, force, w);
  }
  factor.accelerate(q, v, tau, force, f_ext, a, w);
  const Rows<S> rows = take_rows(model, true, w);
  evaluate_rows(model, factor, phi, rows, true, w);
  evaluate_relations(model, own_q, own_v, static_cast<const S*>(a), rows, w);

  ConstraintInertia<S> inertia(model, w);
  inertia.factorise(factor, rows);
  for (int i = 0; i < model.rows; ++i) lambda[i] = -rows.gdd[i];
  inertia.Lambda.solve(lambda);
  S* const push = w.template take<S>(model.own_nv);
  inertia.push(factor, lambda, push);
  for (int i = 0; i < model.own_nv; ++i) a[i] += push[i];
}

}  // namespace pysim::constraints
