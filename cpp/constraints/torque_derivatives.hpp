// Derivatives of inverse dynamics with couplings and passive forces, row after row to whatever takes them.
//
// Where joints follow others, q_tree = E q + offset:  ∂τ/∂q = Eᵀ ∂τ_tree/∂q_tree E, and alike for v and v̇.
#pragma once

#include "dynamics/passive_derivatives.hpp"
#include "dynamics/rnea_derivatives.hpp"
#include "tree/coordinates.hpp"

namespace pysim::constraints {

using dynamics::TorqueRow;
using simd::all;
using simd::fma;
using spatial::Force;
using tree::ModelView;
using tree::Workspace;

/// Three n × n matrices, row-major: derivatives with respect to q, v and v̇. Rows are made in their place.
template <class S>
struct DerivativeMatrices {
  int n;
  S *q, *v, *a;

  PYSIM_INLINE TorqueRow<S> row(int i) const { return {q + i * n, v + i * n, a + i * n}; }
  PYSIM_INLINE void put(int, const TorqueRow<S>&) const {}
};

template <class S>
DerivativeMatrices<S> take_matrices(int n, Workspace<S>& w) {
  const std::ptrdiff_t size = std::ptrdiff_t{1} * n * n;
  return {n, w.template take<S>(size), w.template take<S>(size), w.template take<S>(size)};
}

/// Where a tree's rows are made and added to those of the user's coordinates.
template <class S>
struct OwnRows {
  const ModelView<typename S::Real>& model;
  DerivativeMatrices<S> own;
  TorqueRow<S> buffer;

  TorqueRow<S> row(int) const { return buffer; }
  void put(int i, const TorqueRow<S>& row) const {
    const auto& at = model.coupling_v[i];
    const TorqueRow<S> sum = own.row(at.own);
    for (int k = 0; k < model.nv; ++k) {
      const auto& along = model.coupling_v[k];
      const S ratio = all<S>(at.ratio * along.ratio);
      sum.q[along.own] = fma(ratio, row.q[k], sum.q[along.own]);
      sum.v[along.own] = fma(ratio, row.v[k], sum.v[along.own]);
      sum.a[along.own] = fma(ratio, row.a[k], sum.a[along.own]);
    }
  }
};

/// The tree's derivatives: row i is made in `rows.row(i)` and handed to `rows.put`. `a` and `f_ext` may be
/// null; `passive` subtracts the joints' own forces.
template <class S, class Rows>
void torque_derivatives(const ModelView<typename S::Real>& model,
                        const S* q,
                        const S* v,
                        const S* a,
                        const Force<S>* f_ext,
                        bool passive,
                        const Rows& rows,
                        Workspace<S> w) {
  const auto d = dynamics::prepare_rnea_derivatives(model, q, v, a, f_ext, w);
  const bool passes = passive && model.has_passive;
  dynamics::PassiveDerivatives<S> own;
  for (int b = 0; b < model.bodies; ++b) {
    const tree::Joint& joint = model.joint[b];
    if (passes) own = dynamics::passive_derivatives(model, b, q, v, w);
    for (int i = 0; i < joint.nv; ++i) {
      const TorqueRow<S> row = rows.row(joint.v + i);
      dynamics::torque_row(model, d, b, joint.v + i, row);
      for (int k = 0; passes && k < joint.nv; ++k) {
        row.q[joint.v + k] -= own.q[i * joint.nv + k];
        row.v[joint.v + k] -= own.v[i * joint.nv + k];
      }
      rows.put(joint.v + i, row);
    }
  }
}

/// Adds one joint's passive block to the matrices of the user's coordinates, Eᵀ D E.
template <class S>
void add_passive_block(const ModelView<typename S::Real>& model,
                       int b,
                       const dynamics::PassiveDerivatives<S>& D,
                       const DerivativeMatrices<S>& own) {
  const tree::Joint& joint = model.joint[b];
  for (int i = 0; i < joint.nv; ++i) {
    const auto& row = model.coupling_v[joint.v + i];
    for (int k = 0; k < joint.nv; ++k) {
      const auto& column = model.coupling_v[joint.v + k];
      const S ratio = all<S>(row.ratio * column.ratio);
      const int at = row.own * own.n + column.own;
      own.q[at] = fma(ratio, D.q[i * joint.nv + k], own.q[at]);
      own.v[at] = fma(ratio, D.v[i * joint.nv + k], own.v[at]);
    }
  }
}

/// The derivatives on the user's coordinates; q, v and a are the tree's.
template <class S>
void own_torque_derivatives(const ModelView<typename S::Real>& model,
                            const S* q,
                            const S* v,
                            const S* a,
                            const Force<S>* f_ext,
                            bool passive,
                            const DerivativeMatrices<S>& own,
                            Workspace<S> w) {
  if (!model.coupled) {
    torque_derivatives(model, q, v, a, f_ext, passive, own, w);
    return;
  }
  for (int i = 0; i < own.n * own.n; ++i) own.q[i] = own.v[i] = own.a[i] = all<S>(0);
  S* const buffer = w.template take<S>(std::ptrdiff_t{3} * model.nv);
  const OwnRows<S> rows = {model, own, {buffer, buffer + model.nv, buffer + 2 * model.nv}};
  torque_derivatives(model, q, v, a, f_ext, passive, rows, w);
}

}  // namespace pysim::constraints
