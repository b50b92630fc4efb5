// Signed distance of any two convex shapes by their support points.
//
//     C = A − B     h(n) = max n · c over c ∈ C     distance = max −h(n) over unit n
//
// Shapes that are apart: the point of C nearest to the origin, by simplices [Gilbert, Johnson, Keerthi
// 1988]. Shapes that nearly touch or overlap: B is moved away along the normal n of the moment by just so
// much that the shapes are apart by a margin, and the normal of the moved shapes is the next n, until it
// stays where −h is stationary; Anderson's mixing makes that a few rounds also of curved surfaces. The first
// n is that of shapes shrunk about their centres. Shapes that overlap may have several such normals: where
// the face of a shape that is nearest to the normal found has less overlap (a box that tips over the rim of a
// table), or deeper inside an axis of a shape, or what is across two of them, it is the first n of a second
// search. Deep inside, the overlap may still be that of another normal.
//
// All worlds of a pack go through the same rounds; one that is done keeps what it has.
#pragma once

#include "collision/shape_kinds.hpp"

namespace pysim::collision {

/// Relative accuracy of the distance of cores, and of a first search that others follow.
template <class Real>
constexpr Real fine = sizeof(Real) == 8 ? Real(1e-13) : Real(1e-6);
template <class Real>
constexpr Real coarse = sizeof(Real) == 8 ? Real(1e-6) : Real(1e-4);

/// Four points of C and the weights of the point of their hull that is nearest to the origin. The first three
/// hold all that have weight, the last one is the newest.
template <class S>
class Simplex {
 public:
  /// All four at one point of C; `of_a` is that of A.
  Simplex(const Vec3<S>& point, const Vec3<S>& of_a) {
    for (int k = 0; k < 4; ++k) {
      point_[k] = point;
      of_a_[k] = of_a;
      weight_[k] = all<S>(k == 0 ? 1 : 0);
    }
  }

  /// Takes a point of C beyond the plane through the nearest one; false where the origin is inside.
  simd::Mask<S> add(simd::Mask<S> where, const Vec3<S>& point, const Vec3<S>& of_a) {
    point_[3] = select(where, point, point_[3]);
    of_a_[3] = select(where, of_a, of_a_[3]);
    Search search(point_);
    for (int i = 0; i < 3; ++i) search.offer_edge(i);
    for (int i = 0; i < 3; ++i) search.offer_face(i, (i + 1) % 3);
    const auto outside = !search.holds_origin();
    auto to_place = where & outside;
    take(to_place, search);
    for (int k = 0; k < 3; ++k) {  // into a place that has no weight
      const auto here = to_place & (weight_[k] == all<S>(0));
      point_[k] = select(here, point_[3], point_[k]);
      of_a_[k] = select(here, of_a_[3], of_a_[k]);
      weight_[k] = simd::select(here, weight_[3], weight_[k]);
      to_place &= !here;
    }
    return outside;
  }

  /// A point of C, that of A, and its weight; k < 3.
  const Vec3<S>& point(int k) const { return point_[k]; }
  const Vec3<S>& of_a(int k) const { return of_a_[k]; }
  S weight(int k) const { return weight_[k]; }

  /// The nearest point, and the same combination of points of A.
  Vec3<S> nearest_point() const { return combine(point_); }
  Vec3<S> point_of_a() const { return combine(of_a_); }

 private:
  /// The nearest point of the faces and edges that meet at the newest point, which has some weight: it is
  /// beyond the plane of the others.
  class Search {
   public:
    explicit Search(const Vec3<S>* point) : p_(point[3]), least_(dot(p_, p_)) {
      weight[3] = all<S>(1);
      for (int i = 0; i < 3; ++i) {
        edge_[i] = point[i] - p_;
        along_[i] = dot(p_, edge_[i]);
        weight[i] = all<S>(0);
        for (int j = 0; j <= i; ++j) gram_[i][j] = gram_[j][i] = dot(edge_[i], edge_[j]);
      }
    }

    void offer_edge(int i) {
      const S o = all<S>(0), e = all<S>(1);
      const auto valid = gram_[i][i] > tiny();
      offer(valid, i, max(min(-along_[i] / simd::select(valid, gram_[i][i], e), e), o), i, o);
    }

