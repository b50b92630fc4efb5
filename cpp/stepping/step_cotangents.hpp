// Cotangents that a step's product takes back, and those that it adds to.
#pragma once

#include "constraints/contact_law_product.hpp"
#include "stepping/switch_counts.hpp"

namespace pysim::stepping {

/// Cotangents of a world's state, in and out: q along δ of q ⊕ δ.
template <class S>
struct StateCotangents {
  S *q, *v;                     ///< (nv)
  S* deflections;               ///< (points, 3) of contacts, on the world's axes
  S* turnings;                  ///< (turning points, 3) of angular deflections, on the world's axes
  S* coordinates;               ///< [coordinates] of deflections of dry friction
  S* signals;                   ///< [Signals::numbers]
  S* scheme;                    ///< that a scheme carries, see solver_state.hpp
  const S* readings = nullptr;  ///< [reading_count] of signals at the end, in alone; null for none
};

/// Sums of cotangents of what acts in a step, out; null for none.
template <class S>
struct ParameterCotangents {
  static constexpr int per_law = constraints::law_numbers;

  S* theta;                  ///< (bodies, ten) of inertias in the engine's frames
  S* laws;                   ///< (pairs, per_law) in the order of ContactLaw
  S* numbers;                ///< [count] of numbers in which worlds may differ, but those above
  SwitchCounts<S> switches;  ///< that the step meets, convex steps in their last pass
};

}  // namespace pysim::stepping
