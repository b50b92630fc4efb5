// Signed distance of two convex shapes in closed form: how far they are apart, or how deep they overlap.
//
// Spheres, capsules and boxes are cores with a radius: a point, a segment or a box of D = 0, 1 or 3 axes.
// Cores that are apart are nearest at a corner of one and the other core, or on two edges; cores that overlap
// are separated along a face normal or the product of two edges [Ericson 2005, sections 4.4 and 5.1]. The
// distance of the shapes is that of their cores without both radii.
//
//     n  unit, from A to B in the world       p_A, p_B  nearest points; deepest ones where shapes overlap
#pragma once

#include "collision/shapes.hpp"
#include "spatial/pose.hpp"

namespace pysim::collision {

using simd::all;
using simd::fma;
using simd::fnma;
using simd::select;
using spatial::Pose;
using spatial::Vec3;

template <class S>
struct Distance {
  S d;
  Vec3<S> n, p_A, p_B;
};

template <class S>
PYSIM_INLINE S clamp(S x, S most) {
  return max(min(x, most), -most);
}

/// A unit vector across a unit vector.
template <class S>
Vec3<S> tangent(const Vec3<S>& n) {
  using Real = typename S::Real;
  const S o = all<S>(0), e = all<S>(1);
  const auto along_x = abs(n.x) > all<S>(Real(0.8));
  const Vec3<S> axis = {select(along_x, o, e), select(along_x, e, o), o};
  const Vec3<S> raw = axis - dot(n, axis) * n;
  return (e / sqrt(dot(raw, raw))) * raw;
}

/// A core: its centre, and D unit axes with the half length along each.
template <class S, int D>
struct Core {
  Vec3<S> centre;
  Vec3<S> axis[D + 1];  ///< one more, for arrays have no length 0
  S half[D + 1];

  Vec3<S> nearest_to(const Vec3<S>& p) const {
    Vec3<S> found = centre;
    for (int i = 0; i < D; ++i) found = fma(clamp(dot(axis[i], p - centre), half[i]), axis[i], found);
    return found;
  }

  Vec3<S> corner(int k) const {
    Vec3<S> found = centre;
    for (int i = 0; i < D; ++i) found = fma((k >> i) & 1 ? half[i] : -half[i], axis[i], found);
    return found;
  }

  /// Middle of an edge along axis i; k numbers the edges of the axis.
  Vec3<S> edge(int i, int k) const {
    Vec3<S> found = centre;
    for (int j = 0, bit = 0; j < D; ++j) {
      if (j == i) continue;
      found = fma((k >> bit) & 1 ? half[j] : -half[j], axis[j], found);
      ++bit;
    }
    return found;
  }

  /// Half of the extent along n.
  S reach(const Vec3<S>& n) const {
    S sum = all<S>(0);
    for (int i = 0; i < D; ++i) sum = fma(abs(dot(n, axis[i])), half[i], sum);
    return sum;
  }

  Vec3<S> support(const Vec3<S>& n) const {
    Vec3<S> found = centre;
    for (int i = 0; i < D; ++i) {
      found = fma(select(dot(n, axis[i]) > all<S>(0), half[i], -half[i]), axis[i], found);
    }
    return found;
  }

  static constexpr int corners = 1 << D;
  static constexpr int edges = D == 0 ? 0 : 1 << (D - 1);  ///< along each axis
};

/// The nearest points found so far.
template <class S>
struct Nearest {
  S square;
  Vec3<S> a, b;

  void offer(const Vec3<S>& p, const Vec3<S>& q) {
    const Vec3<S> r = q - p;
    const S found = dot(r, r);
    const auto nearer = found < square;
    square = select(nearer, found, square);
    a = select(nearer, p, a);
    b = select(nearer, q, b);
  }
};

/// Square of the sine of the angle between directions below which they count as parallel: above rounding.
template <class Real>
constexpr Real parallel = sizeof(Real) == 8 ? Real(1e-12) : Real(1e-8);

/// Nearest points of two edges: middles p and q, unit directions u and v, half lengths.
template <class S>
void offer_edges(
    Nearest<S>& nearest, const Vec3<S>& p, const Vec3<S>& u, S g, const Vec3<S>& q, const Vec3<S>& v, S h) {
  const Vec3<S> r = p - q;
  const S b = dot(u, v), c = dot(u, r), f = dot(v, r), o = all<S>(0), e = all<S>(1);
  const S across = fnma(b, b, e);
  const auto crossing = across > all<S>(parallel<typename S::Real>);
  const S s = clamp(select(crossing, (b * f - c) / select(crossing, across, e), o), g);
  const S t = clamp(fma(b, s, f), h);
  nearest.offer(fma(clamp(b * t - c, g), u, p), fma(t, v, q));
}

/// Separation along the best axis found so far; negative for overlap.
template <class S>
struct Separation {
  S most;
  Vec3<S> n;