    void offer_face(int i, int j) {
      const S o = all<S>(0), e = all<S>(1);
      const S square = gram_[i][i] * gram_[j][j], det = fnma(gram_[i][j], gram_[i][j], square);
      const auto wide = det > fma(flat(), square, tiny());
      const S inverse = e / simd::select(wide, det, e);
      const S a = (along_[j] * gram_[i][j] - along_[i] * gram_[j][j]) * inverse;
      const S b = (along_[i] * gram_[i][j] - along_[j] * gram_[i][i]) * inverse;
      offer(wide & (a > o) & (b > o) & (a + b < e), i, a, j, b);
    }

    simd::Mask<S> holds_origin() const {
      const S o = all<S>(0), e = all<S>(1);
      const Vec3<S> area = cross(edge_[1], edge_[2]);
      const S det = dot(edge_[0], area);
      const auto solid = det * det > flat() * gram_[0][0] * gram_[1][1] * gram_[2][2];
      const S inverse = e / simd::select(solid, det, e);
      const S a = -dot(p_, area) * inverse, b = -dot(p_, cross(edge_[2], edge_[0])) * inverse,
              c = -dot(p_, cross(edge_[0], edge_[1])) * inverse;
      return solid & (a > o) & (b > o) & (c > o) & (a + b + c < e);
    }

    S weight[4];

   private:
    static S tiny() { return all<S>(sizeof(typename S::Real) == 8 ? 1e-300 : 1e-35); }
    static S flat() { return all<S>(sizeof(typename S::Real) == 8 ? 1e-14 : 1e-6); }

    void offer(simd::Mask<S> valid, int i, S a, int j, S b) {
      const S o = all<S>(0);
      const Vec3<S> found = fma(b, edge_[j], fma(a, edge_[i], p_));
      const S square = dot(found, found);
      const auto nearer = valid & (square < least_);
      least_ = simd::select(nearer, square, least_);
      for (int k = 0; k < 3; ++k) {
        weight[k] = simd::select(nearer, k == i ? a : k == j ? b : o, weight[k]);
      }
      weight[3] = simd::select(nearer, all<S>(1) - a - b, weight[3]);
    }

    Vec3<S> p_, edge_[3];
    S least_, along_[3], gram_[3][3];
  };

  void take(simd::Mask<S> where, const Search& search) {
    for (int k = 0; k < 4; ++k) weight_[k] = simd::select(where, search.weight[k], weight_[k]);
  }

  Vec3<S> combine(const Vec3<S>* points) const {
    Vec3<S> sum = weight_[0] * points[0];
    for (int k = 1; k < 3; ++k) sum = fma(weight_[k], points[k], sum);
    return sum;
  }

  Vec3<S> point_[4], of_a_[4];
  S weight_[4];
};

/// Support points of two cores along their common normal, and the weights of those whose sums are nearest.
template <class S>
struct Witness {
  Vec3<S> a[3], b[3];
  S weight[3];
};

/// Search of the nearest points of two cores, shrunk about their centres by `scale`, B moved by `moved`.
template <class S>
class CoreSearch {
 public:
  Vec3<S> v;            ///< from B's point to A's: the point of C that is nearest to the origin
  simd::Mask<S> apart;  ///< whether the origin is outside of C

  CoreSearch(const PlacedShape<S>& A, const PlacedShape<S>& B, S scale, const Vec3<S>& first)
      : A_(A),
        B_(B),
        scale_(scale),
        moved_(spatial::zero3<S>()),
        simplex_(point_of_a(first) - point_of_b(-first), point_of_a(first)) {}

  /// Begins again with B at another place, from a first direction.
  void move(const Vec3<S>& to, const Vec3<S>& first) {
    moved_ = to;
    const Vec3<S> a = point_of_a(first);
    simplex_ = Simplex<S>(a - point_of_b(-first), a);
  }

