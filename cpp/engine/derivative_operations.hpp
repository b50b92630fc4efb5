// Derivatives of the dynamics as operations on states: matrices are written row by row, as computed.
#pragma once

#include "constraints/acceleration_derivatives.hpp"
#include "dynamics/design_derivatives.hpp"
#include "engine/saved_matrices.hpp"

namespace pysim::engine {

/// Rows of the three matrices: computed in a buffer, stored in the caller's arrays.
template <class S>
struct StoredRows {
  const States<S>& at;
  constraints::DerivativeMatrices<S> buffer;  ///< dynamics::max_rows rows

  PYSIM_INLINE dynamics::TorqueRow<S> row(const dynamics::RowRun&, int r) const { return buffer.row(r); }
  void put(const dynamics::RowRun& run) const {
    const std::ptrdiff_t n = buffer.n, begin = at.first * n * n + run.first * n;
    const S* const rows[3] = {buffer.q, buffer.v, buffer.a};
    for (int m = 0; m < 3; ++m) {
      simd::store_rows(rows[m], run.count * n, at.batch.derivative[m] + begin, n * n);
    }
  }
};

struct RneaDerivatives {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.full_q(), *v = at.full_v(), *a = at.full_a();
    const Force<S>* f_ext = at.f_ext();
    const bool passive = at.batch.passive;
    const auto d = dynamics::prepare_rnea_derivatives(model, q, v, a, f_ext, at.w);
    if (!model.mimic && !(passive && has_forces_between_bodies(model))) {
      const StoredRows<S> rows = {at, constraints::take_matrices(dynamics::max_rows, model.nv, at.w)};
      constraints::torque_derivatives(model, d, q, v, passive, rows, at.w);
      return;
    }
    const auto own = constraints::take_matrices(model.reduced_nv, at.w);
    constraints::reduced_torque_derivatives(model, d, q, v, passive, own, at.w);
    save_matrices(at, own.n, own);
  }
};

struct AbaDerivatives {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.reduced_q(), *v = at.reduced_v(), *tau = at.reduced_x();
    const Force<S>* f_ext = at.f_ext();
    const auto D = constraints::acceleration_derivatives(at.model, q, v, tau, f_ext, at.batch.passive, at.w);
    save_matrices(at, D.n, D);
  }
};

struct PassiveForceDerivatives {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.full_q(), *v = at.full_v();
    const auto own = constraints::take_matrices(model.reduced_nv, at.w);
    for (int i = 0; i < own.n * own.n; ++i) own.q[i] = own.v[i] = all<S>(0);
    for (int b = 0; b < model.bodies; ++b) {
      const auto D = dynamics::passive_derivatives(model, b, q, v, at.w);
      constraints::add_passive_block(model, b, D, own);
    }
    elements::add_derivatives_between_bodies(model, q, v, all<S>(1), own.q, own.v, at.w);
    at.save(own.q, at.batch.derivative[0], own.n * own.n);
    at.save(own.v, at.batch.derivative[1], own.n * own.n);
  }
};

/// Derivatives with respect to joint twists or, if not `twists`, to joint placements: (reduced_nv, 6 ·
/// bodies).
template <bool twists>
struct DesignDerivatives {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.full_q(), *v = at.full_v(), *a = at.full_a();
    const Force<S>* f_ext = at.f_ext();
    const auto d = dynamics::prepare_rnea_derivatives(model, q, v, a, f_ext, at.w);
    const int width = 6 * model.bodies;
    auto* const column = take<dynamics::DesignColumn<S>>(at.w, width);
    dynamics::design_columns(model, q, twists, d, column, at.w);

    S* const row = take<S>(at.w, width);
    S* const reduced = take<S>(at.w, std::ptrdiff_t{1} * model.reduced_nv * width);
    for (int i = 0; i < model.reduced_nv * width; ++i) reduced[i] = all<S>(0);
    for (int b = 0; b < model.bodies; ++b) {
      for (int i = model.joint[b].v; i < model.joint[b].v + model.joint[b].nv; ++i) {
        dynamics::design_row(model, d, column, b, i, row);
        const auto& coupling = model.mimic_v[i];
        S* const sum = reduced + coupling.reduced * width;
        for (int k = 0; k < width; ++k) sum[k] = simd::fma(all<S>(coupling.ratio), row[k], sum[k]);
      }
    }
    at.save(reduced, at.batch.out, model.reduced_nv * width);
  }
};

}  // namespace pysim::engine
