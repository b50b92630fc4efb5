// Orthonormal basis of twists, split along a joint's motion subspace.
//
//     S = Q [R; 0],  Q = [Q₁ W]        Q₁ spans the joint's free directions, Wᵀ S = 0 the constrained ones
//
// by Householder's reflections [Golub and Van Loan 2013, algorithm 5.2.1].
#pragma once

#include "tree/subspace.hpp"

namespace pysim::constraints {

using simd::all;
using simd::fma;
using simd::fnma;
using simd::select;
using spatial::Force;
using spatial::Motion;

/// If every column of S is a unit twist, Q only reorders them: `order` is the permutation, and R = 1.
template <class S>
struct Annihilator {
  int nv;
  bool unit;
  int order[6];
  S R[6][6];  ///< column j of R in R[j]
  S Q[6][6];  ///< column j of Q in Q[j]

  /// A constrained direction of the joint: column `nv + k` of Q, as a wrench in frame B.
  Force<S> held(int k) const {
    S w[6];
    for (int i = 0; i < 6; ++i) w[i] = unit ? all<S>(i == order[nv + k] ? 1 : 0) : Q[nv + k][i];
    return {{w[0], w[1], w[2]}, {w[3], w[4], w[5]}};
  }

  /// Qᵀ V.
  void split(const Motion<S>& V, S* parts) const {
    const S x[6] = {V.v.x, V.v.y, V.v.z, V.w.x, V.w.y, V.w.z};
    for (int j = 0; j < 6; ++j) {
      if (unit) {
        parts[j] = x[order[j]];
        continue;
      }
      parts[j] = Q[j][0] * x[0];
      for (int i = 1; i < 6; ++i) parts[j] = fma(Q[j][i], x[i], parts[j]);
    }
  }

  /// S⁺ V from the first nv components of Qᵀ V, in place:  R x = Q₁ᵀ V.
  void coordinates(S* parts) const {
    for (int i = nv - 1; i >= 0 && !unit; --i) {
      for (int j = i + 1; j < nv; ++j) parts[i] = fnma(R[j][i], parts[j], parts[i]);
      parts[i] = parts[i] / R[i][i];
    }
  }

  /// S⁺ᵀ x = Q₁ R⁻ᵀ x, a wrench in frame B.
  Force<S> spread(const S* x) const {
    S y[6], w[6];
    for (int i = 0; i < 6; ++i) w[i] = all<S>(0);
    for (int i = 0; i < nv; ++i) {
      y[i] = x[i];
      if (unit) {
        w[order[i]] = y[i];
        continue;
      }
      for (int j = 0; j < i; ++j) y[i] = fnma(R[i][j], y[j], y[i]);
      y[i] = y[i] / R[i][i];
      for (int r = 0; r < 6; ++r) w[r] = fma(y[i], Q[i][r], w[r]);
    }
    return {{w[0], w[1], w[2]}, {w[3], w[4], w[5]}};
  }

  /// Includes column j of S (stored in R[j]) in the factors; the columns before it are done.
  void reflect(int j) {
    S* x = R[j];
    S square = all<S>(0);
    for (int i = j; i < 6; ++i) square = fma(x[i], x[i], square);
    const S length = sqrt(square), o = all<S>(0);
    const S alpha = select(x[j] > o, -length, length);
    S u[6];
    for (int i = j; i < 6; ++i) u[i] = x[i];
    u[j] -= alpha;
    const S beta = all<S>(1) / (square - alpha * x[j]);  // 2 / uᵀu
    for (int k = j; k < nv; ++k) apply(u, beta, j, R[k]);
    for (int i = 0; i < 6; ++i) {  // Q ← Q H, row by row
      S along = o;
      for (int k = j; k < 6; ++k) along = fma(Q[k][i], u[k], along);
      along *= beta;
      for (int k = j; k < 6; ++k) Q[k][i] = fnma(along, u[k], Q[k][i]);
    }
  }

 private:
  static void apply(const S* u, S beta, int j, S* x) {
    S along = all<S>(0);
    for (int i = j; i < 6; ++i) along = fma(u[i], x[i], along);
    along *= beta;
    for (int i = j; i < 6; ++i) x[i] = fnma(along, u[i], x[i]);
  }
};

/// Splits along unit twists: the joint's columns first, in their order, then the others.
template <class S>
void order_units(const tree::Joint& joint, Annihilator<S>& split) {
  bool taken[6] = {};
  for (int j = 0; j < joint.nv; ++j) {
    split.order[j] = joint.column[j];
    taken[joint.column[j]] = true;
  }
  int next = joint.nv;
  for (int i = 0; i < 6; ++i) {
    if (!taken[i]) split.order[next++] = i;
  }
}

/// Splits along the columns of a joint, already evaluated.
template <class S>
void split_along(const tree::Joint& joint, const Motion<S>* columns, Annihilator<S>& split) {
  split.nv = joint.nv;
  split.unit = joint.stored_count == 0;
  if (split.unit) {
    order_units(joint, split);
    return;
  }
  for (int j = 0; j < 6; ++j) {
    for (int i = 0; i < 6; ++i) split.Q[j][i] = all<S>(i == j ? 1 : 0);
  }
  for (int j = 0; j < joint.nv; ++j) {
    const Motion<S> s = plus(spatial::zero_motion<S>(), tree::axis(joint, columns, j), all<S>(1));
    S* const x = split.R[j];
    x[0] = s.v.x, x[1] = s.v.y, x[2] = s.v.z, x[3] = s.w.x, x[4] = s.w.y, x[5] = s.w.z;
  }
  for (int j = 0; j < joint.nv; ++j) split.reflect(j);
}

}  // namespace pysim::constraints
