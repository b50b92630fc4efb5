// Facets of shapes: up to four corners around the point, segment or face that a shape shows along a
// direction, and the whole boundary of a disc or of a face with more corners.
#pragma once

#include "collision/distance.hpp"

namespace pysim::collision {

constexpr int facet_corners = 4;

/// Corners around a facet, in the world; a corner that is not `distinct` repeats one before.
template <class S>
struct Facet {
  Vec3<S> corner[facet_corners];
  S feature[facet_corners];  ///< number of the corner among those of the shape
  simd::Mask<S> distinct[facet_corners];

  simd::Mask<S> disc = simd::nowhere<S>();  ///< the corners are on the rim of a disc
  Vec3<S> centre = spatial::zero3<S>();     ///< of the disc
  S radius = all<S>(0);
  S first = all<S>(0), count = all<S>(0);  ///< corners of a mesh's face with more than four, else 0
};

/// A facet that is one point.
template <class S>
void point_facet(const Vec3<S>& p, Facet<S>& F) {
  for (int k = 0; k < facet_corners; ++k) {
    F.corner[k] = p;
    F.feature[k] = all<S>(0);
    F.distinct[k] = k == 0 ? simd::everywhere<S>() : simd::nowhere<S>();
  }
}

}  // namespace pysim::collision
