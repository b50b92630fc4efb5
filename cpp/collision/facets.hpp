// Contact points of two convex shapes with a common normal, from the facets that face each other.
//
// A facet is what a shape shows along the normal: a point of a sphere or an ellipsoid, the segment of a
// capsule, a face of a box or of a convex mesh, of a cylinder or a cone four points of a rim or the two
// ends of the side. Two facets, seen along the normal, have in common corners of either one inside the other,
// and crossings of their edges; of these the farthest in four directions are kept, which do not depend on the
// load. Where none of them is as deep as the shapes are, the nearest points of the shapes are one more.
#pragma once

#include "collision/pairs.hpp"

namespace pysim::collision {

/// Contact points that two facets can have: four, and the nearest points.
constexpr int facet_points = 5;

template <class S>
struct ManifoldPoint {
  Vec3<S> p;  ///< in the world, midway between the surfaces [m]
  S gap;      ///< [m], negative where the shapes overlap
  S feature;  ///< 1 or more; 0 where there is no such point
};

/// A facet seen along the normal: corners (x, y) and their heights z along it.
template <class S>
struct Outline {
  Vec3<S> corner[facet_corners];
  simd::Mask<S> flat, line;  ///< has an area; is the segment from corner 0 to corner 1
  S turn;                    ///< ±1, the sense of its corners
  S slope_x, slope_y;        ///< of its height
  S square;                  ///< of its diameter [m²]

  explicit Outline(const Facet<S>& F) {
    using Real = typename S::Real;
    const S o = all<S>(0), e = all<S>(1), tiny = all<S>(Real(1e-6));
    for (int k = 0; k < facet_corners; ++k) corner[k] = F.corner[k];
    const Vec3<S> first = corner[2] - corner[0], second = corner[3] - corner[1], area = cross(first, second);
    square = max(dot(first, first), dot(second, second));
    flat = (abs(area.z) > tiny * square) & (area.z * area.z > all<S>(Real(0.1)) * dot(area, area));
    turn = select(area.z < o, -e, e);
    Vec3<S> end = corner[1];
    auto found = F.distinct[1];
    for (int k = 2; k < facet_corners; ++k) {
      end = select(found, end, corner[k]);
      found |= F.distinct[k];
    }
    const Vec3<S> along = end - corner[0];
    const S length = fma(along.x, along.x, along.y * along.y);
    line = found & !flat & (length > all<S>(Real(0.01)) * square);
    const S inverse = -e / select(flat, area.z, e), per_length = along.z / select(line, length, e);
    slope_x = select(flat, area.x * inverse, select(line, per_length * along.x, o));
    slope_y = select(flat, area.y * inverse, select(line, per_length * along.y, o));
    for (int k = 1; k < facet_corners; ++k) {
      corner[k] = select(line, k == 3 ? corner[0] : end, corner[k]);
    }
  }

  S height(S x, S y) const {
    return fma(slope_y, y - corner[0].y, fma(slope_x, x - corner[0].x, corner[0].z));
  }

  /// Whether (x, y) is inside, or on the segment.
  simd::Mask<S> contains(S x, S y, S slack) const {
    using Real = typename S::Real;
    const S o = all<S>(0);
    auto inside = flat | line;
    for (int k = 0; k < facet_corners; ++k) {
      const Vec3<S> edge = corner[(k + 1) % 4] - corner[k];
      const S dx = x - corner[k].x, dy = y - corner[k].y;
      const S across = turn * (edge.x * dy - edge.y * dx);
      const S length = sqrt(fma(edge.x, edge.x, edge.y * edge.y));
      inside &= line | (across >= -slack * length);
      if (k > 0) continue;
      const S along = fma(edge.x, dx, edge.y * dy), most = length * length, end = slack * length;
      const S aside = max(slack, all<S>(Real(1e-3)) * length) * length;
      inside &= flat | ((abs(across) <= aside) & (along >= o - end) & (along <= most + end));
    }
    return inside;
  }
};

/// Points that are farthest in four directions across the normal.
template <class S>
class FarthestPoints {
 public:
  explicit FarthestPoints(S tie) : tie_(tie) {
    for (int k = 0; k < 4; ++k) reach_[k] = all<S>(-__builtin_inf()), feature_[k] = all<S>(0);
  }

  void offer(simd::Mask<S> valid, S x, S y, S z, S gap, S feature) {
    using Real = typename S::Real;
    if (none(valid)) return;
    constexpr double direction[4][2] = {{1, 0.3}, {-0.3, 1}, {-1, -0.3}, {0.3, -1}};
    for (int k = 0; k < 4; ++k) {
      const S reach = fma(all<S>(Real(direction[k][0])), x, all<S>(Real(direction[k][1])) * y);
      const auto farther = valid & (reach > reach_[k] + tie_);
      reach_[k] = select(farther, reach, reach_[k]);
      at_[k] = select(farther, Vec3<S>{x, y, z}, at_[k]);
      gap_[k] = select(farther, gap, gap_[k]);
      feature_[k] = select(farther, feature, feature_[k]);
    }
  }

