// Constraint forces near a singular position, with the inexact part of their load regularised.
//
//     λ = −G⁺ (J v̇₀ + bias)      bias may contain an error divided by a small distance: it is regularised;
//                                the load of the tree's own accelerations v̇₀ is exact
#pragma once

#include "constraints/delassus.hpp"

namespace pysim::constraints {

/// λ ← G⁺ λ of λ = −(J v̇₀ + bias), v̇₀ = `a`, in worlds that are near a singular position.
template <class S>
void split_forces(const Delassus<S>& delassus, const S* a, S* lambda, Workspace<S> w) {
  const Rows<S>& rows = delassus.rows;
  const auto near = delassus.G.is_slight();
  S *const split = take<S>(w, rows.count), *const bias = take<S>(w, rows.count);
  for (int i = 0; i < rows.count; ++i) {
    split[i] = lambda[i];
    bias[i] = lambda[i] + rows.times(i, a);
  }
  delassus.G.solve(lambda);
  delassus.G.solve_split(split, bias);
  for (int i = 0; i < rows.count; ++i) lambda[i] = select(near, split[i], lambda[i]);
}

}  // namespace pysim::constraints
