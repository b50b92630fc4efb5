// Nearest points of two convex cores by simplices [Gilbert, Johnson, Keerthi 1988].
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

}  // namespace pysim::collision
