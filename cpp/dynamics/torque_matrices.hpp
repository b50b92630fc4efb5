// Derivatives of inverse dynamics as whole matrices, for sums with other matrices of a step.
#pragma once

#include "dynamics/torque_rows.hpp"

namespace pysim::dynamics {

/// ∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇, (nv, nv) each.
template <class S>
struct TorqueMatrices {
  S *q, *v, *a;

  TorqueMatrices(int nv, Workspace<S>& w)
      : q(take<S>(w, std::ptrdiff_t{nv} * nv)),
        v(take<S>(w, std::ptrdiff_t{nv} * nv)),
        a(take<S>(w, std::ptrdiff_t{nv} * nv)) {}

  /// Computes them at q, v and a under wrenches on the bodies, which may be null. What is prepared takes
  /// memory from w.
  RneaDerivatives<S> evaluate(const ModelOf<S>& model,
                              const S* at_q,
                              const S* at_v,
                              const S* at_a,
                              const Force<S>* f_ext,
                              Workspace<S>& w) {
    const RneaDerivatives<S> d = prepare_rnea_derivatives(model, at_q, at_v, at_a, f_ext, w);
    for (RowRun run = first_run(model); run.count > 0; run = next_run(model, run)) {
      TorqueRow<S> row[max_rows];
      for (int r = 0; r < run.count; ++r) {
        const std::ptrdiff_t at = std::ptrdiff_t{run.first + r} * model.nv;
        row[r] = {q + at, v + at, a + at};
      }
      torque_rows(model, d, run, row);
    }
    return d;
  }
};

}  // namespace pysim::dynamics
