// Facets seen along a contact normal: what of another facet is above them.
//
// Caps are bounded by their circle, faces of more than four corners by all their edges, others by their four
// corners.
#pragma once

#include "collision/pairs.hpp"

namespace pysim::collision {

/// A facet seen along the normal: corners (x, y) and their heights z along it.
template <class S>
struct Outline {
  Vec3<S> corner[facet_corners];
  simd::Mask<S> flat, line;  ///< has an area; is the segment from corner 0 to corner 1
  S turn;                    ///< ±1, the sense of its corners
  S slope_x, slope_y;        ///< of its height
  S square;                  ///< of its diameter [m²]
  simd::Mask<S> disc, many;  ///< is bounded by a circle; has more corners than four
  Vec3<S> centre;            ///< of the circle
  S radius, count;           ///< of the circle [m]; of all corners, 0 of other facets
  int most;                  ///< the greatest count of a world

  /// F, whose corners are those of `shape` seen from X.
  Outline(const Facet<S>& F, const PlacedShape<S>& shape, const Pose<S>& X)
      : centre(transpose_times(X.R, F.centre - X.p)),
        radius(F.radius),
        shape_(shape),
        X_(X),
        first_(F.first) {
    using Real = typename S::Real;
    const S o = all<S>(0), e = all<S>(1), tiny = all<S>(Real(1e-6));
    for (int k = 0; k < facet_corners; ++k) corner[k] = F.corner[k];
    const Vec3<S> first = corner[2] - corner[0], second = corner[3] - corner[1], area = cross(first, second);
    square = max(dot(first, first), dot(second, second));
    flat = (abs(area.z) > tiny * square) & (area.z * area.z > all<S>(Real(0.1)) * dot(area, area));
    turn = select(area.z < o, -e, e);
    Vec3<S> end = corner[1];
    auto has_end = F.distinct[1];
    for (int k = 2; k < facet_corners; ++k) {
      end = select(has_end, end, corner[k]);
      has_end |= F.distinct[k];
    }
    const Vec3<S> along = end - corner[0];
    const S length = fma(along.x, along.x, along.y * along.y);
    line = has_end & !flat & (length > all<S>(Real(0.01)) * square);
    const S inverse = -e / select(flat, area.z, e), per_length = along.z / select(line, length, e);
    slope_x = select(flat, area.x * inverse, select(line, per_length * along.x, o));
    slope_y = select(flat, area.y * inverse, select(line, per_length * along.y, o));
    for (int k = 1; k < facet_corners; ++k) {
      corner[k] = select(line, k == 3 ? corner[0] : end, corner[k]);
    }
    disc = F.disc & flat;
    many = (F.count > o) & flat;
    count = select(many, F.count, o);
    most = 0;
    if (any(many)) {
      for (int k = 0; k < S::width; ++k) {
        if (lane(count, k) > Real(most)) most = static_cast<int>(lane(count, k));
      }
    }
  }

  /// A point in the middle of its corners, or of its circle.
  Vec3<S> middle() const {
    const S quarter = all<S>(typename S::Real(0.25));
    return select(disc, centre, quarter * (corner[0] + corner[1] + corner[2] + corner[3]));
  }

  /// How far a point may be outside of this facet or another one [m].
  S slack(const Outline& other) const {
    using Real = typename S::Real;
    return all<S>(sizeof(Real) == 8 ? Real(1e-6) : Real(1e-4)) * sqrt(max(square, other.square));
  }

  /// Corner k of all, the last one beyond it; its number among those of the shape in `feature`.
  Vec3<S> corner_of_many(int k, S& feature) const {
    using Real = typename S::Real;
    const Shape<Real>& mesh = *shape_.shape;
    const S place = min(all<S>(Real(k)), count - all<S>(1));
    feature = simd::lookup(mesh.corner, select(many, first_ + place, all<S>(0)), 1, mesh.corners);
    return transpose_times(X_.R, shape_.X * vertex_of<S>(mesh, feature) - X_.p);
  }

