// Derivatives of the dynamics as operations on states: matrices leave row by row, as they are made.
#pragma once

#include "constraints/torque_derivatives.hpp"
#include "engine/batch.hpp"

namespace pysim::engine {

struct RneaDerivatives {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.tree_q(), *v = at.tree_v(), *a = at.tree_a();
    const Force<S>* f_ext = at.f_ext();
    if (!model.coupled) {
      constraints::torque_derivatives(model, q, v, a, f_ext, at.batch.passive, ToRows<S>{at}, at.w);
      return;
    }
    const std::ptrdiff_t n = std::ptrdiff_t{1} * model.own_nv * model.own_nv;
    S* const D = at.w.template take<S>(3 * n);
    const constraints::ToMatrices<S> sink = {model.own_nv, {D, D + n, D + 2 * n}};
    constraints::own_torque_derivatives(model, q, v, a, f_ext, at.batch.passive, sink, at.w);
    for (int i = 0; i < 3; ++i) at.save(sink.matrix[i], at.batch.derivative[i], static_cast<int>(n));
  }

  /// Row i of the three matrices, to the caller's arrays.
  template <class S>
  struct ToRows {
    const States<S>& at;

    PYSIM_INLINE void put(int i, const dynamics::TorqueRow<S>& row) const {
      const std::ptrdiff_t n = at.model.nv, begin = at.first * n * n + i * n;
      simd::store_rows(row.q, n, at.batch.derivative[0] + begin, n * n);
      simd::store_rows(row.v, n, at.batch.derivative[1] + begin, n * n);
      simd::store_rows(row.a, n, at.batch.derivative[2] + begin, n * n);
    }
  };
};

}  // namespace pysim::engine
