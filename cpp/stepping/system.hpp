// Mechanism as an ordinary differential equation: its acceleration at a time, and q ⊕ dq.
#pragma once

#include "constraints/acceleration.hpp"
#include "constraints/projection.hpp"
#include "constraints/singular/one_sided_limits.hpp"
#include "stepping/run_description.hpp"
#include "stepping/signals.hpp"

namespace pysim::stepping {

using dynamics::lift;
using dynamics::retract;
using simd::all;
using simd::fma;
using simd::fnma;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// Accelerations of numbers on a tape, see acceleration_product.hpp.
template <class S>
class TapedAccelerations;

template <class S>
struct System {
  const ModelOf<S>& model;
  const Actuation& actuation;
  Workspace<S> workspace;
  S* loop_q;  ///< coordinates φ of the loops' joints, carried from one evaluation to the next
  const S* control = nullptr;  ///< generalised forces of each world, constant during a step; null for none
  S* memory = nullptr;         ///< of an implicit scheme, see solver_state.hpp; null for the others
  double spectral_radius = 1;  ///< of generalised α
  constraints::Dependence<S>* dependence =
      nullptr;  ///< dependence of the rows within a step; null to detect it anew
  SignalState<S> signals = {};
  const spatial::Force<S>* loads =
      nullptr;                             ///< wrenches on the bodies beside, in their frames; null for none
  TapedAccelerations<S>* taped = nullptr;  ///< of numbers on a tape
  S* start_change =
      nullptr;  ///< of v by constraints at the start, see rattle.hpp: out, on a tape in; or null

  /// τ(t, q, v) of the prescribed forces, the controls and the signals' actuators.
  void actuate(S time, const S* q, const S* v, S* tau, Workspace<S> w) const {
    for (int i = 0; i < model.reduced_nv; ++i) {
      tau[i] = all<S>(actuation.offset[i]);
      if (control != nullptr) tau[i] += control[i];
      if (actuation.amplitude[i] == 0) continue;
      S sin, cos;
      simd::sincos(fma(all<S>(actuation.frequency[i]), time, all<S>(actuation.phase[i])), sin, cos);
      tau[i] = fma(all<S>(actuation.amplitude[i]), sin, tau[i]);
    }
    if (signals.numbers != nullptr) add_signal_forces(model, time, q, v, signals, tau, w);
  }

  /// τ(t, q, v) and the joints' passive forces.
  void generalized_force(S time, const S* reduced_q, const S* reduced_v, S* force) const {
    actuate(time, reduced_q, reduced_v, force, workspace);
    if (!has_passive(model)) return;
    Workspace<S> w = workspace;
    const S* q = tree::full_q(model, reduced_q, w);
    const S* v = tree::full_v(model, reduced_v, w);
    S* const passive = take<S>(w, model.nv);
    dynamics::passive_forces(model, q, v, passive, w);
    const S* own = tree::reduced_forces(model, static_cast<const S*>(passive), w);
    for (int i = 0; i < model.reduced_nv; ++i) force[i] += own[i];
  }

  /// Linear damping of each coordinate.
  void damping(S* d) const {
    for (int i = 0; i < model.reduced_nv; ++i) d[i] = all<S>(0);
    for (int i = 0; i < model.nv; ++i) {
      const auto& c = model.mimic_v[i];
      d[c.reduced] += all<S>(c.ratio * c.ratio * model.passive[i].damping);
    }
  }

  /// v̇ = M(q)⁻¹ (τ(t, q, v) + passive forces − h(q, v)), constraints included.
  void acceleration(S time, const S* q, const S* v, S* a) const {
    if constexpr (simd::is_on_tape<S>) {
      taped->accelerate(*this, time, q, v, a);
    } else {
      accelerate(time, q, v, a);
    }
  }

  /// Inertia of a body.
  spatial::Inertia<S> inertia(int b) const {
    if constexpr (simd::is_on_tape<S>) {
      return taped->inertia(b);
    } else {
      return dynamics::body_inertia<S>(model, b);
    }
  }

  /// v̇ of numbers that are not on a tape.
  void accelerate(S time, const S* q, const S* v, S* a) const {
    Workspace<S> w = workspace;
    S* const tau = take<S>(w, model.reduced_nv);
    actuate(time, q, v, tau, w);
    if (model.rows == 0) {
      constraints::acceleration(model, q, v, tau, loads, true, a, w);
      return;
    }
    S* const lambda = take<S>(w, model.rows);
    constraints::ConstrainedMechanism<S> mechanism(model, {time, all<S>(1)}, w);
    const auto begins = dependence == nullptr ? simd::nowhere<S>() : !dependence->known;
    mechanism.accelerate(q, v, tau, loads, true, loop_q, a, lambda, w, dependence);
    if (model.timed && signals.numbers != nullptr) {
      S* const rate = take<S>(w, model.rows);
      for (int i = 0; i < model.rows; ++i) rate[i] = mechanism.rows.times(i, v) - mechanism.rows.gd[i];
      set_motion_powers(rate, lambda);
    }
    if (none(begins)) return;
    constraints::accelerate_by_one_sided_limits<S>(mechanism, q, v, tau, loop_q, begins, a, *dependence, w);
  }

