// Block Cholesky factor of A + Σ JᵀGJ over trees that loads between their bodies couple.
//
//   H_ii   composite-rigid-body recursion on loaded inertias [Featherstone 2008, table 6.2]
//   H_ij   Σ J_aᵀ K J_b of the loads between bodies of tree i and bodies of tree j
//   L_ij = (H_ij − Σ_k L_ik L_jkᵀ) L_jj⁻ᵀ         k < j ≤ i, over blocks that are not zero
//
// A few trees keep their order, so a world's numbers do not depend on its neighbours in the pack: what
// another world fills in is zero here, and adds zeros. Many trees are stepped world by world, and eliminated
// in an order of minimum degree [Tinney, Walker 1967], which fills in less. Worlds where a tree is coupled to
// no other one, nor to itself, keep the solution of LoadedFactor.
#pragma once

#include "dynamics/loaded_factor.hpp"
#include "simd/partial_load.hpp"

namespace pysim::dynamics {

using simd::Mask;
using simd::select;

/// Mechanisms with more trees than that are stepped world by world if they can touch each other.
constexpr int most_trees_in_packs = 16;

/// A linear map from the twist of body b to a wrench on body a, by columns.
template <class S>
struct BodyCoupling {
  Force<S> column[6];

  Force<S> operator*(const Motion<S>& V) const {
    const S numbers[] = {V.v.x, V.v.y, V.v.z, V.w.x, V.w.y, V.w.z};
    Force<S> sum = numbers[0] * column[0];
    for (int i = 1; i < 6; ++i) sum = fma(numbers[i], column[i], sum);
    return sum;
  }
};

template <class S>
class CoupledTrees {
 public:
  using Real = typename S::Real;

  /// Trees of a mechanism, not coupled yet; `most` bounds the pairs of bodies that will be.
  CoupledTrees(LoadedFactor<S>& factor, int most, Workspace<S>& w)
      : factor_(factor), tree_of_(take<int>(w, most > 0 ? factor.model.bodies : 0)) {
    if (most == 0) return;
    const ModelOf<S>& model = factor.model;
    for (int b = 0; b < model.bodies; ++b) {
      const int parent = model.joint[b].parent;
      tree_of_[b] = parent < 0 ? trees_++ : tree_of_[parent];
    }
    tree_ = take<Tree>(w, trees_);
    for (int b = model.bodies - 1; b >= 0; --b) {
      const Joint& joint = model.joint[b];
      Tree& own = tree_[tree_of_[b]];
      if (joint.parent < 0) own = {b, joint.end, joint.v, velocities_end(model, b), -1, simd::nowhere<S>()};
    }
    edge_ = take<Edge>(w, most);
  }

  /// Forgets all loads.
  void uncouple() {
    if (edges_ == 0) return;
    edges_ = arranged_ = members_ = 0;
    for (int t = 0; t < trees_; ++t) {
      tree_[t].member = -1;
      tree_[t].coupled = simd::nowhere<S>();
    }
  }

  /// Loads act between bodies a and b in these worlds; `again` if they have acted in others.
  void couple(int a, int b, Mask<S> worlds, bool again) {
    const int i = tree_of_[a], j = tree_of_[b];
    tree_[i].coupled |= worlds;
    tree_[j].coupled |= worlds;
    if (!again) edge_[edges_++] = {i < j ? j : i, i < j ? i : j};
  }

