// How the rows of couplings change with the state, see relations.hpp.
//
//     dg̈ = −∂κ/∂x dx − ∂κ/∂ẋ dẋ,   κ = f′ ẍ + ẋᵀ f″ ẋ        d(Jᵀλ) = −λ f″ dx
//
// A function's second program maps x, ẋ and ẍ to f″, ∂κ/∂x and ∂κ/∂ẋ. A linear coupling has none.
#pragma once

#include "constraints/relations.hpp"
#include "constraints/row_slopes.hpp"

namespace pysim::constraints {

/// Adds what couplings change to ∂g̈ and to −∂(Jᵀλ)/∂q.
template <class S>
void add_relation_slopes(const ModelOf<S>& model,
                         const S* own_q,
                         const S* own_v,
                         const S* own_a,
                         const S* lambda,
                         const RowSlopes<S>& slopes,
                         S* D_q,
                         Workspace<S> w) {
  const int n = model.own_nv;
  for (int k = 0; k < model.relations; ++k) {
    const auto& relation = model.relation[k];
    if (relation.program < 0) continue;
    const auto& program = model.program[relation.derivative];
    const auto* input = model.term + relation.first_input;
    const int inputs = relation.inputs;
    S* const r = w.next;
    for (int i = 0; i < inputs; ++i) {
      r[i] = own_q[input[i].q];
      r[inputs + i] = own_v[input[i].v];
      r[2 * inputs + i] = own_a[input[i].v];
    }
    tree::load_constants(program, r + 3 * inputs);
    tree::run(program, 0, program.end, r);
    const int* const second = program.outputs;
    const int *const by_x = second + inputs * inputs, *const by_rate = by_x + inputs;
    for (int i = 0; i < inputs; ++i) {
      const int at = relation.row * n + input[i].v;
      slopes.q[at] -= r[by_x[i]];
      slopes.v[at] -= r[by_rate[i]];
      for (int j = 0; j < inputs; ++j) {
        S& entry = D_q[input[i].v * n + input[j].v];
        entry = fma(lambda[relation.row], r[second[i * inputs + j]], entry);
      }
    }
  }
}

}  // namespace pysim::constraints
