// Derivatives of inverse dynamics with couplings and passive forces, row after row to whatever takes them.
//
// Where joints follow others, q_tree = E q + offset:  ∂τ/∂q = Eᵀ ∂τ_tree/∂q_tree E, and alike for v and v̇.
#pragma once

#include "dynamics/rnea_derivatives.hpp"
#include "tree/coordinates.hpp"

namespace pysim::constraints {

using dynamics::TorqueRow;
using simd::all;
using simd::fma;
using spatial::Force;
using tree::ModelView;
using tree::Workspace;

/// Takes rows into three n × n matrices, row-major: derivatives with respect to q, v and v̇.
template <class S>
struct ToMatrices {
  int n;
  S* matrix[3];

  PYSIM_INLINE TorqueRow<S> row(int i) const {
    return {matrix[0] + i * n, matrix[1] + i * n, matrix[2] + i * n};
  }
};

/// Every row of the tree's derivatives, through one buffer to `sink.put(i, row)`.
template <class S, class Sink>
void torque_derivatives(const ModelView<typename S::Real>& model,
                        const S* q,
                        const S* v,
                        const S* a,
                        const Force<S>* f_ext,
                        bool /*passive*/,
                        const Sink& sink,
                        Workspace<S> w) {
  const auto d = dynamics::prepare_rnea_derivatives(model, q, v, a, f_ext, w);
  S* const buffer = w.template take<S>(std::ptrdiff_t{3} * model.nv);
  const TorqueRow<S> row = {buffer, buffer + model.nv, buffer + 2 * model.nv};
  for (int b = 0; b < model.bodies; ++b) {
    const tree::Joint& joint = model.joint[b];
    for (int i = joint.v; i < joint.v + joint.nv; ++i) {
      dynamics::torque_row(model, d, b, i, row);
      sink.put(i, row);
    }
  }
}

/// Adds rows of the tree to those of the user's coordinates.
template <class S>
struct ToOwn {
  const ModelView<typename S::Real>& model;
  const ToMatrices<S>& own;

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

/// The derivatives on the user's coordinates, as matrices; q, v and a are the tree's.
template <class S>
void own_torque_derivatives(const ModelView<typename S::Real>& model,
                            const S* q,
                            const S* v,
                            const S* a,
                            const Force<S>* f_ext,
                            bool passive,
                            const ToMatrices<S>& own,
                            Workspace<S> w) {
  for (S* matrix : own.matrix) {
    for (int i = 0; i < own.n * own.n; ++i) matrix[i] = all<S>(0);
  }
  torque_derivatives(model, q, v, a, f_ext, passive, ToOwn<S>{model, own}, w);
}

}  // namespace pysim::constraints
