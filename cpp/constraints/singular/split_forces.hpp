// Forces of the rows near a singular position.
//
//     λ = −G⁺ (J v̇₀ + bias)      bias may be an error divided by its distance: its part is regularised;
//                                what the tree's own accelerations v̇₀ load the rows with is given in full
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
