// Couplings between coordinates: gears, differentials, cams; and motions prescribed by time.
//
//     g = Σ cᵢ qᵢ − offset − f(x),   ġ = Σ cᵢ q̇ᵢ − f′ ẋ,   g̈ = Σ cᵢ q̈ᵢ − f′ ẍ − ẋᵀ f″ ẋ
//
// A function's program maps x and ẋ to f, every ∂f/∂x, and ẋᵀ f″ ẋ. Without inputs it is a motion prescribed
// by time, s(t), and its program maps t to s, ds/dt and d²s/dt².
#pragma once

#include "constraints/constraint_rows.hpp"

namespace pysim::constraints {

using tree::Coupling;
using tree::Term;

/// f, its slopes and its curvature term, in registers that begin at r.
template <class S>
void run_coupling(const ModelOf<S>& model,
                  const Coupling<typename S::Parameter>& coupling,
                  const Clock<S>& clock,
                  const S* reduced_q,
                  const S* reduced_v,
                  S* r) {
  const auto& program = model.program[coupling.program];
  const auto* input = model.term + coupling.first_input;
  for (int i = 0; i < coupling.inputs; ++i) {
    r[i] = reduced_q[input[i].q];
    r[coupling.inputs + i] = reduced_v[input[i].v];
  }
  const bool timed = coupling.inputs == 0;
  if (timed) r[0] = clock.time;
  tree::load_constants(program, r + (timed ? 1 : 2 * coupling.inputs));
  tree::run(program, 0, program.end, r);
}

/// The rows of every coupling; `a` may be null (zero).
template <class S>
void evaluate_couplings(const ModelOf<S>& model,
                        const Clock<S>& clock,
                        const S* reduced_q,
                        const S* reduced_v,
                        const S* a,
                        const Rows<S>& rows,
                        Workspace<S> w) {
  for (int k = 0; k < model.couplings; ++k) {
    const auto& coupling = model.coupling[k];
    Workspace<S> inner = w;
    S* const J = take<S>(inner, model.reduced_nv);
    S g = -all<S>(coupling.offset), gd = all<S>(0), gdd = all<S>(0);
    for (int i = 0; i < model.reduced_nv; ++i) J[i] = all<S>(0);
    for (int i = 0; i < coupling.terms; ++i) {
      const auto& term = model.term[coupling.first_term + i];
      g = fma(all<S>(term.factor), reduced_q[term.q], g);
      J[term.v] += all<S>(term.factor);
    }
    if (coupling.program >= 0) {
      const auto& program = model.program[coupling.program];
      S* const r = take<S>(inner, program.registers);
      run_coupling(model, coupling, clock, reduced_q, reduced_v, r);
      const int* outputs = program.outputs;
      g -= r[outputs[0]];
      for (int i = 0; i < coupling.inputs; ++i) {
        J[model.term[coupling.first_input + i].v] -= r[outputs[1 + i]];
      }
      if (coupling.inputs == 0) {
        gd = -r[outputs[1]] * clock.rate;
        gdd -= r[outputs[2]] * clock.rate * clock.rate;
      } else {
        gdd -= r[outputs[1 + coupling.inputs]];
      }
    }
    for (int i = 0; i < model.reduced_nv; ++i) gd = fma(J[i], reduced_v[i], gd);
    for (int i = 0; a != nullptr && i < model.reduced_nv; ++i) gdd = fma(J[i], a[i], gdd);
    const int* const coordinate = rows.coordinates(coupling.row);
    for (int m = 0; m < rows.path[coupling.row].nv; ++m)
      rows.J[coupling.row * rows.nv + m] = J[coordinate[m]];
    rows.g[coupling.row] = g;
    rows.gd[coupling.row] = gd;
    if (rows.gdd != nullptr) rows.gdd[coupling.row] = gdd;
    rows.W[coupling.row] = spatial::zero_force<S>();
  }
}

/// Rounding error of the residual g of a coupling:  16 ε Σ |cᵢ qᵢ|.
template <class S>
S rounding_of_coupling(const ModelOf<S>& model,
                       const Coupling<typename S::Parameter>& coupling,
                       const S* reduced_q) {
  using Real = typename S::Real;
  constexpr Real epsilon = sizeof(Real) == 8 ? Real(__DBL_EPSILON__) : Real(__FLT_EPSILON__);
  S sum = abs(all<S>(coupling.offset));
  for (int i = 0; i < coupling.terms; ++i) {
    const auto& term = model.term[coupling.first_term + i];
    sum = fma(abs(all<S>(term.factor)), abs(reduced_q[term.q]), sum);
  }
  return all<S>(16 * epsilon) * sum;
}

}  // namespace pysim::constraints
