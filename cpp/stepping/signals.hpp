// Signals of a scene within a step: forces of actuators, and states of elements with their rates.
//
//     ẋ = f(t, q, v, x)
//
// An explicit scheme carries x like q and v. An implicit one sets `base` and `factor`: then every evaluation
// solves  x = base + factor f(t, q, v, x)  by Newton's method, so x is a function of q and v and does not add
// unknowns to the step's equation. Integrals, the last states, follow from the others without a solution.
#pragma once

#include "dynamics/rnea.hpp"
#include "elements/contact_forces.hpp"
#include "elements/signals.hpp"
#include "tree/coordinates.hpp"

namespace pysim::stepping {

using elements::SignalValues;
using simd::all;
using simd::fma;
using simd::fnma;
using tree::ModelOf;
using tree::SignalProgram;
using tree::take;
using tree::Workspace;

/// State of the signals in a pack of worlds; `numbers` is null where they do not act.
template <class S>
struct SignalState {
  S* numbers = nullptr;      ///< states of elements, then held numbers
  S* rate = nullptr;         ///< f of the last evaluation
  const S* base = nullptr;   ///< of an implicit evaluation; null for an explicit one
  const S* start = nullptr;  ///< states from which it starts
  S factor = {};             ///< [s]
  /// Velocities of the work of forces in a step that holds these: their mean, so that the work is the change
  /// of the kinetic energy. Null for v.
  const S* mean_v = nullptr;
};

/// Forces of inverse dynamics for programs of signals, at one state.
template <class S>
struct SignalCalls {
  const ModelOf<S>& model;
  const S *q, *v;                 ///< of the tree
  const Workspace<S>& workspace;  ///< behind the registers

  void operator()(const tree::SignalCall& call, S* registers) const {
    Workspace<S> w = workspace;
    S* const tau = take<S>(w, model.nv);
    const spatial::Force<S>* const none = nullptr;
    if (call.kind == tree::SignalCallKind::gravity) {
      S* const still = take<S>(w, model.nv);
      for (int i = 0; i < model.nv; ++i) still[i] = all<S>(0);
      dynamics::rnea<S>(model, q, still, nullptr, none, tau, w);
    } else {
      const int* argument = model.signals->argument + call.first_argument;
      const auto next = [&](int count) {
        S* const numbers = take<S>(w, count);
        for (int i = 0; i < count; ++i) numbers[i] = registers[*argument++];
        return static_cast<const S*>(numbers);
      };
      const S *own_q = q, *own_v = v;
      if (call.kind == tree::SignalCallKind::inverse_at) {
        own_q = tree::full_q(model, next(model.reduced_nq), w);
        own_v = tree::full_v(model, next(model.reduced_nv), w);
      }
      const S* const a = tree::full_v(model, next(model.reduced_nv), w);
      dynamics::rnea<S>(model, own_q, own_v, a, none, tau, w);
    }
    const S* const own = tree::reduced_forces(model, static_cast<const S*>(tau), w);
    for (int i = 0; i < model.reduced_nv; ++i) registers[call.to + i] = own[i];
  }
};

/// One state at which programs of signals run; `q` and `v` are the user's. The ports of a program are placed
/// when it runs: sensors that no force reads cost a step nothing.
template <class S>
struct SignalPoint {
  const ModelOf<S>& model;
  SignalValues<S> values;
  const S *full_q, *full_v, *full_mean_v;
  elements::PlacedPorts<S> ports, mean_ports;

  /// The work of forces has the velocities `mean_v`; null for v.
  SignalPoint(const ModelOf<S>& m,
              S time,
              const S* q,
              const S* v,
              const S* state,
              Workspace<S>& w,
              const S* mean_v = nullptr)
      : model(m),
        values{time, q, v, state, nullptr},
        full_q(tree::full_q(m, q, w)),
        full_v(tree::full_v(m, v, w)),
        full_mean_v(mean_v == nullptr ? full_v : tree::full_v(m, mean_v, w)),
        ports(elements::take_ports(m, full_q, w)),
        mean_ports(mean_v == nullptr ? ports : elements::take_ports(m, full_q, w)) {
    if (mean_v != nullptr) values.mean_v = mean_v;
    values.port = ports.numbers;
    values.mean_port = mean_ports.numbers;
  }

  /// Registers after the program; `w` is the memory behind them.
  S* run(const SignalProgram& own, Workspace<S>& w) const {
    elements::place_ports(model, own.placed, full_v, ports, w);
    elements::place_ports(model, own.mean, full_mean_v, mean_ports, w);
    return elements::run_signals(model, own, values, SignalCalls<S>{model, full_q, full_v, w}, w);
  }
};

/// Rows of the forces that precede the rates of states: on coordinates, and efforts of ports.
template <class S>
int force_rows(const ModelOf<S>& model) {
  return model.signals->coordinates + elements::effort_count(model);
}

/// ∂f/∂x of the coupled states (n × n), row-major, at a point.
template <class S>
void state_slopes(const SignalPoint<S>& at, S* slopes, Workspace<S> w) {
  const tree::Signals& signals = *at.model.signals;
  const int n = signals.coupled(), first = force_rows<S>(at.model),
            efforts = elements::effort_count(at.model);
  const S* const registers = at.run(signals.slopes, w);
  const int* const outputs = at.model.program[signals.slopes.program].outputs + efforts;
  for (int i = 0; i < n * n; ++i) slopes[i] = all<S>(0);
  for (int k = 0; k < signals.slope_count; ++k) {
    const tree::SignalSlope& slope = signals.slope[k];
    if (slope.row < first || slope.along != tree::SignalMotion::state) continue;
    slopes[(slope.row - first) * n + slope.index] = registers[outputs[k]];
  }
}

/// A ← 1 − factor A, factored without exchange of rows: A is that of states that decay or are slow.
template <class S>
void factor_states(int n, S factor, S* A) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) A[i * n + j] = all<S>(i == j ? 1 : 0) - factor * A[i * n + j];
  }
  for (int k = 0; k < n; ++k) {
    for (int i = k + 1; i < n; ++i) {
      A[i * n + k] = A[i * n + k] / A[k * n + k];
      for (int j = k + 1; j < n; ++j) A[i * n + j] = fnma(A[i * n + k], A[k * n + j], A[i * n + j]);
    }
  }
}

