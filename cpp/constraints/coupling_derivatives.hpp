// Derivatives of the rows of couplings with respect to the state, see couplings.hpp.
//
//     dg̈ = −∂κ/∂x dx − ∂κ/∂ẋ dẋ,   κ = f′ ẍ + ẋᵀ f″ ẋ        d(Jᵀλ) = −λ f″ dx
//
// A function's second program maps x, ẋ and ẍ to f″, ∂κ/∂x and ∂κ/∂ẋ. A linear coupling and a prescribed
// motion have none.
#pragma once

#include "constraints/couplings.hpp"
#include "constraints/row_derivatives.hpp"

namespace pysim::constraints {

/// Adds the derivatives of the couplings to ∂g̈ and to −∂(Jᵀλ)/∂q.
template <class S>
void add_coupling_slopes(const ModelOf<S>& model,
                         const S* reduced_q,
                         const S* reduced_v,
                         const S* reduced_a,
                         const S* lambda,
                         const RowSlopes<S>& slopes,
                         S* D_q,
                         Workspace<S> w) {
  const int n = model.reduced_nv;
  for (int k = 0; k < model.couplings; ++k) {
    const auto& coupling = model.coupling[k];
    if (coupling.derivative < 0) continue;
    const auto& program = model.program[coupling.derivative];
    const auto* input = model.term + coupling.first_input;
    const int inputs = coupling.inputs;
    Workspace<S> inner = w;
    S* const r = take<S>(inner, program.registers);
    for (int i = 0; i < inputs; ++i) {
      r[i] = reduced_q[input[i].q];
      r[inputs + i] = reduced_v[input[i].v];
      r[2 * inputs + i] = reduced_a[input[i].v];
    }
    tree::load_constants(program, r + 3 * inputs);
    tree::run(program, 0, program.end, r);
    const int* const second = program.outputs;
    const int *const by_x = second + inputs * inputs, *const by_rate = by_x + inputs;
    for (int i = 0; i < inputs; ++i) {
      const int at = coupling.row * n + input[i].v;
      slopes.q[at] -= r[by_x[i]];
      slopes.v[at] -= r[by_rate[i]];
      for (int j = 0; j < inputs; ++j) {
        S& entry = D_q[input[i].v * n + input[j].v];
        entry = fma(lambda[coupling.row], r[second[i * inputs + j]], entry);
      }
    }
  }
}

}  // namespace pysim::constraints
