// The kinds of unknowns of a step with contacts, in the order in which their shares are summed.
#pragma once

#include "contact/kinds/bounded.hpp"
#include "contact/kinds/coordinate.hpp"
#include "contact/kinds/point.hpp"
#include "contact/kinds/turning.hpp"

namespace pysim::contact {

template <class S>
struct ContactKinds {
  explicit ContactKinds(const KindContext<S>& c)
      : points(c), turnings(c, points), coordinates(c), bounded(c) {}

  PointKind<S> points;
  TurningKind<S> turnings;
  CoordinateKind<S> coordinates;
  BoundedKind<S> bounded;

  template <class Visit>
  PYSIM_INLINE void each(const Visit& visit) {
    visit(points), visit(turnings), visit(coordinates), visit(bounded);
  }

  template <class Visit>
  PYSIM_INLINE void each(const Visit& visit) const {
    visit(points), visit(turnings), visit(coordinates), visit(bounded);
  }
};

}  // namespace pysim::contact
