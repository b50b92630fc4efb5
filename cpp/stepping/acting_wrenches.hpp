// Wrenches that act on bodies besides those of their joints: of forces of the model, signals and contacts.
//
//     F_B += Σ to_parent(X_BF, F)      each in its body's frame, about the body's origin
//
// The joints carry what these do not balance, see dynamics/reactions.hpp.
#pragma once

#include "constraints/loop_motion.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// Sum of the wrenches on every body; F acts on what an element holds of a body.
template <class S>
struct ActingWrenches {
  using Parameter = typename S::Parameter;

  const ModelOf<S>& model;
  const elements::PlacedBody<S>* body;
  spatial::Force<S>* sum;

  void at_frame(int b, const Parameter* at, const spatial::Force<S>& F) const {
    if (b < 0) return;
    const spatial::Pose<S> X = {spatial::all33<S>(at), spatial::all3<S>(at + 9)};
    sum[b] += to_parent(X, F);
  }

  /// f in world axes.
  void at_point(int b, const spatial::Vec3<S>& at, const spatial::Vec3<S>& f) const {
    if (b < 0) return;
    const spatial::Vec3<S> own = transpose_times(body[b].X_WB.R, f);
    sum[b] += spatial::Force<S>{own, cross(at, own)};
  }

  /// F on frame B, in B, and the opposite wrench on A at the same place.
  void between(const elements::Element<Parameter>& element,
               const spatial::Pose<S>& X_AB,
               const spatial::Force<S>& F) const {
    at_frame(element.b, element.at_b, F);
    at_frame(element.a, element.at_a, -to_parent(X_AB, F));
  }

  void along_path(const elements::Element<Parameter>& element, const S* q, S tension) const {
    elements::visit_segments(
        model, body, q, element, [&](const auto& from, const auto& to, const elements::Segment<S>& s) {
          const spatial::Vec3<S> f = (tension * s.multiplicity) * s.n;
          at_point(from.body, from.at, f);
          at_point(to.body, to.at, -f);
        });
  }

  void of_elements(const S* q, Workspace<S> w) const {
    for (int k = 0; k < model.elements; ++k) {
      const auto& element = model.element[k];
      if (element.kind == tree::ElementKind::coordinates) continue;
      const auto& program = model.program[element.program];
      Workspace<S> inner = w;
      S* const registers = take<S>(inner, program.registers);
      if (element.kind == tree::ElementKind::path) {
        elements::load_path(model, body, q, element, registers);
        elements::run_program(program, 2, registers);
        along_path(element, q, registers[program.outputs[0]]);
      } else {
        const auto X_AB = elements::load_frames(body, element, registers);
        elements::run_program(program, elements::frame_inputs, registers);
        between(element, X_AB, elements::output_wrench(program.outputs, static_cast<const S*>(registers)));
      }
    }
  }

  void of_contacts(Workspace<S> w) const {
    if (model.contacts == nullptr) return;
    auto& C = *take<elements::ContactWrench<S>>(w, 1);
    for (int k = 0; k < model.contacts->pairs; ++k) {
      if (!elements::evaluate_contact<S>(model, body, k, false, C)) continue;
      const auto& own = model.contacts->pair[k];
      const auto F = C.force();
      sum[own.b] += F;
      if (own.a >= 0) sum[own.a] = sum[own.a] - to_parent(C.X_AB, F);
    }
  }

  /// Those of forces and actuators that depend on signals.
  void of_signals(const SignalPoint<S>& at, Workspace<S> w) const {
    const tree::Signals& signals = *model.signals;
    if (signals.driven == 0) return;
    const S* const registers = at.run(signals.forces, w);
    const int* output = model.program[signals.forces.program].outputs + signals.coordinates;
    const S* number = at.ports.numbers;
    for (int k = 0; k < signals.driven; ++k) {
      const auto& port = model.port[k];
      if (port.kind == tree::ElementKind::path) {
        along_path(port, at.full_q, registers[*output]);
      } else {
        const auto three = [number](int i) {
          return spatial::Vec3<S>{number[i], number[i + 1], number[i + 2]};
        };
        const spatial::Pose<S> X_AB = {{three(0), three(3), three(6)}, three(9)};
        between(port, X_AB, elements::output_wrench(output, registers));
      }
      number += tree::port_numbers(port.kind);
      output += tree::port_motions(port.kind);
    }
  }
};

/// Adds the wrenches of forces, signals and contacts to those on the bodies.
template <class S>
void add_acting_wrenches(const SignalPoint<S>& at, spatial::Force<S>* sum, Workspace<S> w) {
  const auto& model = at.model;
  auto* const body = take<elements::PlacedBody<S>>(w, model.bodies);
  auto* const columns = take<spatial::Motion<S>>(w, model.stored_columns);
  elements::place_bodies(model, at.full_q, at.full_v, body, columns);
  const ActingWrenches<S> acting = {model, body, sum};
  acting.of_elements(at.full_q, w);
  acting.of_contacts(w);
  acting.of_signals(at, w);
}

/// Adds the wrenches of loops on the bodies under the forces at a time.
template <class S>
void add_loop_wrenches(const System<S>& system, S time, const S* q, const S* v, spatial::Force<S>* sum) {
  const auto& model = system.model;
  if (model.loops == 0) return;
  Workspace<S> w = system.workspace;
  S *const tau = take<S>(w, model.reduced_nv), *const a = take<S>(w, model.reduced_nv),
           *const lambda = take<S>(w, model.rows), *const phi = system.copy_loop_q(w);
  system.actuate(time, q, v, tau, w);
  const spatial::Force<S>* const unloaded = nullptr;
  constraints::ConstrainedMechanism<S> mechanism(model, {time, all<S>(1)}, w);
  mechanism.accelerate(q, v, tau, unloaded, true, phi, a, lambda, w, nullptr);
  const spatial::Pose<S>* const X_WB = mechanism.factor.poses(tree::full_q(model, q, w), w);
  constraints::add_loop_wrenches<S>(model, X_WB, mechanism.rows.W, lambda, sum);
}

}  // namespace pysim::stepping