  /// Reserves memory for the trees that are coupled, and finds the blocks that fill in, if there are new
  /// ones.
  void arrange(Workspace<S> w) {
    if (edges_ == arranged_) return;
    arranged_ = edges_;
    member_ = take<int>(w, trees_);
    members_ = 0;
    for (int t = 0; t < trees_; ++t) {
      if (none(tree_[t].coupled)) continue;
      tree_[t].member = members_;
      member_[members_++] = t;
    }
    if (trees_ > most_trees_in_packs) order_members(w);
    const int m = members_;
    offset_ = take<std::ptrdiff_t>(w, static_cast<std::ptrdiff_t>(m) * m);
    bool* const filled = take<bool>(w, static_cast<std::ptrdiff_t>(m) * m);
    for (int k = 0; k < m * m; ++k) filled[k] = false;
    for (int k = 0; k < m; ++k) filled[k * m + k] = true;
    for (int k = 0; k < edges_; ++k) {
      const int i = tree_[edge_[k].i].member, j = tree_[edge_[k].j].member;
      filled[i < j ? j * m + i : i * m + j] = true;
    }
    for (int j = 0; j < m; ++j) {  // a column's rows fill in the column of the first of them
      int first = j + 1;
      while (first < m && !filled[first * m + j]) ++first;
      for (int i = first + 1; i < m; ++i) {
        if (filled[i * m + j]) filled[i * m + first] = true;
      }
    }
    column_ = take<int>(w, static_cast<std::ptrdiff_t>(m) * m);
    rows_ = take<int>(w, m);
    std::ptrdiff_t numbers = 0;
    for (int i = 0; i < m; ++i) {
      rows_[i] = 0;
      for (int j = 0; j <= i; ++j) {
        if (!filled[i * m + j]) continue;
        column_[i * m + rows_[i]++] = j;
        offset_[i * m + j] = numbers;
        numbers += static_cast<std::ptrdiff_t>(size(i)) * size(j);
      }
    }
    number_ = take<S>(w, numbers);
    if (rows_in_registers) columns_ = take<S>(w, 2 * numbers);
    const int bodies = factor_.model.bodies;
    IA_ = take<ArticulatedInertia<S>>(w, bodies);
    push_ = take<Force<S>>(w, bodies);
    y_ = take<S>(w, factor_.model.nv);
  }

  bool empty() const { return members_ == 0; }

  /// Takes over loads and forces of LoadedFactor before it is factored, and forgets those between bodies.
  void begin() {
    for (int i = 0; i < members_; ++i) {
      const Tree& tree = tree_[member_[i]];
      for (int b = tree.first; b < tree.end; ++b) {
        IA_[b] = factor_.IA[b];
        push_[b] = factor_.pA[b];
      }
      for (int n = 0; n < rows_[i]; ++n) {
        const int j = column(i, n), count = size(i) * size(j);
        S* const H = block(i, j);
        for (int k = 0; k < count; ++k) H[k] = all<S>(0);
      }
    }
  }

  /// Removes the forces that `begin` took over.
  void clear_forces() {
    for (int i = 0; i < members_; ++i) {
      const Tree& tree = tree_[member_[i]];
      for (int b = tree.first; b < tree.end; ++b) push_[b] = spatial::zero_force<S>();
    }
  }

  /// Adds J_aᵀ K J_b and its transpose.
  void add(int a, int b, const BodyCoupling<S>& K) {
    const ModelOf<S>& model = factor_.model;
    const Tree &A = tree_[tree_of_[a]], &B = tree_[tree_of_[b]];
    Pose<S> X_kb = spatial::identity_pose<S>();
    for (int k = b; k >= 0; k = model.joint[k].parent) {
      const Joint& joint = model.joint[k];
      for (int j = 0; j < joint.nv; ++j) {
        const Motion<S> column = tree::column(tree::axis(joint, factor_.columns, j));
        const Force<S> F = K * (k == b ? column : to_child(X_kb, column));
        spread(a, F, [&](int v_a, S number) { add_entry(A, B, v_a, joint.v + j, number); });
      }
      if (joint.parent >= 0) X_kb = k == b ? factor_.body[k].X_PB : factor_.body[k].X_PB * X_kb;
    }
  }

  /// Factors; `diagonal` (nv) is added.
  void factor(const S* diagonal) {
    for (int i = 0; i < members_; ++i) {
      add_inertia(i, diagonal);
      for (int n = 0; n < rows_[i]; ++n) {
        const int j = column(i, n);
        for (int p = 0, q = 0; p < rows_[i] && q < rows_[j];) {
          const int k = column(i, p), l = column(j, q);
          if (k >= j || l >= j) break;
          if (k == l) subtract_product(i, j, k);
          p += k <= l ? 1 : 0;
          q += l <= k ? 1 : 0;
        }
        if (i == j) {
          cholesky(block(i, i), size(i));
        } else {
          solve_right(block(i, j), size(i), block(j, j), size(j));
          store_columns(i, j);
        }
      }
    }
  }

