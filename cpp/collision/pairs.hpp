// Pairs of kinds of shapes, and their signed distances: in closed form where there is one.
#pragma once

#include "collision/separation.hpp"

namespace pysim::collision {

/// Pairs with a distance in closed form, first the shape that is named first here; and all others.
enum class DistancePair : int {
  sphere_sphere,
  capsule_sphere,
  capsule_capsule,
  box_sphere,
  box_capsule,
  box_box,
  cylinder_sphere,
  by_support,  ///< first the later one of ShapeKinds
  half_space   ///< and any shape
};
constexpr const char* closed_form_pairs[][2] = {{"sphere", "sphere"},
                                                {"capsule", "sphere"},
                                                {"capsule", "capsule"},
                                                {"box", "sphere"},
                                                {"box", "capsule"},
                                                {"box", "box"},
                                                {"cylinder", "sphere"}};

/// From the half space z < 0 of a frame to the support point of a shape.
template <class S>
Distance<S> half_space(const PlacedShape<S>& A, const PlacedShape<S>& B) {
  Distance<S> found;
  found.n = A.X.R.z;
  found.p_B = fnma(core_radius(B), found.n, support(B, -found.n));
  found.d = dot(found.n, found.p_B - A.X.p);
  found.p_A = fnma(found.d, found.n, found.p_B);
  return found;
}

template <class S>
Distance<S> distance(DistancePair pair, const PlacedShape<S>& A, const PlacedShape<S>& B) {
  const S o = all<S>(0);
  switch (pair) {
    case DistancePair::sphere_sphere:
      return core_distance(A.point(), A.size.x, B.point(), B.size.x);
    case DistancePair::capsule_sphere:
      return core_distance(A.segment(), A.size.x, B.point(), B.size.x);
    case DistancePair::capsule_capsule:
      return core_distance(A.segment(), A.size.x, B.segment(), B.size.x);
    case DistancePair::box_sphere:
      return core_distance(A.box(), o, B.point(), B.size.x);
    case DistancePair::box_capsule:
      return core_distance(A.box(), o, B.segment(), B.size.x);
    case DistancePair::box_box:
      return core_distance(A.box(), o, B.box(), o);
    case DistancePair::cylinder_sphere:
      return cylinder_sphere(A, B);
    case DistancePair::half_space:
      return half_space(A, B);
    case DistancePair::by_support:
      break;
  }
  return convex_distance(A, B, all<S>(simd::infinity));
}

}  // namespace pysim::collision
