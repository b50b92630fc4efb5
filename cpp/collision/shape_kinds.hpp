// Kinds of convex shapes, and the functions of a shape by its kind.
#pragma once

#include "collision/shapes/box.hpp"
#include "collision/shapes/capsule.hpp"
#include "collision/shapes/cone.hpp"
#include "collision/shapes/cylinder.hpp"
#include "collision/shapes/ellipsoid.hpp"
#include "collision/shapes/mesh.hpp"
#include "collision/shapes/sphere.hpp"

namespace pysim::collision {

template <class... Kinds>
struct KindList {
  static constexpr int count = sizeof...(Kinds);
};

/// A new kind is a file in shapes/ and a name here. Of two kinds with a distance by support points, the later
/// one comes first in a pair.
using ShapeKinds = KindList<Sphere, Capsule, Box, Cylinder, Ellipsoid, Cone, Mesh>;

/// visit(Kind()) with the class of a kind.
template <int first = 0, class Visit, class Kind, class... Kinds>
PYSIM_INLINE auto visit_kind(KindList<Kind, Kinds...>, ShapeKind kind, const Visit& visit) {
  if constexpr (sizeof...(Kinds) > 0) {
    if (static_cast<int>(kind) != first) return visit_kind<first + 1>(KindList<Kinds...>(), kind, visit);
  }
  return visit(Kind());
}

template <class Visit>
PYSIM_INLINE auto visit_kind(ShapeKind kind, const Visit& visit) {
  return visit_kind(ShapeKinds(), kind, visit);
}

PYSIM_INLINE const char* name_of(ShapeKind shape_kind) {
  return visit_kind(shape_kind, [](auto kind) { return kind.name; });
}

/// Contact points with a plane.
PYSIM_INLINE int plane_points(ShapeKind shape_kind) {
  return visit_kind(shape_kind, [](auto kind) { return int{kind.plane_points}; });
}

/// Distinct corners of facets.
PYSIM_INLINE int facet_size(ShapeKind shape_kind) {
  return visit_kind(shape_kind, [](auto kind) { return int{kind.facet_size}; });
}

/// Whether size.x is a radius about the core.
PYSIM_INLINE bool is_round(ShapeKind shape_kind) {
  return visit_kind(shape_kind, [](auto kind) { return bool{kind.is_round}; });
}

/// Whether the core has a curved surface.
PYSIM_INLINE bool is_curved(ShapeKind shape_kind) {
  return visit_kind(shape_kind, [](auto kind) { return bool{kind.is_curved}; });
}

PYSIM_INLINE bool is_mesh(ShapeKind shape_kind) {
  return visit_kind(shape_kind, [](auto kind) { return bool{kind.is_mesh}; });
}

/// Radius about the core [m].
template <class S>
S core_radius(const PlacedShape<S>& placed) {
  return is_round(placed.shape->kind) ? placed.size.x : all<S>(0);
}

/// Support point of the core of a shape with these sizes, all in the shape's frame.
template <class S>
Vec3<S> core_support(const Shape<typename S::Real>& shape, const Vec3<S>& size, const Vec3<S>& n) {
  return visit_kind(shape.kind, [&](auto kind) { return kind.support(shape, size, n); });
}

/// Support point of the core, in the world.
template <class S>
Vec3<S> support(const PlacedShape<S>& placed, const Vec3<S>& direction) {
  return placed.X * core_support<S>(*placed.shape, placed.size, transpose_times(placed.X.R, direction));
}

/// The support point along a unit direction near that of `p`, on the corner, rim or surface of p; in the
/// world.
template <class S>
Vec3<S> follow(const PlacedShape<S>& placed, const Vec3<S>& p, const Vec3<S>& direction) {
  if (!is_curved(placed.shape->kind)) return p;
  const Vec3<S> at = transpose_times(placed.X.R, p - placed.X.p), n = transpose_times(placed.X.R, direction);
  return placed.X *
         visit_kind(placed.shape->kind, [&](auto kind) { return kind.follow(placed.size, at, n); });
}

/// How fast that point moves where the direction changes by e.
template <class S>
Vec3<S> bend(const PlacedShape<S>& placed, const Vec3<S>& p, const Vec3<S>& direction, const Vec3<S>& e) {
  if (!is_curved(placed.shape->kind)) return spatial::zero3<S>();
  const Vec3<S> at = transpose_times(placed.X.R, p - placed.X.p), n = transpose_times(placed.X.R, direction);
  const Vec3<S> by = transpose_times(placed.X.R, e);
  return placed.X.R *
         visit_kind(placed.shape->kind, [&](auto kind) { return kind.bend(placed.size, at, n, by); });
}

/// Points that touch a plane first, in the shape's frame.
template <class S>
void points_to_plane(const Shape<typename S::Real>& shape,
                     const Vec3<S>& n,
                     Vec3<S>* point,
                     simd::Mask<S>* apart) {
  for (int k = 0; k < plane_points(shape.kind); ++k) apart[k] = simd::everywhere<S>();
  visit_kind(shape.kind, [&](auto kind) { kind.touch_plane(shape, n, point, apart); });
}

/// What a shape shows along an outward unit normal.
template <class S>
Facet<S> facet_along(const PlacedShape<S>& placed, const Vec3<S>& normal) {
  Facet<S> F;
  visit_kind(placed.shape->kind, [&](auto kind) { kind.facet(placed, normal, F); });
  return F;
}

/// Normal of the flat face of a shape that is nearest to an outward unit normal, in the world.
template <class S>
Vec3<S> face_normal(const PlacedShape<S>& placed, const Vec3<S>& normal) {
  const Vec3<S> n = transpose_times(placed.X.R, normal);
  return placed.X.R *
         visit_kind(placed.shape->kind, [&](auto kind) { return kind.face_normal(*placed.shape, n); });
}

/// visit(outward unit normal, whether it is covered) for the flat faces of a shape, in the world.
template <class S, class Visit>
void visit_faces(const PlacedShape<S>& placed, const Visit& visit) {
  visit_kind(placed.shape->kind, [&](auto kind) { kind.visit_faces(placed, visit); });
}

/// How many numbers of features the corners of a shape's facets have.
template <class Real>
PYSIM_INLINE int corner_features(const Shape<Real>& shape) {
  return visit_kind(shape.kind,
                    [&](auto kind) { return kind.is_mesh ? shape.vertices : int{kind.features}; });
}

/// Points of contact that a shape can have with a field.
template <class Real>
PYSIM_INLINE int field_points(const Field<Real>& field, const Shape<Real>& shape) {
  return visit_kind(shape.kind, [&](auto kind) { return kind.field_points(field, shape); });
}

/// Whether points of contact are those of cells: when others touch, they take over the deflection of the old
/// ones.
template <class Real>
PYSIM_INLINE bool has_cells(const Field<Real>& field, ShapeKind kind) {
  return is_grid(field) && is_round(kind);
}

template <class Real>
PYSIM_INLINE bool has_fixed_points(const Field<Real>& field, ShapeKind shape_kind) {
  return visit_kind(shape_kind, [&](auto kind) { return kind.has_fixed_points(field); });
}

/// visit(i, point) for the points of contact of a shape at X in the field's frame.
template <class S, class Visit>
void visit_field_points(const Field<typename S::Real>& field,
                        const Shape<typename S::Real>& shape,
                        const Pose<S>& X,
                        const Visit& visit) {
  visit_kind(shape.kind, [&](auto kind) { kind.visit_field_points(field, shape, X, visit); });
}

}  // namespace pysim::collision
