// What a scheme asks of a mechanism: its acceleration at a time, and q ⊕ dq.
#pragma once

#include "constraints/acceleration.hpp"

namespace pysim::stepping {

using dynamics::lift;
using dynamics::retract;
using simd::all;
using simd::fma;
using tree::ModelView;
using tree::Workspace;

/// Prescribed generalised forces  τ(t) = offset + amplitude sin(frequency t + phase), on the user's
/// coordinates. Each array has nv numbers [N or N·m], [rad/s], [rad].
struct Actuation {
  const double* offset;
  const double* amplitude;
  const double* frequency;
  const double* phase;
};

template <class S>
struct System {
  const ModelView<typename S::Real>& model;
  const Actuation& actuation;
  Workspace<S> workspace;
  const S* control = nullptr;  ///< generalised forces of each world, held during a step; null for none

  /// τ(t).
  void actuate(S time, S* tau) const {
    for (int i = 0; i < model.own_nv; ++i) {
      tau[i] = all<S>(actuation.offset[i]);
      if (control != nullptr) tau[i] += control[i];
      if (actuation.amplitude[i] == 0) continue;
      S sin, cos;
      simd::sincos(fma(all<S>(actuation.frequency[i]), time, all<S>(actuation.phase[i])), sin, cos);
      tau[i] = fma(all<S>(actuation.amplitude[i]), sin, tau[i]);
    }
  }

  /// τ(t) and the joints' own forces.
  void generalized_force(S time, const S* own_q, const S* own_v, S* force) const {
    actuate(time, force);
    if (!model.has_passive) return;
    Workspace<S> w = workspace;
    const S* q = tree::tree_q(model, own_q, w);
    const S* v = tree::tree_v(model, own_v, w);
    S* const passive = w.template take<S>(model.nv);
    dynamics::passive_forces(model, q, v, passive, w);
    const S* own = tree::own_forces(model, static_cast<const S*>(passive), w);
    for (int i = 0; i < model.own_nv; ++i) force[i] += own[i];
  }

  /// Linear damping of each coordinate.
  void damping(S* d) const {
    for (int i = 0; i < model.own_nv; ++i) d[i] = all<S>(0);
    for (int i = 0; i < model.nv; ++i) {
      const auto c = model.coupled ? model.coupling_v[i] : tree::Coupling<typename S::Real>{i, 1, 0};
      d[c.own] += all<S>(c.ratio * c.ratio * model.passive[i].damping);
    }
  }

  /// v̇ = M(q)⁻¹ (τ(t) + passive forces − h(q, v)).
  void acceleration(S time, const S* q, const S* v, S* a) const {
    Workspace<S> w = workspace;
    S* const tau = w.template take<S>(model.own_nv);
    actuate(time, tau);
    constraints::acceleration(model, q, v, tau, static_cast<const spatial::Force<S>*>(nullptr), true, a, w);
  }
};

}  // namespace pysim::stepping