  /// Searches in some worlds to a relative accuracy of the distance. Where it exceeds `reach` the search ends
  /// early, with a v whose length is no more than the distance.
  void run(simd::Mask<S> wanted, S accuracy, S reach) {
    using Real = typename S::Real;
    constexpr int most_rounds = 64;
    const S o = all<S>(0), e = all<S>(1);
    v = simplex_.nearest_point();
    apart = wanted;
    auto active = wanted, far = simd::nowhere<S>();
    S bound = o;
    for (int round = 0; round < most_rounds; ++round) {
      const S square = dot(v, v);
      const Vec3<S> a = point_of_a(-v), w = a - point_of_b(v);
      const S along = dot(v, w);
      const auto beyond = active & (along > o) & (along * along > reach * reach * square);
      bound = simd::select(beyond, along / sqrt(max(square, all<S>(Real(1e-35)))), bound);
      far |= beyond;
      active &= !beyond;
      active &= square - along > accuracy * square;
      if (none(active)) break;
      const auto outside = simplex_.add(active, w, a);
      apart &= outside | !active;
      active &= outside;
      const Vec3<S> nearer = simplex_.nearest_point();
      active &= dot(nearer, nearer) < square;
      v = select(active, nearer, v);
      if (none(active)) break;
    }
    const S length = sqrt(dot(v, v));
    v = select(far, (bound / simd::select(far, length, e)) * v, v);
  }

  /// The nearest points, where B was before it was moved.
  Vec3<S> point_a() const { return simplex_.point_of_a(); }
  Vec3<S> point_b() const { return point_a() - simplex_.nearest_point() - moved_; }

  /// Support points whose weighted sums these are.
  void keep(simd::Mask<S> where, Witness<S>& witness) const {
    for (int k = 0; k < 3; ++k) {
      witness.a[k] = select(where, simplex_.of_a(k), witness.a[k]);
      witness.b[k] = select(where, simplex_.of_a(k) - simplex_.point(k) - moved_, witness.b[k]);
      witness.weight[k] = simd::select(where, simplex_.weight(k), witness.weight[k]);
    }
  }

 private:
  Vec3<S> point_of_a(const Vec3<S>& n) const { return fma(scale_, support(A_, n) - A_.X.p, A_.X.p); }
  Vec3<S> point_of_b(const Vec3<S>& n) const { return fma(scale_, support(B_, n) - B_.X.p, B_.X.p) + moved_; }