  /// Replaces x (nv) and the bodies' accelerations in the worlds where a tree is coupled, by the solution
  /// under τ (nv) and the forces that `begin` took over.
  void solve(const S* tau, S* x) {
    const ModelOf<S>& model = factor_.model;
    for (int i = 0; i < members_; ++i) {
      gather(tree_[member_[i]], tau);
      S* const y = y_ + tree_[member_[i]].v;
      for (int n = 0; n + 1 < rows_[i]; ++n) {
        const int k = column(i, n);
        const S *const L = block(i, k), *const z = y_ + tree_[member_[k]].v;
        for (int r = 0; r < size(i); ++r) {
          for (int c = 0; c < size(k); ++c) y[r] = fnma(L[r * size(k) + c], z[c], y[r]);
        }
      }
      const S* const L = block(i, i);
      for (int r = 0; r < size(i); ++r) {
        for (int c = 0; c < r; ++c) y[r] = fnma(L[r * size(i) + c], y[c], y[r]);
        y[r] *= L[r * size(i) + r];
      }
    }
    for (int i = members_ - 1; i >= 0; --i) {
      S* const y = y_ + tree_[member_[i]].v;
      const S* const L = block(i, i);
      for (int r = size(i) - 1; r >= 0; --r) {
        y[r] *= L[r * size(i) + r];
        for (int c = 0; c < r; ++c) y[c] = fnma(L[r * size(i) + c], y[r], y[c]);
      }
      for (int n = 0; n + 1 < rows_[i]; ++n) {
        const int k = column(i, n);
        const S* const below = block(i, k);
        S* const z = y_ + tree_[member_[k]].v;
        for (int r = 0; r < size(i); ++r) {
          for (int c = 0; c < size(k); ++c) z[c] = fnma(below[r * size(k) + c], y[r], z[c]);
        }
      }
    }
    for (int i = 0; i < members_; ++i) {
      const Tree& tree = tree_[member_[i]];
      for (int k = tree.v; k < tree.v_end; ++k) x[k] = select(tree.coupled, y_[k], x[k]);
      for (int b = tree.first; b < tree.end; ++b) {
        const Joint& joint = model.joint[b];
        const Motion<S> carried = joint.parent < 0
                                      ? spatial::zero_motion<S>()
                                      : to_child(factor_.body[b].X_PB, factor_.acceleration[joint.parent]);
        factor_.acceleration[b] = plus_joint_twist(carried, joint, factor_.columns, static_cast<const S*>(x));
      }
    }
  }

 private:
  struct Tree {
    int first, end, v, v_end;  ///< bodies, and coordinates
    int member;                ///< its number among those that are coupled
    Mask<S> coupled;
  };
  struct Edge {
    int i, j;  ///< trees, the later one first
  };

  static constexpr int body_size = 6;    ///< coordinates of a body that moves freely
  static constexpr int padded_size = 8;  ///< of its columns in memory

  /// In a single world, a row of a block fills one register, or two.
  static constexpr bool rows_in_registers = S::width == 1 && sizeof(Real) == 8;
  static constexpr int row_width =
      2 * simd::register_bytes<typename S::Isa>() >= 64 ? 8 : 2 * simd::register_bytes<typename S::Isa>() / 8;
  using Row = simd::Pack<Real, row_width, typename S::Isa>;
  static constexpr int row_registers = (body_size + row_width - 1) / row_width;

  int size(int member) const { return tree_[member_[member]].v_end - tree_[member_[member]].v; }
  S* block(int i, int j) const { return number_ + offset_[i * members_ + j]; }

  /// Puts the member with the fewest neighbours first, and again when its neighbours have become neighbours
  /// of each other; of several, the first.
  void order_members(Workspace<S> w) {
    using Word = unsigned long long;
    const int m = members_, words = (m + 63) / 64;
    Word* const neighbours = take<Word>(w, static_cast<std::ptrdiff_t>(m) * words);
    int *const degree = take<int>(w, m), *const before = take<int>(w, m);
    bool* const done = take<bool>(w, m);
    const auto row = [&](int i) { return neighbours + static_cast<std::ptrdiff_t>(i) * words; };
    const auto has = [&](int i, int j) { return (row(i)[j / 64] >> (j % 64) & 1) != 0; };
    const auto count = [&](int i) {
      int found = 0;
      for (int k = 0; k < words; ++k) found += __builtin_popcountll(row(i)[k]);
      return found;
    };
    const auto set = [&](int i, int j) { row(i)[j / 64] |= Word{1} << (j % 64); };
    const auto clear = [&](int i, int j) { row(i)[j / 64] &= ~(Word{1} << (j % 64)); };
    for (int k = 0; k < m * words; ++k) neighbours[k] = 0;
    for (int k = 0; k < edges_; ++k) {
      const int i = tree_[edge_[k].i].member, j = tree_[edge_[k].j].member;
      if (i == j) continue;
      set(i, j);
      set(j, i);
    }
    for (int i = 0; i < m; ++i) {
      before[i] = member_[i];
      done[i] = false;
      degree[i] = count(i);
    }
    for (int n = 0; n < m; ++n) {
      int least = -1;
      for (int i = 0; i < m; ++i) {
        if (!done[i] && (least < 0 || degree[i] < degree[least])) least = i;
      }
      done[least] = true;
      member_[n] = before[least];
      for (int i = 0; i < m; ++i) {
        if (!has(least, i)) continue;
        for (int k = 0; k < words; ++k) row(i)[k] |= row(least)[k];
        clear(i, i);
        clear(i, least);
        degree[i] = count(i);
      }
    }
    for (int n = 0; n < m; ++n) tree_[member_[n]].member = n;
  }

