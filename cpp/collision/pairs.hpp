// Pairs of kinds of shapes, and their signed distances: in closed form where there is one.
#pragma once

#include "collision/separation.hpp"

namespace pysim::collision {

/// First the shape that is named first here.
enum class DistancePair : int {
  sphere_sphere,
  capsule_sphere,
  capsule_capsule,
  box_sphere,
  box_capsule,
  box_box,
  cylinder_sphere,
  cylinder_capsule,  // from here on by support points
  cylinder_box,
  cylinder_cylinder,
  ellipsoid_sphere,
  ellipsoid_capsule,
  ellipsoid_box,
  ellipsoid_cylinder,
  ellipsoid_ellipsoid,
  cone_sphere,
  cone_capsule,
  cone_box,
  cone_cylinder,
  cone_ellipsoid,
  cone_cone,
  mesh_sphere,
  mesh_capsule,
  mesh_box,
  mesh_cylinder,
  mesh_ellipsoid,
  mesh_cone,
  mesh_mesh,
  half_space_sphere,  // from here on in closed form
  half_space_capsule,
  half_space_box,
  half_space_cylinder,
  half_space_ellipsoid,
  half_space_cone,
  half_space_mesh
};
constexpr const char* distance_pairs[][2] = {
    {"sphere", "sphere"},     {"capsule", "sphere"},      {"capsule", "capsule"},
    {"box", "sphere"},        {"box", "capsule"},         {"box", "box"},
    {"cylinder", "sphere"},   {"cylinder", "capsule"},    {"cylinder", "box"},
    {"cylinder", "cylinder"}, {"ellipsoid", "sphere"},    {"ellipsoid", "capsule"},
    {"ellipsoid", "box"},     {"ellipsoid", "cylinder"},  {"ellipsoid", "ellipsoid"},
    {"cone", "sphere"},       {"cone", "capsule"},        {"cone", "box"},
    {"cone", "cylinder"},     {"cone", "ellipsoid"},      {"cone", "cone"},
    {"mesh", "sphere"},       {"mesh", "capsule"},        {"mesh", "box"},
    {"mesh", "cylinder"},     {"mesh", "ellipsoid"},      {"mesh", "cone"},
    {"mesh", "mesh"},         {"half_space", "sphere"},   {"half_space", "capsule"},
    {"half_space", "box"},    {"half_space", "cylinder"}, {"half_space", "ellipsoid"},
    {"half_space", "cone"},   {"half_space", "mesh"}};

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
    default:
      return pair >= DistancePair::half_space_sphere ? half_space(A, B)
                                                     : convex_distance(A, B, all<S>(__builtin_inf()));
  }
}

}  // namespace pysim::collision