  const PlacedShape<S>&A_, &B_;
  S scale_;
  Vec3<S> moved_;
  Simplex<S> simplex_;
};

/// −h(n): how far the cores are apart along n, negative where they overlap.
template <class S>
S core_gap(const PlacedShape<S>& A, const PlacedShape<S>& B, const Vec3<S>& n) {
  return dot(n, support(B, -n) - support(A, n));
}

/// Offers a direction for n, whose −h is `most`.
template <class S>
void offer_normal(const PlacedShape<S>& A,
                  const PlacedShape<S>& B,
                  const Vec3<S>& direction,
                  simd::Mask<S> wanted,
                  Vec3<S>& n,
                  S& most) {
  const S gap = core_gap(A, B, direction);
  const auto better = wanted & (gap > most);
  most = simd::select(better, gap, most);
  n = select(better, direction, n);
}

/// Offers the axes of both shapes, in both directions.
template <class S>
void offer_axes(const PlacedShape<S>& A, const PlacedShape<S>& B, simd::Mask<S> wanted, Vec3<S>& n, S& most) {
  const Vec3<S> axes[] = {A.X.R.x, A.X.R.y, A.X.R.z, B.X.R.x, B.X.R.y, B.X.R.z};
  for (int k = 0; k < 12; ++k) offer_normal(A, B, k < 6 ? axes[k] : -axes[k - 6], wanted, n, most);
}

/// Offers the common normals of two axes, and what is across one of them from centre to centre.
template <class S>
void offer_edges(
    const PlacedShape<S>& A, const PlacedShape<S>& B, simd::Mask<S> wanted, Vec3<S>& n, S& most) {
  const Vec3<S> a[] = {A.X.R.x, A.X.R.y, A.X.R.z}, b[] = {B.X.R.x, B.X.R.y, B.X.R.z};
  const Vec3<S> between = B.X.p - A.X.p;
  const auto offer = [&](const Vec3<S>& along) {
    const S square = dot(along, along);
    const auto valid = wanted & (square > all<S>(parallel<typename S::Real>));
    const Vec3<S> u = (all<S>(1) / sqrt(simd::select(valid, square, all<S>(1)))) * along;
    offer_normal(A, B, u, valid, n, most);
    offer_normal(A, B, -u, valid, n, most);
  };
  for (const Vec3<S>& u : a) {
    for (const Vec3<S>& v : b) offer(cross(u, v));
    offer(fnma(dot(u, between), u, between));
  }
  for (const Vec3<S>& v : b) offer(fnma(dot(v, between), v, between));
}

/// A first normal of cores that overlap: of cores that are shrunk until they are apart; else, of the line of
/// centres and the axes of both shapes, the direction of least overlap.
template <class S>
Vec3<S> overlap_normal(const PlacedShape<S>& A,
                       const PlacedShape<S>& B,
                       const Vec3<S>& centres,
                       simd::Mask<S> wanted) {
  using Real = typename S::Real;
  const S inf = all<S>(simd::infinity), e = all<S>(1);
  Vec3<S> n = centres;
  constexpr double scales[] = {0.9, 0.5, 0.1};
  for (const double scale : scales) {
    CoreSearch<S> shrunk(A, B, all<S>(Real(scale)), centres);
    shrunk.run(wanted, all<S>(coarse<Real>), inf);
    const S square = dot(shrunk.v, shrunk.v), least = all<S>(sizeof(Real) == 8 ? Real(1e-24) : Real(1e-14));
    const auto apart = wanted & shrunk.apart & (square > least);
    n = select(apart, (-e / sqrt(simd::select(apart, square, e))) * shrunk.v, n);
    wanted &= !apart;
    if (none(wanted)) return n;
  }
  S most = core_gap(A, B, n);
  offer_axes(A, B, wanted, n, most);
  return n;
}

/// Fixed point of a map of unit vectors by the mixing of its last three values [Anderson 1965]: exact for a
/// linear map across two directions.
template <class S>
class NormalIteration {
 public:
  /// The next vector, after the map has taken n to `value`.
  Vec3<S> next(const Vec3<S>& n, const Vec3<S>& value) {
    using Real = typename S::Real;
    const S o = all<S>(0), e = all<S>(1);
    const S small = all<S>(sizeof(Real) == 8 ? Real(1e-10) : Real(1e-4));
    const Vec3<S> rest = value - n;
    Vec3<S> mixed = value;
    if (count_ > 0) {
      const Vec3<S> d = rest - rest_[0], f = count_ > 1 ? rest_[0] - rest_[1] : spatial::zero3<S>();
      const S dd = dot(d, d), df = dot(d, f), ff = dot(f, f), rd = dot(rest, d), rf = dot(rest, f);
      const S det = dd * ff - df * df;
      const auto two = det > small * dd * ff, one = dd > o;
      const S inverse = e / simd::select(two, det, e);
      const S a = simd::select(two, (rd * ff - rf * df) * inverse, rd / simd::select(one, dd, e));
      const S b = simd::select(two, (rf * dd - rd * df) * inverse, o);
      mixed = fnma(a, value - value_[0], mixed);
      if (count_ > 1) mixed = fnma(b, value_[0] - value_[1], mixed);
      const S turn = dot(mixed - value, mixed - value);
      mixed = select(one & (turn < all<S>(Real(0.25))), mixed, value);
    }
    rest_[1] = rest_[0];
    value_[1] = value_[0];
    rest_[0] = rest;
    value_[0] = value;
    if (count_ < 2) ++count_;
    return (e / sqrt(dot(mixed, mixed))) * mixed;
  }

 private:
  int count_ = 0;
  Vec3<S> rest_[2] = {}, value_[2] = {};
};

/// Newton's method for a normal and the points where it is one, from a normal that is nearly right: support
/// points stay on the corner, rim or surface that they are on.
///
///     n·u = 0                  u  from one support point of a shape to another: along an edge or a face
///     t·(b − a − g n) = 0      t  across n and all u,  da = D_A dn,  db = −D_B dn,  g = n·(b − a)
///
/// The normal so depends on the poses to rounding, where a search of a distance leaves the root of its
/// accuracy.
template <class S>
class NormalRefinement {
 public:
  using Real = typename S::Real;

  Vec3<S> n, a, b;  ///< the normal, and the points

  NormalRefinement(const PlacedShape<S>& A,
                   const PlacedShape<S>& B,
                   const Witness<S>& witness,
                   S size,
                   const Vec3<S>& normal)
      : n(normal), A_(A), B_(B), at_(witness), least_(all<S>(rounding) * size * size) {}

  /// Improves the normal where it is `wanted` by some steps, and places the points.
  void run(int steps, simd::Mask<S> wanted) {
    for (int k = 0; k < steps && any(wanted); ++k) {
      place(wanted);
      step(wanted);
    }
    place(simd::everywhere<S>());
    slide();
  }

 private:
  /// An edge or a face of a shape: a direction along it.
  struct Edge {
    Vec3<S> u, flat;  ///< and its part across n
    S square;         ///< of that part, 0 for none
    simd::Mask<S> of_a;

