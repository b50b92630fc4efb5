// Rims of cylinders and cones: the points that touch a plane, and the facets.
#pragma once

#include "collision/facet.hpp"

namespace pysim::collision {

/// Below this sine of the angle between a cylinder's axis and the normal, a support point of its rim stays.
template <class Real>
constexpr Real upright = sizeof(Real) == 8 ? Real(1e-6) : Real(1e-5);

/// Point of a circle about z that is farthest along n, at a height z.
template <class S>
Vec3<S> rim_support(S radius, S sine, const Vec3<S>& n, S z) {
  const S scale = radius / select(sine > all<S>(0), sine, all<S>(1));
  return {scale * n.x, scale * n.y, z};
}

/// The same where the axis is not along n, else p, a point of that circle.
template <class S>
Vec3<S> follow_rim(S radius, const Vec3<S>& p, const Vec3<S>& n) {
  const S sine = sqrt(fma(n.x, n.x, n.y * n.y));
  return select(sine > all<S>(upright<typename S::Real>), rim_support(radius, sine, n, p.z), p);
}

/// How fast it moves where n changes by e: r t (t·e)/sin, t across n in the plane of the circle.
template <class S>
Vec3<S> bend_of_rim(S radius, const Vec3<S>& n, const Vec3<S>& e) {
  const S o = all<S>(0), square = fma(n.x, n.x, n.y * n.y), sine = sqrt(square);
  const auto leans = sine > all<S>(upright<typename S::Real>);
  const S along = n.x * e.y - n.y * e.x;
  const S scale = select(leans, radius * along / select(leans, square * sine, all<S>(1)), o);
  return {-scale * n.y, scale * n.x, o};
}

/// Unit vector (x, y, 0) along the part of n across the axis z. Where that is less than twice `least_lean`,
/// it turns towards a fixed direction, which it has where n is along the axis: a rim that leans by less and
/// less keeps its points.
///
///     d = (n.x, n.y) + least_lean (1 − (sine/(2 least_lean))²)₊² e
///
/// No choice is continuous at all n, for the direction turns once where n goes around the axis. This one is
/// discontinuous only where d = 0, at a single n.
template <class S>
Vec3<S> lean_direction(const Vec3<S>& n) {
  using Real = typename S::Real;
  constexpr double least_lean = 1e-3, fixed[] = {0.5403023058681398, 0.8414709848078965};  // of no axis
  const S o = all<S>(0), e = all<S>(1), square = fma(n.x, n.x, n.y * n.y);
  const S share = max(fnma(all<S>(Real(0.25 / (least_lean * least_lean))), square, e), o);
  const S turn = all<S>(Real(least_lean)) * share * share;
  const S x = fma(turn, all<S>(Real(fixed[0])), n.x), y = fma(turn, all<S>(Real(fixed[1])), n.y);
  const S length = sqrt(fma(x, x, y * y));
  const auto exists = length > o;
  const S inverse = e / select(exists, length, e);
  return {select(exists, inverse * x, e), inverse * y, o};
}

/// The lowest points of both rims, and two more of the lower rim, 120° away: three carry a cylinder that
/// stands, two one that lies, and the first two move along the rims of one that rolls.
template <class S>
void cylinder_points(const Vec3<S>& n, S radius, S half_length, Vec3<S>* point) {
  using Real = typename S::Real;
  const Vec3<S> lowest = -lean_direction(n);
  const S &x = lowest.x, &y = lowest.y;
  const S z = select(n.z > all<S>(0), -half_length, half_length);                     // the lower cap
  const S half = all<S>(Real(-0.5)), other = all<S>(Real(0.8660254037844386467637));  // cos, sin of 120°
  point[0] = {radius * x, radius * y, -half_length};
  point[1] = {radius * x, radius * y, half_length};
  point[2] = {radius * fms(half, x, other * y), radius * fma(half, y, other * x), z};
  point[3] = {radius * fma(half, x, other * y), radius * fms(half, y, other * x), z};
}

/// Cosine of the angle between the axis of a cylinder and the normal from which on its cap is the facet.
constexpr double cap_cosine = 0.7;

/// A direction in the frame of a body of revolution, and the corners (x, y) of its rims: first the one that
/// is farthest along it, then at right angles.
template <class S>
struct RimCorners {
  Vec3<S> n;
  S x[facet_corners], y[facet_corners];

  RimCorners(const PlacedShape<S>& placed, const Vec3<S>& direction)
      : n(transpose_times(placed.X.R, direction)) {
    const Vec3<S> farthest = placed.size.x * lean_direction(n);
    const S &a = farthest.x, &b = farthest.y;
    const S along_x[] = {a, -b, -a, b}, along_y[] = {b, a, -b, -a};
    for (int k = 0; k < facet_corners; ++k) {
      x[k] = along_x[k];
      y[k] = along_y[k];
    }
  }
};

/// Four points of a rim at height z with the features from `first` on where the facet is `flat`, else the
/// ends of the side with the features from `side` on.
template <class S>
void rim_facet(const PlacedShape<S>& placed,
               const RimCorners<S>& rim,
               simd::Mask<S> flat,
               S z,
               S first,
               const Vec3<S> (&ends)[2],
               int side,
               Facet<S>& F) {
  using Real = typename S::Real;
  for (int k = 0; k < facet_corners; ++k) {
    const int end = k == 0 || k == 3 ? 0 : 1;
    F.corner[k] = placed.X * select(flat, Vec3<S>{rim.x[k], rim.y[k], z}, ends[end]);
    F.feature[k] = select(flat, first + all<S>(Real(k)), all<S>(Real(side + end)));
    F.distinct[k] = k < 2 ? simd::everywhere<S>() : flat;
  }
  F.disc = flat;
  F.centre = placed.X * Vec3<S>{all<S>(0), all<S>(0), z};
  F.radius = placed.size.x;
}

}  // namespace pysim::collision
