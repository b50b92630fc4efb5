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
///     cone        radius, half the length; base at the lower end, tip at the upper one
///     mesh        none; the convex hull of its vertices, with the origin well inside
enum class ShapeKind : int { sphere, capsule, box, cylinder, ellipsoid, cone, mesh };
constexpr const char* shape_names[] = {"sphere", "capsule", "box", "cylinder", "ellipsoid", "cone", "mesh"};

/// Contact points that a shape can have with a plane.
constexpr int plane_points[] = {1, 2, 8, 4, 1, 4, 4};
constexpr int max_plane_points = 8;

/// a where the mask holds, b elsewhere.
template <class S>
PYSIM_INLINE spatial::Vec3<S> select(simd::Mask<S> mask,
                                     const spatial::Vec3<S>& a,
                                     const spatial::Vec3<S>& b) {
  return {simd::select(mask, a.x, b.x), simd::select(mask, a.y, b.y), simd::select(mask, a.z, b.z)};
}

/// Numbers of points that are near each other, one after the other in a list: a ball that holds them, and
/// which they are.
struct PointGroup {
  enum Place : int { centre = 0, radius = 3, first = 4, count = 5 };
  static constexpr int numbers = 6;
};

template <class Real>
struct PointGroups {
  int count;
  const Real* group;  ///< [count], see PointGroup
};

template <class Real>
struct Shape {
  ShapeKind kind;
  Real size[3];
  int vertices;        ///< of a mesh
  const Real* vertex;  ///< [vertices] x, y, z [m]
  int faces;           ///< of a mesh
  const Real* face;    ///< [faces], see MeshFace
  PointGroups<Real> of_vertices, of_normals;
};

/// Numbers of a face of a convex mesh: its outward unit normal, and the vertices of four corners in their
/// order around it. A triangle repeats one; of a face with more corners the four that span most are given.
struct MeshFace {
  enum Place : int { normal = 0, corner = 3 };
  static constexpr int numbers = 7;
};

}  // namespace pysim::collision