    void take(simd::Mask<S> where, const Edge& e) {
      u = select(where, e.u, u);
      flat = select(where, e.flat, flat);
      square = simd::select(where, e.square, square);
      of_a = (where & e.of_a) | (of_a & !where);
    }
  };

  /// Support points along n, which move `where` worlds want it, and edges between them: the longest, and what
  /// is most across it. A point that follows twice moves by rounding: how often it does must not depend on
  /// other worlds.
  void place(simd::Mask<S> where) {
    const S o = all<S>(0);
    for (int k = 0; k < 3; ++k) {
      at_.a[k] = select(where, follow(A_, at_.a[k], n), at_.a[k]);
      at_.b[k] = select(where, follow(B_, at_.b[k], -n), at_.b[k]);
    }
    a = b = spatial::zero3<S>();
    for (int k = 0; k < 3; ++k) {
      a = fma(at_.weight[k], at_.a[k], a);
      b = fma(at_.weight[k], at_.b[k], b);
    }
    const Vec3<S> zero = spatial::zero3<S>();
    first_ = second_ = {zero, zero, o, simd::nowhere<S>()};
    constexpr int ends[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    Edge edges[6];
    for (int k = 0; k < 6; ++k) {
      const auto [from, to] = ends[k % 3];
      const Vec3<S>* const p = k < 3 ? at_.a : at_.b;
      const auto exists = (at_.weight[from] > o) & (at_.weight[to] > o);
      const Vec3<S> u = select(exists, p[to] - p[from], zero), flat = fnma(dot(n, u), n, u);
      edges[k] = {u, flat, dot(flat, flat), k < 3 ? simd::everywhere<S>() : simd::nowhere<S>()};
      first_.take(edges[k].square > max(first_.square, least_), edges[k]);
    }
    const S inverse = all<S>(1) / max(first_.square, least_);
    S widest = o;
    for (const Edge& e : edges) {
      const Vec3<S> across = fnma(inverse * dot(first_.flat, e.flat), first_.flat, e.flat);
      const S wide = dot(across, across);
      const auto better = (wide > max(widest, least_)) & (wide > all<S>(parallel<Real>) * e.square);
      second_.take(better, e);
      widest = simd::select(better, wide, widest);
    }
  }

  void step(simd::Mask<S> wanted) {
    const S o = all<S>(0), e = all<S>(1);
    const auto has_first = first_.square > o, has_second = second_.square > o;
    const Vec3<S> any_across = tangent(n);
    const Vec3<S> t1 = select(has_first, (e / sqrt(max(first_.square, least_))) * first_.flat, any_across);
    const Vec3<S> t2 = cross(n, t1);
    const Vec3<S> w = b - a;
    const S g = dot(n, w);
    const auto bends = [&](const Vec3<S>& t) {
      Vec3<S> sum = spatial::zero3<S>();
      for (int k = 0; k < 3; ++k) {
        sum = fma(at_.weight[k], bend(A_, at_.a[k], n, t) + bend(B_, at_.b[k], -n, t), sum);
      }
      return sum;
    };
    const Vec3<S> D1 = bends(t1), D2 = bends(t2);
    const S d11 = dot(t1, D1) + g, d12 = dot(t1, D2), d22 = dot(t2, D2) + g;
    const S r1 = dot(t1, w), r2 = dot(t2, w);
    // along the first edge, or both by curvature
    const S det = d11 * d22 - d12 * d12;
    const auto solvable = abs(det) > least_ * all<S>(Real(1e-4));
    const S by_det = e / simd::select(solvable, det, e);
    const S free1 = simd::select(solvable, (r1 * d22 - r2 * d12) * by_det, o);
    const S free2 = simd::select(solvable, (r2 * d11 - r1 * d12) * by_det, o);
    const S x1 = simd::select(has_first, -dot(n, first_.u) / sqrt(max(first_.square, least_)), free1);
    const S second1 = dot(second_.flat, t1), second2 = dot(second_.flat, t2);
    const auto curves = d22 * d22 > least_;
    const S by_curve = simd::select(curves, fnma(d12, x1, r2) / simd::select(curves, d22, e), o);
    const S by_edge = -fma(second1, x1, dot(n, second_.u)) / simd::select(has_second, second2, e);
    const S x2 = simd::select(has_first, simd::select(has_second, by_edge, by_curve), free2);
    const Vec3<S> next = fma(x2, t2, fma(x1, t1, n));
    n = select(wanted, (e / sqrt(dot(next, next))) * next, n);
  }

  /// Moves the points along the edges until they are opposite to each other.
  void slide() {
    const S o = all<S>(0), e = all<S>(1);
    const Vec3<S> w = b - a, across = fnma(dot(n, w), n, w);
    const auto has_first = first_.square > o, has_second = second_.square > o;
    const S g11 = first_.square, g22 = second_.square, g12 = dot(first_.flat, second_.flat);
    const S det = simd::select(has_second, g11 * g22 - g12 * g12, e);
    const S r1 = dot(first_.flat, across), r2 = dot(second_.flat, across);
    const S alone = r1 / simd::select(has_first, g11, e);
    const S x1 = simd::select(has_first, simd::select(has_second, (r1 * g22 - r2 * g12) / det, alone), o);
    const S x2 = simd::select(has_second, (r2 * g11 - r1 * g12) / det, o);
    const auto move = [&](S x, const Edge& edge) {
      a = fma(simd::select(edge.of_a, x, o), edge.u, a);
      b = fnma(simd::select(edge.of_a, o, x), edge.u, b);
    };
    move(x1, first_);
    move(x2, second_);
  }

  /// Square of the length, relative to the size, of what is no edge but rounding.
  static constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-24) : Real(1e-10);

