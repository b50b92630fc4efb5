// Signals of a scene: controllers, actuators and sensors, evaluated at one state.
//
//     z = (t, q, v, x, ports)        y = f(z)        τ = Σ y_coordinate + Σ J_AᵀB F − Σ T ∂L/∂q
//
// A port is a pair of frames or a path: its pose and twist, or length and rate, are inputs, and a wrench on
// frame B or a tension are forces. x are the states of elements and the numbers that are held between
// instants. Programs that run after the dynamics read v̇, the ports' accelerations and the joints' wrenches as
// well.
#pragma once

#include "elements/forces.hpp"

namespace pysim::elements {

using tree::port_motions;
using tree::port_numbers;
using tree::SignalCall;
using tree::SignalInput;
using tree::SignalProgram;
using tree::Signals;
using tree::SignalSource;

/// Ports at one state, and the bodies that they are on; those alone that programs read or drive.
template <class S>
struct PlacedPorts {
  PlacedBody<S>* body;
  Motion<S>* columns;
  S* numbers;       ///< port after port
  Vec3<S>* line;    ///< of the driven paths, one after the other, see load_path
  bool* is_placed;  ///< [ports + bodies]
  const S* q;       ///< of the tree
};

/// Number of vectors by which the line of a driven port is remembered.
template <class Real>
PYSIM_INLINE int driven_vectors(const tree::Element<Real>& port) {
  return port.kind == ElementKind::path ? line_vectors(port) : 0;
}

/// Memory for ports that are not placed yet; none if there are no ports.
template <class S>
PlacedPorts<S> take_ports(const ModelOf<S>& model, const S* q, Workspace<S>& w) {
  if (model.ports == 0) return {nullptr, nullptr, nullptr, nullptr, nullptr, q};
  std::ptrdiff_t vectors = 0;
  for (int k = 0; k < model.signals->driven; ++k) vectors += driven_vectors(model.port[k]);
  PlacedPorts<S> ports = {take<PlacedBody<S>>(w, model.bodies),
                          take<Motion<S>>(w, model.stored_columns),
                          take<S>(w, std::ptrdiff_t{model.ports} * frame_inputs),
                          take<Vec3<S>>(w, vectors),
                          take<bool>(w, model.ports + model.bodies),
                          q};
  for (int i = 0; i < model.ports + model.bodies; ++i) ports.is_placed[i] = false;
  return ports;
}

/// Places those of a list that are not placed yet, at the tree's q and v.
template <class S>
void place_ports(const ModelOf<S>& model,
                 const tree::PlacedList& list,
                 const S* v,
                 const PlacedPorts<S>& ports,
                 Workspace<S> w) {
  const int* const listed = model.signals->placed;
  for (int i = list.first_body; i < list.first_body + list.bodies; ++i) {
    bool& is_placed = ports.is_placed[model.ports + listed[i]];
    if (!is_placed) place_body(model, listed[i], ports.q, v, ports.body, ports.columns);
    is_placed = true;
  }
  S* to = ports.numbers;
  Vec3<S>* line = ports.line;
  for (int i = list.first_port, k = 0; i < list.first_port + list.ports; ++i) {
    for (; k < listed[i]; ++k) {
      to += port_numbers(model.port[k].kind);
      if (k < model.signals->driven) line += driven_vectors(model.port[k]);
    }
    const auto& port = model.port[k];
    if (ports.is_placed[k]) continue;
    ports.is_placed[k] = true;
    if (port.kind == ElementKind::path) {
      const bool is_driven = k < model.signals->driven;
      load_path<S>(model, ports.body, ports.q, v, port, to, w, is_driven ? line : nullptr);
    } else {
      load_frames<S>(ports.body, port, to);
    }
  }
}

/// What programs of signals read. Numbers after the means exist after the dynamics only.
template <class S>
struct SignalValues {
  S time;
  const S *q, *v;  ///< of the user
  const S* state;
  const S* port;
  const S *mean_v = v, *mean_port = port;  ///< of the work of forces
  const S* acceleration = nullptr;
  const S* port_acceleration = nullptr;
  const S* reaction = nullptr;

  S read(const SignalInput& input) const {
    switch (input.source) {
      case SignalSource::time:
        return time;
      case SignalSource::q:
        return q[input.index];
      case SignalSource::v:
        return v[input.index];
      case SignalSource::state:
        return state[input.index];
      case SignalSource::port:
        return port[input.index];
      case SignalSource::mean_v:
        return mean_v[input.index];
      case SignalSource::mean_port:
        return mean_port[input.index];
      case SignalSource::acceleration:
        return acceleration[input.index];
      case SignalSource::port_acceleration:
        return port_acceleration[input.index];
      case SignalSource::reaction:
        return reaction[input.index];
    }
    return time;
  }
};

/// Runs a program and returns its registers; `call(c, registers)` computes inverse dynamics between its
/// parts.
template <class S, class Call>
S* run_signals(const ModelOf<S>& model,
               const SignalProgram& signal_program,
               const SignalValues<S>& values,
               const Call& call,
               Workspace<S>& w) {
  const auto& program = model.program[signal_program.program];
  const Signals& signals = *model.signals;
  S* const registers = take<S>(w, program.registers);
  for (int i = signal_program.first_input; i < signal_program.first_input + signal_program.inputs; ++i) {
    registers[signals.input[i].to] = values.read(signals.input[i]);
  }
  tree::load_constants(program, registers + signal_program.input_registers);
  tree::run(program, 0, program.pose_end, registers);
  if (signal_program.calls > 0) {
    for (int i = signal_program.first_call; i < signal_program.first_call + signal_program.calls; ++i)
      call(signals.call[i], registers);
    tree::run(program, program.pose_end, program.end, registers);
  }
  return registers;
}

/// Adds the ports' efforts, `effort(i)` one after the other, to the wrenches on their bodies.
template <class S, class Effort>
void push_ports(const ModelOf<S>& model,
                const PlacedPorts<S>& ports,
                const Effort& effort,
                const BodyWrenches<S>& wrenches) {
  const S* at = ports.numbers;
  const Vec3<S>* line = ports.line;
  for (int k = 0, i = 0; k < model.signals->driven; ++k) {
    const auto& port = model.port[k];
    if (port.kind == ElementKind::path) {
      push_path<S>(model, port, effort(i), line, wrenches);
      line += line_vectors(port);
    } else {
      const auto three = [at](int n) { return Vec3<S>{at[n], at[n + 1], at[n + 2]}; };
      const Pose<S> X_AB = {{three(0), three(3), three(6)}, three(9)};
      const Force<S> F = {{effort(i), effort(i + 1), effort(i + 2)},
                          {effort(i + 3), effort(i + 4), effort(i + 5)}};
      push_frames<S>(port, X_AB, F, wrenches);
    }
    at += port_numbers(port.kind);
    i += port_motions(port.kind);
  }
}

/// Number of efforts of the driven ports.
template <class Model>
PYSIM_INLINE int effort_count(const Model& model) {
  int count = 0;
  for (int k = 0; k < model.signals->driven; ++k) count += port_motions(model.port[k].kind);
  return count;
}

}  // namespace pysim::elements