  /// Sets the rates of the work of prescribed motions, λ·r with their rates r = −∂g/∂t; the work itself in an
  /// implicit evaluation.
  void set_motion_powers(const S* rates, const S* lambda) const {
    constraints::visit_motions<S>(model, [&](int row, int count, int place) {
      if (place < 0) return;
      S power = all<S>(0);
      for (int i = row; i < row + count; ++i) power = fma(lambda[i], rates[i], power);
      signals.rate[place] = power;
      if (signals.base != nullptr) signals.numbers[place] = fma(signals.factor, power, signals.base[place]);
    });
  }

  /// Result of `evaluate` for a mechanism; worlds that are not `active` keep φ and the dependence of rows.
  template <class Evaluate>
  void evaluate_active(simd::Mask<S> active, Evaluate evaluate) const {
    System<S> inner = *this;
    const S* phi = inner.copy_loop_q(inner.workspace);
    const auto found = inner.copy_dependence(inner.workspace);
    evaluate(inner);
    inner.keep_loop_q(!active, phi);
    inner.keep_dependence(!active, found);
  }

  /// v̇, as above.
  void acceleration(simd::Mask<S> active, S time, const S* q, const S* v, S* a) const {
    evaluate_active(active, [=](const System<S>& inner) { inner.acceleration(time, q, v, a); });
  }

  /// Number of states of elements.
  int states() const { return signals.numbers == nullptr ? 0 : model.signals->states; }

  /// Whether some of them are integrals, such as the work of forces.
  bool integrates() const { return states() > 0 && states() > model.signals->coupled(); }

  /// Copy of the states of elements; null if there are none.
  S* copy_states(Workspace<S>& w) const {
    if (states() == 0) return nullptr;
    S* const copy = take<S>(w, states());
    simd::copy_each<S>(signals.numbers, states(), copy);
    return copy;
  }

  /// A copy whose signals have a state of their own, to try a step with.
  System<S> with_own_signals(Workspace<S>& w) const {
    System<S> own = *this;
    if (states() == 0) return own;
    const int count = model.signals->numbers();
    own.signals.numbers = take<S>(w, count);
    own.signals.rate = take<S>(w, states());
    simd::copy_each<S>(signals.numbers, count, own.signals.numbers);
    return own;
  }

  /// Takes the state of the signals of a tried step in the `good` worlds.
  void keep_signals(simd::Mask<S> good, const System<S>& tried) const {
    if (states() > 0)
      simd::copy_where<S>(good, tried.signals.numbers, model.signals->numbers(), signals.numbers);
  }

  /// Starts a step in the worlds where it `begins`: its first acceleration determines which rows depend on
  /// others.
  void begin_step(simd::Mask<S> begins = simd::everywhere<S>()) const {
    if (dependence != nullptr) dependence->begin(begins);
  }

  /// One of several steps that make up one begins.
  void begin_part(simd::Mask<S> begins = simd::everywhere<S>()) const {
    if (dependence != nullptr) dependence->forget(begins);
  }

  constraints::Dependence<S> copy_dependence(Workspace<S>& w) const {
    return dependence == nullptr ? constraints::take_dependence<S>(0, w) : dependence->copy(w);
  }

  void keep_dependence(simd::Mask<S> worlds, const constraints::Dependence<S>& found) const {
    if (dependence != nullptr) dependence->keep(worlds, found);
  }

  /// Lets a scheme try a step with its own φ, which is kept if the step is good.
  S* copy_loop_q(Workspace<S>& w) const {
    S* const copy = take<S>(w, model.loop_nq());
    simd::copy_each<S>(loop_q, model.loop_nq(), copy);
    return copy;
  }

  void keep_loop_q(simd::Mask<S> good, const S* tried) const {
    simd::copy_where<S>(good, tried, model.loop_nq(), loop_q);
  }

  /// Result of a step; null if there is none, in which case nothing is known of its end.
  constraints::Dependence<S>* known_dependence() const {
    return dependence != nullptr && any(dependence->known) ? dependence : nullptr;
  }

  /// Projects a state that a scheme has reached at a time onto the constraints; true in every lane in which
  /// that succeeds.
  simd::Mask<S> project(S time, S* q, S* v) const {
    if (model.rows == 0) return simd::everywhere<S>();
    const auto projected =
        constraints::project(model, time, q, v, loop_q, workspace, known_dependence(), dependence);
    return projected.is_closed;
  }
};

}  // namespace pysim::stepping