  /// The columns of a block of bodies that move freely, each with numbers that fill it up; less than twice
  /// the block's own numbers.
  S* columns_of(int i, int j) const { return columns_ + 2 * offset_[i * members_ + j]; }

  /// Column of block n of row i.
  int column(int i, int n) const { return column_[i * members_ + n]; }

  /// visit(coordinate, S_iᵀ X* F) for the coordinates that move body a.
  template <class Visit>
  void spread(int a, Force<S> F, const Visit& visit) const {
    const ModelOf<S>& model = factor_.model;
    for (int k = a; k >= 0; k = model.joint[k].parent) {
      const Joint& joint = model.joint[k];
      for (int i = 0; i < joint.nv; ++i) visit(joint.v + i, dot(tree::axis(joint, factor_.columns, i), F));
      if (joint.parent >= 0) F = to_parent(factor_.body[k].X_PB, F);
    }
  }

  void add_entry(const Tree& A, const Tree& B, int v_a, int v_b, S number) {
    if (A.member > B.member) {
      block(A.member, B.member)[(v_a - A.v) * (B.v_end - B.v) + v_b - B.v] += number;
    } else if (A.member < B.member) {
      block(B.member, A.member)[(v_b - B.v) * (A.v_end - A.v) + v_a - A.v] += number;
    } else {
      S* const H = block(A.member, A.member);
      const int n = A.v_end - A.v, r = v_a - A.v, c = v_b - A.v;
      H[r * n + c] += number;
      H[c * n + r] += number;
    }
  }

  /// Adds the loaded inertias of a tree to its block.
  void add_inertia(int i, const S* diagonal) {
    const ModelOf<S>& model = factor_.model;
    const Tree& tree = tree_[member_[i]];
    const int n = size(i);
    S* const H = block(i, i);
    for (int b = tree.end - 1; b >= tree.first; --b) {
      const Joint& joint = model.joint[b];
      for (int c = 0; c < joint.nv; ++c) {
        const int column = joint.v + c;
        const Force<S> F = IA_[b] * tree::axis(joint, factor_.columns, c);
        spread(b, F, [&](int row, S number) {
          if (row > column) return;  // of the same joint: once
          S& own = H[(column - tree.v) * n + row - tree.v];
          own += number;
          if (row == column) own += all<S>(model.armature[column]) + diagonal[column];
        });
      }
      if (joint.parent >= 0) IA_[joint.parent] = IA_[joint.parent] + to_parent(factor_.body[b].X_PB, IA_[b]);
    }
  }

  /// y = τ − Σ SᵀpA of a tree.
  void gather(const Tree& tree, const S* tau) {
    const ModelOf<S>& model = factor_.model;
    for (int b = tree.end - 1; b >= tree.first; --b) {
      const Joint& joint = model.joint[b];
      for (int i = 0; i < joint.nv; ++i) {
        y_[joint.v + i] = tau[joint.v + i] - dot(tree::axis(joint, factor_.columns, i), push_[b]);
      }
      if (joint.parent < 0) continue;
      push_[joint.parent] = plus_to_parent(push_[joint.parent], factor_.body[b].X_PB, push_[b]);
    }
  }

