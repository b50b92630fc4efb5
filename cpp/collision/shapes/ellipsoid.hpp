// Ellipsoid by its semi-axes along x, y and z.
#pragma once

#include "collision/shapes/shape_kind.hpp"

namespace pysim::collision {

struct Ellipsoid : ConvexKind<Ellipsoid> {
  static constexpr const char* name = "ellipsoid";
  static constexpr int plane_points = 1;
  static constexpr int facet_size = 1;
  static constexpr int features = 1;
  static constexpr bool is_curved = true;

  template <class Norm>
  static double ball_radius(const Shape<double>& shape, const Norm&) {
    const double* a = shape.size;
    const double most = a[0] < a[1] ? a[1] : a[0];
    return most < a[2] ? a[2] : most;
  }

  template <class S>
  static Vec3<S> support(const Shape<typename S::Real>&, const Vec3<S>& size, const Vec3<S>& n) {
    const S o = all<S>(0), e = all<S>(1);
    const Vec3<S> stretched = {size.x * n.x, size.y * n.y, size.z * n.z};
    const S length = sqrt(dot(stretched, stretched)), scale = e / select(length > o, length, e);
    return {scale * size.x * stretched.x, scale * size.y * stretched.y, scale * size.z * stretched.z};
  }

  template <class S>
  static Vec3<S> follow(const Vec3<S>& size, const Vec3<S>&, const Vec3<S>& n) {
    return support({}, size, n);
  }

  /// A² (e − n (An · Ae)/|An|²) / |An|.
  template <class S>
  static Vec3<S> bend(const Vec3<S>& size, const Vec3<S>&, const Vec3<S>& n, const Vec3<S>& e) {
    const Vec3<S> square = {size.x * size.x, size.y * size.y, size.z * size.z};
    const auto scaled = [&](const Vec3<S>& a) {
      return Vec3<S>{square.x * a.x, square.y * a.y, square.z * a.z};
    };
    const Vec3<S> stretched = scaled(n);
    const S inverse = all<S>(1) / dot(n, stretched);
    return sqrt(inverse) * scaled(fnma(inverse * dot(stretched, e), n, e));
  }

  /// −A² n / |A n|,  A = diag(a, b, c).
  template <class S>
  static void touch_plane(const Shape<typename S::Real>& shape,
                          const Vec3<S>& n,
                          Vec3<S>* point,
                          simd::Mask<S>*) {
    const Vec3<S> size = spatial::all3<S>(shape.size);
    const Vec3<S> stretched = {size.x * n.x, size.y * n.y, size.z * n.z};
    const S inverse = all<S>(-1) / sqrt(dot(stretched, stretched));
    point[0] = {
        inverse * size.x * stretched.x, inverse * size.y * stretched.y, inverse * size.z * stretched.z};
  }

  template <class S>
  static void facet(const PlacedShape<S>& placed, const Vec3<S>& normal, Facet<S>& F) {
    const Vec3<S> n = transpose_times(placed.X.R, normal);
    point_facet(placed.X * support(*placed.shape, placed.size, n), F);
  }

  template <class Real>
  static int field_points(const Field<Real>&, const Shape<Real>&) {
    return 1;
  }

  /// The point nearest to the surface, after a few corrections of the normal there.
  template <class S, class Visit>
  static void visit_field_points(const Field<typename S::Real>& field,
                                 const Shape<typename S::Real>& shape,
                                 const Pose<S>& X,
                                 const Visit& visit) {
    constexpr int corrections = 3;
    Vec3<S> p = X.p, lowest;
    for (int k = 0; k < corrections; ++k) {
      const Vec3<S> n = transpose_times(X.R, field_value(field, p).n);
      touch_plane<S>(shape, n, &lowest, nullptr);
      p = X * lowest;
    }
    visit(0, point_of(p, field_value(field, p)));
  }
};

}  // namespace pysim::collision
