// Damping and stiffness of actuators on their own coordinates, for steps that are implicit in them.
//
//     d_i = max(0, −∂τ_i/∂v_i)        k_i = max(0, −∂τ_i/∂q_i)
//
// States of elements follow q and v within the step, so that the torque of a motor whose current settles
// faster than the step is damped by its back-EMF. Forces of ports, and derivatives by other coordinates, are
// left out.
//
// Forces rest + clip(x, lower, upper) that an actuator bounds are handed to the convex problem, too, with the
// derivatives of x whether it is within its bounds or not; near a bound A has a share of them, see
// contact/kinds/bounded.hpp.
#pragma once

#include "contact/kinds/bounded.hpp"
#include "stepping/signal_derivatives.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

template <class S>
class ActuatorDamping {
 public:
  ActuatorDamping(const System<S>& system, Workspace<S>& w) : model_(system.model) {
    if (!acts(system)) return;
    d_ = take<S>(w, model_.reduced_nv);
    k_ = take<S>(w, model_.reduced_nv);
    tree_v_ = take<int>(w, model_.reduced_nv);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      for (int i = 0; i < joint.nv && joint.reduced_v >= 0; ++i) tree_v_[joint.reduced_v + i] = joint.v + i;
    }
    bounded_ = take<Bounded>(w, system.model.signals->bounded);
  }

  /// Evaluates d and k at a state of the user's q and v.
  void evaluate(const System<S>& system, S time, const S* q, const S* v, Workspace<S> w) const {
    if (d_ == nullptr) return;
    const tree::Signals& signals = *model_.signals;
    const S o = all<S>(0);
    for (int i = 0; i < model_.reduced_nv; ++i) d_[i] = k_[i] = o;
    const SignalPoint<S> at(model_, time, q, v, system.signals.numbers, w);
    const S* const registers = at.run(signals.slopes, w);
    const int* const slopes = model_.program[signals.slopes.program].outputs + elements::effort_count(model_);
    read_bounds(registers, slopes + signals.slope_count);
    if (signals.coupled() > 0) {
      add_rows(system, registers, slopes, w);
    } else {
      for (int n = 0; n < signals.slope_count; ++n) {
        const tree::SignalSlope& slope = signals.slope[n];
        if (!is_own(signals, slope)) continue;
        S* const to = slope.along == tree::SignalMotion::v ? d_ : k_;
        to[slope.index] -= registers[slopes[n]];
      }
    }
    for (int i = 0; i < signals.coordinates; ++i) {
      const int at_v = signals.coordinate[i];
      d_[at_v] = max(d_[at_v], o);
      k_[at_v] = max(k_[at_v], o);
    }
    for (int n = 0; n < signals.bounded; ++n) {
      Bounded& force = bounded_[n];
      const int i = signals.coordinate[signals.bounded_row[n]];
      // Of a force within its bounds no more than A has of it.
      force.d = max(force.d, o);
      force.k = max(force.k, o);
      force.d = select(force.is_within, min(force.d, d_[i]), force.d);
      force.k = select(force.is_within, min(force.k, k_[i]), force.k);
      force.share = select(force.is_within, contact::share_within(force.x, force.lower, force.upper), o);
      if (all(force.share == all<S>(1))) continue;
      const S rest = select(force.is_within, all<S>(1) - force.share, o);
      d_[i] = max(fnma(rest, force.d, d_[i]), o);
      k_[i] = max(fnma(rest, force.k, k_[i]), o);
    }
  }

  int bounded_count() const { return d_ == nullptr ? 0 : model_.signals->bounded; }

  /// Bounded force n for a step of length h, or a stage of that length, from the velocity v (nv) at which the
  /// forces were evaluated.
  contact::BoundedForce<S> bounded(int n, const S* v, bool is_stage, S h) const {
    const Bounded& force = bounded_[n];
    const int i = tree_v_[model_.signals->coordinate[model_.signals->bounded_row[n]]];
    const S c = fma(h, force.k, force.d);
    const S a = fma(is_stage ? c : force.d, v[i], force.x);
    return {i, a, c, force.lower, force.upper, max(min(force.x, force.upper), force.lower), force.share};
  }

  /// Copies d and k of the user's coordinates; zeros if actuators have neither.
  void copy(S* d, S* k) const {
    for (int i = 0; i < model_.reduced_nv; ++i) {
      d[i] = d_ == nullptr ? all<S>(0) : d_[i];
      k[i] = d_ == nullptr ? all<S>(0) : k_[i];
    }
  }

  /// Adds h (d + h k) to the diagonal that A has beside M, and to τ of the tree's coordinates what their
  /// force at the end of the step, d (v₁ − v) + k h v₁, is less than that.
  template <class Stage>
  void add(const Stage& stage, const S* v, S h, S* base, S* tau) const {
    if (d_ == nullptr) return;
    const S* const from = stage.from(v);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (joint.reduced_v < 0) continue;
      for (int i = 0; i < joint.nv; ++i) {
        const int at = joint.v + i;
        const S d = d_[joint.reduced_v + i], hk = h * k_[joint.reduced_v + i];
        base[at] = fma(h, d + hk, base[at]);
        tau[at] = stage.add_implicit_force(d + hk, hk, v[at], from[at], tau[at]);
      }
    }
  }

 private:
  /// x of a bounded force, its bounds, and its damping and stiffness on its own coordinate.
  struct Bounded {
    S x, lower, upper, d, k;
    simd::Mask<S> is_within;
    S share;  ///< of its damping and stiffness that A has
  };

  void read_bounds(const S* registers, const int* outputs) const {
    using Place = tree::SignalBounds;
    const tree::Signals& signals = *model_.signals;
    for (int n = 0; n < signals.bounded; ++n, outputs += Place::count) {
      Bounded& force = bounded_[n];
      force.x = registers[outputs[Place::x]];
      force.lower = registers[outputs[Place::lower]];
      force.upper = max(force.lower, registers[outputs[Place::upper]]);
      force.is_within = (force.x >= force.lower) & (force.x <= force.upper);
      force.d = force.k = all<S>(0);
    }
    const int* const slopes = outputs;
    for (int m = 0; m < signals.bounded_slope_count; ++m) {
      const tree::SignalSlope& slope = signals.bounded_slope[m];
      Bounded& force = bounded_[slope.row];
      if (slope.index != signals.coordinate[signals.bounded_row[slope.row]]) continue;
      if (slope.along == tree::SignalMotion::v) force.d -= registers[slopes[m]];
      if (slope.along == tree::SignalMotion::q) force.k -= registers[slopes[m]];
    }
  }

  /// Adds what x of bounded forces changes with states that follow q and v; rows from the states' on.
  void follow_bounded(const S* registers, const int* slopes, const SignalRows<S>& states) const {
    const tree::Signals& signals = *model_.signals;
    for (int m = 0; m < signals.bounded_slope_count; ++m) {
      const tree::SignalSlope& slope = signals.bounded_slope[m];
      if (slope.along != tree::SignalMotion::state) continue;
      Bounded& force = bounded_[slope.row];
      const int at = slope.index * states.n + signals.coordinate[signals.bounded_row[slope.row]];
      force.k = fnma(registers[slopes[m]], states.q[at], force.k);
      force.d = fnma(registers[slopes[m]], states.v[at], force.d);
    }
  }

  static bool is_own(const tree::Signals& signals, const tree::SignalSlope& slope) {
    const bool moves = slope.along == tree::SignalMotion::v || slope.along == tree::SignalMotion::q;
    return moves && slope.row < signals.coordinates && slope.index == signals.coordinate[slope.row];
  }

  /// Whether an actuator has a derivative by its own coordinate, or by a state.
  static bool acts(const System<S>& system) {
    if (system.signals.numbers == nullptr || system.model.signals == nullptr) return false;
    const tree::Signals& signals = *system.model.signals;
    if (signals.slopes.program < 0) return false;
    for (int n = 0; n < signals.slope_count; ++n) {
      const tree::SignalSlope& slope = signals.slope[n];
      if (is_own(signals, slope)) return true;
      if (slope.row < signals.coordinates && slope.along == tree::SignalMotion::state) return true;
    }
    return signals.bounded > 0;
  }

  /// d and k with states that follow.
  void add_rows(const System<S>& system, const S* registers, const int* slopes, Workspace<S> w) const {
    const tree::Signals& signals = *model_.signals;
    const int n = model_.reduced_nv, states = signals.coupled(),
              forces = signals.coordinates + elements::effort_count(model_), count = forces + states;
    const std::ptrdiff_t size = std::ptrdiff_t{1} * count * n;
    const SignalRows<S> rows = {
        n, states, take<S>(w, size), take<S>(w, size), take<S>(w, std::ptrdiff_t{1} * count * states)};
    for (std::ptrdiff_t i = 0; i < size; ++i) rows.q[i] = rows.v[i] = all<S>(0);
    for (int i = 0; i < count * states; ++i) rows.x[i] = all<S>(0);
    const elements::PortRows<S> none = {nullptr, nullptr};
    for (int k = 0; k < signals.slope_count; ++k) {
      const tree::SignalSlope& slope = signals.slope[k];
      const bool of_port =
          slope.along == tree::SignalMotion::port_position || slope.along == tree::SignalMotion::port_rate;
      if (!of_port) spread_slope<S>(slope, registers[slopes[k]], none, rows);
    }
    follow_states(forces, system.signals.factor, rows, w);
    for (int r = 0; r < signals.coordinates; ++r) {
      const int i = signals.coordinate[r];
      d_[i] -= rows.v[r * n + i];
      k_[i] -= rows.q[r * n + i];
    }
    const std::ptrdiff_t first = std::ptrdiff_t{1} * forces * n;
    follow_bounded(registers,
                   slopes + signals.slope_count + tree::SignalBounds::count * signals.bounded,
                   {n, states, rows.q + first, rows.v + first, nullptr});
  }

  const ModelOf<S>& model_;
  S *d_ = nullptr, *k_ = nullptr;  ///< [reduced_nv]
  int* tree_v_ = nullptr;          ///< [reduced_nv] coordinates of the tree
  Bounded* bounded_ = nullptr;     ///< [Signals::bounded]
};

/// States of elements at the end of a step or stage of length h from x₀: x₁ = x₀ + h f(t, q₁, v₁, x₁). Forces
/// do the work of `mean_v`; null for v₁.
template <class S>
void end_states(const System<S>& system,
                S time,
                S h,
                const S* q,
                const S* v,
                const S* mean_v,
                const S* x0,
                Workspace<S> w) {
  System<S> inner = system;
  inner.signals.mean_v = mean_v;
  inner.signals.base = x0;
  inner.signals.factor = h;
  const int coupled = system.model.signals->coupled();
  S* const start = take<S>(w, coupled);  // those that the forces have seen
  simd::copy_each<S>(static_cast<const S*>(inner.signals.numbers), coupled, start);
  inner.signals.start = start;
  inner.actuate(time, q, v, take<S>(w, system.model.reduced_nv), w);
}

}  // namespace pysim::stepping
