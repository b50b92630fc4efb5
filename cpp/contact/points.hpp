// Points at which a pair of shapes may touch: of a shape over a plane, in a field, or of two shapes. The
// convex step and the regularised law have the same ones.
#pragma once

#include "collision/manifold.hpp"
#include "contact/pairs.hpp"

namespace pysim::contact {

using simd::all;
using simd::Mask;
using spatial::Pose;
using spatial::Vec3;

/// Pose of a shape in the frame of its body.
template <class S, class Real>
PYSIM_INLINE Pose<S> placement(const PairShape<Real>& shape) {
  return {spatial::all33<S>(shape.placement), spatial::all3<S>(shape.placement + 9)};
}

/// Poses of the bodies of a pair in some frame O.
template <class S>
struct PairPose {
  const Pose<S>* X_OA;  ///< null where A is O, or fixed in it
  const Pose<S>& X_OB;

  template <class Real>
  PYSIM_INLINE Pose<S> of_a(const PairShape<Real>& shape) const {
    const Pose<S> X = placement<S>(shape);
    return X_OA == nullptr ? X : *X_OA * X;
  }

  template <class Real>
  PYSIM_INLINE Pose<S> of_b(const PairShape<Real>& shape) const {
    return X_OB * placement<S>(shape);
  }
};

/// X_BC of two poses in O.
template <class S>
PYSIM_INLINE Pose<S> relative(const Pose<S>& X_OB, const Pose<S>& X_OC) {
  return {transpose_times(X_OB.R, X_OC.R), transpose_times(X_OB.R, X_OC.p - X_OB.p)};
}

/// A point of a pair.
template <class S>
struct PairPoint {
  int index;       ///< among those of the pair
  Mask<S> exists;  ///< where the pair has it, within reach
  S gap, feature;
  Vec3<S> p, n;  ///< on the axes of b, the normal towards b
  Vec3<S> p_O;   ///< in O; only of pairs that are not with a plane
};

/// Gaps of a pair: the least one of its points, and a bound of that of its shapes; −∞ if there is none better
/// than that of the balls about them.
template <class S>
struct PairGap {
  S least, bound;
};

template <class S, class Pair, class Visit>
PairGap<S> visit_plane_points(
    const Pair& pair, const PairPose<S>& X, Mask<S> close, S reach, const Visit& visit) {
  const Pose<S> X_BS = placement<S>(*pair.shape_b), X_OS = X.X_OB * X_BS;
  const Vec3<S> n_O = spatial::all3<S>(pair.normal);
  Mask<S> apart[collision::max_plane_points];
  Vec3<S> lowest[collision::max_plane_points];
  S gaps[collision::max_plane_points], least = all<S>(simd::infinity);
  collision::points_to_plane<S>(pair.shape_b->shape, transpose_times(X_OS.R, n_O), lowest, apart);
  for (int i = 0; i < pair.points; ++i) {
    gaps[i] = dot(n_O, X_OS * lowest[i]) - all<S>(pair.offset);
    least = min(least, gaps[i]);
  }
  if (none(close & (least <= reach))) return {least, least};
  const Vec3<S> n = transpose_times(X.X_OB.R, n_O);
  for (int i = 0; i < pair.points; ++i) {
    const auto exists = apart[i] & close & (gaps[i] <= reach);
    if (none(exists)) continue;
    visit(PairPoint<S>{i, exists, gaps[i], all<S>(1), X_BS * lowest[i], n, {}});
  }
  return {least, least};
}

template <class S, class Pair, class Visit>
PairGap<S> visit_field_points(
    const Pair& pair, const PairPose<S>& X, Mask<S> close, S reach, const Visit& visit) {
  using Real = typename S::Real;
  const Pose<S> X_OA = X.of_a(*pair.shape_a), X_OB = X.of_b(*pair.shape_b);
  const Pose<S>&X_OF = pair.swapped ? X_OB : X_OA, X_FS = relative(X_OF, pair.swapped ? X_OA : X_OB);
  const auto kind = pair.touching_shape().shape.kind;
  const bool has_cells = collision::has_cells(*pair.field, kind);
  S least = all<S>(simd::infinity), bound = least;
  collision::visit_field_points(
      *pair.field, pair.touching_shape().shape, X_FS, [&](int i, const collision::FieldPoint<S>& F) {
        least = min(least, select(F.exists, F.gap, all<S>(simd::infinity)));
        bound = min(bound, F.bound);
        const auto exists = close & F.exists & (F.gap <= reach);
        if (none(exists)) return;
        const Vec3<S> p = X_OF * F.p, n = transpose_times(X.X_OB.R, X_OF.R * F.n);
        visit(PairPoint<S>{i,
                           exists,
                           F.gap,
                           all<S>(Real(has_cells ? i + 1 : 1)),
                           transpose_times(X.X_OB.R, p - X.X_OB.p),
                           pair.swapped ? -n : n,
                           p});
      });
  const bool is_fixed = collision::has_fixed_points(*pair.field, kind);
  return {least, is_fixed ? bound : all<S>(-simd::infinity)};
}

template <class S, class Pair, class Visit>
PairGap<S> visit_manifold(
    const Pair& pair, const PairPose<S>& X, Mask<S> close, S reach, const Visit& visit) {
  const auto A = placed(*pair.shape_a, X.of_a(*pair.shape_a)),
             B = placed(*pair.shape_b, X.of_b(*pair.shape_b));
  collision::Manifold<S> M;
  collision::manifold(pair.kind, pair.swapped ? B : A, pair.swapped ? A : B, reach, M);
  S least = M.point[0].gap;
  for (int i = 1; i < pair.points; ++i) least = min(least, M.point[i].gap);
  close &= least <= reach;
  if (none(close)) return {least, least};
  const Vec3<S> n = transpose_times(X.X_OB.R, pair.swapped ? -M.n : M.n);
  for (int i = 0; i < pair.points; ++i) {
    const auto& P = M.point[i];
    const auto exists = close & (P.feature > all<S>(0));
    if (none(exists)) continue;
    visit(PairPoint<S>{i, exists, P.gap, P.feature, transpose_times(X.X_OB.R, P.p - X.X_OB.p), n, P.p});
  }
  return {least, least};
}

/// visit(point) for the points of a pair in the worlds where its shapes are `close`: of a plane or a field
/// those whose gap is within `reach` [m], of two shapes all if one is. Returns the gaps.
template <class S, class Pair, class Visit>
PairGap<S> visit_points(const Pair& pair, const PairPose<S>& X, Mask<S> close, S reach, const Visit& visit) {
  if (pair.plane) return visit_plane_points(pair, X, close, reach, visit);
  if (pair.field != nullptr) return visit_field_points(pair, X, close, reach, visit);
  return visit_manifold(pair, X, close, reach, visit);
}

}  // namespace pysim::contact
