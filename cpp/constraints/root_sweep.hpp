// The way of a force to the root, for several rows at once: they meet the same joints.
#pragma once

#include "simd/pack.hpp"
#include "tree/model_view.hpp"

namespace pysim::constraints {

/// Carries R pushes from the leaves of `way` to the root. across(b, push) takes them across the joint of body
/// b and on to its parent; where branches meet they add up in `at_forks` (bodies, R).
template <int R, class Model, class Push, class Across>
PYSIM_INLINE void sweep_to_root(const Model& model,
                                const tree::SupportPath& path,
                                const Push& none,
                                Push* at_forks,
                                const Across& across) {
  const int* const bodies = model.path + path.first;
  for (int n = 0; n < path.count; ++n) {
    if (model.joint[bodies[n]].fork < 0) continue;
    for (int r = 0; r < R; ++r) at_forks[R * bodies[n] + r] = none;
  }
  Push push[R];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r) push[r] = none;
  for (int n = 0; n < path.count; ++n) {
    const int b = bodies[n];
    const tree::Joint& joint = model.joint[b];
    const bool alone = joint.leaf || (n > 0 && bodies[n - 1] != b + 1);  // nothing comes from a child
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      if (joint.fork >= 0) {
        push[r] = at_forks[R * b + r];
      } else if (alone) {
        push[r] = none;
      }
    }
    across(b, push);
    if (joint.parent < 0 || model.joint[joint.parent].fork < 0) continue;
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) at_forks[R * joint.parent + r] = at_forks[R * joint.parent + r] + push[r];
  }
}

}  // namespace pysim::constraints
