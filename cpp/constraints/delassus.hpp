// The Delassus matrix  G = J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ  of a list of rows, factored.
//
// A row of Y = (L⁻¹ Jᵀ)ᵀ is one sweep to the root along the row's support path. Rows whose paths share no
// coordinate leave zeros in G; the row blocks list those that share some. G⁻¹ is the operational-space
// inertia Λ of the rows.
#pragma once

#include "constraints/constraint_rows.hpp"
#include "constraints/semidefinite.hpp"
#include "constraints/singular/dependence.hpp"

namespace pysim::constraints {

/// G, factored, and the rows of Y.
template <class S>
struct Delassus {
  const Rows<S>& rows;
  int nv;
  S* Y;       ///< (rows, nv), of each row the coordinates of its path
  S* scaled;  ///< Y D⁻¹ of the rows that are multiplied, likewise
  Semidefinite<S> G;

  Delassus(const Rows<S>& r, Workspace<S>& w) : rows(r), nv(r.nv) {
    const std::ptrdiff_t count = r.count;
    Y = take<S>(w, count * nv);
    scaled = take<S>(w, count * nv);
    G = take_semidefinite<S>(r.count, w);
  }

  /// `dependence` may be null: then dependent rows are detected here.
  void factorise(MechanismFactor<S>& factor, Dependence<S>* dependence = nullptr) {
    for (int n = 0; n < rows.blocks; ++n) {
      if (n == 0 || rows.block[n - 1].row != rows.block[n].row) begin_rows(factor, rows.block[n]);
      multiply(rows.block[n]);
    }
    scale(factor);
    const auto found = dependence == nullptr ? simd::nowhere<S>() : dependence->known;
    const S residual = largest(static_cast<const S*>(rows.g), rows.count);
    G.factorise(residual, found, any(found) ? dependence->row : nullptr);
    if (dependence == nullptr) return;
    dependence->watch(G);
    dependence->remember(G);
  }

  /// Y and Y D⁻¹ of rows of one path; their columns of G begin with the first row that they share coordinates
  /// with.
  void begin_rows(MechanismFactor<S>& factor, const tree::RowBlock& block) {
    const tree::SupportPath& path = rows.path[block.row];
    const int* const coordinate = rows.coordinates(block.row);
    const S* const inv_D = factor.inv_D();
    for (int i = block.row; i < block.end; ++i) {
      for (int m = 0; m < path.nv; ++m) Y[i * nv + m] = rows.J[i * nv + m];
    }
    factor.forward(path, block.end - block.row, Y + block.row * nv, nv);
    for (int i = block.row; i < block.end; ++i) {
      S* const by_D = scaled + (i - block.row) * nv;
      for (int m = 0; m < path.nv; ++m) by_D[m] = Y[i * nv + m] * inv_D[coordinate[m]];
      G.first[i] = block.column;
      for (int j = block.column; j < block.row; ++j) G.A[i * G.n + j] = all<S>(0);
    }
  }

  /// Y D⁻¹ Yᵀ of rows that share coordinates, two by two.
  void multiply(const tree::RowBlock& block) {
    int i = block.row;
    for (; i + 2 <= block.end; i += 2) multiply_rows<2>(block, i);
    if (i < block.end) multiply_rows<1>(block, i);
  }

  /// R rows from i on; among themselves also above the diagonal, which is never read.
  template <int R>
  void multiply_rows(const tree::RowBlock& block, int i) {
    const int end = block.column == block.row ? i + R : block.column_end;
    int j = block.column;
    for (; j + 2 <= end; j += 2) multiply_tile<R, 2>(block, i, j);
    if (j < end) multiply_tile<R, 1>(block, i, j);
  }

  template <int R, int C>
  void multiply_tile(const tree::RowBlock& block, int i, int j) {
    S sum[R][C];
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < C; ++c) sum[r][c] = all<S>(0);
    }
    for (int n = block.first; n < block.first + block.runs; ++n) {
      const tree::SharedRun& run = rows.shared[n];
      const S* const y = scaled + (i - block.row) * nv + run.in_row;
      const S* const z = Y + j * nv + run.in_column;
      for (int m = 0; m < run.count; ++m) {
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
          for (int c = 0; c < C; ++c) sum[r][c] = fma(y[r * nv + m], z[c * nv + m], sum[r][c]);
        }
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < C; ++c) G.A[(i + r) * G.n + j + c] = sum[r][c];
    }
  }

  /// See `scale_loop_rows`. A row without relatives is scaled by the largest diagonal possible there.
  void scale(const MechanismFactor<S>& factor) {
    const auto& model = factor.model;
    for (int i = 0; i < model.couplings; ++i) {
      const int row = model.coupling[i].row;
      G.scale[row] = all<S>(1) / sqrt(G.A[row * G.n + row]);
    }
    const auto possible = [&](int i) { return attainable(factor, i); };
    scale_loop_rows(model, rows, [this](int i) { return G.A[i * G.n + i]; }, possible, G.scale);
  }

  /// Approximate diagonal that a row at the place of row i could have.
  S attainable(const MechanismFactor<S>& factor, int i) const {
    const int* const coordinate = rows.coordinates(i);
    const S* const inv_D = factor.inv_D();
    S sum = all<S>(0);
    for (int m = 0; m < rows.path[i].nv; ++m) sum = fma(rows.reach[i * nv + m], inv_D[coordinate[m]], sum);
    return sum;
  }

  /// x = M⁻¹ Jᵀ G⁺ g, small pivots of G `regularised` or not; `g` becomes G⁺ g.
  void correct(MechanismFactor<S>& factor, S* g, S* x, bool regularised = true) const {
    if (regularised) {
      G.solve(g);
    } else {
      G.solve_unregularised(g);
    }
    push(factor, g, x);
  }

  /// x = M⁻¹ Jᵀ λ.
  void push(MechanismFactor<S>& factor, const S* lambda, S* x) const {
    for (int k = 0; k < nv; ++k) x[k] = all<S>(0);
    for (int i = 0; i < rows.count; ++i) {
      const int* const k = rows.coordinates(i);
      for (int m = 0; m < rows.path[i].nv; ++m) x[k[m]] = fma(lambda[i], Y[i * nv + m], x[k[m]]);
    }
    factor.backward(x);
  }
};

}  // namespace pysim::constraints