  /// visit(k, from, along) for the edges around a facet of many corners; beyond its count they are empty.
  template <class Visit>
  void visit_edges(const Visit& visit) const {
    S feature;
    const Vec3<S> start = corner_of_many(0, feature);
    Vec3<S> from = start;
    for (int k = 0; k < most; ++k) {
      const auto closes = all<S>(typename S::Real(k + 1)) >= count;
      const Vec3<S> to = select(closes, start, corner_of_many(k + 1, feature));
      visit(k, from, to - from);
      from = to;
    }
  }

  S height(S x, S y) const {
    return fma(slope_y, y - corner[0].y, fma(slope_x, x - corner[0].x, corner[0].z));
  }

  /// How much higher it is where x and y are more.
  S rise(S x, S y) const { return fma(slope_y, y, slope_x * x); }

  /// ½ (r² − radius²) as z, with its slopes by x and y, of a point of a disc at r from the centre.
  Vec3<S> outside_circle(S x, S y) const {
    const Vec3<S> r = Vec3<S>{x, y, height(x, y)} - centre;
    return {fma(slope_x, r.z, r.x),
            fma(slope_y, r.z, r.y),
            all<S>(typename S::Real(0.5)) * fnma(radius, radius, dot(r, r))};
  }

  /// Whether (x, y) is inside, or on the segment.
  simd::Mask<S> contains(S x, S y, S slack) const {
    auto inside = is_inside_corners(x, y, slack);
    if (any(disc)) inside = select(disc, is_inside_circle(x, y, slack), inside);
    if (any(many)) {
      auto inside_all = many;
      visit_edges([&](int, const Vec3<S>& from, const Vec3<S>& edge) {
        const S across = turn * (edge.x * (y - from.y) - edge.y * (x - from.x));
        inside_all &= across >= -slack * sqrt(fma(edge.x, edge.x, edge.y * edge.y));
      });
      inside = select(many, inside_all, inside);
    }
    return inside;
  }

  /// The part of a segment inside its boundary: [enters, leaves] of [0, 1], empty where none of it is.
  void clip(const Vec3<S>& from, const Vec3<S>& along, S& enters, S& leaves) const {
    const S o = all<S>(0), e = all<S>(1);
    enters = o;
    leaves = select(disc | many, e, -e);
    if (any(disc)) {
      const Vec3<S> r = Vec3<S>{from.x, from.y, height(from.x, from.y)} - centre;
      const Vec3<S> d = {along.x, along.y, rise(along.x, along.y)};
      const S a = dot(d, d), b = dot(d, r), c = fnma(radius, radius, dot(r, r)), root = fnma(a, c, b * b);
      const auto crosses = disc & (root > o) & (a > o);
      const S half = sqrt(select(crosses, root, o)), inverse = e / select(crosses, a, e);
      enters = select(crosses, max(enters, (-b - half) * inverse), enters);
      leaves = select(disc, select(crosses, min(leaves, (half - b) * inverse), -e), leaves);
    }
    if (none(many)) return;
    visit_edges([&](int, const Vec3<S>& p, const Vec3<S>& edge) {
      const S rate = turn * (edge.x * along.y - edge.y * along.x);
      const S start = turn * (edge.x * (from.y - p.y) - edge.y * (from.x - p.x));
      const auto comes = many & (rate > o), goes = many & (rate < o);
      const S at = -start / select(comes | goes, rate, e);
      enters = select(comes, max(enters, at), enters);
      leaves = select(goes, min(leaves, at), leaves);
      leaves = select(many & !comes & !goes & (start < o), -e, leaves);
    });
  }

 private:
  simd::Mask<S> is_inside_circle(S x, S y, S slack) const {
    const Vec3<S> r = Vec3<S>{x, y, height(x, y)} - centre;
    return dot(r, r) <= (radius + slack) * (radius + slack);
  }

  simd::Mask<S> is_inside_corners(S x, S y, S slack) const {
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

  const PlacedShape<S>& shape_;
  const Pose<S>& X_;
  S first_;  ///< place of a face's first corner in the list of the mesh
};

}  // namespace pysim::collision
