// Box by its half lengths along x, y and z.
#pragma once

#include "collision/shapes/shape_kind.hpp"

namespace pysim::collision {

/// A face of a box.
template <class S>
struct Face {
  Vec3<S> centre, u, v, n;  ///< axes along the face, outward normal
  S hu, hv;                 ///< half lengths along u and v
  S number;                 ///< 0 … 5
};

/// The face whose normal is nearest to a direction.
template <class S>
Face<S> face_along(const PlacedShape<S>& box, const Vec3<S>& direction) {
  using Real = typename S::Real;
  const auto& R = box.X.R;
  const Vec3<S> along = transpose_times(R, direction);
  const S tie = all<S>(sizeof(Real) == 8 ? Real(1e-6) : Real(1e-5)), x = abs(along.x), y = abs(along.y),
          z = abs(along.z);
  const auto is_y = y > x + tie;
  const auto is_z = z > simd::select(is_y, y, x) + tie;
  const auto number = [&](S a, S b, S c) { return simd::select(is_z, c, simd::select(is_y, b, a)); };
  const auto vector = [&](const Vec3<S>& a, const Vec3<S>& b, const Vec3<S>& c) {
    return select(is_z, c, select(is_y, b, a));
  };
  const auto inward = number(along.x, along.y, along.z) < all<S>(0);
  const Vec3<S> axis = vector(R.x, R.y, R.z);
  Face<S> F;
  F.n = select(inward, -axis, axis);
  F.u = vector(R.y, R.z, R.x);
  F.v = vector(R.z, R.x, R.y);
  F.hu = number(box.size.y, box.size.z, box.size.x);
  F.hv = number(box.size.z, box.size.x, box.size.y);
  F.centre = fma(number(box.size.x, box.size.y, box.size.z), F.n, box.X.p);
  F.number = number(all<S>(0), all<S>(2), all<S>(4)) + simd::number(inward);
  return F;
}

struct Box : ConvexKind<Box> {
  static constexpr const char* name = "box";
  static constexpr int plane_points = 8;
  static constexpr int facet_size = 4;
  static constexpr int features = 24;
  static constexpr bool has_deepest = true;

  template <class Norm>
  static double ball_radius(const Shape<double>& shape, const Norm& norm) {
    return norm(shape.size[0], shape.size[1], shape.size[2]);
  }

  template <class S>
  static Vec3<S> face_normal(const Shape<typename S::Real>&, const Vec3<S>& n) {
    const S o = all<S>(0), e = all<S>(1), x = abs(n.x), y = abs(n.y), z = abs(n.z);
    const auto is_x = (x >= y) & (x >= z), is_y = (!is_x) & (y >= z);
    return {simd::select(is_x, with_sign_of(n.x, e), o),
            simd::select(is_y, with_sign_of(n.y, e), o),
            simd::select(is_x | is_y, o, with_sign_of(n.z, e))};
  }

  /// Bit 2 k of `covered` stands for the face towards +x, +y or +z, bit 2 k + 1 for the opposite one.
  template <class S, class Visit>
  static void visit_faces(const PlacedShape<S>& placed, const Visit& visit) {
    const Vec3<S>* const axes[] = {&placed.X.R.x, &placed.X.R.y, &placed.X.R.z};
    for (int k = 0; k < 6; ++k) {
      visit(k % 2 == 0 ? *axes[k / 2] : -*axes[k / 2], ((placed.shape->covered >> k) & 1) != 0);
    }
  }

  template <class S>
  static Vec3<S> support(const Shape<typename S::Real>&, const Vec3<S>& size, const Vec3<S>& n) {
    return {with_sign_of(n.x, size.x), with_sign_of(n.y, size.y), with_sign_of(n.z, size.z)};
  }

  /// Its corners.
  template <class S>
  static void touch_plane(const Shape<typename S::Real>& shape,
                          const Vec3<S>&,
                          Vec3<S>* point,
                          simd::Mask<S>*) {
    const Vec3<S> size = spatial::all3<S>(shape.size);
    for (int k = 0; k < plane_points; ++k) {
      point[k] = {k & 1 ? size.x : -size.x, k & 2 ? size.y : -size.y, k & 4 ? size.z : -size.z};
    }
  }

  template <class S>
  static void facet(const PlacedShape<S>& placed, const Vec3<S>& normal, Facet<S>& F) {
    using Real = typename S::Real;
    const Face<S> face = face_along(placed, normal);
    for (int k = 0; k < facet_corners; ++k) {
      const S hu = k == 0 || k == 3 ? face.hu : -face.hu, hv = k < 2 ? face.hv : -face.hv;
      F.corner[k] = fma(hv, face.v, fma(hu, face.u, face.centre));
      F.feature[k] = fma(all<S>(4), face.number, all<S>(Real(k)));
      F.distinct[k] = simd::everywhere<S>();
    }
  }

  template <class Real>
  static bool has_fixed_points(const Field<Real>& field) {
    return is_grid(field);
  }

  template <class S>
  static S inner_radius(const Vec3<S>& size) {
    return min(min(size.x, size.y), size.z);
  }

  /// The point of the box that is nearest to p.
  template <class S>
  static Vec3<S> nearest_inside(const Vec3<S>& size, const Vec3<S>& p) {
    return {clamp(p.x, size.x), clamp(p.y, size.y), clamp(p.z, size.z)};
  }
};

}  // namespace pysim::collision
