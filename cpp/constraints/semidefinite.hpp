// Solves A x = b for a symmetric positive semidefinite A of unknown rank, one rank for each world.
//
//     A = L D Lᵀ      pivots are chosen in passes from top to bottom: first all rows whose pivot is at
//                     least 10⁻², then of the remaining ones those above 10⁻⁴, …
//
// so that no pivot is much smaller than any remaining one, as in threshold pivoting [Duff, Erisman and Reid
// 2017, section 5.2.1], and rows are not moved: L is as narrow as A. A is scaled to a unit diagonal first;
// a pivot is then sin² of the angle between a row of J and those before it, in any unit. Rows whose
// pivot vanishes depend on the others: they get x = 0. Every world chooses its pivots by masks, so its
// result does not depend on its neighbours.
#pragma once

#include "constraints/singular/regularisation.hpp"

namespace pysim::constraints {

using simd::all;
using simd::fma;
using simd::fnma;
using simd::select;

/// Least pivot of an independent row, and least diagonal of a nonzero row, relative to the
/// largest; both pivots are sin² of angles.
template <class Real>
struct RankTolerance {
  static constexpr Real pivot = sizeof(Real) == 8 ? Real(1e-13) : Real(3e-5);
  static constexpr Real diagonal = sizeof(Real) == 8 ? Real(1e-22) : Real(1e-11);
  static constexpr Real of_a_pass = Real(1e-2);  ///< least pivot of a pass, relative to the pass before
};

/// A (n × n, row-major, its lower triangle from column `first` on) as L D Lᵀ, L below the diagonal. Of rows i
/// and j the one eliminated later has the other's column in L; it is stored at (max, min) in either case.
template <class S>
struct Semidefinite {
  int n;
  S* A;
  S* inv_D;        ///< [n] 1/D or 0
  S* regularised;  ///< [n] the same, regularised near singular positions
  S* scale;        ///< [n] scale that makes the diagonal one, or at most one among related rows
  S* pass;         ///< [n] the pass in which the row was eliminated, or `never`
  S* column;       ///< [n] scratch
  int* first;      ///< [n] the first column of a row that is not zero
  int* last;       ///< [n] scratch: the last row that may not be zero in a column
  S rank;
  S smallest;  ///< pivot of an independent row
  int passes;

  /// `residual` is the distance from the constraints. In worlds where dependence is `known`, `dependent`
  /// [n] marks the dependent rows; it may be null if it is known nowhere.
  void factorise(S residual, simd::Mask<S> known, const simd::Mask<S>* dependent) {
    using Tolerance = RankTolerance<typename S::Real>;
    const S o = all<S>(0);
    scale_to_unit_diagonal();
    find_last();
    for (int k = 0; k < n; ++k) {
      pass[k] = dependent == nullptr ? never() : select(dependent[k] & known, left_out(), never());
      inv_D[k] = regularised[k] = o;
    }
    rank = o;
    const Regularisation<S> regularisation(residual, known);
    smallest = all<S>(1);
    waits_ = true;
    S least = all<S>(1);
    for (passes = 0; waits_; ++passes) {
      least = max(least * all<S>(Tolerance::of_a_pass), all<S>(Tolerance::pivot));
      waits_ = false;
      for (int k = 0; k < n; ++k) take(k, least, regularisation);
    }
  }

  /// x ← A⁺ x for every x in the range of A, small pivots regularised.
  void solve(S* x) const { substitute(x, regularised); }

  /// x ← A⁺ x, without regularisation.
  void solve_unregularised(S* x) const { substitute(x, inv_D); }

  /// x ← A⁺ x, regularised for the part `errors` of x only, which is overwritten.
  void solve_split(S* x, S* errors) const {
    for (int i = 0; i < n; ++i) x[i] = (x[i] - errors[i]) * scale[i], errors[i] *= scale[i];
    for (int p = 0; p < passes; ++p) forward(p, x);
    for (int p = 0; p < passes; ++p) forward(p, errors);
    for (int i = 0; i < n; ++i) x[i] = fma(regularised[i], errors[i], inv_D[i] * x[i]);
    for (int p = passes - 1; p >= 0; --p) backward(p, x);
    for (int i = 0; i < n; ++i) x[i] *= scale[i];
  }

  simd::Mask<S> is_taken(int i) const { return pass[i] < left_out(); }

