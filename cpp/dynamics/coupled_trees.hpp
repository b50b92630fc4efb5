// Block Cholesky factor of A + Σ JᵀGJ over trees that loads between their bodies couple.
//
//   H_ii   composite-rigid-body recursion on loaded inertias [Featherstone 2008, table 6.2]
//   H_ij   Σ J_aᵀ K J_b of the loads between bodies of tree i and bodies of tree j
//   L_ij = (H_ij − Σ_k L_ik L_jkᵀ) L_jj⁻ᵀ         k < j ≤ i, over blocks that are not zero
//
// A few trees keep their order, so a world's numbers do not depend on its neighbours in the pack: what
// another world fills in is zero here, and adds zeros. Many trees are stepped world by world, and eliminated
// in an order of minimum degree [Tinney, Walker 1967], which fills in less; still more of them are not
// eliminated, but solved by conjugate gradients (dynamics/block_gradients.hpp). Worlds where a tree is
// coupled to no other one, nor to itself, keep the solution of LoadedFactor.
//
// The file is long, since all of it is one class: order, factor and solution read the same table of blocks.
#pragma once

#include "dynamics/block_gradients.hpp"
#include "dynamics/loaded_factor.hpp"
#include "dynamics/retract.hpp"
#include "simd/partial_load.hpp"
#include "tree/aligned_take.hpp"

namespace pysim::dynamics {

using simd::Mask;
using simd::select;

/// Mechanisms with more trees than that are stepped world by world if they can touch each other.
constexpr int most_trees_in_packs = 16;

/// Worlds with more coupled trees than that are solved by conjugate gradients.
constexpr int most_trees_factored = 200;

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

  /// Trees of a mechanism, not coupled yet; `most` bounds the pairs of bodies that will be. Only solutions
  /// that are not `exact` may be those of conjugate gradients.
  CoupledTrees(LoadedFactor<S>& factor, int most, bool exact, Workspace<S>& w)
      : factor_(factor), is_exact_(exact), tree_of_(take<int>(w, most > 0 ? factor.model.bodies : 0)) {
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
    is_idle_ = true;
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
    const int bodies = factor_.model.bodies;
    IA_ = take<ArticulatedInertia<S>>(w, bodies);
    push_ = take<Force<S>>(w, bodies);
    y_ = take<S>(w, factor_.model.nv);
    if constexpr (is_single) {
      iterates_ = !is_exact_ && members_ > most_trees_factored;
      if (iterates_) return arrange_iterations(w);
    }
    if (trees_ > most_trees_in_packs) order_members(w);
    const int m = members_;
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
    place_blocks(filled, w);
    number_ = take<S>(w, numbers_);
  }

  /// Whether the solutions are those of conjugate gradients.
  bool iterates() const { return !is_idle_ && iterates_; }

  /// Arranges the trees anew, to be solved by a factor from now on.
  void demand_factor(Workspace<S> w) {
    is_exact_ = true;
    arranged_ = 0;
    arrange(w);
  }

  /// Whether no tree is coupled in a world that is solved.
  bool empty() const { return is_idle_; }

  /// Whether body b's solution is replaced in all worlds that are solved.
  bool replaces(int b) const { return !is_idle_ && all(tree_[tree_of_[b]].coupled | !solved_); }

