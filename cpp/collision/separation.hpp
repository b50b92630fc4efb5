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
// Where the origin is inside C and near one of its edges, −h has a saddle, at which mixing ends as well; the
// best n on the way there is not a normal. From that n, −h is ascended without mixing.
//
// All worlds of a pack go through the same rounds; one that is done keeps what it has.
#pragma once

#include "collision/normal_refinement.hpp"

namespace pysim::collision {

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
  using Real = typename S::Real;

  /// The next vector, after the map has taken n to `value`.
  Vec3<S> next(const Vec3<S>& n, const Vec3<S>& value) {
    const S o = all<S>(0), e = all<S>(1);
    const S small = all<S>(sizeof(Real) == 8 ? Real(1e-10) : Real(1e-4));
    const Vec3<S> residual = value - n;
    Vec3<S> mixed = value;
    if (count_ > 0) {
      const Vec3<S> d = residual - residual_[0],
                    f = count_ > 1 ? residual_[0] - residual_[1] : spatial::zero3<S>();
      const S dd = dot(d, d), df = dot(d, f), ff = dot(f, f), rd = dot(residual, d), rf = dot(residual, f);
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
    residual_[1] = residual_[0];
    value_[1] = value_[0];
    residual_[0] = residual;
    value_[0] = value;
    if (count_ < 2) ++count_;
    return (e / sqrt(dot(mixed, mixed))) * mixed;
  }

  /// The next vector by the secant of the last two residuals, on the line through both values; where
  /// residuals grow along it, as they do away from a saddle, twice as far every time.
  Vec3<S> next_by_secant(const Vec3<S>& n, const Vec3<S>& value) {
    const S o = all<S>(0), e = all<S>(1), most = all<S>(Real(0.5));
    const Vec3<S> residual = value - n, d = residual - residual_[0], step = value - value_[0];
    const S square = dot(step, step), dd = dot(d, d);
    const auto second = count_ > 0 ? simd::everywhere<S>() : simd::nowhere<S>();
    const auto moves = second & (square > o) & (dd > o), grows = moves & (dot(d, step - d) > o);
    stretch_ = simd::select(grows, stretch_ + stretch_, e);
    const S secant = -dot(residual, d) / simd::select(moves, dd, e);
    const S farthest = most / sqrt(simd::select(moves, square, e));
    const S stretch = clamp(simd::select(grows, stretch_, secant), farthest);
    const Vec3<S> next = select(moves, fma(stretch, step, value), value);
    residual_[0] = residual;
    value_[0] = value;
    count_ = 1;
    return (e / sqrt(dot(next, next))) * next;
  }

 private:
  int count_ = 0;
  Vec3<S> residual_[2] = {}, value_[2] = {};
  S stretch_ = all<S>(1);
};

/// Nearest points of the cores of two shapes, or the direction in which they overlap least.
template <class S>
class CoreDistance {
 public:
  CoreDistance(const PlacedShape<S>& A, const PlacedShape<S>& B)
      : A_(A),
        B_(B),
        is_curved_(is_curved(A.shape->kind) || is_curved(B.shape->kind)),
        between_(B.X.p - A.X.p),
        span_(sqrt(dot(between_, between_))),
        centres_(direction(between_, span_)),
        search_(A, B, all<S>(1), centres_) {}

