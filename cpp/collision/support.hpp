// Support points of convex shapes: the points that are farthest along a direction.
//
// A shape is a core with a radius: a point, a segment, or the shape itself with radius 0.
#pragma once

#include "collision/distance.hpp"
#include "collision/plane_contact.hpp"

namespace pysim::collision {

/// Radius about the core [m].
template <class S>
S core_radius(const PlacedShape<S>& own) {
  const bool round = own.shape->kind == ShapeKind::sphere || own.shape->kind == ShapeKind::capsule;
  return round ? own.size.x : all<S>(0);
}

/// Support point of the core of a shape with these sizes, all in the shape's frame.
template <class S>
Vec3<S> core_support(const Shape<typename S::Real>& shape, const Vec3<S>& size, const Vec3<S>& n) {
  const S o = all<S>(0), e = all<S>(1);
  const auto along = [&](S x, S component) { return select(component < o, -x, x); };
  switch (shape.kind) {
    case ShapeKind::sphere:
      break;
    case ShapeKind::capsule:
      return {o, o, along(size.y, n.z)};
    case ShapeKind::box:
      return {along(size.x, n.x), along(size.y, n.y), along(size.z, n.z)};
    case ShapeKind::cylinder: {
      const S sine = sqrt(fma(n.x, n.x, n.y * n.y));
      const S scale = size.x / select(sine > o, sine, e);
      return {scale * n.x, scale * n.y, along(size.y, n.z)};
    }
    case ShapeKind::ellipsoid: {
      const Vec3<S> stretched = {size.x * n.x, size.y * n.y, size.z * n.z};
      const S length = sqrt(dot(stretched, stretched)), scale = e / select(length > o, length, e);
      return {scale * size.x * stretched.x, scale * size.y * stretched.y, scale * size.z * stretched.z};
    }
    case ShapeKind::cone: {
      const S sine = sqrt(fma(n.x, n.x, n.y * n.y));
      const S scale = size.x / select(sine > o, sine, e);
      const auto tip = all<S>(2) * size.y * n.z > size.x * sine;
      return {select(tip, o, scale * n.x), select(tip, o, scale * n.y), select(tip, size.y, -size.y)};
    }
    case ShapeKind::mesh: {
      S number;
      return support_vertex<S>(shape, n, number);
    }
  }
  return spatial::zero3<S>();
}

/// Support point of the core, in the world.
template <class S>
Vec3<S> support(const PlacedShape<S>& own, const Vec3<S>& direction) {
  return own.X * core_support<S>(*own.shape, own.size, transpose_times(own.X.R, direction));
}

}  // namespace pysim::collision
