// Sweep of forces from the leaves to the root, for several rows at once because they share the joints.
#pragma once

#include "simd/pack.hpp"
#include "tree/model_view.hpp"

namespace pysim::dynamics {

/// The bodies of a support path, leaves first.
struct PathBodies {
  const int* body;
  int count;

  template <class Model>
  PathBodies(const Model& model, const tree::SupportPath& path)
      : body(model.path + path.first), count(path.count) {}
  PYSIM_INLINE int operator[](int n) const { return body[n]; }
};

/// All bodies, leaves first.
struct EveryBody {
  int count;

  PYSIM_INLINE int operator[](int n) const { return count - 1 - n; }
};

/// Propagates R forces along `bodies`. across(b, force) moves them across the joint of body b to its
/// parent; where branches join they are added in `at_forks` (bodies, R).
template <int R, class Model, class Bodies, class Force, class Across>
PYSIM_INLINE void sweep_to_root(
    const Model& model, const Bodies& bodies, const Force& zero, Force* at_forks, const Across& across) {
  for (int n = 0; n < bodies.count; ++n) {
    if (model.joint[bodies[n]].fork < 0) continue;
    for (int r = 0; r < R; ++r) at_forks[R * bodies[n] + r] = zero;
  }
  Force force[R];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r) force[r] = zero;
  for (int n = 0; n < bodies.count; ++n) {
    const int b = bodies[n];
    const tree::Joint& joint = model.joint[b];
    const bool alone = joint.leaf || (n > 0 && bodies[n - 1] != b + 1);  // no force comes from a child
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      if (joint.fork >= 0) {
        force[r] = at_forks[R * b + r];
      } else if (alone) {
        force[r] = zero;
      }
    }
    across(b, force);
    if (joint.parent < 0 || model.joint[joint.parent].fork < 0) continue;
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) at_forks[R * joint.parent + r] = at_forks[R * joint.parent + r] + force[r];
  }
}

}  // namespace pysim::dynamics
