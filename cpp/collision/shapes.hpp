// Convex shapes as kernels read them; shapes/ has a file for each kind.
#pragma once

#include "spatial/vec3.hpp"

namespace pysim::collision {

/// Number of a kind of shapes among `ShapeKinds` of shape_kinds.hpp.
enum class ShapeKind : int {};

/// Most contact points of a shape with a plane.
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
  Real size[3];        ///< [m], as its kind says
  int vertices;        ///< of a mesh
  const Real* vertex;  ///< [vertices] x, y, z [m]
  int faces;           ///< of a mesh
  const Real* face;    ///< [faces], see MeshFace
  int corners;         ///< of all faces
  const Real* corner;  ///< [corners] vertices around the faces, face by face
  PointGroups<Real> of_vertices, of_normals;
  int covered;  ///< bits of the faces that other shapes of the body cover, see the kinds; of a mesh 1 if any
                ///< is
};

/// Numbers of a face of a convex mesh: its outward unit normal, the vertices of four corners in their order
/// around it, the place and count of all corners in the list of the mesh, and whether another shape of the
/// body covers it. A triangle repeats one of the four; of a face with more corners they are the four that
/// span most.
struct MeshFace {
  enum Place : int { normal = 0, corner = 3, first = 7, count = 8, covered = 9 };
  static constexpr int numbers = 10;
};

}  // namespace pysim::collision