  /// Takes over loads and forces of LoadedFactor before it is factored, and forgets those between bodies.
  /// Solutions are wanted in the `solved` worlds alone.
  void begin(Mask<S> solved) {
    solved_ = solved;
    is_idle_ = true;
    for (int i = 0; i < members_; ++i) is_idle_ = is_idle_ && none(tree_[member_[i]].coupled & solved);
    if (is_idle_) return;
    for (int i = 0; i < members_; ++i) {
      const Tree& tree = tree_[member_[i]];
      for (int b = tree.first; b < tree.end; ++b) {
        IA_[b] = factor_.IA[b];
        push_[b] = factor_.pA[b];
      }
    }
    if constexpr (is_single) {
      if (iterates_) return gradients_.clear();
    }
    for (int k = 0; k < numbers_; ++k) number_[k] = all<S>(0);
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
    if (&A != &B && is_free(A) && is_free(B)) return add_to_bodies(A, B, K);
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

  /// Factors; `diagonal` (nv) is added. `base` (nv) is the diagonal without loads.
  void factor(const S* diagonal, const S* base) {
    if constexpr (is_single) {
      if (iterates_) return factor_iterations(diagonal, base);
    }
    const Product* product = product_;
    for (int i = 0; i < members_; ++i) {
      add_inertia(i, diagonal, block(i, i));
      for (const Block* B = block_ + row_[i]; B != block_ + row_[i + 1]; ++B) {
        const int j = B->column;
        S* const H = number_ + B->offset;
        const S* const L = i == j ? nullptr : block(j, j);
        if constexpr (columns_in_registers) {
          if (size(i) == body_size && size(j) == body_size) {
            reduce_in_registers(H, product, B->products, L);
            product += B->products;
            if (i == j) cholesky(H, body_size, stride(i));
            continue;
          }
        }
        for (const Product* const end = product + B->products; product != end; ++product) {
          subtract_product(H, i, j, *product);
        }
        if (i == j) {
          cholesky(H, size(i), stride(i));
        } else {
          solve_right(H, size(i), stride(i), L, size(j), stride(j));
        }
      }
    }
  }

  /// Replaces x (nv) and the bodies' accelerations in the worlds where a tree is coupled, by the solution
  /// under τ (nv) and the forces that `begin` took over. Returns whether it was found.
  bool solve(const S* tau, S* x) {
    if constexpr (is_single) {
      if (iterates_) return iterate(tau, x);
    }
    for (int i = 0; i < members_; ++i) {
      gather(tree_[member_[i]], tau);
      subtract_solved(i);
      const int n = size(i), rows = stride(i);
      S* const y = y_ + tree_[member_[i]].v;
      const S* const L = block(i, i);
      for (int c = 0; c < n; ++c) {
        y[c] *= L[c * rows + c];
        for (int r = c + 1; r < n; ++r) y[r] = fnma(L[c * rows + r], y[c], y[r]);
      }
    }
    for (int i = members_ - 1; i >= 0; --i) {
      const int n = size(i), rows = stride(i);
      S* const y = y_ + tree_[member_[i]].v;
      const S* const L = block(i, i);
      for (int c = n - 1; c >= 0; --c) {
        S sum = y[c];
        for (int r = n - 1; r > c; --r) sum = fnma(L[c * rows + r], y[r], sum);
        y[c] = sum * L[c * rows + c];
      }
      for (const Block* B = block_ + row_[i]; B->column < i; ++B) {
        const S* const below = number_ + B->offset;
        S* const z = y_ + tree_[member_[B->column]].v;
        for (int c = 0; c < size(B->column); ++c) {
          S sum = z[c];
          for (int r = 0; r < n; ++r) sum = fnma(below[c * rows + r], y[r], sum);
          z[c] = sum;
        }
      }
    }
    for (int i = 0; i < members_; ++i) {
      const Tree& tree = tree_[member_[i]];
      for (int k = tree.v; k < tree.v_end; ++k) x[k] = select(tree.coupled, y_[k], x[k]);
      spread_to_bodies(tree, x);
    }
    return true;
  }

  /// Adds to the solution x of conjugate gradients what their residual moves the trees without loads by: A x'
  /// are the forces that act at x.
  void complete(S* x) {
    if constexpr (is_single) {
      for (int i = 0; i < members_; ++i) copy_right_side(i);
      gradients_.complete();
      copy_solution(x);
    }
  }

 private:
  /// Of the residual of conjugate gradients. Newton's method converges linearly at this rate, or faster.
  static constexpr Real iteration_tolerance = Real(1e-5);

  struct Tree {
    int first, end, v, v_end;  ///< bodies, and coordinates
    int member;                ///< its number among those that are coupled
    Mask<S> coupled;
  };
  struct Edge {
    int i, j;  ///< trees, the later one first
  };
  struct Block {
    int column, offset, products;  ///< that are subtracted from it
  };
  struct Product {
    int left, right, columns;  ///< offsets of L_ik and L_jk, and size of k
  };

  static constexpr bool is_single = S::width == 1;
  static constexpr int body_size = 6;    ///< coordinates of a body that moves freely
  static constexpr int padded_size = 8;  ///< of its columns in a single world

  /// In a single world, a column of a block is in one register or more.
  static constexpr bool columns_in_registers = is_single && sizeof(Real) == 8;
  static constexpr int lanes = simd::register_bytes<typename S::Isa>() / 8;
  using Column = simd::Pack<Real, lanes, typename S::Isa>;
  static constexpr int column_registers = (body_size + lanes - 1) / lanes;

  int size(int member) const { return tree_[member_[member]].v_end - tree_[member_[member]].v; }
  S* block(int i, int j) const { return number_ + offset_[i * members_ + j]; }

  /// Numbers from one column of a member's blocks to the next.
  int stride(int member) const { return stride_of(size(member)); }
  static constexpr int stride_of(int rows) {
    return columns_in_registers && rows == body_size ? padded_size : rows;
  }

  /// A tree of one body that moves freely.
  bool is_free(const Tree& tree) const {
    return tree.end == tree.first + 1 && factor_.model.joint[tree.first].shape == tree::Shape::free;
  }

  void arrange_iterations(Workspace<S>& w) {
    const auto pair = [this](int n, int& i, int& j) {
      i = tree_[edge_[n].i].member;
      j = tree_[edge_[n].j].member;
    };
    gradients_.arrange(members_, [this](int i) { return size(i); }, edges_, pair, w);
  }

  void factor_iterations(const S* diagonal, const S* base) {
    for (int i = 0; i < members_; ++i) add_inertia(i, diagonal, gradients_.block(i, i));
    gradients_.factor([&](int i, S* to) {
      const Tree& tree = tree_[member_[i]];
      for (int b = tree.first; b < tree.end; ++b) {
        IA_[b] = articulated(body_inertia<S>(factor_.model, b));
      }
      add_inertia(i, base, to);
    });
  }

  bool iterate(const S* tau, S* x) {
    for (int i = 0; i < members_; ++i) {
      gather(tree_[member_[i]], tau);
      copy_right_side(i);
    }
    const bool found = gradients_.solve(iteration_tolerance);
    copy_solution(x);
    return found;
  }

  void copy_right_side(int i) {
    simd::copy_each<S>(y_ + tree_[member_[i]].v, size(i), gradients_.right_side(i));
  }

  void copy_solution(S* x) {
    for (int i = 0; i < members_; ++i) {
      const Tree& tree = tree_[member_[i]];
      simd::copy_each<S>(gradients_.solution(i), size(i), x + tree.v);
      spread_to_bodies(tree, x);
    }
  }

  /// Accelerations of a tree's bodies at x (nv).
  void spread_to_bodies(const Tree& tree, const S* x) {
    for (int b = tree.first; b < tree.end; ++b) {
      const Joint& joint = factor_.model.joint[b];
      const Motion<S> carried = joint.parent < 0
                                    ? spatial::zero_motion<S>()
                                    : to_child(factor_.body[b].X_PB, factor_.acceleration[joint.parent]);
      factor_.acceleration[b] = plus_joint_twist(carried, joint, factor_.columns, x);
    }
  }

  /// Lists the blocks that are filled, row by row, and the products that are subtracted from each.
  void place_blocks(const bool* filled, Workspace<S>& w) {
    const int m = members_;
    int blocks = 0, products = 0;
    for (int k = 0; k < m * m; ++k) blocks += filled[k] ? 1 : 0;
    row_ = take<int>(w, m + 1);
    block_ = take<Block>(w, blocks);
    offset_ = take<int>(w, static_cast<std::ptrdiff_t>(m) * m);
    blocks = numbers_ = 0;
    const auto each_product = [&](int i, int j, const auto& visit) {
      for (const Block* L = block_ + row_[j]; L->column < j; ++L) {
        if (filled[i * m + L->column]) visit(L->column);
      }
    };
    for (int i = 0; i < m; ++i) {
      row_[i] = blocks;
      for (int j = 0; j <= i; ++j) {
        if (!filled[i * m + j]) continue;
        Block& B = block_[blocks++];
        B = {j, numbers_, 0};
        offset_[i * m + j] = numbers_;
        numbers_ += stride(i) * size(j);
        each_product(i, j, [&](int) { ++B.products; });
        products += B.products;
      }
    }
    row_[m] = blocks;
    product_ = take<Product>(w, products);
    products = 0;
    for (int i = 0; i < m; ++i) {
      for (int n = row_[i]; n < row_[i + 1]; ++n) {
        const int j = block_[n].column;
        each_product(
            i, j, [&](int k) { product_[products++] = {offset_[i * m + k], offset_[j * m + k], size(k)}; });
      }
    }
  }

  /// Puts the member with the fewest neighbours first, and again when its neighbours have become neighbours
  /// of each other; of several, the first.
  void order_members(Workspace<S> w) {
    using Word = unsigned long long;
    const int m = members_, words = (m + 63) / 64;
    Word* const neighbours = tree::take_aligned<Word>(w, static_cast<std::ptrdiff_t>(m) * words);
    int *const degree = take<int>(w, m), *const before = take<int>(w, m);
    bool* const done = take<bool>(w, m);
    const auto row = [&](int i) { return neighbours + static_cast<std::ptrdiff_t>(i) * words; };
    const auto has = [&](int i, int j) { return (row(i)[j / 64] >> (j % 64) & 1) != 0; };
    const auto count = [&](int i) {
      int found = 0;
      for (int k = 0; k < words; ++k) found += simd::bit_count(row(i)[k]);
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
    const int r = v_a - A.v, c = v_b - B.v;
    if (is_single && iterates_) {
      gradients_.block(A.member, B.member)[c * stride(A.member) + r] += number;
      gradients_.block(B.member, A.member)[r * stride(B.member) + c] += number;
      return;
    }
    if (A.member >= B.member) block(A.member, B.member)[c * stride(A.member) + r] += number;
    if (A.member <= B.member) block(B.member, A.member)[r * stride(B.member) + c] += number;
  }

  /// The same of two bodies that move freely, whose axes are those of twists.
  void add_to_bodies(const Tree& A, const Tree& B, const BodyCoupling<S>& K) {
    if (is_single && iterates_) {
      constexpr int rows = stride_of(body_size);
      S *const H = gradients_.block(A.member, B.member), *const below = gradients_.block(B.member, A.member);
      for (int c = 0; c < body_size; ++c) {
        S numbers[body_size];
        store_numbers(K.column[c], numbers);
        for (int r = 0; r < body_size; ++r) {
          H[rows * c + r] += numbers[r];
          below[rows * r + c] += numbers[r];
        }
      }
      return;
    }
    const bool after = A.member > B.member;
    S* const H = after ? block(A.member, B.member) : block(B.member, A.member);
    const int by_a = after ? 1 : stride_of(body_size), by_b = after ? stride_of(body_size) : 1;
    for (int c = 0; c < body_size; ++c) {
      S numbers[body_size];
      store_numbers(K.column[c], numbers);
      for (int r = 0; r < body_size; ++r) H[by_a * r + by_b * c] += numbers[r];
    }
  }

  /// Adds the inertias IA of a tree to its block H.
  void add_inertia(int i, const S* diagonal, S* H) {
    const ModelOf<S>& model = factor_.model;
    const Tree& tree = tree_[member_[i]];
    const int rows = stride(i);
    if (is_free(tree)) {
      for (int c = 0; c < body_size; ++c) {
        S column[body_size];
        store_numbers(IA_[tree.first] * tree::axis(model.joint[tree.first], factor_.columns, c), column);
        for (int r = c; r < body_size; ++r) H[c * rows + r] += column[r];
        H[c * rows + c] += all<S>(model.armature[tree.v + c]) + diagonal[tree.v + c];
      }
      add_beside_diagonal(tree, tree.first, diagonal, rows, 1, H);
      return;
    }
    for (int b = tree.end - 1; b >= tree.first; --b) {
      const Joint& joint = model.joint[b];
      for (int c = 0; c < joint.nv; ++c) {
        const int column = joint.v + c;
        const Force<S> F = IA_[b] * tree::axis(joint, factor_.columns, c);
        spread(b, F, [&](int row, S number) {
          if (row > column) return;  // of the same joint: once
          S& own = H[(row - tree.v) * rows + column - tree.v];
          own += number;
          if (row == column) own += all<S>(model.armature[column]) + diagonal[column];
        });
      }
      add_beside_diagonal(tree, b, diagonal, 1, rows, H);
      if (joint.parent >= 0) IA_[joint.parent] = IA_[joint.parent] + to_parent(factor_.body[b].X_PB, IA_[b]);
    }
  }

  /// Adds the entries of E of the joint of body b, i < j, to H at `of_i` i + `of_j` j.
  void add_beside_diagonal(const Tree& tree, int b, const S* E, int of_i, int of_j, S* H) {
    const ModelOf<S>& model = factor_.model;
    each_sprung_triple(model, b, [&](int k) {
      for (int j = 1; j < 3; ++j) {
        for (int i = 0; i < j; ++i) {
          H[(k + i - tree.v) * of_i + (k + j - tree.v) * of_j] += E[model.nv + beside_diagonal(k, i, j)];
        }
      }
    });
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

  /// y_i −= Σ L_ij y_j.
  void subtract_solved(int i) {
    S* const y = y_ + tree_[member_[i]].v;
    const Block* const first = block_ + row_[i];
    if constexpr (columns_in_registers) {
      if (size(i) == body_size) return subtract_solved_in_registers(i, numbers_of(y));
    }
    const int n = size(i), rows = stride(i);
    for (const Block* B = first; B->column < i; ++B) {
      const S *const L = number_ + B->offset, *const z = y_ + tree_[member_[B->column]].v;
      for (int c = 0; c < size(B->column); ++c) {
        for (int r = 0; r < n; ++r) y[r] = fnma(L[c * rows + r], z[c], y[r]);
      }
    }
  }

  void subtract_solved_in_registers(int i, Real* y) const {
    Column sum[column_registers];
#pragma GCC unroll 3
    for (int p = 0; p < column_registers; ++p) sum[p] = simd::load_part<Column>(y + lanes * p, numbers_in(p));
    for (const Block* B = block_ + row_[i]; B->column < i; ++B) {
      const Real* const L = numbers_of(number_ + B->offset);
      const Real* const z = numbers_of(y_ + tree_[member_[B->column]].v);
      for (int c = 0; c < size(B->column); ++c) {
#pragma GCC unroll 3
        for (int p = 0; p < column_registers; ++p) {
          sum[p] = fnma(all<Column>(z[c]), simd::load<Column>(L + padded_size * c + lanes * p), sum[p]);
        }
      }
    }
#pragma GCC unroll 3
    for (int p = 0; p < column_registers; ++p) {
      if (numbers_in(p) == lanes) {
        simd::store(sum[p], y + lanes * p);
      } else {
        simd::store_part(sum[p], y + lanes * p, numbers_in(p));
      }
    }
  }

  /// Numbers of a body in register p of a column.
  static constexpr int numbers_in(int p) {
    return body_size - lanes * p < lanes ? body_size - lanes * p : lanes;
  }

  /// H_ij −= L_ik L_jkᵀ.
  void subtract_product(S* H, int i, int j, const Product& P) const {
    const int rows = size(i), columns = size(j), left = stride(i), right = stride(j);
    const S *const L = number_ + P.left, *const R = number_ + P.right;
    if (rows == body_size && columns == body_size && P.columns == body_size) {
      return subtract_product_of_bodies(H, L, R);
    }
    for (int c = 0; c < columns; ++c) {
      for (int r = i == j ? c : 0; r < rows; ++r) {
        S sum = H[c * left + r];
        for (int m = 0; m < P.columns; ++m) sum = fnma(L[m * left + r], R[m * right + c], sum);
        H[c * left + r] = sum;
      }
    }
  }

  /// The same of bodies that move freely, a column at a time: its six sums do not wait for each other.
  static void subtract_product_of_bodies(S* H, const S* L, const S* R) {
    for (int c = 0; c < body_size; ++c) {
      S sum[body_size];
      for (int r = 0; r < body_size; ++r) sum[r] = H[body_size * c + r];
      for (int m = 0; m < body_size; ++m) {
        const S factor = R[body_size * m + c];
        for (int r = 0; r < body_size; ++r) sum[r] = fnma(factor, L[body_size * m + r], sum[r]);
      }
      for (int r = 0; r < body_size; ++r) H[body_size * c + r] = sum[r];
    }
  }

  /// All products of a block of two bodies, and L_jj⁻ᵀ unless it is null, in a single world with the columns
  /// of the block in registers.
  void reduce_in_registers(S* H, const Product* product, int products, const S* L_jj) const {
    Column column[body_size][column_registers];
    Real* const at = numbers_of(H);
#pragma GCC unroll 6
    for (int c = 0; c < body_size; ++c) {
#pragma GCC unroll 3
      for (int p = 0; p < column_registers; ++p) {
        column[c][p] = simd::load<Column>(at + padded_size * c + lanes * p);
      }
    }
    for (const Product* P = product; P != product + products; ++P) {
      const Real *const L = numbers_of(number_ + P->left), *const R = numbers_of(number_ + P->right);
      for (int m = 0; m < P->columns; ++m) {
#pragma GCC unroll 3
        for (int p = 0; p < column_registers; ++p) {
          const Column left = -simd::load<Column>(L + padded_size * m + lanes * p);
#pragma GCC unroll 6
          for (int c = 0; c < body_size; ++c) {
            column[c][p] = fma(all<Column>(R[padded_size * m + c]), left, column[c][p]);
          }
        }
      }
    }
    const Real* const L = numbers_of(L_jj);
#pragma GCC unroll 6
    for (int c = 0; c < body_size; ++c) {
#pragma GCC unroll 3
      for (int p = 0; p < column_registers; ++p) {
        if (L != nullptr) {
#pragma GCC unroll 6
          for (int k = 0; k < c; ++k) {
            column[c][p] = fnma(all<Column>(L[padded_size * k + c]), column[k][p], column[c][p]);
          }
          column[c][p] = all<Column>(L[padded_size * c + c]) * column[c][p];
        }
        simd::store(column[c][p], at + padded_size * c + lanes * p);
      }
    }
  }

  static void store_numbers(const Force<S>& F, S* to) {
    store(F.f, to);
    store(F.t, to + 3);
  }
  static Real* numbers_of(S* packs) { return reinterpret_cast<Real*>(packs); }
  static const Real* numbers_of(const S* packs) { return reinterpret_cast<const Real*>(packs); }

  /// Lower triangle in place, the inverses of its pivots on the diagonal.
  static void cholesky(S* H, int n, int rows) {
    for (int c = 0; c < n; ++c) {
      for (int r = c; r < n; ++r) {
        S sum = H[c * rows + r];
        for (int k = 0; k < c; ++k) sum = fnma(H[k * rows + r], H[k * rows + c], sum);
        H[c * rows + r] = sum;
      }
      const S inverse = all<S>(1) / sqrt(H[c * rows + c]);
      H[c * rows + c] = inverse;
      for (int r = c + 1; r < n; ++r) H[c * rows + r] *= inverse;
    }
  }

  /// H ← H L⁻ᵀ, of columns H with `left` numbers and columns of L with `right`.
  static void solve_right(S* H, int rows, int left, const S* L, int n, int right) {
    for (int c = 0; c < n; ++c) {
      for (int r = 0; r < rows; ++r) {
        S sum = H[c * left + r];
        for (int k = 0; k < c; ++k) sum = fnma(H[k * left + r], L[k * right + c], sum);
        H[c * left + r] = sum * L[c * right + c];
      }
    }
  }

  LoadedFactor<S>& factor_;
  bool is_exact_, iterates_ = false;
  BlockGradients<S> gradients_;
  int* tree_of_;  ///< [bodies]
  int trees_ = 0, members_ = 0, edges_ = 0;
  bool is_idle_ = true;
  Mask<S> solved_ = simd::everywhere<S>();
  int arranged_ = 0;  ///< edges whose blocks have memory
  Tree* tree_ = nullptr;
  Edge* edge_ = nullptr;
  int numbers_ = 0;
  int* member_ = nullptr;
  int* row_ = nullptr;          ///< [members + 1] first block of a row; its last one is on the diagonal
  Block* block_ = nullptr;      ///< by rows
  Product* product_ = nullptr;  ///< of the blocks, in their order
  int* offset_ = nullptr;       ///< [members · members]
  S* number_ = nullptr;         ///< of the blocks, column-major
  ArticulatedInertia<S>* IA_ = nullptr;
  Force<S>* push_ = nullptr;
  S* y_ = nullptr;
};

}  // namespace pysim::dynamics
