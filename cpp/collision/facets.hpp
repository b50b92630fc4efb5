// Contact points of two convex shapes with a common normal, from the facets that face each other.
//
// A facet is what a shape shows along the normal: a point of a sphere or an ellipsoid, the segment of a
// capsule, a face of a box or of a convex mesh, of a cylinder or a cone a cap with four points of its rim or
// the two ends of the side. Two facets, seen along the normal, have in common corners of either one inside
// the other, and crossings of their edges; of these the farthest in four directions are kept, which do not
// depend on the load. Where none of them is as deep as the shapes are, the nearest points of the shapes are
// one more.
//
// Caps, and faces with more than four corners, have a boundary beside the four corners that stand for them:
// what of the other facet's corners and edges is inside it counts.
#pragma once

#include "collision/outline.hpp"

namespace pysim::collision {

/// Contact points that two facets can have: the farthest ones, and the nearest points.
constexpr int farthest_points = 8, facet_points = farthest_points + 1;

template <class S>
struct ManifoldPoint {
  Vec3<S> p;  ///< in the world, midway between the surfaces [m]
  S gap;      ///< [m], negative where the shapes overlap
  S feature;  ///< 1 or more; 0 where there is no such point
};

/// Points that are farthest in four directions across the normal, in eight where a facet may have more
/// corners than four.
template <class S>
class FarthestPoints {
 public:
  FarthestPoints(S tie, simd::Mask<S> eight) : tie_(tie), eight_(eight), directions_(any(eight) ? 8 : 4) {
    for (int k = 0; k < farthest_points; ++k) reach_[k] = all<S>(-simd::infinity), feature_[k] = all<S>(0);
  }

  /// Offers the point midway between those of the two facets at (x, y).
  void offer(simd::Mask<S> valid, S x, S y, S z_A, S z_B, S feature) {
    using Real = typename S::Real;
    if (none(valid)) return;
    const S z = all<S>(Real(0.5)) * (z_A + z_B), gap = z_B - z_A;
    constexpr double direction[farthest_points][2] = {
        {1, 0.3}, {-0.3, 1}, {-1, -0.3}, {0.3, -1}, {0.7, 1.3}, {-1.3, 0.7}, {-0.7, -1.3}, {1.3, -0.7}};
    for (int k = 0; k < directions_; ++k) {
      const S reach = fma(all<S>(Real(direction[k][0])), x, all<S>(Real(direction[k][1])) * y);
      const auto farther = valid & (reach > reach_[k] + tie_) & (k < 4 ? valid : eight_);
      reach_[k] = select(farther, reach, reach_[k]);
      at_[k] = select(farther, Vec3<S>{x, y, z}, at_[k]);
      gap_[k] = select(farther, gap, gap_[k]);
      feature_[k] = select(farther, feature, feature_[k]);
    }
  }

  /// Writes every point once; returns the least gap.
  S write(const spatial::Pose<S>& X, ManifoldPoint<S>* out) const {
    const S o = all<S>(0), inf = all<S>(simd::infinity);
    S least = inf;
    for (int k = 0; k < farthest_points; ++k) {
      auto exists = feature_[k] > o;
      for (int j = 0; j < k; ++j) exists &= !(feature_[j] == feature_[k]);
      const S gap = select(exists, gap_[k], inf);
      out[k] = {select(exists, X * at_[k], X.p), gap, select(exists, feature_[k], o)};
      least = min(least, gap);
    }
    return least;
  }

