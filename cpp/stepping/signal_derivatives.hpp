// Derivatives of the signals' forces by q and v, for implicit schemes.
//
//     ∂τ/∂q = Eᵀ (F_q + F_x X_q) + (∂Eᵀ/∂q) y        X_q = (1 − c f_x)⁻¹ c f_q
//
// y are the forces on coordinates and the efforts of ports, E their rows on the coordinates, F_q, F_v and F_x
// the derivatives of y along the motion of all inputs; those of f give how the states of elements follow.
// Forces of inverse dynamics that a program uses count as constants.
#pragma once

#include "elements/port_derivatives.hpp"
#include "stepping/signals.hpp"

namespace pysim::stepping {

/// Derivatives of all rows of the forces: by q and v (rows × n), and by the states (rows × states).
template <class S>
struct SignalRows {
  int n, states;
  S *q, *v, *x;
};

/// Adds one slope, along its motion, to the rows.
template <class S>
void spread_slope(const tree::SignalSlope& slope,
                  S value,
                  const elements::PortRows<S>& ports,
                  const SignalRows<S>& rows) {
  const int n = rows.n;
  S *const q = rows.q + slope.row * n, *const v = rows.v + slope.row * n;
  const auto add = [n, value](const S* from, S* to) {
    for (int k = 0; k < n; ++k) to[k] = fma(value, from[k], to[k]);
  };
  switch (slope.along) {
    case tree::SignalMotion::state:
      rows.x[slope.row * rows.states + slope.index] += value;
      break;
    case tree::SignalMotion::q:
      q[slope.index] += value;
      break;
    case tree::SignalMotion::v:
      v[slope.index] += value;
      break;
    case tree::SignalMotion::port_position:
      add(ports.J + slope.index * n, q);
      break;
    case tree::SignalMotion::port_rate:
      add(ports.rate + slope.index * n, q);
      add(ports.J + slope.index * n, v);
      break;
  }
}

/// Adds to the first `forces` rows what the states change that follow q and v within an implicit evaluation.
template <class S>
void follow_states(int forces, S factor, const SignalRows<S>& rows, Workspace<S> w) {
  const int n = rows.n, m = rows.states;
  S* const A = take<S>(w, std::ptrdiff_t{1} * m * m);
  for (int i = 0; i < m * m; ++i) A[i] = rows.x[forces * m + i];
  factor_states(m, factor, A);
  S* const matrices[] = {rows.q, rows.v};
  for (S* const matrix : matrices) {
    S* const X = matrix + forces * n;
    for (int i = 0; i < m * n; ++i) X[i] = factor * X[i];
    for (int k = 0; k < n; ++k) solve_states<S>(m, A, n, X + k);
    for (int r = 0; r < forces; ++r) {
      for (int j = 0; j < m; ++j) {
        for (int k = 0; k < n; ++k) {
          matrix[r * n + k] = fma(rows.x[r * m + j], X[j * n + k], matrix[r * n + k]);
        }
      }
    }
  }
}

/// Adds the rows of the forces, times `sign`, to matrices (n × n) of the user's coordinates.
template <class S>
void add_signal_rows(const ModelOf<S>& model,
                     const elements::PortRows<S>& ports,
                     S sign,
                     const SignalRows<S>& rows,
                     S* by_q,
                     S* by_v) {
  const tree::Signals& signals = *model.signals;
  const int n = rows.n;
  const auto add = [&](int i, int row, S factor) {
    for (int k = 0; k < n; ++k) {
      by_q[i * n + k] = fma(factor, rows.q[row * n + k], by_q[i * n + k]);
      by_v[i * n + k] = fma(factor, rows.v[row * n + k], by_v[i * n + k]);
    }
  };
  for (int r = 0; r < signals.coordinates; ++r) add(signals.coordinate[r], r, sign);
  for (int p = 0, i = 0; p < signals.driven; ++p) {
    const bool is_path = model.port[p].kind == tree::ElementKind::path;
    for (int c = 0; c < tree::port_motions(model.port[p].kind); ++c, ++i) {
      for (int m = 0; m < n; ++m) {
        const S lever = sign * ports.J[i * n + m];
        add(m, signals.coordinates + i, is_path ? -lever : lever);
      }
    }
  }
}

/// Adds `sign` ∂τ/∂q and ∂τ/∂v of the signals' forces to matrices of the user's coordinates.
template <class S>
void add_signal_derivatives(const ModelOf<S>& model,
                            S time,
                            const S* q,
                            const S* v,
                            const SignalState<S>& state,
                            S sign,
                            S* by_q,
                            S* by_v,
                            Workspace<S> w) {
  const tree::Signals& signals = *model.signals;
  if (signals.slopes.program < 0) return;
  const SignalPoint<S> at(model, time, q, v, state.numbers, w);
  const int states = signals.coupled();
  const bool follows = states > 0 && state.base != nullptr;
  if (follows) solve_implicit_states(at, state, w);
  const S* const registers = at.run(signals.slopes, w);
  const int* const outputs = model.program[signals.slopes.program].outputs;
  const int n = model.reduced_nv, efforts = elements::effort_count(model);

  elements::PortRows<S> ports = {nullptr, nullptr};
  if (signals.slope_ports > 0) {
    const auto d = elements::take_segment_derivatives<S>(model, at.full_q, at.full_v, sign, by_q, by_v, w);
    ports = elements::port_rows<S>(model, d, at.full_v, [&](int i) { return registers[outputs[i]]; }, w);
  }
  const int forces = signals.coordinates + efforts, count = forces + states;
  const std::ptrdiff_t size = std::ptrdiff_t{1} * count * n;
  const SignalRows<S> rows = {
      n, states, take<S>(w, size), take<S>(w, size), take<S>(w, std::ptrdiff_t{1} * count * states)};
  for (std::ptrdiff_t i = 0; i < size; ++i) rows.q[i] = rows.v[i] = all<S>(0);
  for (int i = 0; i < count * states; ++i) rows.x[i] = all<S>(0);
  for (int k = 0; k < signals.slope_count; ++k) {
    spread_slope<S>(signals.slope[k], registers[outputs[efforts + k]], ports, rows);
  }
  if (follows) follow_states(forces, state.factor, rows, w);
  add_signal_rows(model, ports, sign, rows, by_q, by_v);
}

}  // namespace pysim::stepping
