// Symmetric matrices in rows that hold the sparsity of a tree of coordinates, and their factors.
//
//     row k    columns of the coordinates above coordinate k, from the root on, then k itself
//     H = LᵀDL  from the last coordinate to the root           [Featherstone 2005; 2008, section 6.5]
//
// A row is contiguous, and begins as the rows of all coordinates above it do: they are added and subtracted
// without looking up columns, and no entry fills in. Rows k and k − 1 of a branch are eliminated together:
// half as many sums are stored and loaded again.
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
    for (int k = n - 1; k >= 0; --k) {
      N* const own = H + row[k];
      const int* const columns = column + row[k];
      const int d = depth[k], parent = above[k];
      const N inverse = all<N>(1) / (own[d] = pivot(k, own[d]));
      inv_D[k] = inverse;
      if (parent < 0 || parent != k - 1) {
        for (int a = d - 1; a >= 0; --a) {
          const int i = columns[a];
          N* const to = H + row[i];
          const N u = own[a] * inverse;
          for (int j = 0; j <= a; ++j) to[j] = fnma(u, own[j], to[j]);
          b[i] = fnma(u, b[k], b[i]);
          own[a] = u;
        }
        continue;
      }
      N* const next = H + row[parent];
      const N first = own[d - 1] * inverse;
      for (int j = 0; j < d; ++j) next[j] = fnma(first, own[j], next[j]);
      b[parent] = fnma(first, b[k], b[parent]);
      own[d - 1] = first;
      const N other = all<N>(1) / (next[d - 1] = pivot(parent, next[d - 1]));
      inv_D[parent] = other;
      int a = d - 2;
      for (; a > 0; a -= 2) {  // from two rows above at a time
        const int i = columns[a], j = columns[a - 1];
        N *const to = H + row[i], *const to_next = H + row[j];
        const N u = own[a] * inverse, v = next[a] * other;
        const N u_next = own[a - 1] * inverse, v_next = next[a - 1] * other;
        for (int c = 0; c < a; ++c) {
          const N x = own[c], y = next[c];
          to[c] = fnma(v, y, fnma(u, x, to[c]));
          to_next[c] = fnma(v_next, y, fnma(u_next, x, to_next[c]));
        }
        to[a] = fnma(v, next[a], fnma(u, own[a], to[a]));
        b[i] = fnma(v, b[parent], fnma(u, b[k], b[i]));
        b[j] = fnma(v_next, b[parent], fnma(u_next, b[k], b[j]));
        own[a] = u;
        next[a] = v;
        own[a - 1] = u_next;
        next[a - 1] = v_next;
      }
      if (a == 0) {
        const int i = columns[0];
        const N u = own[0] * inverse, v = next[0] * other;
        N& to = H[row[i]];
        to = fnma(v, next[0], fnma(u, own[0], to));
        b[i] = fnma(v, b[parent], fnma(u, b[k], b[i]));
        own[0] = u;
        next[0] = v;
      }
      --k;
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
};

}  // namespace pysim::dynamics
