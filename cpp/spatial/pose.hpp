// Rigid displacements.
#pragma once

#include "spatial/mat3.hpp"

namespace pysim::spatial {

/// X_AB maps B coordinates to A:  p_A = R p_B + p. R holds the axes of B in A, p the origin of B in A [m].
template <class S>
struct Pose {
  Mat3<S> R;
  Vec3<S> p;
};

template <class S>
PYSIM_INLINE Pose<S> identity_pose() {
  return {identity3<S>(), zero3<S>()};
}

/// X_AC = X_AB X_BC.
template <class S>
PYSIM_INLINE Pose<S> operator*(const Pose<S>& X_AB, const Pose<S>& X_BC) {
  return {X_AB.R * X_BC.R, X_AB.R * X_BC.p + X_AB.p};
}

/// p_A of the point p_B.
template <class S>
PYSIM_INLINE Vec3<S> operator*(const Pose<S>& X_AB, const Vec3<S>& p_B) {
  return X_AB.R * p_B + X_AB.p;
}

/// X_BA = [Rᵀ, −Rᵀp].
template <class S>
PYSIM_INLINE Pose<S> inverse(const Pose<S>& X_AB) {
  return {transpose(X_AB.R), -transpose_times(X_AB.R, X_AB.p)};
}

}  // namespace pysim::spatial
