// Symmetric matrices in rows that hold the sparsity of a tree of coordinates, and their factors.
//
//     row k    columns of the coordinates above coordinate k, from the root on, then k itself
//     H = LᵀDL  from the last coordinate to the root           [Featherstone 2005; 2008, section 6.5]
//
// A row is contiguous, and begins as the rows of all coordinates above it do: they are added and subtracted
// without looking up columns, and no entry fills in. Up to three rows of a branch are eliminated together: a
// third as many sums are stored and loaded again.
#pragma once

#include "simd/double_precision.hpp"
#include "simd/full_register.hpp"
#include "tree/workspace.hpp"

namespace pysim::dynamics {

using simd::all;
using simd::fnma;
using tree::take;
using tree::Workspace;

/// Coordinates above each, −1 for none; their numbers, and the place of the first number of each row; and the
/// coordinates of the numbers.
struct TreeRows {
  int *above = nullptr, *depth = nullptr, *row = nullptr, *column = nullptr;

  template <class S>
  void reserve(int n, std::ptrdiff_t numbers, Workspace<S>& w) {
    above = take<int>(w, n);
    depth = take<int>(w, n);
    row = take<int>(w, n + 1);
    column = take<int>(w, numbers);
  }

  /// Numbers the rows of n coordinates from what is above them.
  void number(int n) const {
    int place = 0;
    for (int k = 0; k < n; ++k) {
      depth[k] = above[k] < 0 ? 0 : depth[above[k]] + 1;
      row[k] = place;
      for (int a = 0; a < depth[k]; ++a) column[place + a] = column[row[above[k]] + a];
      column[place + depth[k]] = k;
      place += depth[k] + 1;
    }
    row[n] = place;
  }

  /// H ← L with D on its diagonal, D⁻¹ beside it, and b ← L⁻ᵀ b. A pivot is what pivot(k, d) makes of d.
  template <class N, class Pivot>
  void eliminate(int n, N* H, N* inv_D, N* b, const Pivot& pivot) const {
    for (int k = n - 1; k >= 0;) {
      if (above[k] < 0 || above[k] != k - 1) {
        eliminate_branch<1>(k, H, inv_D, b, pivot);
        k -= 1;
      } else if (above[k - 1] < 0 || above[k - 1] != k - 2) {
        eliminate_branch<2>(k, H, inv_D, b, pivot);
        k -= 2;
      } else {
        eliminate_branch<3>(k, H, inv_D, b, pivot);
        k -= 3;
      }
    }
  }

  /// x from L⁻ᵀ b, root to leaves; they may be the same. Sums begin at the root: only their ends wait for the
  /// row before.
  template <class N>
  void substitute(int n, const N* L, const N* inv_D, const N* b, N* x) const {
    for (int k = 0; k < n; ++k) {
      const N* const own = L + row[k];
      const int* const columns = column + row[k];
      N sum = b[k] * inv_D[k];
      for (int a = 0; a < depth[k]; ++a) sum = fnma(own[a], x[columns[a]], sum);
      x[k] = sum;
    }
  }

  /// x = H⁻¹ b; they may be the same.
  template <class N>
  void solve(int n, const N* L, const N* inv_D, const N* b, N* x) const {
    if (b != x) simd::copy_each<N>(b, n, x);
    for (int k = n - 1; k >= 0; --k) {
      const N* const own = L + row[k];
      const int* const columns = column + row[k];
      const N at_k = x[k];
      for (int a = depth[k] - 1; a >= 0; --a) x[columns[a]] = fnma(own[a], at_k, x[columns[a]]);
    }
    substitute<N>(n, L, inv_D, x, x);
  }

