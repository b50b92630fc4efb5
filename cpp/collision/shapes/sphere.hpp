// Sphere by its radius.
#pragma once

#include "collision/shapes/shape_kind.hpp"

namespace pysim::collision {

struct Sphere : ConvexKind<Sphere> {
  static constexpr const char* name = "sphere";
  static constexpr int plane_points = 1;
  static constexpr int facet_size = 1;
  static constexpr int features = 1;
  static constexpr bool is_round = true;

  template <class Norm>
  static double ball_radius(const Shape<double>& shape, const Norm&) {
    return shape.size[0];
  }

  template <class S>
  static Vec3<S> support(const Shape<typename S::Real>&, const Vec3<S>&, const Vec3<S>&) {
    return spatial::zero3<S>();
  }

  /// c − r n.
  template <class S>
  static void touch_plane(const Shape<typename S::Real>& shape,
                          const Vec3<S>& n,
                          Vec3<S>* point,
                          simd::Mask<S>*) {
    point[0] = -all<S>(shape.size[0]) * n;
  }

  template <class S>
  static void facet(const PlacedShape<S>& placed, const Vec3<S>& normal, Facet<S>& F) {
    point_facet(fma(placed.size.x, normal, placed.X * spatial::zero3<S>()), F);
  }

  template <class Real>
  static int field_points(const Field<Real>& field, const Shape<Real>&) {
    return is_grid(field) ? cells_of_ball : 1;
  }

  /// The point nearest to the surface; on a grid, that of each of the four cells about the nearest node.
  template <class S, class Visit>
  static void visit_field_points(const Field<typename S::Real>& field,
                                 const Shape<typename S::Real>& shape,
                                 const Pose<S>& X,
                                 const Visit& visit) {
    const S radius = all<S>(shape.size[0]);
    if (is_grid(field)) return ball_on_grid(field.grid, X.p, radius, visit);
    visit(0, sphere_point(field, X.p, radius));
  }
};

}  // namespace pysim::collision
