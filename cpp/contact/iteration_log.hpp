// Statistics of Newton's method in the convex problem, of one world: what each iteration did.
#pragma once

#include "constraints/contact_law.hpp"

namespace pysim::contact {

/// One iteration. Impulses are those at its end, by radii of friction before they are renewed.
struct NewtonIteration {
  double length;           ///< of the step or stage that is solved [s]
  double cost;             ///< ½ |v − v*|²_A + Σ P at the end [J]
  double gradient;         ///< of the cost at the beginning, in the norm of the inverse of its Hessian [√J]
  double step_length;      ///< α of the line search, 1 for the full step
  double residual;         ///< largest |γ̂ − γ(u)| at the end, relative to the largest impulse of its kind
  int touching, sticking;  ///< contact points that push, and those of them that stick
  int stopped, sticking_joints, bounded;  ///< coordinates at stops; in dry friction; servos at their bounds
  bool renews;                            ///< whether radii of friction are renewed at the end
  bool converged;                         ///< whether this is the last one, solved to the tolerance
};

/// Iterations of a step, the first `most` of them, and the one that is noted.
struct IterationLog {
  NewtonIteration* iteration;
  int most;
  int count = 0;
  double length = 0;
  NewtonIteration last = {};

  void add_last() {
    last.length = length;
    if (count < most) iteration[count] = last;
    ++count;
  }
};

}  // namespace pysim::contact
