// Sampled blocks of a scene's signals, which change held numbers at instants, and readings of all signals.
//
// Blocks that are due run in the order of the graph; each reads what those before it have changed. What they
// read of accelerations is the limit from the left, computed before any of them changes a number.
#pragma once

#include "contact/sensors.hpp"
#include "dynamics/reactions.hpp"
#include "stepping/acting_wrenches.hpp"

namespace pysim::stepping {

/// Accelerations of frames B of the ports (6 each), in B, and wrenches of the joints (6 each), at v̇.
template <class S>
struct AfterDynamics {
  S *port, *reaction;
};

/// Whether a program reads wrenches of joints.
inline bool reads_reactions(const tree::Signals& signals, const SignalProgram& program) {
  for (int i = program.first_input; i < program.first_input + program.inputs; ++i) {
    if (signals.input[i].source == tree::SignalSource::reaction) return true;
  }
  return false;
}

/// Whether a program reads numbers of contact sensors.
PYSIM_INLINE bool reads_contacts(const tree::Signals& signals,
                                 const SignalProgram& program,
                                 const contact::SensorList& sensors) {
  for (int i = program.first_input; i < program.first_input + program.inputs; ++i) {
    const tree::SignalInput& input = signals.input[i];
    if (input.source == tree::SignalSource::state && sensors.has(input.index)) return true;
  }
  return false;
}

/// Computes the accelerations, and under the wrenches `acting` on the bodies those of the joints; null if no
/// program reads these.
template <class S>
AfterDynamics<S> after_dynamics(const SignalPoint<S>& at,
                                const S* reduced_a,
                                const spatial::Force<S>* acting,
                                Workspace<S>& w) {
  const auto& model = at.model;
  const AfterDynamics<S> after = {take<S>(w, std::ptrdiff_t{6} * model.ports),
                                  take<S>(w, std::ptrdiff_t{6} * model.bodies)};
  Workspace<S> scratch = w;
  const S* const a = tree::full_v(model, reduced_a, scratch);
  auto* const body = take<dynamics::MovingBody<S>>(scratch, model.bodies);
  auto* const columns = take<spatial::Motion<S>>(scratch, model.stored_columns);
  const auto still = spatial::zero_motion<S>();
  dynamics::spread_motion<S>(model, at.full_q, at.full_v, a, still, body, columns);
  for (int k = 0; k < model.ports; ++k) {
    const auto& port = model.port[k];
    spatial::Motion<S> A = still;
    if (port.kind == tree::ElementKind::frames && port.b >= 0) {
      const spatial::Pose<S> X = {spatial::all33<S>(port.at_b), spatial::all3<S>(port.at_b + 9)};
      A = to_child(X, body[port.b].a);
    }
    elements::put3(A.v, after.port + 6 * k);
    elements::put3(A.w, after.port + 6 * k + 3);
  }
  if (acting == nullptr) return after;
  auto* const F = take<spatial::Force<S>>(scratch, model.bodies);
  spatial::Force<S>* const unused = nullptr;
  dynamics::joint_reactions<S>(model, at.full_q, at.full_v, a, acting, F, unused, scratch);
  for (int b = 0; b < model.bodies; ++b) {
    elements::put3(F[b].f, after.reaction + 6 * b);
    elements::put3(F[b].t, after.reaction + 6 * b + 3);
  }
  return after;
}

/// Wrenches on every body: those of f_ext, 0 without any.
template <class S>
spatial::Force<S>* take_wrenches(const ModelOf<S>& model, Workspace<S>& w, const spatial::Force<S>* f_ext) {
  auto* const wrench = take<spatial::Force<S>>(w, model.bodies);
  for (int b = 0; b < model.bodies; ++b) wrench[b] = f_ext == nullptr ? spatial::zero_force<S>() : f_ext[b];
  return wrench;
}

/// v̇ of a step with contacts, and the wrenches of loops and contacts on the bodies; null without any. Without
/// v̇, it is that of the system under these wrenches.
template <class S>
struct Measured {
  const S* a = nullptr;
  const spatial::Force<S>* f_ext = nullptr;
};

/// Runs the blocks of `due` (bit k: block k) at a state, block k in the worlds is_due(k), and changes the
/// numbers of the signals.
template <class S, class IsDue>
void run_blocks(
    const SignalPoint<S>& at, std::uint64_t due, const IsDue& is_due, S* numbers, const Workspace<S>& w) {
  const tree::Signals& signals = *at.model.signals;
  for (int k = 0; k < signals.blocks; ++k) {
    if (((due >> k) & 1) == 0) continue;
    const auto worlds = is_due(k);
    const tree::SampledBlock& block = signals.block[k];
    Workspace<S> scratch = w;
    const S* const registers = at.run(block.program, scratch);
    const auto& program = at.model.program[block.program.program];
    const int* const place = signals.sampled + block.first_output;
    const int end = k + 1 < signals.blocks ? signals.block[k + 1].first_output : signals.sampled_count;
    for (int i = 0; i < end - block.first_output; ++i) {
      numbers[place[i]] = select(worlds, registers[program.outputs[i]], numbers[place[i]]);
    }
  }
}

/// The same at a time, with the accelerations and wrenches that blocks read. Before the `first` instant
/// nothing was accelerated; without a `measured` v̇ it is that of the system.
template <class S, class IsDue>
void update_signals(const System<S>& system,
                    S time,
                    const S* q,
                    const S* v,
                    std::uint64_t due,
                    const IsDue& is_due,
                    bool first,
                    const Measured<S>& measured) {
  const auto& model = system.model;
  const tree::Signals& signals = *model.signals;
  Workspace<S> w = system.workspace;
  S* const numbers = system.signals.numbers;
  SignalPoint<S> at(model, time, q, v, numbers, w);
  bool measures = false, weighs = false;
  for (int k = 0; k < signals.blocks; ++k) {
    if (((due >> k) & 1) == 0 || !signals.block[k].program.after_dynamics) continue;
    measures = true;
    weighs = weighs || reads_reactions(signals, signals.block[k].program);
  }
  if (measures) {
    S* const a = take<S>(w, model.reduced_nv);
    System<S> inner = system;
    inner.workspace = w;
    if (measured.a == nullptr) {
      inner.loads = measured.f_ext;
      inner.acceleration(time, q, v, a);
    } else {
      for (int i = 0; i < model.reduced_nv; ++i) a[i] = measured.a[i];
    }
    spatial::Force<S>* acting = nullptr;
    if (weighs) {
      acting = take_wrenches(model, w, measured.f_ext);
      add_acting_wrenches(at, acting, w);
      inner.workspace = w;
      if (measured.a == nullptr) add_loop_wrenches<S>(inner, time, q, v, acting);
    }
    auto found = after_dynamics<S>(at, a, acting, w);
    if (first) {
      for (int i = 0; i < model.reduced_nv; ++i) a[i] = all<S>(0);
      for (int i = 0; i < 6 * model.ports; ++i) found.port[i] = all<S>(0);
      for (int i = 0; i < 6 * model.bodies; ++i) found.reaction[i] = all<S>(0);
    }
    at.values.acceleration = a;
    at.values.port_acceleration = found.port;
    at.values.reaction = found.reaction;
  }
  run_blocks(at, due, is_due, numbers, w);
}

/// Runs the program of readings at a point.
template <class S>
void read_point(const SignalPoint<S>& at, S* readings, Workspace<S> w) {
  const tree::Signals& signals = *at.model.signals;
  const S* const registers = at.run(signals.readings, w);
  const int* const outputs = at.model.program[signals.readings.program].outputs;
  for (int i = 0; i < signals.reading_count; ++i) readings[i] = registers[outputs[i]];
}

/// Every signal at the acceleration a; `f_ext` are wrenches of loops and contacts on the bodies, null for
/// none.
template <class S>
void read_signals(const ModelOf<S>& model,
                  S time,
                  const S* q,
                  const S* v,
                  const S* a,
                  const spatial::Force<S>* f_ext,
                  const S* numbers,
                  S* readings,
                  Workspace<S> w) {
  const tree::Signals& signals = *model.signals;
  if (signals.readings.program < 0) return;
  SignalPoint<S> at(model, time, q, v, numbers, w);
  if (signals.readings.after_dynamics) {
    spatial::Force<S>* acting = nullptr;
    if (reads_reactions(signals, signals.readings)) {
      acting = take_wrenches(model, w, f_ext);
      add_acting_wrenches(at, acting, w);
    }
    const auto found = after_dynamics<S>(at, a, acting, w);
    at.values.acceleration = a;
    at.values.port_acceleration = found.port;
    at.values.reaction = found.reaction;
  }
  read_point(at, readings, w);
}

/// Every signal at a state of a system, on whose bodies contacts exert wrenches, null for none; `numbers` are
/// those of the signals with what contact sensors measure.
template <class S>
void read_end(const System<S>& system,
              S time,
              const S* q,
              const S* v,
              const S* numbers,
              const spatial::Force<S>* wrenches,
              S* readings) {
  const auto& model = system.model;
  const tree::Signals& signals = *model.signals;
  System<S> inner = system;
  Workspace<S>& w = inner.workspace;
  S* const a = take<S>(w, model.reduced_nv);
  auto* const acting = take_wrenches<S>(model, w, wrenches);
  if (signals.readings.program >= 0 && signals.readings.after_dynamics) {
    inner.loads = wrenches;
    inner.acceleration(time, q, v, a);
    if (reads_reactions(signals, signals.readings)) add_loop_wrenches<S>(inner, time, q, v, acting);
  }
  read_signals<S>(model, time, q, v, a, acting, numbers, readings, w);
}

}  // namespace pysim::stepping
