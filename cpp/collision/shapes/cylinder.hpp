// Cylinder along z by its radius and half the length.
#pragma once

#include "collision/rims.hpp"
#include "collision/shapes/shape_kind.hpp"

namespace pysim::collision {

struct Cylinder : ConvexKind<Cylinder> {
  static constexpr const char* name = "cylinder";
  static constexpr int plane_points = 4;
  static constexpr int facet_size = 4;
  static constexpr int features = 10;
  static constexpr bool has_deepest = true;
  static constexpr bool is_curved = true;

  template <class Norm>
  static double ball_radius(const Shape<double>& shape, const Norm& norm) {
    return norm(shape.size[0], shape.size[1]);
  }

  template <class S>
  static Vec3<S> face_normal(const Shape<typename S::Real>&, const Vec3<S>& n) {
    const S o = all<S>(0);
    const auto cap = abs(n.z) > all<S>(typename S::Real(cap_cosine));
    return select(cap, Vec3<S>{o, o, with_sign_of(n.z, all<S>(1))}, n);
  }

  /// Bit 0 of `covered` stands for the upper cap, bit 1 for the lower one.
  template <class S, class Visit>
  static void visit_faces(const PlacedShape<S>& placed, const Visit& visit) {
    visit(placed.X.R.z, (placed.shape->covered & 1) != 0);
    visit(-placed.X.R.z, (placed.shape->covered & 2) != 0);
  }

  template <class S>
  static Vec3<S> support(const Shape<typename S::Real>&, const Vec3<S>& size, const Vec3<S>& n) {
    const S sine = sqrt(fma(n.x, n.x, n.y * n.y));
    return rim_support(size.x, sine, n, with_sign_of(n.z, size.y));
  }

  template <class S>
  static Vec3<S> follow(const Vec3<S>& size, const Vec3<S>& p, const Vec3<S>& n) {
    return follow_rim(size.x, p, n);
  }

  template <class S>
  static Vec3<S> bend(const Vec3<S>& size, const Vec3<S>&, const Vec3<S>& n, const Vec3<S>& e) {
    return bend_of_rim(size.x, n, e);
  }

  template <class S>
  static void touch_plane(const Shape<typename S::Real>& shape,
                          const Vec3<S>& n,
                          Vec3<S>* point,
                          simd::Mask<S>*) {
    cylinder_points(n, all<S>(shape.size[0]), all<S>(shape.size[1]), point);
  }

  /// Four points of a rim, or the two ends of the side.
  template <class S>
  static void facet(const PlacedShape<S>& placed, const Vec3<S>& normal, Facet<S>& F) {
    using Real = typename S::Real;
    const S half = placed.size.y;
    const RimCorners<S> rim(placed, normal);
    const auto cap = abs(rim.n.z) > all<S>(Real(cap_cosine)), down = rim.n.z < all<S>(0);
    const S z = select(down, -half, half), first = select(down, all<S>(4), all<S>(0));
    const Vec3<S> ends[] = {{rim.x[0], rim.y[0], half}, {rim.x[0], rim.y[0], -half}};
    rim_facet(placed, rim, cap, z, first, ends, 8, F);
  }

  template <class S>
  static S inner_radius(const Vec3<S>& size) {
    return min(size.x, size.y);
  }

  /// The point of the cylinder that is nearest to p.
  template <class S>
  static Vec3<S> nearest_inside(const Vec3<S>& size, const Vec3<S>& p) {
    const S square = fma(p.x, p.x, p.y * p.y), r = size.x;
    const auto beyond = square > r * r;
    const S scale = select(beyond, r / sqrt(select(beyond, square, all<S>(1))), all<S>(1));
    return {scale * p.x, scale * p.y, clamp(p.z, size.y)};
  }
};

}  // namespace pysim::collision
