// Composition of order 4 of a symmetric scheme of order 2, in five substeps [Suzuki 1990].
//
//     Φ_h = φ_ph φ_ph φ_(1−4p)h φ_ph φ_ph,        p = 1 / (4 − 4^(1/3))
//
// The composition is symmetric, and symplectic if φ is.
#pragma once

#include "stepping/system.hpp"

namespace pysim::stepping {

template <class Scheme>
struct Fourth {
  template <class S>
  static void step(const System<S>& system, S time, S h, S* q, S* v) {
    constexpr double p = 0.41449077179437573714;
    constexpr double share[5] = {p, p, 1 - 4 * p, p, p};
    for (int k = 0; k < 5; ++k) {
      if (k > 0) {
        system.project(time, q, v);
        system.begin_part();
      }
      const S along = all<S>(share[k]) * h;
      Scheme::step(system, time, along, q, v);
      time += along;
    }
  }
};

}  // namespace pysim::stepping
