// Forward dynamics of a mechanism with its couplings, passive forces and external wrenches.
//
// A tree without mimic joints needs the articulated-body algorithm only. With mimic joints, accelerations
// follow from the inertia on the independent coordinates:  (Eᵀ M E) v̇ = τ − Eᵀ h(q, v).
#pragma once

#include "dynamics/passive.hpp"
#include "dynamics/reduced_factor.hpp"

namespace pysim::constraints {

using spatial::Force;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// v̇ of the reduced coordinates under the generalised forces `tau`; `passive` adds passive joint forces.
template <class S>
void acceleration(const ModelOf<S>& model,
                  const S* reduced_q,
                  const S* reduced_v,
                  const S* tau,
                  const Force<S>* f_ext,
                  bool passive,
                  S* a,
                  Workspace<S> w) {
  const S* q = tree::full_q(model, reduced_q, w);
  const S* v = tree::full_v(model, reduced_v, w);
  S* force = nullptr;
  if (passive && has_passive(model)) {
    force = take<S>(w, model.nv);
    dynamics::passive_forces(model, q, v, force, w);
  }
  if (model.mimic) {
    dynamics::reduced_load<S>(model, q, v, tau, force, f_ext, a, w);
    const auto M_r = dynamics::take_symmetric<S>(model.reduced_nv, w);
    dynamics::factor_reduced<S>(model, q, nullptr, M_r, w);
    return M_r.apply(a);
  }
  for (int i = 0; force != nullptr && i < model.nv; ++i) force[i] += tau[i];
  dynamics::aba(model, q, v, force != nullptr ? force : tau, f_ext, a, w);
}

}  // namespace pysim::constraints