  /// Signed distance; or a lower bound of it that is `reach` or more.
  const Distance<S>& find(S reach) {
    const S o = all<S>(0), e = all<S>(1);
    const S first_accuracy = all<S>(is_curved_ && sizeof(Real) == 8 ? Real(1e-10) : fine<Real>);
    search_.run(simd::everywhere<S>(), first_accuracy, max(reach, o));
    // What both extend along the line of centres is a length of the two. Simplices find a distance that is
    // small beside the curvature of the surfaces slowly.
    size_ = max(span_ - core_gap(A_, B_, centres_), all<S>(Real(1e-9)));
    margin_ = all<S>(Real(is_curved_ ? 0.15 : 0.005)) * size_;
    const S length = sqrt(dot(search_.v, search_.v));
    const auto apart = search_.apart & (length > margin_);
    const auto usable =
        search_.apart & (length > all<S>(sizeof(Real) == 8 ? Real(1e-6) : Real(1e-4)) * size_);
    nearest_.n = (-e / simd::select(usable, length, e)) * search_.v;
    nearest_.d = length;
    nearest_.p_A = search_.point_a();
    nearest_.p_B = search_.point_b();
    refinable_ = apart & (length < reach);
    search_.keep(refinable_, witness_);
    if (any(!apart)) search_normals(!apart, usable);
    if (any(refinable_)) refine(A_, B_, witness_, refinable_, size_, nearest_);
    const auto lost = refinable_ & (nearest_.d < all<S>(0)) & !is_normal();
    if (any(lost)) ascend(lost);
    return nearest_;
  }

 private:
  using Real = typename S::Real;

  static Vec3<S> direction(const Vec3<S>& between, S span) {
    const S o = all<S>(0), e = all<S>(1);
    const auto distinct = span > all<S>(Real(1e-12));
    return select(distinct, (e / simd::select(distinct, span, e)) * between, Vec3<S>{o, o, e});
  }

  /// The normal of cores that overlap or nearly do, from that of the simplices where it is `usable`; where
  /// they overlap, from another one once more.
  void search_normals(simd::Mask<S> active, simd::Mask<S> usable) {
    if (any(active & !usable)) {
      nearest_.n = select(usable, nearest_.n, overlap_normal(A_, B_, centres_, active & !usable));
    }
    nearest_.d = simd::select(active, all<S>(-simd::infinity), nearest_.d);
    improve(active, nearest_.n);
    const auto overlaps = active & (nearest_.d < all<S>(0));
    if (none(overlaps)) return;
    Vec3<S> n = nearest_.n;
    S most = nearest_.d + all<S>(sizeof(Real) == 8 ? Real(1e-9) : Real(1e-4)) * size_;
    const S before = most;
    offer_normal(A_, B_, face_normal(A_, nearest_.n), overlaps, n, most);
    offer_normal(A_, B_, -face_normal(B_, -nearest_.n), overlaps, n, most);
    const auto deep = overlaps & (nearest_.d < all<S>(Real(-0.005)) * size_);
    if (any(deep)) {
      offer_axes(A_, B_, deep, n, most);
      offer_edges(A_, B_, deep, n, most);
    }
    const auto again = overlaps & (most > before);
    if (any(again)) improve(again, n);
  }

  /// Whether the points are opposite to each other along n.
  simd::Mask<S> is_normal() const {
    const Vec3<S> w = nearest_.p_B - nearest_.p_A, across = fnma(dot(nearest_.n, w), nearest_.n, w);
    const S of_overlap = all<S>(Real(sizeof(Real) == 8 ? 1e-6 : 1e-2)),
            of_size = all<S>(Real(sizeof(Real) == 8 ? 1e-11 : 1e-6));
    const S most = fma(of_overlap, abs(nearest_.d), of_size * size_);
    return dot(across, across) <= most * most;
  }

  /// Ascends −h from a direction that is not a normal, without mixing, by a margin of about the overlap: n
  /// turns faster than by a large one. A round that moves B by s and takes n to n′ never takes −h down:
  ///
  ///     −h(n′) ≥ −h(n) + s (1 − n·n′)
  void ascend(simd::Mask<S> wanted) {
    constexpr int most_tries = 4;
    const S rounding = all<S>(Real(sizeof(Real) == 8 ? 1e-13 : 1e-6)) * size_;
    const Distance<S> before = nearest_;
    margin_ = max(-before.d, all<S>(Real(sizeof(Real) == 8 ? 1e-4 : 1e-3)) * size_);
    auto active = wanted;
    for (int k = 0; k < most_tries && any(active); ++k) {
      improve(active, nearest_.n, true);
      refine(A_, B_, witness_, active, size_, nearest_, Real(1e-2));
      active &= !is_normal();
    }
    const auto worse = wanted & !(nearest_.d >= before.d - rounding);
    nearest_.n = select(worse, before.n, nearest_.n);
    nearest_.d = simd::select(worse, before.d, nearest_.d);
    nearest_.p_A = select(worse, before.p_A, nearest_.p_A);
    nearest_.p_B = select(worse, before.p_B, nearest_.p_B);
  }

