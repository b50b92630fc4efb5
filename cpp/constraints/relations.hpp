// Couplings between coordinates: gears, differentials, cams.
//
//     g = Σ cᵢ qᵢ − offset − f(x),   ġ = Σ cᵢ q̇ᵢ − f′ ẋ,   g̈ = Σ cᵢ q̈ᵢ − f′ ẍ − ẋᵀ f″ ẋ
//
// A function's program maps x and ẋ to f, every ∂f/∂x, and ẋᵀ f″ ẋ.
#pragma once

#include "constraints/rows.hpp"

namespace pysim::constraints {

using tree::Relation;
using tree::Term;

/// f, its slopes and its curvature term, in registers that begin at r.
template <class S>
void run_relation(const ModelOf<S>& model,
                  const Relation<typename S::Parameter>& relation,
                  const S* own_q,
                  const S* own_v,
                  S* r) {
  const auto& program = model.program[relation.program];
  const auto* input = model.term + relation.first_input;
  for (int i = 0; i < relation.inputs; ++i) {
    r[i] = own_q[input[i].q];
    r[relation.inputs + i] = own_v[input[i].v];
  }
  tree::load_constants(program, r + 2 * relation.inputs);
  tree::run(program, 0, program.end, r);
}

/// The rows of every coupling; `a` may be null (zero).
template <class S>
void evaluate_relations(const ModelOf<S>& model,
                        const S* own_q,
                        const S* own_v,
                        const S* a,
                        const Rows<S>& rows,
                        Workspace<S> w) {
  for (int k = 0; k < model.relations; ++k) {
    const auto& relation = model.relation[k];
    Workspace<S> inner = w;
    S* const J = take<S>(inner, model.own_nv);
    S g = -all<S>(relation.offset), gd = all<S>(0), gdd = all<S>(0);
    for (int i = 0; i < model.own_nv; ++i) J[i] = all<S>(0);
    for (int i = 0; i < relation.terms; ++i) {
      const auto& term = model.term[relation.first_term + i];
      g = fma(all<S>(term.factor), own_q[term.q], g);
      J[term.v] += all<S>(term.factor);
    }
    if (relation.program >= 0) {
      S* const r = inner.next;
      run_relation(model, relation, own_q, own_v, r);
      const int* outputs = model.program[relation.program].outputs;
      g -= r[outputs[0]];
      for (int i = 0; i < relation.inputs; ++i) {
        J[model.term[relation.first_input + i].v] -= r[outputs[1 + i]];
      }
      gdd -= r[outputs[1 + relation.inputs]];
    }
    for (int i = 0; i < model.own_nv; ++i) gd = fma(J[i], own_v[i], gd);
    for (int i = 0; a != nullptr && i < model.own_nv; ++i) gdd = fma(J[i], a[i], gdd);
    const tree::Way& way = model.row_way[relation.row];
    for (int m = 0; m < way.nv; ++m) {
      rows.J[relation.row * model.own_nv + m] = J[model.way[way.first_v + m]];
    }
    rows.g[relation.row] = g;
    rows.gd[relation.row] = gd;
    if (rows.gdd != nullptr) rows.gdd[relation.row] = gdd;
    rows.W[relation.row] = spatial::zero_force<S>();
  }
}

}  // namespace pysim::constraints