 private:
  /// Eliminates the rows k, k − 1, … of a branch, as many as `rows`.
  template <int rows, class N, class Pivot>
  PYSIM_INLINE void eliminate_branch(int k, N* H, N* inv_D, N* b, const Pivot& pivot) const {
    const int* const columns = column + row[k];
    const int d = depth[k];
    N* const first = H + row[k];
    N* const second = rows > 1 ? H + row[k - 1] : nullptr;
    N* const third = rows > 2 ? H + row[k - 2] : nullptr;
    const N first_inverse = invert(first[d] = pivot(k, first[d]), inv_D[k]);
    N second_inverse = first_inverse, third_inverse = first_inverse;
    const N first_b = b[k];
    N second_b = first_b, third_b = first_b;
    if constexpr (rows > 1) {
      subtract(first, first_inverse, d - 1, first_b, second, b[k - 1]);
      if constexpr (rows > 2) subtract(first, first_inverse, d - 2, first_b, third, b[k - 2]);
      second_inverse = invert(second[d - 1] = pivot(k - 1, second[d - 1]), inv_D[k - 1]);
      second_b = b[k - 1];
    }
    if constexpr (rows > 2) {
      subtract(second, second_inverse, d - 2, second_b, third, b[k - 2]);
      third_inverse = invert(third[d - 2] = pivot(k - 2, third[d - 2]), inv_D[k - 2]);
      third_b = b[k - 2];
    }
    const auto less = [](N x, N u, N own, N v, N next, N w, N last) {
      N rest = fnma(u, own, x);
      if constexpr (rows > 1) rest = fnma(v, next, rest);
      if constexpr (rows > 2) rest = fnma(w, last, rest);
      return rest;
    };
    const N o = all<N>(0);
    int a = d - rows;
    for (; a > 0; a -= 2) {  // from two rows above at a time
      const int i = columns[a], j = columns[a - 1];
      N *const to = H + row[i], *const to_next = H + row[j];
      N v = o, w = o, v_next = o, w_next = o;
      const N u = first[a] * first_inverse, u_next = first[a - 1] * first_inverse;
      if constexpr (rows > 1) v = second[a] * second_inverse, v_next = second[a - 1] * second_inverse;
      if constexpr (rows > 2) w = third[a] * third_inverse, w_next = third[a - 1] * third_inverse;
      for (int c = 0; c < a; ++c) {
        const N x = first[c], y = rows > 1 ? second[c] : o, z = rows > 2 ? third[c] : o;
        to[c] = less(to[c], u, x, v, y, w, z);
        to_next[c] = less(to_next[c], u_next, x, v_next, y, w_next, z);
      }
      to[a] = less(to[a], u, first[a], v, rows > 1 ? second[a] : o, w, rows > 2 ? third[a] : o);
      b[i] = less(b[i], u, first_b, v, second_b, w, third_b);
      b[j] = less(b[j], u_next, first_b, v_next, second_b, w_next, third_b);
      first[a] = u, first[a - 1] = u_next;
      if constexpr (rows > 1) second[a] = v, second[a - 1] = v_next;
      if constexpr (rows > 2) third[a] = w, third[a - 1] = w_next;
    }
    if (a < 0) return;
    subtract(first, first_inverse, 0, first_b, H + row[columns[0]], b[columns[0]]);
    if constexpr (rows > 1) subtract(second, second_inverse, 0, second_b, H + row[columns[0]], b[columns[0]]);
    if constexpr (rows > 2) subtract(third, third_inverse, 0, third_b, H + row[columns[0]], b[columns[0]]);
  }

  template <class N>
  PYSIM_INLINE static N invert(N d, N& inverse) {
    return inverse = all<N>(1) / d;
  }

  /// Eliminates a row from the row of its column a.
  template <class N>
  PYSIM_INLINE static void subtract(N* own, N inverse, int a, N own_b, N* to, N& to_b) {
    const N u = own[a] * inverse;
    for (int c = 0; c <= a; ++c) to[c] = fnma(u, own[c], to[c]);
    to_b = fnma(u, own_b, to_b);
    own[a] = u;
  }
};

}  // namespace pysim::dynamics
