// Convex shapes as kernels read them.
#pragma once

#include "spatial/vec3.hpp"

namespace pysim::collision {

/// Sizes [m] of a shape centred at its frame's origin, axes along z:
///
///     sphere      radius
///     capsule     radius, half the length without the caps
///     box         half lengths along x, y, z
///     cylinder    radius, half the length
///     ellipsoid   semi-axes along x, y, z
///     mesh        none; the convex hull of its vertices
enum class ShapeKind : int { sphere, capsule, box, cylinder, ellipsoid, mesh };
constexpr const char* shape_names[] = {"sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh"};

/// Contact points that a shape can have with a plane.
constexpr int plane_points[] = {1, 2, 8, 4, 1, 4};
constexpr int max_plane_points = 8;

/// a where the mask holds, b elsewhere.
template <class S>
PYSIM_INLINE spatial::Vec3<S> select(simd::Mask<S> mask,
                                     const spatial::Vec3<S>& a,
                                     const spatial::Vec3<S>& b) {
  return {simd::select(mask, a.x, b.x), simd::select(mask, a.y, b.y), simd::select(mask, a.z, b.z)};
}

template <class Real>
struct Shape {
  ShapeKind kind;
  Real size[3];
  int vertices;        ///< of a mesh
  const Real* vertex;  ///< [vertices] x, y, z [m]
};

}  // namespace pysim::collision
