// Base of the kinds of shapes.
#pragma once

#include "collision/facet.hpp"
#include "collision/field.hpp"

namespace pysim::collision {

/// A field at a point of a shape at X.
template <class S>
FieldPoint<S> field_at(const Field<typename S::Real>& field, const Pose<S>& X, const Vec3<S>& own) {
  const Vec3<S> p = X * own;
  return point_of(p, field_value(field, p));
}

// clang-format off
/// Defaults of kinds of shapes. A kind has a file of its own, and a place in shape_kinds.hpp:
///
///     name                 as in scenes
///     plane_points         contact points with a plane
///     facet_size           distinct corners of its facets, see facet.hpp
///     features             how many numbers of features these have
///     ball_radius          radius of the ball about the origin that holds it [m]; `norm` is √(x² + y² + z²)
///     support              support point of its core; a core is a point, a segment, or the shape itself
///     follow               the support point along a unit n near that of p, on the corner, rim or surface of p
///     bend                 how fast that point moves where n changes by e, ∂p/∂n e
///     touch_plane          points that touch a plane first; n is the plane's normal, away from the solid side;
///                          `apart` is false for a point that another one stands for
///     facet                what it shows along an outward unit normal
///     face_normal          of the flat face that is nearest to an outward unit normal, in the shape's frame;
///                          the normal itself if there is none
///     visit_faces          visit(outward unit normal, whether it is covered) for its flat faces, in the world
///     field_points         contact points with a field; by default those that touch the plane across the
///                          field's normal at the origin, and if it `has_deepest` the deepest point, which a
///                          grid does not have; it is found by its inner_radius and nearest_inside
///     visit_field_points   visit(i, point) for these, of a shape at X in the field's frame
///
/// Points are in the shape's frame, whose origin is in its middle.
// clang-format on
template <class Kind>
struct ConvexKind {
  static constexpr int features = 0;
  static constexpr bool has_deepest = false;
  static constexpr bool is_round = false;   ///< size.x is a radius about the core
  static constexpr bool is_curved = false;  ///< the core has a curved surface
  static constexpr bool is_mesh = false;    ///< it has vertices, which are its features

  template <class S>
  static Vec3<S> follow(const Vec3<S>&, const Vec3<S>& p, const Vec3<S>&) {
    return p;
  }

  template <class S>
  static Vec3<S> bend(const Vec3<S>&, const Vec3<S>&, const Vec3<S>&, const Vec3<S>&) {
    return spatial::zero3<S>();
  }

  template <class S>
  static Vec3<S> face_normal(const Shape<typename S::Real>&, const Vec3<S>& n) {
    return n;
  }

  template <class S, class Visit>
  static void visit_faces(const PlacedShape<S>&, const Visit&) {}

  /// Whether points of contact with a field do not move on the shape: the field at them bounds when they can
  /// touch.
  template <class Real>
  static bool has_fixed_points(const Field<Real>&) {
    return false;
  }

  template <class Real>
  static int field_points(const Field<Real>& field, const Shape<Real>&) {
    return Kind::plane_points + (Kind::has_deepest && !is_grid(field) ? 1 : 0);
  }

  template <class S, class Visit>
  static void visit_field_points(const Field<typename S::Real>& field,
                                 const Shape<typename S::Real>& shape,
                                 const Pose<S>& X,
                                 const Visit& visit) {
    Vec3<S> lowest[max_plane_points];
    simd::Mask<S> apart[max_plane_points];
    Kind::touch_plane(shape, transpose_times(X.R, field_value(field, X.p).n), lowest, apart);
    S deepest = all<S>(0);
    for (int i = 0; i < Kind::plane_points; ++i) {
      const FieldPoint<S> F = field_at(field, X, lowest[i]);
      deepest = min(deepest, select(F.exists, F.gap, deepest));
      visit(i, F);
    }
    if constexpr (Kind::has_deepest) {
      if (is_grid(field)) return;
      FieldPoint<S> F = deepest_point<Kind>(field, spatial::all3<S>(shape.size), X);
      F.gap = F.gap - deepest;
      visit(Kind::plane_points, F);
    }
  }
};

/// x with the sign of a component, + for 0.
template <class S>
S with_sign_of(S component, S x) {
  return select(component < all<S>(0), -x, x);
}

}  // namespace pysim::collision