/// x ← A⁻¹ x for one of `columns` columns, of a factored A.
template <class S>
void solve_states(int n, const S* A, int columns, S* x) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) x[i * columns] = fnma(A[i * n + k], x[k * columns], x[i * columns]);
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) x[i * columns] = fnma(A[i * n + k], x[k * columns], x[i * columns]);
    x[i * columns] = x[i * columns] / A[i * n + i];
  }
}

/// Rates of the first `count` states at a point, from the registers of the forces' program.
template <class S>
void read_rates(const ModelOf<S>& model, const S* registers, int count, S* rate) {
  const tree::Signals& signals = *model.signals;
  const int* const outputs = model.program[signals.forces.program].outputs + force_rows<S>(model);
  for (int i = 0; i < count; ++i) rate[i] = registers[outputs[i]];
}

/// Solves x = base + factor f(t, q, v, x), from `start`, into the state's numbers.
template <class S>
void solve_implicit_states(const SignalPoint<S>& at, const SignalState<S>& state, Workspace<S> w) {
  using Real = typename S::Real;
  constexpr int most = 25;
  const int n = at.model.signals->coupled();
  S *const A = take<S>(w, std::ptrdiff_t{1} * n * n), *const rate = take<S>(w, n),
           *const step = take<S>(w, n);
  for (int i = 0; i < n; ++i) state.numbers[i] = state.start[i];
  auto active = simd::everywhere<S>();
  const S enough = all<S>(Real(sizeof(Real) == 8 ? 1e-14 : 1e-6)), one = all<S>(1);
  for (int k = 0; k < most && any(active); ++k) {
    Workspace<S> scratch = w;
    read_rates<S>(at.model, at.run(at.model.signals->forces, scratch), n, rate);
    for (int i = 0; i < n; ++i) step[i] = fma(state.factor, rate[i], state.base[i]) - state.numbers[i];
    state_slopes(at, A, w);
    factor_states(n, state.factor, A);
    solve_states<S>(n, A, 1, step);
    auto moves = simd::nowhere<S>();
    for (int i = 0; i < n; ++i) {
      moves |= abs(step[i]) > enough * (one + abs(state.numbers[i]));
      state.numbers[i] = select(active, state.numbers[i] + step[i], state.numbers[i]);
    }
    active &= moves;
  }
}

/// Adds the forces of actuators to τ of the user's coordinates, and stores the rates of the states.
template <class S>
void add_signal_forces(const ModelOf<S>& model,
                       S time,
                       const S* q,
                       const S* v,
                       const SignalState<S>& state,
                       S* tau,
                       Workspace<S> w) {
  const tree::Signals& signals = *model.signals;
  if (signals.forces.program < 0) return;
  const SignalPoint<S> at(model, time, q, v, state.numbers, w, state.mean_v);
  const bool is_implicit = state.base != nullptr;
  if (signals.coupled() > 0 && is_implicit) solve_implicit_states(at, state, w);
  const S* const registers = at.run(signals.forces, w);
  const int* const outputs = model.program[signals.forces.program].outputs;
  for (int i = 0; i < signals.coordinates; ++i) tau[signals.coordinate[i]] += registers[outputs[i]];
  if (signals.driven > 0) {
    S* const full = take<S>(w, model.nv);
    for (int i = 0; i < model.nv; ++i) full[i] = all<S>(0);
    const auto effort = [&](int i) { return registers[outputs[signals.coordinates + i]]; };
    const auto wrenches = elements::take_wrenches<S>(model, at.ports.body, w, full);
    elements::push_ports(model, at.ports, effort, wrenches);
    const tree::PlacedList& list = signals.forces.placed;
    for (int i = list.first_body + list.bodies - 1; i >= list.first_body; --i) {
      wrenches.project(model, at.ports.columns, signals.placed[i], full);
    }
    const S* const own = tree::reduced_forces(model, static_cast<const S*>(full), w);
    for (int i = 0; i < model.reduced_nv; ++i) tau[i] += own[i];
  }
  if (signals.states == 0) return;
  read_rates<S>(model, registers, signals.states, state.rate);
  if (model.contacts != nullptr && model.contacts->work != nullptr) {
    elements::add_contact_powers<S>(model, at.full_q, at.full_v, state.rate, w);
  }
  for (int i = signals.coupled(); is_implicit && i < signals.states; ++i) {
    state.numbers[i] = fma(state.factor, state.rate[i], state.base[i]);
  }
}

}  // namespace pysim::stepping