  /// Pivot of a row that is taken.
  S pivot(int i) const { return A[i * n + i]; }

  /// Worlds in which some pivot is regularised.
  simd::Mask<S> is_slight() const { return Regularisation<S>::matters(smallest); }

  S full_rank() const { return number(n); }

  /// The same for `columns` of X at once, whose rows are `stride` apart: each row of L is read once.
  void solve_columns(S* X, int columns, int stride) const {
    multiply_rows(scale, X, columns, stride);
    substitute_columns(X, columns, stride);
    multiply_rows(scale, X, columns, stride);
  }

 private:
  bool waits_;  ///< some row of some world was left for a later pass

  static S never() { return all<S>(99); }
  static S left_out() { return all<S>(98); }  ///< known to depend on others
  static S number(int i) { return all<S>(static_cast<typename S::Real>(i)); }
  S& entry(int i, int j) const { return i > j ? A[i * n + j] : A[j * n + i]; }

  void multiply_rows(const S* factor, S* X, int columns, int stride) const {
    for (int i = 0; i < n; ++i) {
      for (int c = 0; c < columns; ++c) X[i * stride + c] *= factor[i];
    }
  }

  void substitute(S* x, const S* by_D) const {
    for (int i = 0; i < n; ++i) x[i] *= scale[i];
    for (int p = 0; p < passes; ++p) forward(p, x);
    for (int i = 0; i < n; ++i) x[i] *= by_D[i];
    for (int p = passes - 1; p >= 0; --p) backward(p, x);
    for (int i = 0; i < n; ++i) x[i] *= scale[i];
  }

  /// X ← (L D Lᵀ)⁺ X.
  void substitute_columns(S* X, int columns, int stride) const {
    for (int p = 0; p < passes; ++p) {
      for (int i = 0; i < n; ++i) {
        for (int k = first[i]; k < i; ++k) subtract_row(p, k, i, X, columns, stride);
      }
      for (int k = 0; passes > 1 && k < n; ++k) {
        for (int i = first[k]; i < k; ++i) subtract_row(p, k, i, X, columns, stride);
      }
    }
    multiply_rows(regularised, X, columns, stride);
    for (int p = passes - 1; p >= 0; --p) {
      for (int k = 0; passes > 1 && k < n; ++k) {
        for (int i = first[k]; i < k; ++i) subtract_row(p, k, i, X, columns, stride, true);
      }
      for (int i = n - 1; i >= 0; --i) {
        for (int k = first[i]; k < i; ++k) subtract_row(p, k, i, X, columns, stride, true);
      }
    }
  }

  /// x_i −= L_ik x_k for a row k of pass p and a row i eliminated after it; transposed x_k −= L_ik x_i.
  void subtract_row(int p, int k, int i, S* X, int columns, int stride, bool transposed = false) const {
    const S now = number(p), o = all<S>(0);
    const auto later = i > k ? pass[i] >= now : pass[i] > now;
    const S L = select((pass[k] == now) & later, entry(i, k), o);
    if (none(abs(L) > o)) return;
    const S* const from = X + (transposed ? i : k) * stride;
    S* const to = X + (transposed ? k : i) * stride;
    for (int c = 0; c < columns; ++c) to[c] = fnma(L, from[c], to[c]);
  }

  void scale_to_unit_diagonal() {
    using Tolerance = RankTolerance<typename S::Real>;
    const S o = all<S>(0);
    S largest = o;
    for (int i = 0; i < n; ++i) largest = max(largest, A[i * n + i]);
    const S least = largest * all<S>(Tolerance::diagonal);
    for (int i = 0; i < n; ++i) scale[i] = select(A[i * n + i] > least, scale[i], o);
    for (int i = 0; i < n; ++i) {
      for (int j = first[i]; j <= i; ++j) A[i * n + j] *= scale[i] * scale[j];
    }
  }

  void find_last() const {
    for (int k = 0; k < n; ++k) last[k] = k;
    for (int i = 0; i < n; ++i) last[first[i]] = i;
    for (int k = 1; k < n; ++k) {
      if (last[k] < last[k - 1]) last[k] = last[k - 1];
    }
  }

