// Cone along z by its radius and half the length: base at the lower end, tip at the upper one.
#pragma once

#include "collision/rims.hpp"
#include "collision/shapes/shape_kind.hpp"

namespace pysim::collision {

struct Cone : ConvexKind<Cone> {
  static constexpr const char* name = "cone";
  static constexpr int plane_points = 4;
  static constexpr int facet_size = 4;
  static constexpr int features = 6;
  static constexpr bool is_curved = true;

  template <class Norm>
  static double ball_radius(const Shape<double>& shape, const Norm& norm) {
    return norm(shape.size[0], shape.size[1]);
  }

  template <class S>
  static Vec3<S> face_normal(const Shape<typename S::Real>&, const Vec3<S>& n) {
    const S o = all<S>(0);
    return select(n.z < all<S>(typename S::Real(-cap_cosine)), Vec3<S>{o, o, all<S>(-1)}, n);
  }

  /// Bit 0 of `covered` stands for the base.
  template <class S, class Visit>
  static void visit_faces(const PlacedShape<S>& placed, const Visit& visit) {
    visit(-placed.X.R.z, (placed.shape->covered & 1) != 0);
  }

  template <class S>
  static Vec3<S> support(const Shape<typename S::Real>&, const Vec3<S>& size, const Vec3<S>& n) {
    const S o = all<S>(0), sine = sqrt(fma(n.x, n.x, n.y * n.y));
    const auto tip = all<S>(2) * size.y * n.z > size.x * sine;
    return select(tip, Vec3<S>{o, o, size.y}, rim_support(size.x, sine, n, -size.y));
  }

  template <class S>
  static Vec3<S> follow(const Vec3<S>& size, const Vec3<S>& p, const Vec3<S>& n) {
    return select(p.z > all<S>(0), p, follow_rim(size.x, p, n));
  }

  template <class S>
  static Vec3<S> bend(const Vec3<S>& size, const Vec3<S>& p, const Vec3<S>& n, const Vec3<S>& e) {
    return select(p.z > all<S>(0), spatial::zero3<S>(), bend_of_rim(size.x, n, e));
  }

  /// The lowest point of the rim, two more of it, 120° away, and the tip.
  template <class S>
  static void touch_plane(const Shape<typename S::Real>& shape,
                          const Vec3<S>& n,
                          Vec3<S>* point,
                          simd::Mask<S>*) {
    const S half = all<S>(shape.size[1]);
    cylinder_points(Vec3<S>{n.x, n.y, all<S>(1)}, all<S>(shape.size[0]), half, point);
    point[1] = {all<S>(0), all<S>(0), half};
  }

  /// Four points of the rim, or the ends of the side.
  template <class S>
  static void facet(const PlacedShape<S>& placed, const Vec3<S>& normal, Facet<S>& F) {
    const S o = all<S>(0), half = placed.size.y;
    const RimCorners<S> rim(placed, normal);
    const auto base = rim.n.z < all<S>(typename S::Real(-cap_cosine));
    const Vec3<S> ends[] = {{rim.x[0], rim.y[0], -half}, {o, o, half}};
    rim_facet(placed, rim, base, -half, o, ends, 4, F);
  }
};

}  // namespace pysim::collision
