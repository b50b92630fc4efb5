// Capsule along z by its radius and half the length without the caps.
#pragma once

#include "collision/shapes/shape_kind.hpp"

namespace pysim::collision {

/// Ends of a segment with a radius, and the point between them where the distance is least: its slope along
/// the segment has a root there, which regula falsi approaches [Dowell, Jarratt 1971].
template <class S, class Visit>
void capsule_points(
    const Field<typename S::Real>& field, S radius, S half, const Pose<S>& X, const Visit& visit) {
  using Real = typename S::Real;
  constexpr int steps = 6;
  const S o = all<S>(0), e = all<S>(1);
  if (is_grid(field)) {
    for (int end = 0; end < 2; ++end) {
      const Vec3<S> c = fma(end == 0 ? -half : half, X.R.z, X.p);
      ball_on_grid(
          field.grid, c, radius, [&](int k, const FieldPoint<S>& F) { visit(cells_of_ball * end + k, F); });
    }
    return;
  }
  S low = -half, high = half;
  const FieldPoint<S> first = sphere_point(field, fma(low, X.R.z, X.p), radius),
                      last = sphere_point(field, fma(high, X.R.z, X.p), radius);
  visit(0, first);
  visit(1, last);
  const auto slope = [&](S t) { return dot(field_value(field, fma(t, X.R.z, X.p)).n, X.R.z); };
  S f_low = slope(low), f_high = slope(high);
  FieldPoint<S> middle = first;
  middle.exists = first.exists & last.exists & (f_low < o) & (f_high > o);
  if (any(middle.exists)) {
    S t = o;
    for (int k = 0; k < steps; ++k) {
      const S rise = f_high - f_low;
      const auto rises = rise > all<S>(Real(1e-12));
      t = select(
          rises, (low * f_high - high * f_low) / select(rises, rise, e), all<S>(Real(0.5)) * (low + high));
      const S f = slope(t);
      const auto above = f > o;  // the end that stays weighs half as much [Illinois]
      f_low = select(above, all<S>(Real(0.5)) * f_low, f);
      f_high = select(above, f, all<S>(Real(0.5)) * f_high);
      low = select(above, low, t);
      high = select(above, t, high);
    }
    const auto exists = middle.exists;
    middle = sphere_point(field, fma(t, X.R.z, X.p), radius);
    middle.exists &= exists;
  }
  middle.gap = middle.gap - min(min(first.gap, last.gap), o);
  visit(2, middle);
}

struct Capsule : ConvexKind<Capsule> {
  static constexpr const char* name = "capsule";
  static constexpr int plane_points = 2;
  static constexpr int facet_size = 2;
  static constexpr int features = 2;
  static constexpr bool is_round = true;

  template <class Norm>
  static double ball_radius(const Shape<double>& shape, const Norm&) {
    return shape.size[0] + shape.size[1];
  }

  template <class S>
  static Vec3<S> support(const Shape<typename S::Real>&, const Vec3<S>& size, const Vec3<S>& n) {
    return {all<S>(0), all<S>(0), with_sign_of(n.z, size.y)};
  }

  /// The lowest point of each cap.
  template <class S>
  static void touch_plane(const Shape<typename S::Real>& shape,
                          const Vec3<S>& n,
                          Vec3<S>* point,
                          simd::Mask<S>*) {
    const S o = all<S>(0), radius = all<S>(shape.size[0]), half = all<S>(shape.size[1]);
    point[0] = fnma(radius, n, Vec3<S>{o, o, half});
    point[1] = fnma(radius, n, Vec3<S>{o, o, -half});
  }

  template <class S>
  static void facet(const PlacedShape<S>& placed, const Vec3<S>& normal, Facet<S>& F) {
    using Real = typename S::Real;
    for (int k = 0; k < facet_corners; ++k) {
      const bool top = k == 0 || k == 3;
      const Vec3<S> end = placed.X * Vec3<S>{all<S>(0), all<S>(0), top ? placed.size.y : -placed.size.y};
      F.corner[k] = fma(placed.size.x, normal, end);
      F.feature[k] = all<S>(Real(top ? 0 : 1));
      F.distinct[k] = k < 2 ? simd::everywhere<S>() : simd::nowhere<S>();
    }
  }

  template <class Real>
  static int field_points(const Field<Real>& field, const Shape<Real>&) {
    return is_grid(field) ? 2 * cells_of_ball : 3;
  }

  /// Both ends, and the nearest point between them; on a grid, the points of both ends as of balls.
  template <class S, class Visit>
  static void visit_field_points(const Field<typename S::Real>& field,
                                 const Shape<typename S::Real>& shape,
                                 const Pose<S>& X,
                                 const Visit& visit) {
    capsule_points(field, all<S>(shape.size[0]), all<S>(shape.size[1]), X, visit);
  }
};

}  // namespace pysim::collision