  /// Writes every point once; returns the least gap.
  S write(const spatial::Pose<S>& X, ManifoldPoint<S>* out) const {
    const S o = all<S>(0), inf = all<S>(__builtin_inf());
    S least = inf;
    for (int k = 0; k < 4; ++k) {
      auto exists = feature_[k] > o;
      for (int j = 0; j < k; ++j) exists &= !(feature_[j] == feature_[k]);
      const S gap = select(exists, gap_[k], inf);
      out[k] = {select(exists, X * at_[k], X.p), gap, select(exists, feature_[k], o)};
      least = min(least, gap);
    }
    return least;
  }

 private:
  S tie_, reach_[4], gap_[4], feature_[4];
  Vec3<S> at_[4] = {};
};

/// Contact points of shapes at a signed distance; `most` of them are written.
template <class S>
void facet_manifold(
    const PlacedShape<S>& A, const PlacedShape<S>& B, const Distance<S>& D, int most, ManifoldPoint<S>* out) {
  using Real = typename S::Real;
  const S o = all<S>(0), e = all<S>(1), half = all<S>(Real(0.5));
  const Vec3<S>& n = D.n;  // axes that do not depend on which shape is the first
  const auto backward = n.x + all<S>(Real(0.7)) * n.y + all<S>(Real(0.4)) * n.z < o;
  const Vec3<S> across = tangent(n);
  const spatial::Pose<S> X = {{across, cross(select(backward, -n, n), across), n}, half * (D.p_A + D.p_B)};
  const auto seen = [&](const PlacedShape<S>& shape, const Vec3<S>& normal) {
    Facet<S> F = facet_along(shape, normal);
    for (Vec3<S>& corner : F.corner) corner = transpose_times(X.R, corner - X.p);
    return F;
  };
  const Facet<S> F_A = seen(A, D.n), F_B = seen(B, -D.n);
  const Outline<S> a(F_A), b(F_B);
  const S slack = all<S>(sizeof(Real) == 8 ? Real(1e-6) : Real(1e-4)) * sqrt(max(a.square, b.square));
  const int of_a = corner_features(*A.shape), of_b = corner_features(*B.shape);
  FarthestPoints<S> points(slack);
  const auto offer = [&](simd::Mask<S> valid, S x, S y, S z_A, S z_B, S feature) {
    points.offer(valid, x, y, half * (z_A + z_B), z_B - z_A, feature);
  };
  for (int k = 0; k < facet_corners; ++k) {
    const Vec3<S>& p = F_A.corner[k];
    const auto valid = F_A.distinct[k] & b.contains(p.x, p.y, slack);
    offer(valid, p.x, p.y, p.z, b.height(p.x, p.y), e + F_A.feature[k]);
  }
  for (int k = 0; k < facet_corners; ++k) {
    const Vec3<S>& p = F_B.corner[k];
    const auto valid = F_B.distinct[k] & a.contains(p.x, p.y, slack);
    offer(valid, p.x, p.y, a.height(p.x, p.y), p.z, all<S>(Real(1 + of_a)) + F_B.feature[k]);
  }
  for (int i = 0; i < facet_corners; ++i) {
    const Vec3<S> f = a.corner[(i + 1) % 4] - a.corner[i];
    const auto on_a = i == 0 ? a.flat | a.line : a.flat;
    if (none(on_a)) break;
    for (int j = 0; j < facet_corners; ++j) {
      const auto on_b = j == 0 ? b.flat | b.line : b.flat;
      if (none(on_a & on_b)) break;
      const Vec3<S> g = b.corner[(j + 1) % 4] - b.corner[j], r = b.corner[j] - a.corner[i];
      const S det = f.x * g.y - f.y * g.x;
      const S lengths = fma(f.x, f.x, f.y * f.y) * fma(g.x, g.x, g.y * g.y);
      const auto crosses = on_a & on_b & (det * det > all<S>(Real(1e-6)) * lengths);
      if (none(crosses)) continue;
      const S inverse = e / select(crosses, det, e);
      const S s = (r.x * g.y - r.y * g.x) * inverse, u = (r.x * f.y - r.y * f.x) * inverse;
      const S end = all<S>(sizeof(Real) == 8 ? Real(1e-6) : Real(1e-4)), last = e - end;
      const auto valid = crosses & (s > end) & (s < last) & (u > end) & (u < last);
      const S x = fma(s, f.x, a.corner[i].x), y = fma(s, f.y, a.corner[i].y);
      const S feature = all<S>(Real(1 + of_a + of_b + 4 * i + j));
      offer(valid, x, y, fma(s, f.z, a.corner[i].z), fma(u, g.z, b.corner[j].z), feature);
    }
  }
  ManifoldPoint<S> found[facet_points];
  const S least = points.write(X, found);
  const auto deeper = D.d < least - slack;
  found[4] = {
      X.p, select(deeper, D.d, all<S>(__builtin_inf())), select(deeper, all<S>(Real(17 + of_a + of_b)), o)};
  if (most == facet_points) {
    for (int k = 0; k < facet_points; ++k) out[k] = found[k];
    return;
  }
  for (int k = 0; k < most; ++k) out[k] = {X.p, all<S>(__builtin_inf()), o};
  for (int k = facet_points - 1; k >= 0; --k) {  // the nearest points first
    auto left = found[k].feature > o;
    for (int j = 0; j < most; ++j) {
      const auto here = left & (out[j].feature == o);
      out[j] = {select(here, found[k].p, out[j].p),
                select(here, found[k].gap, out[j].gap),
                select(here, found[k].feature, out[j].feature)};
      left &= !here;
    }
  }
}

}  // namespace pysim::collision