  /// Eliminates row k in the worlds where its pivot is at least `least`, unless it was eliminated before.
  void take(int k, S least, const Regularisation<S>& regularisation) {
    using Tolerance = RankTolerance<typename S::Real>;
    const S D = A[k * n + k], o = all<S>(0);
    const auto left = pass[k] == never();
    const auto taken = left & (D > least);
    waits_ |= any(left & (D > all<S>(Tolerance::pivot)) & (D <= least));
    if (none(taken)) return;
    const S inverse = select(taken, all<S>(1) / D, o);
    if (any(taken & regularisation.matters(D))) {
      regularised[k] += select(taken, regularisation.of_errors(inverse, D), o);
      inv_D[k] += select(taken, regularisation.of_loads(inverse, D), o);
    } else {
      regularised[k] += inverse;
      inv_D[k] += inverse;
    }
    smallest = select(taken, min(smallest, D), smallest);
    rank += simd::number(taken);
    pass[k] = select(taken, number(passes), pass[k]);
    eliminate(k, inverse, taken);
  }

  /// A_ij −= A_ik D⁻¹ A_jk,  L_ik = A_ik D⁻¹   for all remaining rows.
  void eliminate(int k, S inverse, simd::Mask<S> taken) {
    const int begin = gather_column(k);
    for (int i = begin; i <= last[k]; ++i) {
      if (!meets(i, k)) continue;
      S* const row = A + i * n;
      const S L = column[i] * inverse;
      for (int j = begin; j <= i; ++j) row[j] = fnma(L, column[j], row[j]);
      S& kept = entry(i, k);
      kept = select(taken & (pass[i] == never()), L, kept);
    }
  }

  bool meets(int i, int k) const { return i != k && first[i] <= k; }

  /// Column k of the remaining rows, from the returned row to the last; zero if there is none. Rows
  /// above k remain only if they were deferred; elimination of k fills their entries from then on.
  int gather_column(int k) {
    const int begin = waits_ || passes > 0 ? first[k] : k + 1;
    for (int i = begin; i <= last[k]; ++i) {
      column[i] = all<S>(0);
      if (!meets(i, k)) continue;
      column[i] = select(pass[i] == never(), entry(i, k), column[i]);
      while (first[i] > begin) {
        A[i * n + --first[i]] = all<S>(0);
        if (last[first[i]] < i) last[first[i]] = i;
      }
    }
    return begin;
  }

  /// x_i −= L_ik x_k for every row k of pass p and the rows i eliminated after it.
  void forward(int p, S* x) const {
    const S o = all<S>(0), now = number(p);
    for (int i = 0; i < n; ++i) {
      S sum = x[i];
      for (int k = first[i]; k < i; ++k) sum = fnma(A[i * n + k], column[k], sum);
      x[i] = select(pass[i] >= now, sum, x[i]);
      column[i] = select(pass[i] == now, x[i], o);
    }
    for (int k = 0; passes > 1 && k < n; ++k) {
      for (int i = first[k]; i < k; ++i) {
        x[i] = fnma(A[k * n + i], select(pass[i] > now, column[k], o), x[i]);
      }
    }
  }

  /// x_k −= L_ik x_i, likewise.
  void backward(int p, S* x) const {
    const S o = all<S>(0), now = number(p);
    for (int k = 0; p + 1 < passes && k < n; ++k) {
      S sum = x[k];
      for (int i = first[k]; i < k; ++i) sum = fnma(A[k * n + i], select(pass[i] > now, x[i], o), sum);
      x[k] = select(pass[k] == now, sum, x[k]);
    }
    for (int i = n - 1; i >= 0; --i) {
      x[i] = select(inv_D[i] > o, x[i], o);
      const S known = select(pass[i] >= now, x[i], o);
      for (int k = first[i]; k < i; ++k) {
        const S through = passes == 1 ? known : select(pass[k] == now, known, o);
        x[k] = fnma(A[i * n + k], through, x[k]);
      }
    }
  }
};

/// Memory for a matrix of n rows.
template <class S>
Semidefinite<S> take_semidefinite(int n, Workspace<S>& w) {
  Semidefinite<S> G = {};
  G.n = n;
  G.A = take<S>(w, std::ptrdiff_t{1} * n * n);
  G.inv_D = take<S>(w, n);
  G.scale = take<S>(w, n);
  G.pass = take<S>(w, n);
  G.column = take<S>(w, n);
  G.regularised = take<S>(w, n);
  G.first = take<int>(w, n);
  G.last = take<int>(w, n);
  return G;
}

}  // namespace pysim::constraints
