// Wrenches that act on bodies besides those of their joints: of forces of the model, signals and contacts.
//
//     F_B += Σ to_parent(X_BF, F)      each in its body's frame, about the body's origin
//
// The joints carry what these do not balance, see dynamics/reactions.hpp.
#pragma once

#include "constraints/loop_motion.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// Adds the wrenches of the model's forces.
template <class S>
void add_element_wrenches(const ModelOf<S>& model,
                          const S* q,
                          const S* v,
                          const elements::BodyWrenches<S>& wrenches,
                          Workspace<S> w) {
  for (int k = 0; k < model.elements; ++k) {
    const auto& element = model.element[k];
    if (element.kind == tree::ElementKind::frames) {
      elements::add_frame_force<S>(model, element, wrenches, w);
    } else if (element.kind == tree::ElementKind::path) {
      elements::add_path_force<S>(model, q, v, element, wrenches, w);
    }
  }
}

/// Adds those of forces and actuators that depend on signals.
template <class S>
void add_signal_wrenches(const SignalPoint<S>& at,
                         const elements::BodyWrenches<S>& wrenches,
                         Workspace<S> w) {
  const tree::Signals& signals = *at.model.signals;
  if (signals.driven == 0) return;
  const S* const registers = at.run(signals.forces, w);
  const int* const output = at.model.program[signals.forces.program].outputs + signals.coordinates;
  elements::push_ports(at.model, at.ports, [&](int i) { return registers[output[i]]; }, wrenches);
}

/// Adds the wrenches of forces, signals and contacts to those on the bodies.
template <class S>
void add_acting_wrenches(const SignalPoint<S>& at, spatial::Force<S>* sum, Workspace<S> w) {
  const auto& model = at.model;
  auto* const body = take<elements::PlacedBody<S>>(w, model.bodies);
  auto* const columns = take<spatial::Motion<S>>(w, model.stored_columns);
  elements::place_bodies(model, at.full_q, at.full_v, body, columns);
  const elements::BodyWrenches<S> wrenches = {body, sum};
  add_element_wrenches<S>(model, at.full_q, at.full_v, wrenches, w);
  auto& C = *take<elements::ContactWrench<S>>(w, 1);
  for (int k = 0; model.contacts != nullptr && k < model.contacts->pairs; ++k) {
    if (elements::evaluate_contact<S>(model, body, k, false, C)) {
      elements::add_contact_wrench<S>(model, k, C, wrenches);
    }
  }
  add_signal_wrenches<S>(at, {body, sum}, w);
}

/// Adds the wrenches of loops on the bodies under the forces at a time, at which numbers on a tape have been
/// accelerated.
template <class S>
void add_loop_wrenches(const System<S>& system, S time, const S* q, const S* v, spatial::Force<S>* sum) {
  const auto& model = system.model;
  if (model.loops == 0) return;
  if constexpr (simd::is_on_tape<S>) {
    system.taped->add_loop_wrenches(system, time, q, sum);
  } else {
    Workspace<S> w = system.workspace;
    S *const tau = take<S>(w, model.reduced_nv), *const a = take<S>(w, model.reduced_nv),
             *const lambda = take<S>(w, model.rows), *const phi = system.copy_loop_q(w);
    system.actuate(time, q, v, tau, w);
    constraints::ConstrainedMechanism<S> mechanism(model, {time, all<S>(1)}, w);
    mechanism.accelerate(q, v, tau, system.loads, true, phi, a, lambda, w, nullptr);
    const spatial::Pose<S>* const X_WB = mechanism.factor.poses(tree::full_q(model, q, w), w);
    constraints::add_loop_wrenches<S>(model, X_WB, mechanism.rows.W, lambda, sum);
  }
}

}  // namespace pysim::stepping
