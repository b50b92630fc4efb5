// The inertia that constraints feel, inverted:  Λ = J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ.
//
// A row of Y = L⁻¹ Jᵀ is one sweep to the root along the row's way. Rows whose ways share no coordinate leave
// zeros in Λ; which do is known beforehand.
#pragma once

#include "constraints/rows.hpp"
#include "constraints/semidefinite.hpp"

namespace pysim::constraints {

/// Which rows depend on others, as found where a step begins, on the constraints. Within the step it is off
/// them a little, and rows that depend on each other seem not to: they would hold what is free to move.
template <class S>
struct Dependence {
  simd::Mask<S>* row;   ///< [rows]
  simd::Mask<S> known;  ///< in these worlds this step has found it
  S most;               ///< rows that were independent at once so far; 0 before anything is known
  simd::Mask<S> apart;  ///< no row depends on others, nor nearly

  void forget(simd::Mask<S> worlds) { known &= !worlds; }

  Dependence copy(int rows, Workspace<S>& w) const {
    Dependence copied = *this;
    copied.row = take<simd::Mask<S>>(w, rows);
    for (int i = 0; i < rows; ++i) copied.row[i] = row[i];
    return copied;
  }

  /// Takes over what `other` holds in some worlds.
  void keep(simd::Mask<S> worlds, const Dependence& other, int rows) {
    for (int i = 0; i < rows; ++i) row[i] = select(worlds, other.row[i], row[i]);
    known = select(worlds, other.known, known);
    most = select(worlds, other.most, most);
    apart = select(worlds, other.apart, apart);
  }
};

template <class S>
Dependence<S> take_dependence(int rows, Workspace<S>& w) {
  auto* const row = take<simd::Mask<S>>(w, rows);
  const auto no = simd::nowhere<S>();
  for (int i = 0; i < rows; ++i) row[i] = no;
  return {row, no, all<S>(0), no};
}

/// Λ = J M⁻¹ Jᵀ, factored, and the rows of Y = L⁻¹ Jᵀ.
template <class S>
struct Delassus {
  int rows, nv;
  S* Y;       ///< (rows, nv), of each row the coordinates of its way
  S* scaled;  ///< Y D⁻¹ of the rows that are multiplied, likewise
  Semidefinite<S> G;

  Delassus(const ModelOf<S>& model, Workspace<S>& w) : rows(model.rows), nv(model.reduced_nv) {
    Y = take<S>(w, std::ptrdiff_t{1} * rows * nv);
    scaled = take<S>(w, std::ptrdiff_t{1} * rows * nv);
    G.n = rows;
    G.A = take<S>(w, std::ptrdiff_t{1} * rows * rows);
    G.inv_D = take<S>(w, rows);
    G.scale = take<S>(w, rows);
    G.pass = take<S>(w, rows);
    G.column = take<S>(w, rows);
    G.regularised = take<S>(w, rows);
    G.first = take<int>(w, rows);
    G.last = take<int>(w, rows);
  }

  /// `dependence` may be null: then rows are taken as they are found.
  void factorise(MechanismFactor<S>& factor, const Rows<S>& r, Dependence<S>* dependence = nullptr) {
    const auto& model = factor.model;
    for (int n = 0; n < model.row_blocks; ++n) {
      if (n == 0 || model.row_block[n - 1].row != model.row_block[n].row)
        begin_rows(factor, r, model.row_block[n]);
      multiply(model, model.row_block[n]);
    }
    scale(factor, r);
    const auto found = dependence == nullptr ? simd::nowhere<S>() : dependence->known;
    const bool some = any(found);
    G.factorise(largest(static_cast<const S*>(r.g), rows), found, some ? dependence->row : nullptr);
    if (dependence != nullptr) remember(*dependence);
  }

  /// In the worlds where it is not known yet.
  void remember(Dependence<S>& dependence) const {
    const auto fresh = !dependence.known;
    if (none(fresh)) return;
    for (int i = 0; i < rows; ++i) {
      dependence.row[i] = select(fresh, !G.is_taken(i), dependence.row[i]);
    }
    const auto all_hold = (!G.is_slight()) & (G.rank == row_count());
    dependence.apart = select(fresh, all_hold, dependence.apart);
    dependence.known = simd::everywhere<S>();
  }

  S row_count() const { return all<S>(static_cast<typename S::Real>(rows)); }

  /// Y and Y D⁻¹ of rows of one way, which begin with the first that they meet.
  void begin_rows(MechanismFactor<S>& factor, const Rows<S>& r, const tree::RowBlock& block) {
    const tree::SupportPath& path = factor.model.row_path[block.row];
    const int* const coordinate = factor.model.path + path.first_v;
    const S* const inv_D = factor.inv_D();
    for (int i = block.row; i < block.end; ++i) {
      for (int m = 0; m < path.nv; ++m) Y[i * nv + m] = r.J[i * nv + m];
    }
    factor.forward(path, block.end - block.row, Y + block.row * nv, nv);
    for (int i = block.row; i < block.end; ++i) {
      S* const by_D = scaled + (i - block.row) * nv;
      for (int m = 0; m < path.nv; ++m) by_D[m] = Y[i * nv + m] * inv_D[coordinate[m]];
      G.first[i] = block.other;
      for (int j = block.other; j < block.row; ++j) G.A[i * rows + j] = all<S>(0);
    }
  }