  /// Moves B along n until the cores are apart by the margin, and takes the normal of the moved cores for n
  /// until it stays: the best one of all rounds, or the last one if it ascends.
  void improve(simd::Mask<S> active, Vec3<S> n, bool ascends = false) {
    constexpr int mixed_rounds = 8;
    const int most_rounds = ascends ? 6 : 24;
    const S e = all<S>(1), still = all<S>(sizeof(Real) == 8 ? Real(1e-12) : Real(1e-8));
    S accuracy = all<S>(is_curved_ ? coarse<Real> : fine<Real>);
    NormalIteration<S> iteration;
    for (int round = 0; round < most_rounds; ++round) {
      const S shift = margin_ - min(core_gap(A_, B_, n), margin_);
      search_.move(shift * n, n);
      search_.run(active, accuracy, all<S>(simd::infinity));
      const S square = dot(search_.v, search_.v);
      const auto valid = active & search_.apart & (square > all<S>(0));
      const S length = sqrt(simd::select(valid, square, e));
      const Vec3<S> value = select(valid, (-e / length) * search_.v, n), turn = value - n;
      const S gap = core_gap(A_, B_, value);
      const auto better = ascends ? valid : valid & (gap > nearest_.d);
      nearest_.n = select(better, value, nearest_.n);
      nearest_.d = simd::select(better, gap, nearest_.d);
      nearest_.p_A = select(better, search_.point_a(), nearest_.p_A);
      nearest_.p_B = select(better, search_.point_b(), nearest_.p_B);
      search_.keep(better, witness_);
      refinable_ |= better;
      active = valid & (dot(turn, turn) > still);
      if (none(active)) return;
      accuracy = max(min(all<S>(Real(1e-6)) * dot(turn, turn), accuracy), all<S>(fine<Real>));
      n = ascends                ? iteration.next_by_secant(n, value)
          : round < mixed_rounds ? iteration.next(n, value)
                                 : value;  // which converges across corners, too
    }
  }

  const PlacedShape<S>&A_, &B_;
  const bool is_curved_;
  const Vec3<S> between_;
  const S span_;
  const Vec3<S> centres_;  ///< direction from one to the other
  CoreSearch<S> search_;
  S size_ = all<S>(0), margin_ = all<S>(0);  ///< [m]
  Distance<S> nearest_;
  Witness<S> witness_ = {};
  simd::Mask<S> refinable_ = simd::nowhere<S>();  ///< where the witness is that of the nearest points
};

/// Signed distance; or a lower bound of it that is `reach` or more.
template <class S>
Distance<S> convex_distance(const PlacedShape<S>& A, const PlacedShape<S>& B, S reach) {
  const S r_A = core_radius(A), r_B = core_radius(B);
  Distance<S> nearest = CoreDistance<S>(A, B).find(reach + r_A + r_B);
  const S half = all<S>(typename S::Real(0.5));
  // the common point is midway, and each one is on its surface along n
  const Vec3<S> middle = half * (nearest.p_A + nearest.p_B);
  const S off = dot(nearest.n, nearest.p_B - middle) - half * nearest.d;
  const Vec3<S> p = fma(off, nearest.n, middle);
  nearest.p_A = fma(r_A, nearest.n, fnma(half * nearest.d, nearest.n, p));
  nearest.d = nearest.d - r_A - r_B;
  nearest.p_B = fma(nearest.d, nearest.n, nearest.p_A);
  return nearest;
}

}  // namespace pysim::collision