 private:
  S tie_;
  simd::Mask<S> eight_;
  int directions_;
  S reach_[farthest_points], gap_[farthest_points], feature_[farthest_points];
  Vec3<S> at_[farthest_points] = {};
};

/// Offers the two points where the rims of two discs cross when seen along the normal, with features from
/// `first` on: those of circles that face it, and Newton's method from there.
template <class S, class Offer>
void circle_crossings(const Outline<S>& a, const Outline<S>& b, const Offer& offer, int first) {
  using Real = typename S::Real;
  constexpr int rounds = 4;
  const S o = all<S>(0), e = all<S>(1), half = all<S>(Real(0.5)), tiny = all<S>(Real(1e-6));
  const Vec3<S> r = b.centre - a.centre;
  const S square = fma(r.x, r.x, r.y * r.y);
  const auto apart = a.disc & b.disc & (square > tiny * tiny * a.radius * a.radius);
  const S inverse = e / select(apart, square, e);
  const S share = half * fma(inverse, fms(a.radius, a.radius, b.radius * b.radius), e);
  const S across = fnma(share, share, inverse * a.radius * a.radius);
  const auto cross = apart & (across > o);
  const S side = sqrt(select(cross, across, o));
  for (int k = 0; k < 2; ++k) {
    const S aside = k == 0 ? side : -side;
    S x = fnma(aside, r.y, fma(share, r.x, a.centre.x)), y = fma(aside, r.x, fma(share, r.y, a.centre.y));
    S off = o;
    for (int round = 0; round < rounds; ++round) {
      const Vec3<S> F = a.outside_circle(x, y), G = b.outside_circle(x, y);
      const S det = F.x * G.y - F.y * G.x;
      const auto solvable = cross & (abs(det) > tiny * a.radius * b.radius);
      const S scale = e / select(solvable, det, e);
      off = abs(F.z) + abs(G.z);
      x = select(solvable, fma(scale, F.y * G.z - G.y * F.z, x), x);
      y = select(solvable, fma(scale, G.x * F.z - F.x * G.z, y), y);
    }
    const S least = min(a.radius, b.radius);
    offer(cross & (off < all<S>(Real(1e-3)) * least * least), x, y, all<S>(Real(first + k)));
  }
}

/// Offers the point of a disc's rim towards the middle of the other facet: the rim's arc within the facet
/// reaches that far.
template <class S, class Offer>
void rim_point(const Outline<S>& disc,
               const Outline<S>& clipper,
               simd::Mask<S> where,
               S end,
               int feature,
               const Offer& offer) {
  const S e = all<S>(1);
  const Vec3<S> r = clipper.middle() - disc.centre;
  const Vec3<S> along = {r.x, r.y, disc.rise(r.x, r.y)};
  const S square = dot(along, along);
  // a segment crosses the rim, or its ends are within it
  const auto exists = where & disc.disc & !clipper.line & (square > end * disc.radius * disc.radius);
  const S share = disc.radius / sqrt(select(exists, square, e));
  const S x = fma(share, r.x, disc.centre.x), y = fma(share, r.y, disc.centre.y);
  offer(exists & clipper.contains(x, y, disc.slack(clipper)), x, y, all<S>(typename S::Real(feature)));
}

/// Offers corners of faces with more than four, and crossings of the boundaries of two facets, at least one
/// of them a disc or with more corners than four. A disc that has a corner of its four `within` the other
/// facet needs no other point of its rim there: where one of several corners leaves the facet, as at an edge,
/// a crossing takes its place, and points do not come and go elsewhere.
template <class S>
void bounded_points(const Outline<S>& a,
                    const Outline<S>& b,
                    simd::Mask<S> a_within,
                    simd::Mask<S> b_within,
                    int of_a,
                    int of_b,
                    FarthestPoints<S>& points) {
  using Real = typename S::Real;
  const S e = all<S>(1);
  const S end = all<S>(sizeof(Real) == 8 ? Real(1e-6) : Real(1e-4)), last = e - end;
  const int crossings = 18 + of_a + of_b;  // after those of four edges with four, and the nearest points
  const auto offer = [&](simd::Mask<S> valid, S x, S y, S feature) {
    points.offer(valid, x, y, a.height(x, y), b.height(x, y), feature);
  };
  const auto offer_corners = [&](const Outline<S>& of, const Outline<S>& clipper, S first) {
    for (int k = 0; k < of.most; ++k) {
      S feature;
      const Vec3<S> p = of.corner_of_many(k, feature);
      const auto exists = of.many & (all<S>(Real(k)) < of.count);
      offer(exists & clipper.contains(p.x, p.y, of.slack(clipper)), p.x, p.y, first + feature);
    }
  };
  offer_corners(a, b, e);
  offer_corners(b, a, all<S>(Real(1 + of_a)));
  const auto offer_crossings =
      [&](const Outline<S>& of, const Outline<S>& clipper, simd::Mask<S> where, int to) {
        const auto offer_edge = [&](simd::Mask<S> valid, int k, const Vec3<S>& from, const Vec3<S>& along) {
          if (none(valid)) return;
          S at[2];
          clipper.clip(from, along, at[0], at[1]);
          valid &= at[0] < at[1];
          for (int side = 0; side < 2; ++side) {
            offer(valid & (at[side] > end) & (at[side] < last),
                  fma(at[side], along.x, from.x),
                  fma(at[side], along.y, from.y),
                  all<S>(Real(to + 4 * k + side)));
          }
        };
        where &= (clipper.disc | clipper.many) & !of.disc;
        for (int k = 0; k < facet_corners; ++k) {
          const auto valid = where & !of.many & (k == 0 ? of.flat | of.line : of.flat);
          offer_edge(valid, k, of.corner[k], of.corner[(k + 1) % 4] - of.corner[k]);
        }
        if (none(where & of.many)) return;
        of.visit_edges([&](int k, const Vec3<S>& from, const Vec3<S>& along) {
          offer_edge(where & of.many & (all<S>(Real(k)) < of.count), k, from, along);
        });
      };
  offer_crossings(a, b, simd::everywhere<S>(), crossings + 4);
  offer_crossings(b, a, !(a.many & b.many), crossings + 6);
  rim_point(a, b, !a_within, end, crossings + 2, offer);
  rim_point(b, a, !b_within, end, crossings + 3, offer);
  if (any(a.disc & b.disc)) circle_crossings(a, b, offer, crossings);
}

/// Offers crossings of the edges of two facets of no more than four corners, with features from `first` on.
template <class S>
void edge_crossings(
    const Outline<S>& a, const Outline<S>& b, simd::Mask<S> where, int first, FarthestPoints<S>& points) {
  using Real = typename S::Real;
  const S e = all<S>(1);
  for (int i = 0; i < facet_corners; ++i) {
    const Vec3<S> f = a.corner[(i + 1) % 4] - a.corner[i];
    const auto on_a = (i == 0 ? a.flat | a.line : a.flat) & where;
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
      const S feature = all<S>(Real(first + 4 * i + j));
      points.offer(valid, x, y, fma(s, f.z, a.corner[i].z), fma(u, g.z, b.corner[j].z), feature);
    }
  }
}

