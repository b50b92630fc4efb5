// What a scheme asks of a mechanism: its acceleration at a time, and q ⊕ dq.
#pragma once

#include "constraints/projection.hpp"

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
  S* loop_q;  ///< coordinates φ of the loops' joints, carried from one evaluation to the next

  /// v̇ = M(q)⁻¹ (τ(t) + passive forces − h(q, v)), constraints included.
  void acceleration(double time, const S* q, const S* v, S* a) const {
    using Clock = simd::Pack<double, 1, typename S::Isa>;
    Workspace<S> w = workspace;
    S* const tau = w.template take<S>(model.own_nv);
    for (int i = 0; i < model.own_nv; ++i) {
      double force = actuation.offset[i];
      if (actuation.amplitude[i] != 0) {
        Clock sin, cos;
        simd::sincos(Clock{actuation.frequency[i] * time + actuation.phase[i]}, sin, cos);
        force += actuation.amplitude[i] * sin.lanes;
      }
      tau[i] = all<S>(static_cast<typename S::Real>(force));
    }
    const spatial::Force<S>* none = nullptr;
    if (model.rows == 0) {
      constraints::acceleration(model, q, v, tau, none, true, a, w);
    } else {
      S* const lambda = w.template take<S>(model.rows);
      constraints::constrained_acceleration(model, q, v, tau, none, true, loop_q, a, lambda, w);
    }
  }

  /// Brings a state that a scheme has reached back onto the constraints; 1 in every lane where that succeeds.
  typename S::Mask project(S* q, S* v) const {
    using Tolerance = constraints::ProjectionTolerance<typename S::Real>;
    if (model.rows == 0) return all<S>(0) == all<S>(0);
    const auto projected = constraints::project(model, q, v, loop_q, workspace);
    return projected.residual <= all<S>(Tolerance::required);
  }
};

}  // namespace pysim::stepping
