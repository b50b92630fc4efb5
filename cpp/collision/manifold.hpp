// Contact points of two convex shapes with a common normal, in closed form.
//
//   sphere with sphere, capsule, box, cylinder   the nearest points
//   capsule with capsule                         the ends of their overlap where parallel, else the nearest
//   box with capsule                             the ends of the segment above a face or along an edge, else
//                                                the nearest
//   box with box                                 two edges: one point; a face: the corners of the polygon
//                                                that it shares with a face of the other box, up to eight
//   others                                       see facets.hpp
//
// The normal of two boxes is their separating axis of least overlap (box_axis.hpp); the polygon is seen along
// it.
//
// A feature is the number of what touches at a point: from step to step, a point with the same feature is the
// same point. Choices between equals are made in a fixed order, with a tolerance, so that they do not change
// by rounding. All corners of the polygon are kept: a choice of four among them depends on the load, and what
// then changes from step to step is the stiffness under it.
#pragma once

#include "collision/box_axis.hpp"
#include "collision/facets.hpp"

namespace pysim::collision {

constexpr int box_points = 8;  // of two boxes
constexpr int max_manifold_points = facet_points;

/// Contact points that a pair of shapes of two kinds can have.
PYSIM_INLINE int manifold_points(DistancePair pair, ShapeKind a, ShapeKind b) {
  switch (pair) {
    case DistancePair::capsule_capsule:
    case DistancePair::box_capsule:
      return 2;
    case DistancePair::box_box:
      return box_points;
    case DistancePair::by_support: {
      const int corners = facet_size(a) < facet_size(b) ? facet_size(a) : facet_size(b);
      return corners < facet_corners ? corners : facet_points;
    }
    default:
      return 1;
  }
}

template <class S>
struct Manifold {
  Vec3<S> n;  ///< unit, from A to B
  ManifoldPoint<S> point[max_manifold_points];
};

/// a where the mask holds, b elsewhere.
template <class S>
ManifoldPoint<S> select(simd::Mask<S> mask, const ManifoldPoint<S>& a, const ManifoldPoint<S>& b) {
  return {select(mask, a.p, b.p), simd::select(mask, a.gap, b.gap), simd::select(mask, a.feature, b.feature)};
}

/// One point where the shapes are nearest.
template <class S>
ManifoldPoint<S> nearest_point(const Distance<S>& D, S feature) {
  return {fnma(all<S>(typename S::Real(0.5)) * D.d, D.n, D.p_B), D.d, feature};
}

/// t of c + t d with |along · (c + t d)| ≤ half, where c and d have these components: cuts [low, high].
template <class S>
void clip_line(S c, S d, S half, S& low, S& high) {
  const S e = all<S>(1), tiny = all<S>(typename S::Real(1e-12));
  const auto crosses = abs(d) > tiny;
  const S inverse = e / select(crosses, d, e);
  const S first = (-half - c) * inverse, last = (half - c) * inverse;
  const auto within = abs(c) <= half;
  const S far = all<S>(simd::infinity);
  low = max(low, select(crosses, min(first, last), select(within, -far, far)));
  high = min(high, select(crosses, max(first, last), select(within, far, -far)));
}

/// Two points on an axis c + t d of a round shape if `two`, else the nearest ones.
template <class S, class At>
void round_points(
    simd::Mask<S> two, S low, S high, const Distance<S>& D, const At& at, ManifoldPoint<S>* out) {
  const S o = all<S>(0), e = all<S>(1);
  const auto nearest = nearest_point(D, all<S>(3));
  const auto first = at(select(two, low, o)), last = at(select(two, high, o));
  out[0] = {
      select(two, first.p, nearest.p), select(two, first.gap, nearest.gap), select(two, e, nearest.feature)};
  out[1] = {last.p, last.gap, select(two, all<S>(2), o)};
}

template <class S>
void capsule_capsule_manifold(const PlacedShape<S>& A, const PlacedShape<S>& B, Manifold<S>& M) {
  using Real = typename S::Real;
  const auto D = core_distance(A.segment(), A.size.x, B.segment(), B.size.x);
  const Vec3<S>&u = A.X.R.z, &v = B.X.R.z, across = cross(u, v), r = B.X.p - A.X.p;
  const S middle = dot(u, r), half = B.size.y * abs(dot(u, v));
  const S low = max(-A.size.y, middle - half), high = min(A.size.y, middle + half);
  const auto two = (dot(across, across) < all<S>(Real(1e-6))) & (high - low > all<S>(Real(1e-6)) * A.size.x);
  M.n = D.n;
  round_points<S>(
      two,
      low,
      high,
      D,
      [&](S t) {
        const Vec3<S> a = fma(t, u, A.X.p);
        const Vec3<S> b = fma(clamp(dot(v, a - B.X.p), B.size.y), v, B.X.p);
        const S gap = dot(D.n, b - a) - A.size.x - B.size.x;
        return ManifoldPoint<S>{fma(fma(all<S>(Real(0.5)), gap, A.size.x), D.n, a), gap, all<S>(1)};
      },
      M.point);
}

template <class S>
void box_capsule_manifold(const PlacedShape<S>& A, const PlacedShape<S>& B, Manifold<S>& M) {
  using Real = typename S::Real;
  const auto D = core_distance(A.box(), all<S>(0), B.segment(), B.size.x);
  const Face<S> F = face_along(A, D.n);
  const Vec3<S>& d = B.X.R.z;
  const Vec3<S> c = B.X.p - F.centre;
  const auto on_face = dot(F.n, D.n) > all<S>(Real(1 - 1e-6));
  const Vec3<S> of_u = cross(F.u, d), of_v = cross(F.v, d);
  const S parallel_sine = all<S>(Real(1e-6)), far = all<S>(simd::infinity);
  const auto along_u = (!on_face) & (dot(of_u, of_u) < parallel_sine),
             along_v = (!on_face) & (dot(of_v, of_v) < parallel_sine);
  S low = -B.size.y, high = B.size.y;
  clip_line(dot(F.u, c), dot(F.u, d), select(along_v, far, F.hu), low, high);
  clip_line(dot(F.v, c), dot(F.v, d), select(along_u, far, F.hv), low, high);
  const auto two = (on_face | along_u | along_v) & (high - low > all<S>(Real(1e-6)) * B.size.x);
  const Vec3<S> on_core = select(on_face, F.centre, A.box().support(D.n));
  M.n = D.n;
  round_points<S>(
      two,
      low,
      high,
      D,
      [&](S t) {
        const Vec3<S> p = fma(t, d, B.X.p);
        const S gap = dot(D.n, p - on_core) - B.size.x;
        return ManifoldPoint<S>{fnma(fma(all<S>(Real(0.5)), gap, B.size.x), D.n, p), gap, all<S>(1)};
      },
      M.point);
}

/// Points of a manifold, filled one after the other, in every world as many as it has.
template <class S>
class PointList {
 public:
  PointList(const Face<S>& base, S number, ManifoldPoint<S>* out) : base_(base), number_(number), out_(out) {
    for (int k = 0; k < box_points; ++k) out_[k] = {base.centre, all<S>(simd::infinity), all<S>(0)};
  }