  template <int D, int E>
  void offer(const Core<S, D>& A, const Core<S, E>& B, const Vec3<S>& raw) {
    const S square = dot(raw, raw), e = all<S>(1);
    const auto valid = square > all<S>(parallel<typename S::Real>);
    const Vec3<S> axis = (e / sqrt(select(valid, square, e))) * raw;
    const S along = dot(axis, B.centre - A.centre);
    const S gap = abs(along) - A.reach(axis) - B.reach(axis);
    const auto better = valid & (gap > most);
    most = select(better, gap, most);
    n = select(better, select(along < all<S>(0), -axis, axis), n);
  }
};

template <class S, int D, int E>
Distance<S> core_distance(const Core<S, D>& A, S r_A, const Core<S, E>& B, S r_B) {
  const S o = all<S>(0), e = all<S>(1), inf = all<S>(simd::infinity);
  Nearest<S> nearest = {inf, A.centre, B.centre};
  for (int k = 0; k < Core<S, E>::corners; ++k) nearest.offer(A.nearest_to(B.corner(k)), B.corner(k));
  for (int k = 0; k < Core<S, D>::corners; ++k) nearest.offer(A.corner(k), B.nearest_to(A.corner(k)));
  Separation<S> separation = {-inf, {o, o, e}};
  for (int i = 0; i < D; ++i) {
    for (int j = 0; j < E; ++j) {
      for (int k = 0; k < Core<S, D>::edges; ++k) {
        for (int l = 0; l < Core<S, E>::edges; ++l) {
          offer_edges(nearest, A.edge(i, k), A.axis[i], A.half[i], B.edge(j, l), B.axis[j], B.half[j]);
        }
      }
      separation.offer(A, B, cross(A.axis[i], B.axis[j]));
    }
  }
  if constexpr (D == 3) {
    for (int i = 0; i < 3; ++i) separation.offer(A, B, A.axis[i]);
  }
  if constexpr (E == 3) {
    for (int i = 0; i < 3; ++i) separation.offer(A, B, B.axis[i]);
  }
  const auto overlap = (D == 3 || E == 3) ? separation.most <= o : simd::nowhere<S>();
  const S length = sqrt(nearest.square), tiny = all<S>(typename S::Real(1e-30));
  const auto apart = length > tiny;
  const Vec3<S> direct =
      select(apart, (e / select(apart, length, e)) * (nearest.b - nearest.a), separation.n);
  Distance<S> distance;
  distance.n = select(overlap, separation.n, direct);
  distance.d = select(overlap, separation.most, length) - r_A - r_B;
  const Vec3<S> b = select(overlap, B.support(-distance.n), nearest.b);
  distance.p_B = fnma(r_B, distance.n, b);
  distance.p_A = fnma(distance.d, distance.n, distance.p_B);
  return distance;
}

/// A shape with sizes [m] as in shapes.hpp, in the world.
template <class S>
struct PlacedShape {
  Vec3<S> size;
  Pose<S> X;
  const Shape<typename S::Real>* shape = nullptr;  ///< kind and vertices; of pairs without a closed form

  Core<S, 0> point() const { return {X.p, {X.R.z}, {all<S>(0)}}; }
  Core<S, 1> segment() const { return {X.p, {X.R.z, X.R.z}, {size.y, size.y}}; }
  Core<S, 3> box() const { return {X.p, {X.R.x, X.R.y, X.R.z, X.R.z}, {size.x, size.y, size.z, size.z}}; }
};

/// From a cylinder to a sphere.
template <class S>
Distance<S> cylinder_sphere(const PlacedShape<S>& A, const PlacedShape<S>& B) {
  const S o = all<S>(0), e = all<S>(1);
  const Vec3<S> p = transpose_times(A.X.R, B.X.p - A.X.p);
  const S radial = sqrt(fma(p.x, p.x, p.y * p.y));
  const auto off_axis = radial > o;
  const S inverse = e / select(off_axis, radial, e);
  const S ux = select(off_axis, p.x * inverse, e), uy = select(off_axis, p.y * inverse, o);
  const S up = select(p.z < o, all<S>(-1), e);
  const S beyond_r = radial - A.size.x, beyond_z = abs(p.z) - A.size.y;
  const auto inside = (beyond_r <= o) & (beyond_z <= o);
  const S dr = max(beyond_r, o), dz = max(beyond_z, o), outside = sqrt(fma(dr, dr, dz * dz));
  const S scale = e / select(inside, e, outside);
  const auto side = beyond_r > beyond_z;
  const S nr = select(inside, select(side, e, o), dr * scale),
          nz = select(inside, select(side, o, e), dz * scale);
  Distance<S> distance;
  distance.n = A.X.R * Vec3<S>{nr * ux, nr * uy, nz * up};
  distance.d = select(inside, max(beyond_r, beyond_z), outside) - B.size.x;
  distance.p_B = fnma(B.size.x, distance.n, B.X.p);
  distance.p_A = fnma(distance.d, distance.n, distance.p_B);
  return distance;
}

}  // namespace pysim::collision