  /// H_ij −= L_ik L_jkᵀ.
  void subtract_product(int i, int j, int k) {
    const int rows = size(i), columns = size(j), n = size(k);
    const S *const L = block(i, k), *const R = block(j, k);
    S* const H = block(i, j);
    if (rows == body_size && columns == body_size && n == body_size) {
      if constexpr (rows_in_registers) {
        return subtract_product_of_rows(H, L, columns_of(j, k));
      } else {
        return subtract_product_of_bodies(H, L, R);
      }
    }
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < (i == j ? r + 1 : columns); ++c) {
        S sum = H[r * columns + c];
        for (int m = 0; m < n; ++m) sum = fnma(L[r * n + m], R[c * n + m], sum);
        H[r * columns + c] = sum;
      }
    }
  }

  /// The same of bodies that move freely, a row at a time: its six sums do not wait for each other.
  static void subtract_product_of_bodies(S* H, const S* L, const S* R) {
    for (int r = 0; r < body_size; ++r) {
      S sum[body_size];
      for (int c = 0; c < body_size; ++c) sum[c] = H[body_size * r + c];
      for (int m = 0; m < body_size; ++m) {
        const S factor = L[body_size * r + m];
        for (int c = 0; c < body_size; ++c) sum[c] = fnma(factor, R[body_size * c + m], sum[c]);
      }
      for (int c = 0; c < body_size; ++c) H[body_size * r + c] = sum[c];
    }
  }

  /// The same in a single world, with the rows in registers; `columns` are those of R.
  static void subtract_product_of_rows(S* H, const S* L, const S* columns) {
    const Real* const R = numbers_of(columns);
    Row column[body_size][row_registers];
    for (int m = 0; m < body_size; ++m) {
      for (int p = 0; p < row_registers; ++p)
        column[m][p] = simd::load<Row>(R + padded_size * m + Row::width * p);
    }
    for (int r = 0; r < body_size; ++r) {
      Real* const row = numbers_of(H + body_size * r);
      const Real* const factor = numbers_of(L + body_size * r);
      for (int p = 0; p < row_registers; ++p) {
        const int at = Row::width * p, count = body_size - at < Row::width ? body_size - at : Row::width;
        Row sum = count == Row::width ? simd::load<Row>(row + at) : simd::load_part<Row>(row + at, count);
        for (int m = 0; m < body_size; ++m) sum = fnma(all<Row>(factor[m]), column[m][p], sum);
        if (count == Row::width) {
          simd::store(sum, row + at);
        } else {
          simd::store_part(sum, row + at, count);
        }
      }
    }
  }

  static Real* numbers_of(S* packs) { return reinterpret_cast<Real*>(packs); }
  static const Real* numbers_of(const S* packs) { return reinterpret_cast<const Real*>(packs); }

  /// Stores the columns of a block of bodies that move freely.
  void store_columns(int i, int j) {
    if (!rows_in_registers || size(i) != body_size || size(j) != body_size) return;
    const S* const L = block(i, j);
    S* const to = columns_of(i, j);
    for (int c = 0; c < body_size; ++c) {
      for (int r = 0; r < body_size; ++r) to[padded_size * c + r] = L[body_size * r + c];
      for (int r = body_size; r < padded_size; ++r) to[padded_size * c + r] = all<S>(0);
    }
  }

  /// Lower triangle in place, the inverses of its pivots on the diagonal.
  static void cholesky(S* H, int n) {
    for (int c = 0; c < n; ++c) {
      for (int r = c; r < n; ++r) {
        S sum = H[r * n + c];
        for (int k = 0; k < c; ++k) sum = fnma(H[r * n + k], H[c * n + k], sum);
        H[r * n + c] = sum;
      }
      const S inverse = all<S>(1) / sqrt(H[c * n + c]);
      H[c * n + c] = inverse;
      for (int r = c + 1; r < n; ++r) H[r * n + c] *= inverse;
    }
  }

  /// H ← H L⁻ᵀ.
  static void solve_right(S* H, int rows, const S* L, int n) {
    for (int r = 0; r < rows; ++r) {
      S* const row = H + r * n;
      for (int c = 0; c < n; ++c) {
        S sum = row[c];
        for (int k = 0; k < c; ++k) sum = fnma(row[k], L[c * n + k], sum);
        row[c] = sum * L[c * n + c];
      }
    }
  }

  LoadedFactor<S>& factor_;
  int* tree_of_;  ///< [bodies]
  int trees_ = 0, members_ = 0, edges_ = 0;
  int arranged_ = 0;  ///< edges whose blocks have memory
  Tree* tree_ = nullptr;
  Edge* edge_ = nullptr;
  int *member_ = nullptr, *rows_ = nullptr, *column_ = nullptr;  ///< blocks of every row, and their columns
  std::ptrdiff_t* offset_ = nullptr;                             ///< [members · members]
  S* number_ = nullptr;                                          ///< of the blocks, row-major
  S* columns_ = nullptr;                                         ///< see columns_of
  ArticulatedInertia<S>* IA_ = nullptr;
  Force<S>* push_ = nullptr;
  S* y_ = nullptr;
};

}  // namespace pysim::dynamics