  /// Adds a point (x, y, gap) on the axes of the base face where it is `valid`.
  void add(simd::Mask<S> valid, const Vec3<S>& at) {
    using Real = typename S::Real;
    const S feature = number_;
    number_ += all<S>(1);
    if (none(valid)) return;
    const S height = all<S>(Real(0.5)) * at.z;
    const Vec3<S> p = fma(height, base_.n, fma(at.y, base_.v, fma(at.x, base_.u, base_.centre)));
    for (int k = 0; k < box_points; ++k) {
      const auto here = valid & (count_ == all<S>(Real(k)));
      out_[k] = {collision::select(here, p, out_[k].p),
                 select(here, at.z, out_[k].gap),
                 select(here, feature, out_[k].feature)};
      if (none(count_ > all<S>(Real(k)))) break;
    }
    count_ += simd::number(valid);
  }

 private:
  const Face<S>& base_;
  S number_, count_ = all<S>(0);
  ManifoldPoint<S>* out_;
};

/// Corners of the polygon that two faces have in common when seen along the normal of `base`: corners of
/// either one on the other, and crossings of their edges. Points that coincide to a millionth of the size
/// count once, or twice at the limit, but are never lost.
template <class S>
void face_points(const Face<S>& base, const Face<S>& face, S number, ManifoldPoint<S>* out) {
  using Real = typename S::Real;
  const S e = all<S>(1), two = all<S>(2), hu = base.hu, hv = base.hv;
  const auto on_base = [&](const Vec3<S>& a) {
    return Vec3<S>{dot(base.u, a), dot(base.v, a), dot(base.n, a)};
  };
  const Vec3<S> C = on_base(face.centre - base.centre), P = face.hu * on_base(face.u),
                Q = face.hv * on_base(face.v);
  const S slack =
      all<S>(sizeof(Real) == 8 ? Real(1e-6) : Real(1e-5)) * max(max(hu, hv), max(face.hu, face.hv));
  const S least = all<S>(Real(0.2)) * slack, share_p = least / face.hu, share_q = least / face.hv;
  const S det = P.x * Q.y - P.y * Q.x;
  const auto steep = abs(det) > all<S>(sizeof(Real) == 8 ? Real(1e-9) : Real(1e-6)) * face.hu * face.hv;
  const S inverse = e / select(steep, det, e);
  PointList<S> points(base, number, out);
  constexpr int sign[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  Vec3<S> corner[4];
  for (int k = 0; k < 4; ++k) {
    corner[k] = fma(all<S>(Real(sign[k][1])), Q, fma(all<S>(Real(sign[k][0])), P, C));
    points.add((abs(corner[k].x) <= hu + slack) & (abs(corner[k].y) <= hv + slack), corner[k]);
  }
  for (int k = 0; k < 4; ++k) {
    const S x = all<S>(Real(sign[k][0])) * hu, y = all<S>(Real(sign[k][1])) * hv;
    const S dx = x - C.x, dy = y - C.y;
    const S s = (dx * Q.y - dy * Q.x) * inverse, t = (P.x * dy - P.y * dx) * inverse;
    const auto inside = steep & (abs(s) < e - share_p) & (abs(t) < e - share_q);
    points.add(inside, {x, y, fma(t, Q.z, fma(s, P.z, C.z))});
  }
  for (int k = 0; k < 4; ++k) {
    const Vec3<S> from = corner[k], along = corner[(k + 1) % 4] - from;
    const S share = least / (two * (k % 2 == 0 ? face.hu : face.hv));
    for (int side = 0; side < 4; ++side) {
      const bool of_u = side < 2;
      const S bound = of_u ? (side == 0 ? hu : -hu) : (side == 2 ? hv : -hv);
      const S d = of_u ? along.x : along.y;
      const auto crosses = abs(d) > slack;
      const S t = (bound - (of_u ? from.x : from.y)) / select(crosses, d, e);
      const Vec3<S> p = fma(t, along, from);
      const auto inside = of_u ? abs(p.y) <= hv : abs(p.x) <= hu;
      points.add(crosses & inside & (t > share) & (t < e - share), p);
    }
  }
}

template <class S>
void box_box_manifold(const PlacedShape<S>& A, const PlacedShape<S>& B, S reach, Manifold<S>& M) {
  using Real = typename S::Real;
  auto axis = box_axis(A, B, reach);
  if (none(axis.gap < reach)) {
    for (ManifoldPoint<S>& point : M.point) point = {A.X.p, axis.gap, all<S>(0)};
    return;
  }
  const CoveredFaces<S> covered(A, B, axis.n, axis.gap);
  axis.take(covered);
  const auto choose = [](simd::Mask<S> mask, const PlacedShape<S>& a, const PlacedShape<S>& b) {
    return PlacedShape<S>{
        select(mask, a.size, b.size),
        {{select(mask, a.X.R.x, b.X.R.x), select(mask, a.X.R.y, b.X.R.y), select(mask, a.X.R.z, b.X.R.z)},
         select(mask, a.X.p, b.X.p)}};
  };
  const PlacedShape<S> X = choose(axis.of_b, B, A), Y = choose(axis.of_b, A, B);
  const Vec3<S> outward = select(axis.of_b, -axis.n, axis.n);
  const Face<S> base = face_along(X, outward), face = face_along(Y, -outward);
  const S pair = fma(all<S>(6), base.number, face.number) + select(axis.of_b, all<S>(36), all<S>(0));
  M.n = axis.n;
  if (!all(axis.edges)) face_points(base, face, fma(all<S>(32), pair, all<S>(1)), M.point);
  if (any(covered.leans)) leave_out_covered(covered, box_points, M.point);
  const S o = all<S>(0), e = all<S>(1);
  S least = M.point[0].gap;
  for (int k = 1; k < box_points; ++k) least = min(least, M.point[k].gap);
  // The faces of boxes that overlap may have nothing in common where two edges cross beside them.
  const auto missed = (axis.gap < o) & !(least <= o) & !axis.edges & !covered.turned();
  if (any(missed)) {
    axis.take_edges(missed, box_axis(A, B, reach, true));
    M.n = axis.n;
  }
  if (none(axis.edges)) return;
  const Vec3<S> r = axis.p - axis.q;
  const S b = dot(axis.u, axis.v), across = fnma(b, b, e);
  const S inverse = e / select(axis.edges, across, e), c = dot(axis.u, r), f = dot(axis.v, r);
  const Vec3<S> on_a = fma(clamp((b * f - c) * inverse, axis.g), axis.u, axis.p);
  const Vec3<S> on_b = fma(clamp((f - b * c) * inverse, axis.h), axis.v, axis.q);
  const S half = all<S>(Real(0.5)), number = all<S>(Real(72 * 32 + 1)) + axis.edge;
  M.point[0] = {select(axis.edges, half * (on_a + on_b), M.point[0].p),
                select(axis.edges, axis.gap, M.point[0].gap),
                select(axis.edges, select(covered.apart, o, number), M.point[0].feature)};
  for (int k = 1; k < box_points; ++k) {
    M.point[k].p = select(axis.edges, M.point[0].p, M.point[k].p);
    M.point[k].gap = select(axis.edges, all<S>(simd::infinity), M.point[k].gap);
    M.point[k].feature = select(axis.edges, o, M.point[k].feature);
  }
}

/// Points of two shapes at a signed distance from their facets, `points` of them at most. Covered faces give
/// no normal. A pair with one point and without a covered face has it where the shapes are nearest.
template <class S>
void facing_manifold(const PlacedShape<S>& A,
                     const PlacedShape<S>& B,
                     Distance<S> D,
                     const CoveredFaces<S>& covered,
                     int points,
                     S reach,
                     Manifold<S>& M) {
  const S e = all<S>(1), o = all<S>(0);
  const auto turned = covered.turned();
  D.n = select(turned, covered.n, D.n);
  D.d = select(turned, covered.gap, D.d);
  M.n = D.n;
  if (any(D.d < reach) && (points > 1 || any(turned))) {
    facet_manifold(A, B, D, !turned, points, M.point);
    if (points == 1) M.point[0] = select(turned, M.point[0], nearest_point(D, e));
  } else {
    for (int k = 0; k < points; ++k) M.point[k] = {D.p_A, D.d, o};
    if (points == 1) M.point[0] = nearest_point(D, e);
  }
  if (any(covered.leans)) leave_out_covered(covered, points, M.point);
}

/// A box and a round shape, whose manifold without covered faces is `open`: those of the box give no normal.
template <class S, class Open>
void box_round_manifold(
    const PlacedShape<S>& A, const PlacedShape<S>& B, int points, S reach, const Open& open, Manifold<S>& M) {
  open();
  if (A.shape->covered == 0) return;
  const S o = all<S>(0);
  const Distance<S> D = points == 1 ? core_distance(A.box(), o, B.point(), B.size.x)
                                    : core_distance(A.box(), o, B.segment(), B.size.x);
  const CoveredFaces<S> covered(A, B, D.n, D.d);
  if (none(covered.leans)) return;
  Manifold<S> other;
  facing_manifold(A, B, D, covered, points, reach, other);
  M.n = select(covered.leans, other.n, M.n);
  for (int k = 0; k < points; ++k) M.point[k] = select(covered.leans, other.point[k], M.point[k]);
}

/// Points of a pair, A of the kind that `pair` names first; or only a lower bound of their gaps where that is
/// `reach` or more in all worlds.
template <class S>
void manifold(DistancePair pair, const PlacedShape<S>& A, const PlacedShape<S>& B, S reach, Manifold<S>& M) {
  const S e = all<S>(1), o = all<S>(0);
  const auto single = [&](const Distance<S>& D) {
    M.n = D.n;
    M.point[0] = nearest_point(D, e);
  };
  switch (pair) {
    case DistancePair::sphere_sphere:
      return single(core_distance(A.point(), A.size.x, B.point(), B.size.x));
    case DistancePair::capsule_sphere:
      return single(core_distance(A.segment(), A.size.x, B.point(), B.size.x));
    case DistancePair::box_sphere:
      return box_round_manifold(
          A, B, 1, reach, [&] { single(core_distance(A.box(), o, B.point(), B.size.x)); }, M);
    case DistancePair::cylinder_sphere:
      return single(cylinder_sphere(A, B));
    case DistancePair::capsule_capsule:
      return capsule_capsule_manifold(A, B, M);
    case DistancePair::box_capsule:
      return box_round_manifold(A, B, 2, reach, [&] { box_capsule_manifold(A, B, M); }, M);
    case DistancePair::box_box:
      return box_box_manifold(A, B, reach, M);
    default: {
      const Distance<S> D = convex_distance(A, B, reach);
      const CoveredFaces<S> covered(A, B, D.n, D.d);
      facing_manifold(A, B, D, covered, manifold_points(pair, A.shape->kind, B.shape->kind), reach, M);
    }
  }
}

}  // namespace pysim::collision