  const PlacedShape<S>&A_, &B_;
  Witness<S> at_;
  const S least_;  ///< [m²]
  Edge first_, second_;
};

/// Refines a normal of cores of some `size` [m], and the points: it is that of a face if it is nearly so and
/// their overlap along the face is no larger.
template <class S>
void refine(const PlacedShape<S>& A,
            const PlacedShape<S>& B,
            const Witness<S>& witness,
            simd::Mask<S> wanted,
            S size,
            Distance<S>& nearest) {
  using Real = typename S::Real;
  constexpr int steps = 4;
  const S least = fnma(all<S>(sizeof(Real) == 8 ? Real(1e-13) : Real(1e-6)), size, core_gap(A, B, nearest.n));
  const S near = all<S>(Real(1 - 1e-6)), same = all<S>(sizeof(Real) == 8 ? Real(1e-28) : Real(1e-12));
  Vec3<S> n = nearest.n;
  auto on_face = simd::nowhere<S>();
  const auto offer_face = [&](const Vec3<S>& face) {
    const Vec3<S> off = face - nearest.n;  // shapes without a face there give the normal itself
    const auto better = wanted & !on_face & (dot(face, nearest.n) > near) & (dot(off, off) > same) &
                        (core_gap(A, B, face) >= least);
    n = select(better, face, n);
    on_face |= better;
  };
  offer_face(face_normal(A, n));
  offer_face(-face_normal(B, -n));
  NormalRefinement<S> refined(A, B, witness, size, n);
  refined.run(steps, !on_face);
  const S gap = core_gap(A, B, refined.n);
  const auto taken = wanted & (gap >= least) & (dot(refined.n, nearest.n) > near);
  nearest.n = select(taken, refined.n, nearest.n);
  nearest.d = simd::select(taken, gap, nearest.d);
  nearest.p_A = select(taken, refined.a, nearest.p_A);
  nearest.p_B = select(taken, refined.b, nearest.p_B);
}

/// Signed distance; or a lower bound of it that is `reach` or more.
template <class S>
Distance<S> convex_distance(const PlacedShape<S>& A, const PlacedShape<S>& B, S reach) {
  using Real = typename S::Real;
  constexpr int mixed_rounds = 8, most_rounds = 24;
  const S o = all<S>(0), e = all<S>(1), inf = all<S>(simd::infinity);
  const S r_A = core_radius(A), r_B = core_radius(B);
  const Vec3<S> between = B.X.p - A.X.p;
  const S span = sqrt(dot(between, between));
  const auto distinct = span > all<S>(Real(1e-12));
  const Vec3<S> centres = select(distinct, (e / simd::select(distinct, span, e)) * between, Vec3<S>{o, o, e});
  const bool curved = is_curved(A.shape->kind) || is_curved(B.shape->kind);
  CoreSearch<S> search(A, B, e, centres);
  const S first_accuracy = all<S>(curved && sizeof(Real) == 8 ? Real(1e-10) : fine<Real>);
  search.run(simd::everywhere<S>(), first_accuracy, max(reach + r_A + r_B, o));
  // What both extend along the line of centres is a length of the two. Simplices find a distance that is
  // small beside the curvature of the surfaces slowly.
  const S size = max(span - core_gap(A, B, centres), all<S>(Real(1e-9)));
  const S margin = all<S>(Real(curved ? 0.15 : 0.005)) * size;
  S length = sqrt(dot(search.v, search.v));
  const auto apart = search.apart & (length > margin);
  const auto usable = search.apart & (length > all<S>(sizeof(Real) == 8 ? Real(1e-6) : Real(1e-4)) * size);
  Distance<S> nearest;
  nearest.n = (-e / simd::select(usable, length, e)) * search.v;
  nearest.d = length;
  nearest.p_A = search.point_a();
  nearest.p_B = search.point_b();
  const Vec3<S> zero = spatial::zero3<S>();
  Witness<S> witness = {{zero, zero, zero}, {zero, zero, zero}, {o, o, o}};
  auto refinable = apart & (length < reach + r_A + r_B);
  search.keep(refinable, witness);
  const auto active = !apart;
  if (any(active)) {
    if (any(active & !usable)) {
      nearest.n = select(usable, nearest.n, overlap_normal(A, B, centres, active & !usable));
    }
    nearest.d = simd::select(apart, nearest.d, -inf);
    const auto improve = [&](simd::Mask<S> active, Vec3<S> n) {
      const S still = all<S>(sizeof(Real) == 8 ? Real(1e-12) : Real(1e-8));
      S accuracy = all<S>(curved ? coarse<Real> : fine<Real>);
      NormalIteration<S> iteration;
      for (int round = 0; round < most_rounds; ++round) {
        const S shift = margin - min(core_gap(A, B, n), margin);
        search.move(shift * n, n);
        search.run(active, accuracy, inf);
        const S square = dot(search.v, search.v);
        const auto valid = active & search.apart & (square > o);
        length = sqrt(simd::select(valid, square, e));
        const Vec3<S> value = select(valid, (-e / length) * search.v, n), turn = value - n;
        const S gap = core_gap(A, B, value);
        const auto better = valid & (gap > nearest.d);
        nearest.n = select(better, value, nearest.n);
        nearest.d = simd::select(better, gap, nearest.d);
        nearest.p_A = select(better, search.point_a(), nearest.p_A);
        nearest.p_B = select(better, search.point_b(), nearest.p_B);
        search.keep(better, witness);
        refinable |= better;
        active = valid & (dot(turn, turn) > still);
        if (none(active)) return;
        accuracy = max(min(all<S>(Real(1e-6)) * dot(turn, turn), accuracy), all<S>(fine<Real>));
        n = round < mixed_rounds ? iteration.next(n, value) : value;  // which converges across corners, too
      }
    };
    improve(active, nearest.n);
    const auto overlaps = active & (nearest.d < o);
    if (any(overlaps)) {
      Vec3<S> n = nearest.n;
      S most = nearest.d + all<S>(sizeof(Real) == 8 ? Real(1e-9) : Real(1e-4)) * size;
      const S before = most;
      offer_normal(A, B, face_normal(A, nearest.n), overlaps, n, most);
      offer_normal(A, B, -face_normal(B, -nearest.n), overlaps, n, most);
      const auto deep = overlaps & (nearest.d < all<S>(Real(-0.005)) * size);
      if (any(deep)) {
        offer_axes(A, B, deep, n, most);
        offer_edges(A, B, deep, n, most);
      }
      const auto again = overlaps & (most > before);
      if (any(again)) improve(again, n);
    }
  }
  if (any(refinable)) refine(A, B, witness, refinable, size, nearest);
  const S half = all<S>(Real(0.5));  // the common point is midway, and each one is on its surface along n
  const Vec3<S> middle = half * (nearest.p_A + nearest.p_B);
  const S off = dot(nearest.n, nearest.p_B - middle) - half * nearest.d;
  const Vec3<S> p = fma(off, nearest.n, middle);
  nearest.p_A = fma(r_A, nearest.n, fnma(half * nearest.d, nearest.n, p));
  nearest.d = nearest.d - r_A - r_B;
  nearest.p_B = fma(nearest.d, nearest.n, nearest.p_A);
  return nearest;
}

}  // namespace pysim::collision