/// Writes `most` points: the nearest points of the shapes first, then the farthest ones across the normal;
/// where there are fewer, their gap at p is infinite.
template <class S>
void keep_nearest(const ManifoldPoint<S> (&candidate)[facet_points],
                  const Vec3<S>& p,
                  int most,
                  ManifoldPoint<S>* out) {
  const S o = all<S>(0);
  for (int k = 0; k < most; ++k) out[k] = {p, all<S>(simd::infinity), o};
  for (int k = facet_points - 1; k >= 0; --k) {  // the nearest points first
    auto left = candidate[k].feature > o;
    for (int j = 0; j < most; ++j) {
      const auto here = left & (out[j].feature == o);
      out[j] = {select(here, candidate[k].p, out[j].p),
                select(here, candidate[k].gap, out[j].gap),
                select(here, candidate[k].feature, out[j].feature)};
      left &= !here;
    }
  }
}

/// Contact points of shapes at a signed distance, the nearest ones among them if `has_nearest`; `most` of
/// them are written.
template <class S>
void facet_manifold(const PlacedShape<S>& A,
                    const PlacedShape<S>& B,
                    const Distance<S>& D,
                    simd::Mask<S> has_nearest,
                    int most,
                    ManifoldPoint<S>* out) {
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
  const Outline<S> a(F_A, A, X), b(F_B, B, X);
  const S slack = a.slack(b);
  const int of_a = corner_features(*A.shape), of_b = corner_features(*B.shape);
  const auto bounded = a.disc | a.many | b.disc | b.many;
  FarthestPoints<S> points(slack, bounded);
  auto a_within = simd::nowhere<S>(), b_within = a_within;
  for (int k = 0; k < facet_corners; ++k) {
    const Vec3<S>& p = F_A.corner[k];
    const auto valid = F_A.distinct[k] & b.contains(p.x, p.y, slack);
    a_within |= valid;
    points.offer(valid, p.x, p.y, p.z, b.height(p.x, p.y), e + F_A.feature[k]);
  }
  for (int k = 0; k < facet_corners; ++k) {
    const Vec3<S>& p = F_B.corner[k];
    const auto valid = F_B.distinct[k] & a.contains(p.x, p.y, slack);
    b_within |= valid;
    points.offer(valid, p.x, p.y, a.height(p.x, p.y), p.z, all<S>(Real(1 + of_a)) + F_B.feature[k]);
  }
  if (any(bounded)) bounded_points(a, b, a_within, b_within, of_a, of_b, points);
  edge_crossings(a, b, !bounded, 1 + of_a + of_b, points);
  ManifoldPoint<S> candidate[facet_points];
  const S least = points.write(X, candidate);
  // Of many corners, those that are left out are somewhat deeper where a body leans under its load: it has to
  // lean more until another point carries it.
  const S more = select(bounded, max(slack, all<S>(Real(-0.2)) * least), slack);
  const auto deeper = has_nearest & (D.d < least - more);
  candidate[farthest_points] = {
      X.p, select(deeper, D.d, all<S>(simd::infinity)), select(deeper, all<S>(Real(17 + of_a + of_b)), o)};
  if (most == facet_points) {
    for (int k = 0; k < facet_points; ++k) out[k] = candidate[k];
    return;
  }
  keep_nearest(candidate, X.p, most, out);
}

}  // namespace pysim::collision
