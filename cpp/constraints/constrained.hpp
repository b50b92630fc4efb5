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
  S* reference;  ///< [rows]
  Semidefinite<S> Lambda;

  ConstraintInertia(const ModelOf<S>& model, Workspace<S>& w) : rows(model.rows), nv(model.own_nv) {
    Y = w.template take<S>(std::ptrdiff_t{1} * rows * nv);
    Lambda.n = rows;
    Lambda.reference = reference = w.template take<S>(rows);
    Lambda.A = w.template take<S>(std::ptrdiff_t{1} * rows * rows);
    Lambda.inv_D = w.template take<S>(rows);
    Lambda.scale = w.template take<S>(rows);
    Lambda.pivot = w.template take<S>(rows);
    Lambda.E = w.template take<S>(rows);
    Lambda.right = w.template take<S>(rows);
    Lambda.filled = w.take_indices(rows);
  }

  void factorise(FactoredMechanism<S>& factor, const Rows<S>& r) {
    const S* J = r.J;
    for (int i = 0; i < rows * nv; ++i) Y[i] = J[i];
    for (int i = 0; i < rows; ++i) factor.forward(factor.model.row_way[i], Y + i * nv);
    for (int i = 0; i < rows; ++i) {
      S* const row = Lambda.A + i * rows;
      for (int j = 0; j <= i; ++j) row[j] = all<S>(0);
      const tree::Meeting& meeting = factor.model.row_meeting[i];
      for (int n = 0; n < meeting.count; ++n) {
        const int j = factor.model.met[meeting.first + n];
        row[j] = product(factor, i, j);
      }
    }
    refer(factor.model, r);
    Lambda.factorise();
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

  /// Yᵢ D⁻¹ Yⱼᵀ, along the way of row i.
  S product(const FactoredMechanism<S>& factor, int i, int j) const {
    const auto& model = factor.model;
    const S *y = Y + i * nv, *z = Y + j * nv;
    S sum = all<S>(0);
    if (model.coupled) {
      for (int k = 0; k < nv; ++k) sum = fma(y[k] * factor.inv_D[k], z[k], sum);
      return sum;
    }
    const tree::Way& way = model.row_way[i];
    for (int n = 0; n < way.count; ++n) {
      const Joint& joint = model.joint[model.way[way.first + n]];
      for (int k = joint.v; k < joint.v + joint.nv; ++k) sum = fma(y[k] * factor.inv_D[k], z[k], sum);
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
  S* force = nullptr;
  if (passive && model.has_passive) {
    force = w.template take<S>(model.nv);
    dynamics::passive_forces(model, q, v, force, w);
  }
  FactoredMechanism<S> factor(model, w);
  factor.at(q, v, tau, force, f_ext, a, w);
  const Rows<S> rows = take_rows(model, w);
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
