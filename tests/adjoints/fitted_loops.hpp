// Coordinates of loops' joints whose slopes have converged.
#pragma once

#include "dual_numbers.hpp"
// kernels, which call functions of numbers by their qualified names
#include "constraints/loop_fit.hpp"

namespace pysim::constraints {

/// Fits φ by more rounds than its value needs: slopes come nearer to its own by the factor |e| in each.
template <>
inline void fit_coordinates(const ModelOf<adjoints::T>& closure,
                            int k,
                            const Pose<adjoints::T>& X_AB,
                            adjoints::T* phi,
                            Motion<adjoints::T>* columns,
                            LoopFit<adjoints::T>& f) {
  constexpr int rounds = 20;
  const Joint& joint = closure.joint[k];
  if (joint.shape == tree::Shape::revolute) return fit_hinge(closure, k, X_AB, f);
  if (joint.shape == tree::Shape::helical) count_turns(closure, k, X_AB, phi);
  for (int n = 0; n <= rounds; ++n) {
    const adjoints::T* const from = phi;
    fit(closure, k, X_AB, from, columns, f);
    if (n == rounds) break;
    adjoints::T step[6], next[7];
    fit_step(f, step);
    dynamics::retract<adjoints::T>(joint.block, joint.blocks, from + joint.q, step, next);
    for (int i = 0; i < joint.nq; ++i) phi[joint.q + i] = next[i];
  }
}

}  // namespace pysim::constraints
