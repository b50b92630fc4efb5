// Forward dynamics of a mechanism with its couplings, passive forces and external wrenches.
//
// A tree without couplings is the articulated-body algorithm. Where joints follow others, accelerations come
// from the inertia on the independent coordinates:  (Eᵀ M E) v̇ = τ − Eᵀ h(q, v).
#pragma once

#include "dynamics/aba.hpp"
#include "dynamics/crba.hpp"
#include "dynamics/passive.hpp"
#include "dynamics/rnea.hpp"
#include "spatial/symmetric.hpp"
#include "tree/coordinates.hpp"

namespace pysim::constraints {

using spatial::Force;
using spatial::solve_symmetric;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// v̇ of the user's coordinates under the generalised forces `tau`; `passive` adds the joints' own forces.
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
  S* const force = take<S>(w, model.nv);
  const bool passes = passive && has_passive(model);
  if (passes) dynamics::passive_forces(model, q, v, force, w);

  if (!model.mimic) {
    for (int i = 0; passes && i < model.nv; ++i) force[i] += tau[i];
    dynamics::aba(model, q, v, passes ? force : tau, f_ext, a, w);
    return;
  }

  S* const h = take<S>(w, model.nv);
  dynamics::rnea(model, q, v, static_cast<const S*>(nullptr), f_ext, h, w);
  for (int i = 0; i < model.nv; ++i) force[i] = passes ? force[i] - h[i] : -h[i];
  const S* rest = tree::reduced_forces(model, static_cast<const S*>(force), w);
  for (int i = 0; i < model.reduced_nv; ++i) a[i] = tau[i] + rest[i];

  S* const M = take<S>(w, std::ptrdiff_t{1} * model.nv * model.nv);
  dynamics::crba(model, q, M, w);
  solve_symmetric(model.reduced_nv, tree::reduced_inertia(model, M, w), a);
}

}  // namespace pysim::constraints
