// Derivatives of inverse dynamics with mimic joints and passive forces, passed row by row to a consumer.
//
// With mimic joints, q_tree = E q + offset:  ∂τ/∂q = Eᵀ ∂τ_tree/∂q_tree E, and likewise for v and v̇.
#pragma once

#include "dynamics/passive_derivatives.hpp"
#include "dynamics/torque_rows.hpp"
#include "elements/contact_derivatives.hpp"
#include "tree/coordinates.hpp"

namespace pysim::constraints {

using dynamics::RowRun;
using dynamics::TorqueRow;
using simd::all;
using simd::fma;
using spatial::Force;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// Three n × n matrices, row-major: derivatives with respect to q, v and v̇. Rows are computed in place.
template <class S>
struct DerivativeMatrices {
  int n;
  S *q, *v, *a;

  PYSIM_INLINE TorqueRow<S> row(int i) const { return {q + i * n, v + i * n, a + i * n}; }
  PYSIM_INLINE TorqueRow<S> row(const RowRun& run, int r) const { return row(run.first + r); }
  PYSIM_INLINE void put(const RowRun&) const {}
};

template <class S>
DerivativeMatrices<S> take_matrices(int rows, int n, Workspace<S>& w) {
  const std::ptrdiff_t size = std::ptrdiff_t{1} * rows * n;
  return {n, take<S>(w, size), take<S>(w, size), take<S>(w, size)};
}

template <class S>
DerivativeMatrices<S> take_matrices(int n, Workspace<S>& w) {
  return take_matrices(n, n, w);
}

/// Buffer in which a tree's rows are computed before they are added to those of the user's coordinates.
template <class S>
struct OwnRows {
  const ModelOf<S>& model;
  DerivativeMatrices<S> reduced;
  DerivativeMatrices<S> buffer;  ///< dynamics::max_rows rows

  TorqueRow<S> row(const RowRun&, int r) const { return buffer.row(r); }
  void put(const RowRun& run) const {
    for (int r = 0; r < run.count; ++r) add(run.first + r, buffer.row(r));
  }

  void add(int i, const TorqueRow<S>& row) const {
    const auto& at = model.mimic_v[i];
    const TorqueRow<S> sum = reduced.row(at.reduced);
    for (int k = 0; k < model.nv; ++k) {
      const auto& along = model.mimic_v[k];
      const S ratio = all<S>(at.ratio * along.ratio);
      sum.q[along.reduced] = fma(ratio, row.q[k], sum.q[along.reduced]);
      sum.v[along.reduced] = fma(ratio, row.v[k], sum.v[along.reduced]);
      sum.a[along.reduced] = fma(ratio, row.a[k], sum.a[along.reduced]);
    }
  }
};

/// The joints' passive forces, which act on their own coordinates only.
template <class S>
void subtract_passive(const ModelOf<S>& model,
                      const S* q,
                      const S* v,
                      const RowRun& run,
                      const TorqueRow<S>* row,
                      Workspace<S> w) {
  int r = 0;
  for (int b = run.body; b <= run.last; ++b) {
    const tree::Joint& joint = model.joint[b];
    const auto passive = dynamics::passive_derivatives(model, b, q, v, w);
    for (; r < run.count && run.first + r < joint.v + joint.nv; ++r) {
      const int i = run.first + r - joint.v;
      for (int k = 0; k < joint.nv; ++k) {
        row[r].q[joint.v + k] -= passive.q[i * joint.nv + k];
        row[r].v[joint.v + k] -= passive.v[i * joint.nv + k];
      }
    }
  }
}

/// The tree's derivatives from the result of `prepare_rnea_derivatives`: row r of a run is computed in
/// `rows.row(run, r)`, then `rows.put(run)` consumes them. `passive` subtracts the joints' passive forces.
template <class S, class Rows>
void torque_derivatives(const ModelOf<S>& model,
                        const dynamics::RneaDerivatives<S>& d,
                        const S* q,
                        const S* v,
                        bool passive,
                        const Rows& rows,
                        Workspace<S> w) {
  TorqueRow<S> row[dynamics::max_rows];
  for (auto run = dynamics::first_run(model); run.count > 0; run = dynamics::next_run(model, run)) {
    for (int r = 0; r < run.count; ++r) row[r] = rows.row(run, r);
    dynamics::torque_rows(model, d, run, row);
    if (passive && has_passive(model)) subtract_passive(model, q, v, run, row, w);
    rows.put(run);
  }
}

/// Adds one joint's passive block to the matrices of the user's coordinates, Eᵀ D E.
template <class S>
void add_passive_block(const ModelOf<S>& model,
                       int b,
                       const dynamics::PassiveDerivatives<S>& D,
                       const DerivativeMatrices<S>& reduced) {
  const tree::Joint& joint = model.joint[b];
  for (int i = 0; i < joint.nv; ++i) {
    const auto& row = model.mimic_v[joint.v + i];
    for (int k = 0; k < joint.nv; ++k) {
      const auto& column = model.mimic_v[joint.v + k];
      const S ratio = all<S>(row.ratio * column.ratio);
      const int at = row.reduced * reduced.n + column.reduced;
      reduced.q[at] = fma(ratio, D.q[i * joint.nv + k], reduced.q[at]);
      reduced.v[at] = fma(ratio, D.v[i * joint.nv + k], reduced.v[at]);
    }
  }
}

/// The derivatives on the user's coordinates; q and v are the tree's.
template <class S>
void reduced_torque_derivatives(const ModelOf<S>& model,
                                const dynamics::RneaDerivatives<S>& d,
                                const S* q,
                                const S* v,
                                bool passive,
                                const DerivativeMatrices<S>& reduced,
                                Workspace<S> w) {
  if (!model.mimic) {
    torque_derivatives(model, d, q, v, passive, reduced, w);
  } else {
    for (int i = 0; i < reduced.n * reduced.n; ++i) reduced.q[i] = reduced.v[i] = reduced.a[i] = all<S>(0);
    const OwnRows<S> rows = {model, reduced, take_matrices(dynamics::max_rows, model.nv, w)};
    torque_derivatives(model, d, q, v, passive, rows, w);
  }
  if (passive) elements::add_derivatives_between_bodies(model, q, v, all<S>(-1), reduced.q, reduced.v, w);
}

}  // namespace pysim::constraints