  /// Y D⁻¹ Yᵀ of rows that meet, two by two.
  void multiply(const ModelOf<S>& model, const tree::RowBlock& block) {
    int i = block.row;
    for (; i + 2 <= block.end; i += 2) multiply_rows<2>(model, block, i);
    if (i < block.end) multiply_rows<1>(model, block, i);
  }

  /// R rows from i on; where they meet themselves, also above the diagonal, where nobody looks.
  template <int R>
  void multiply_rows(const ModelOf<S>& model, const tree::RowBlock& block, int i) {
    const int end = block.other == block.row ? i + R : block.other_end;
    int j = block.other;
    for (; j + 2 <= end; j += 2) multiply_tile<R, 2>(model, block, i, j);
    if (j < end) multiply_tile<R, 1>(model, block, i, j);
  }

  template <int R, int C>
  void multiply_tile(const ModelOf<S>& model, const tree::RowBlock& block, int i, int j) {
    S sum[R][C];
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < C; ++c) sum[r][c] = all<S>(0);
    }
    for (int n = block.first; n < block.first + block.runs; ++n) {
      const tree::SharedRun& run = model.shared[n];
      const S* const y = scaled + (i - block.row) * nv + run.own;
      const S* const z = Y + j * nv + run.other;
      for (int m = 0; m < run.count; ++m) {
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
          for (int c = 0; c < C; ++c) sum[r][c] = fma(y[r * nv + m], z[c * nv + m], sum[r][c]);
        }
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < C; ++c) G.A[(i + r) * rows + j + c] = sum[r][c];
    }
  }

  /// 1/√ of the largest diagonal among a row's kin: rows of its loop that hold positions, or that hold turns.
  /// A row without kin is held against what a row in any direction could feel there.
  void scale(const MechanismFactor<S>& factor, const Rows<S>& r) {
    const auto& model = factor.model;
    const S o = all<S>(0), one = all<S>(1);
    for (int i = 0; i < model.couplings; ++i) {
      const int row = model.coupling[i].row;
      G.scale[row] = one / sqrt(G.A[row * rows + row]);
    }
    for (int k = 0; k < model.loops; ++k) {
      const Loop& loop = model.loop[k];
      S of_positions = o, of_turns = o, positions = o;
      for (int i = loop.row; i < loop.row + loop.rows; ++i) {
        const S size = G.A[i * rows + i];
        const auto position = holds_position(r.W[i]);
        of_positions = max(of_positions, select(position, size, o));
        of_turns = max(of_turns, select(position, o, size));
        positions += number(position);
      }
      const S turns = all<S>(static_cast<typename S::Real>(loop.rows)) - positions;
      for (int i = loop.row; i < loop.row + loop.rows; ++i) {
        const auto position = holds_position(r.W[i]);
        const S kin = select(position, positions, turns);
        if (none(kin == one)) continue;
        const S could = select(kin == one, attainable(factor, r, i), o);
        of_positions = max(of_positions, select(position, could, o));
        of_turns = max(of_turns, select(position, o, could));
      }
      const S position = one / sqrt(of_positions);
      const S turn = any(of_turns > o) ? one / sqrt(of_turns) : o;
      for (int i = loop.row; i < loop.row + loop.rows; ++i) {
        G.scale[i] = select(holds_position(r.W[i]), position, turn);
      }
    }
  }

  /// About the diagonal that a row at the place of row i could have.
  S attainable(const MechanismFactor<S>& factor, const Rows<S>& r, int i) const {
    const tree::SupportPath& path = factor.model.row_path[i];
    const int* const coordinate = factor.model.path + path.first_v;
    const S* const inv_D = factor.inv_D();
    S sum = all<S>(0);
    for (int m = 0; m < path.nv; ++m) sum = fma(r.reach[i * nv + m], inv_D[coordinate[m]], sum);
    return sum;
  }

  /// x = M⁻¹ Jᵀ Λ⁺ g; `g` becomes Λ⁺ g. Of a `unregularised` Λ⁺ nothing is regularised out.
  void correct(MechanismFactor<S>& factor, S* g, S* x, bool unregularised = false) const {
    if (unregularised) {
      G.solve_unregularised(g);
    } else {
      G.solve(g);
    }
    push(factor, g, x);
  }

  /// x = M⁻¹ Jᵀ λ.
  void push(MechanismFactor<S>& factor, const S* lambda, S* x) const {
    for (int k = 0; k < nv; ++k) x[k] = all<S>(0);
    for (int i = 0; i < rows; ++i) {
      const tree::SupportPath& path = factor.model.row_path[i];
      const int* const k = factor.model.path + path.first_v;
      for (int m = 0; m < path.nv; ++m) x[k[m]] = fma(lambda[i], Y[i * nv + m], x[k[m]]);
    }
    factor.backward(x);
  }
};

}  // namespace pysim::constraints
