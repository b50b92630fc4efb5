// Solves A x = b for a symmetric positive semidefinite A of unknown rank, one rank for each world.
//
//     P A Pᵀ = L D Lᵀ      the largest remaining diagonal is the next pivot        [Higham 2002,
//     section 10.3]
//
// A is scaled to a unit diagonal first, so that a pivot is sin² of the angle between a row of J and those
// before it, whatever its unit. Rows whose pivot vanishes depend on the others: they get x = 0. Every world
// pivots for itself by masks, so that its result does not depend on its neighbours.
//
// Loops that share no body leave zeros in A; what is zero in every world is not multiplied.
#pragma once

#include "simd/math.hpp"

namespace pysim::constraints {

using simd::all;
using simd::fma;
using simd::fnma;
using simd::select;

/// Least pivot of an independent row, and least diagonal of a row that moves anything, relative to the
/// largest.
///
/// Pivots near `blur` fade out:  1/D becomes D/(D² + blur²). Where a mechanism passes a singular position,
/// the forces along what vanishes would be errors divided by its distance; for that moment inertia carries it
/// instead, and no step can be drawn onto the other branch.
///
/// What is factored so is A + E, E = blur²/D on the diagonal. Where a pivot is below `slight`, E is taken
/// back out:
///
///     x ← (A + E)⁻¹ (b + E x)      errors (blur/D)² become (blur/D)⁶ in `times` = 2      [Riley 1955]
template <class Real>
struct RankTolerance {
  static constexpr Real pivot = sizeof(Real) == 8 ? Real(1e-12) : Real(3e-5);
  static constexpr Real blur = sizeof(Real) == 8 ? Real(1e-8) : Real(3e-4);
  static constexpr Real slight = sizeof(Real) == 8 ? Real(1e-2) : Real(0.3);
  static constexpr int times = 2;
  static constexpr Real diagonal = sizeof(Real) == 8 ? Real(1e-22) : Real(1e-11);
};

template <class S>
PYSIM_INLINE void swap_where(typename S::Mask mask, S& a, S& b) {
  const S kept = a;
  a = select(mask, b, a);
  b = select(mask, kept, b);
}

/// A (n × n, row-major, its lower triangle) as P A Pᵀ = L D Lᵀ: below the diagonal L, `inv_D` 1/D or 0,
/// `pivot` the swaps.
template <class S>
struct Semidefinite {
  int n;
  S *A, *inv_D, *scale, *pivot;
  int* filled;         ///< [n] scratch: the rows below a pivot that are not zero in its column
  const S* reference;  ///< [n] what the diagonal is scaled by: its own size, or that of its kin
  S* E;                ///< [n] what fading added to each pivot, 0 of dependent rows
  S* right;            ///< [n] scratch: the right-hand side
  S rank;
  S least;  ///< pivot of an independent row

  void factorise() {
    using Tolerance = RankTolerance<typename S::Real>;
    const S o = all<S>(0), one = all<S>(1);
    S largest = o;
    for (int i = 0; i < n; ++i) largest = max(largest, A[i * n + i]);
    const S moves = largest * all<S>(Tolerance::diagonal);
    for (int i = 0; i < n; ++i) scale[i] = select(A[i * n + i] > moves, one / sqrt(reference[i]), o);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) A[i * n + j] *= scale[i] * scale[j];
    }
    rank = o;
    least = one;
    for (int k = 0; k < n; ++k) {
      choose_pivot(k);
      const S D = A[k * n + k];
      const auto independent = D > all<S>(Tolerance::pivot);
      const S blur = all<S>(Tolerance::blur);
      inv_D[k] = select(independent, D / fma(D, D, blur * blur), o);
      E[k] = select(independent, blur * blur / D, o);
      least = min(least, select(independent, D, one));
      rank += select(independent, one, o);
      eliminate(k);
    }
  }

  /// x ← A⁺ x for every x in the range of A.
  void solve(S* x) const {
    for (int i = 0; i < n; ++i) x[i] *= scale[i];
    for (int k = 0; k < n; ++k) {
      for (int i = k + 1; i < n; ++i) swap_where<S>(pivot[k] == index(i), x[k], x[i]);
    }
    const auto slight = least < all<S>(RankTolerance<typename S::Real>::slight);
    const bool refines = simd::any<S>(slight);
    for (int i = 0; refines && i < n; ++i) right[i] = x[i];
    substitute(x);
    for (int t = 0; refines && t < RankTolerance<typename S::Real>::times; ++t) {
      for (int i = 0; i < n; ++i) x[i] = select(slight, fma(E[i], x[i], right[i]), right[i]);
      substitute(x);
    }
    for (int k = n - 1; k >= 0; --k) {
      for (int i = k + 1; i < n; ++i) swap_where<S>(pivot[k] == index(i), x[k], x[i]);
    }
    for (int i = 0; i < n; ++i) x[i] *= scale[i];
  }

 private:
  /// x ← (A + E)⁻¹ x, rows in the order of the pivots.
  void substitute(S* x) const {
    for (int k = 0; k < n; ++k) {
      for (int i = k + 1; i < n; ++i) x[i] = fnma(A[i * n + k], x[k], x[i]);
    }
    for (int k = n - 1; k >= 0; --k) {
      x[k] *= inv_D[k];
      for (int i = k + 1; i < n; ++i) x[k] = fnma(A[i * n + k], x[i], x[k]);
      x[k] = select(inv_D[k] > all<S>(0), x[k], all<S>(0));
    }
  }

  static S index(int i) { return all<S>(static_cast<typename S::Real>(i)); }

  /// Brings the largest remaining diagonal to k, world by world.
  void choose_pivot(int k) {
    S best = A[k * n + k];
    pivot[k] = index(k);
    for (int i = k + 1; i < n; ++i) {
      const auto better = A[i * n + i] > best;
      best = select(better, A[i * n + i], best);
      pivot[k] = select(better, index(i), pivot[k]);
    }
    for (int i = k + 1; i < n; ++i) {
      const auto here = pivot[k] == index(i);
      if (!simd::any<S>(here)) continue;
      for (int j = 0; j < k; ++j) swap_where<S>(here, A[k * n + j], A[i * n + j]);
      for (int j = k + 1; j < i; ++j) swap_where<S>(here, A[j * n + k], A[i * n + j]);
      for (int j = i + 1; j < n; ++j) swap_where<S>(here, A[j * n + k], A[j * n + i]);
      swap_where<S>(here, A[k * n + k], A[i * n + i]);
    }
  }

  void eliminate(int k) {
    const S o = all<S>(0);
    int count = 0;
    for (int i = k + 1; i < n; ++i) {
      if (simd::any<S>(abs(A[i * n + k]) > o)) filled[count++] = i;
    }
    for (int a = 0; a < count; ++a) {
      S* const row = A + filled[a] * n;
      const S L = row[k] * inv_D[k];
      for (int b = 0; b <= a; ++b) {
        const int j = filled[b];
        row[j] = fnma(L, A[j * n + k], row[j]);
      }
    }
    for (int a = 0; a < count; ++a) A[filled[a] * n + k] *= inv_D[k];
  }
};

}  // namespace pysim::constraints
