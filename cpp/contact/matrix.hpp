// Matrix of an iteration of Newton's method, A + Σ JᵀGJ, and the solution under Σ Jᵀ push.
//
// It is in one of two forms, as A is (dynamics/step_matrix.hpp):
//
//     rows        A + Σ JᵀGJ in joint space, from the columns of the points; a load between two branches
//     hangs
//                 one of them below the other
//     recursion   loads on one body lie in its articulated inertia, those between two bodies couple their
//                 trees in blocks (dynamics/coupled_trees.hpp)
//
// Rows where trees are not deep; the recursion where they are, and for many bodies in one world.
// Loops, couplings and mimic joints are rows K v = 0; the solution is projected onto them
// (constraints/velocity_rows.hpp).
#pragma once

#include "constraints/velocity_rows.hpp"
#include "contact/active_pairs.hpp"
#include "dynamics/coupled_trees.hpp"
#include "dynamics/loaded_rows.hpp"
#include "dynamics/step_matrix.hpp"

namespace pysim::contact {

using dynamics::LoadedFactor;
using dynamics::StepMatrix;
using simd::all;
using simd::fma;
using simd::Mask;
using simd::select;
using spatial::Force;
using spatial::Motion;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// Whether matrices of steps with these contacts are in rows.
template <class S>
bool rows_suit(const ModelOf<S>& model, const Contacts<typename S::Parameter>& contacts) {
  int trees = 0;
  for (int b = 0; b < model.bodies; ++b) trees += model.joint[b].parent < 0 ? 1 : 0;
  if (contacts.moving_pairs > 0 && trees > dynamics::most_trees_in_packs) return false;
  return dynamics::JointSpace<S>::suits(model);
}

template <class S>
class ContactMatrix {
 public:
  using Parameter = typename S::Parameter;
  using Pair = ContactPair<Parameter>;
  using Vec3 = spatial::Vec3<S>;
  using Sym3 = spatial::Sym3<S>;

  ContactMatrix(StepMatrix<S>& A,
                constraints::VelocityRows<S>& rows,
                const Contacts<Parameter>& contacts,
                const ActivePairs<S>& pairs,
                Workspace<S>& w)
      : trees(A.recursion, A.in_rows ? 0 : contacts.moving_pairs, !rows.empty(), w),
        plain_(A.rows, A.in_rows && !is_exact(contacts), contacts.moving_pairs > 0, w),
        exact_(A.rows, A.in_rows && is_exact(contacts), contacts.moving_pairs > 0, w),
        A_(A),
        model_(A.recursion.model),
        rows_(rows),
        pairs_(pairs),
        in_rows_(A.in_rows),
        is_exact_(is_exact(contacts)),
        couples_bodies_(contacts.moving_pairs > 0),
        by_twists_(!in_rows_ || contacts.points > 2 * model_.bodies),
        delta_(take<S>(w, model_.nv)),
        rhs_(take<S>(w, model_.nv)),
        diagonal_(take<S>(w, dynamics::step_block_numbers(model_.nv))),
        couples_(take<bool>(w, contacts.pairs)) {
    if (!in_rows_) return;
    longest_ = couples_bodies_ ? 2 * A.rows.longest_path() : A.rows.longest_path();
    if (longest_ > model_.nv) longest_ = model_.nv;
    path_ = take<int>(w, std::ptrdiff_t{contacts.pairs} * longest_);
    count_ = take<int>(w, contacts.pairs);
    last_common_ = take<int>(w, contacts.pairs);
    points_ = contacts.points;
    const std::ptrdiff_t columns = std::ptrdiff_t{points_ + contacts.turning_points} * longest_;
    J_ = take<Vec3>(w, columns);
    exact_J_ = tree::take_aligned<ExactVec3>(w, is_exact_ ? columns : 0);
    has_columns_ = take<bool>(w, contacts.points);
  }

  dynamics::CoupledTrees<S> trees;

  /// Begins a solution at Δ = 0.
  void start() {
    rows_.begin();
    if (in_rows_) return pairs_.each([&](int k, const Pair& pair) { place_path(k, pair); });
    trees.uncouple();
    pairs_.each([&](int k, const Pair&) { couples_[k] = false; });
  }

  /// Goes on to Δ as far as `mix` does.
  template <class Mix>
  void advance(const Mix& mix) const {
    rows_.advance(mix);
  }

  /// Whether loads may act between bodies.
  bool couples_bodies() const { return couples_bodies_; }

  /// Begins an iteration with A, which has `base` beside M, see dynamics/step_blocks.hpp.
  void begin(const S* base) {
    base_ = base;
    if (in_rows_) with_rows([](auto& H) { H.unhang(); });
  }

  /// Loads between the bodies of the pair at place k follow in these worlds.
  void couple(int k, const Pair& pair, Mask<S> yielding) {
    if (in_rows_) return with_rows([&](auto& H) { H.hang(pair.a, pair.b); });
    trees.couple(pair.a, pair.b, yielding, couples_[k]);
    couples_[k] = true;
  }

  /// Begins to add loads and pushes.
  void begin_loads() {
    if (in_rows_) return with_rows([](auto& H) { H.begin(); });
    for (int i = 0; i < model_.nv; ++i) {
      diagonal_[i] = base_[i];
      diagonal_[model_.nv + i] = base_[model_.nv + i];
      rhs_[i] = all<S>(0);
    }
    A_.recursion.unload();
    for (int b = 0; b < model_.bodies; ++b) A_.recursion.pA[b] = spatial::zero_force<S>();
  }

  /// Adds a push f of point i of the pair at place k, at p in body b and p_A in body a.
  PYSIM_INLINE void push(int k, const Pair& pair, int i, const Vec3& p, const Vec3& p_A, const Vec3& f) {
    if (in_rows_) {
      columns(k, pair, i, p, p_A);
      return with_columns(
          pair, place_of(k, i), [&](auto& H, const auto* J) { H.push(path(k), count_[k], J, f); });
    }
    push(pair.b, p, f);
    if (pair.a >= 0) push(pair.a, p_A, -(pairs_.R_AB[k] * f));
  }

  /// Adds [1 | −p×]ᵀ G [1 | −p×] there, after its push; not the blocks between bodies of the recursion.
  PYSIM_INLINE void add(int k, const Pair& pair, int i, const Vec3& p, const Vec3& p_A, const Sym3& G) {
    if (in_rows_) {
      return with_columns(
          pair, place_of(k, i), [&](auto& H, const auto* J) { H.add(path(k), count_[k], pair.a < 0, J, G); });
    }
    put(pair.b, p, G);
    if (pair.a >= 0) put(pair.a, p_A, rotate(pairs_.R_AB[k], G));
  }

  /// Adds a push t and a load G on the rotation of the bodies of a pair, of b relative to a.
  PYSIM_INLINE void twist(int k, const Pair& pair, const Vec3& t, const Sym3& G) {
    if (in_rows_) {
      return with_columns(pair, place_of_spins(k), [&](auto& H, const auto* J) {
        H.push(path(k), count_[k], J, t);
        H.add(path(k), count_[k], pair.a < 0, J, G);
      });
    }
    twist(pair.b, t, G);
    if (pair.a >= 0) twist(pair.a, -(pairs_.R_AB[k] * t), rotate(pairs_.R_AB[k], G));
  }

  /// Adds a load and a push on coordinate i.
  void add(int i, S slope, S push) {
    if (in_rows_) return with_rows([&](auto& H) { H.add(i, slope, push); });
    rhs_[i] += push;
    diagonal_[i] += slope;
  }

  /// Solves for Δ or its correction, in the worlds that are `left`. block(k) is the block between the bodies
  /// of the pair at place k.
  template <class Block>
  void solve(Mask<S> left, const Block& block, Workspace<S> w) {
    if (in_rows_) {
      with_rows([this](auto& H) {
        H.factor_and_solve();
        H.copy_solution(delta_);
      });
    } else {
      const auto add_blocks = [&] {
        pairs_.each([&](int k, const Pair& pair) {
          if (pair.a >= 0 && couples_[k]) trees.add(pair.a, pair.b, block(k));
        });
      };
      solve_by_recursion(left, add_blocks, w);
    }
    if (!rows_.empty()) hold_rows();
    if (in_rows_ && by_twists_) A_.recursion.spread(static_cast<const S*>(delta_));
  }

  /// Whether γ' is to be taken from the solution before it is completed.
  bool iterates() const { return trees.iterates(); }

  void complete() { trees.complete(delta_); }

  S* delta() const { return delta_; }  ///< (nv)

  /// Change of velocities of the pair at a place by the solution, of b relative to a on the axes of b.
  struct PairChange {
    ContactMatrix& matrix;
    int k;
    const Pair& pair;

    /// Of point i, at p in body b and p_A in body a.
    PYSIM_INLINE Vec3 at(int i, const Vec3& p, const Vec3& p_A) const {
      if (!matrix.by_twists_) {
        matrix.columns(k, pair, i, p, p_A);
        return matrix.change_along(k, pair, matrix.place_of(k, i));
      }
      const Motion<S>& V = matrix.twist_of(pair.b);
      const Vec3 change = cross_add(V.w, p, V.v);
      if (pair.a < 0) return change;
      const Motion<S>& V_A = matrix.twist_of(pair.a);
      return change - transpose_times(matrix.pairs_.R_AB[k], cross_add(V_A.w, p_A, V_A.v));
    }

    PYSIM_INLINE Vec3 turning() const {
      if (!matrix.by_twists_) return matrix.change_along(k, pair, matrix.place_of_spins(k));
      const Vec3& w = matrix.twist_of(pair.b).w;
      if (pair.a < 0) return w;
      return w - transpose_times(matrix.pairs_.R_AB[k], matrix.twist_of(pair.a).w);
    }
  };

  PairChange change(int k, const Pair& pair) { return {*this, k, pair}; }

 private:
  // Rows.

  using Exact = dynamics::LoadedRows<S, simd::InDouble<S>>;
  using ExactVec3 = spatial::Vec3<simd::InDouble<S>>;
  using Plain = dynamics::LoadedRows<S, S>;

  /// Whether numbers do not carry loads between bodies.
  static bool is_exact(const Contacts<Parameter>& contacts) {
    return sizeof(typename S::Real) < sizeof(double) && contacts.stiff;
  }

  /// use(H).
  template <class Use>
  PYSIM_INLINE void with_rows(const Use& use) {
    if constexpr (sizeof(typename S::Real) < sizeof(double)) {
      if (is_exact_) return use(exact_);
    }
    use(plain_);
  }

  const int* path(int k) const { return path_ + std::ptrdiff_t{k} * longest_; }

  /// Places of the columns of point i, and of the angular velocities of a pair.
  std::ptrdiff_t place_of(int k, int i) const { return std::ptrdiff_t{pairs_.first[k] + i} * longest_; }
  std::ptrdiff_t place_of_spins(int k) const {
    return std::ptrdiff_t{points_ + pairs_.first_turning[k]} * longest_;
  }

  /// use(H, J): columns of a pair of two bodies are of the numbers of H.
  template <class Use>
  PYSIM_INLINE void with_columns(const Pair& pair, std::ptrdiff_t place, const Use& use) {
    if constexpr (sizeof(typename S::Real) < sizeof(double)) {
      if (is_exact_ && pair.a >= 0) return use(exact_, static_cast<const ExactVec3*>(exact_J_ + place));
    }
    with_rows([&](auto& H) { use(H, static_cast<const Vec3*>(J_ + place)); });
  }

  /// Leaves columns (k's path) that have been placed as numbers of H.
  void convert(int k, const Pair& pair, std::ptrdiff_t place) const {
    if (is_exact_ && pair.a >= 0) Exact::convert(J_ + place, count_[k], exact_J_ + place);
  }

  /// Coordinates that move the bodies of a pair relative to each other, ascending: those behind the last one
  /// that moves both. Of the branches of a and b, one is later.
  struct Branches {
    int of_a, of_b, at_a, at_b;  ///< numbers of coordinates, and places in the path
  };

  Branches branches(int k, const Pair& pair, int* path) const {
    const auto& rows = A_.rows;
    const int common = last_common_[k];
    const int of_b = rows.path(pair.b, common, path);
    if (pair.a < 0) return {0, of_b, of_b, 0};
    const int of_a = rows.path(pair.a, common, path + of_b);
    if (of_a == 0 || of_b == 0 || path[0] < path[of_b]) return {of_a, of_b, of_b, 0};
    rows.path(pair.a, common, path);
    rows.path(pair.b, common, path + of_a);
    return {of_a, of_b, 0, of_a};
  }

  void place_path(int k, const Pair& pair) {
    last_common_[k] = pair.a < 0 ? -1 : A_.rows.last_common(pair.a, pair.b);
    int* const path = path_ + std::ptrdiff_t{k} * longest_;
    const Branches B = branches(k, pair, path);
    count_[k] = B.of_a + B.of_b;
    for (int i = 0; i < pairs_.used[k]; ++i) has_columns_[pairs_.first[k] + i] = false;
    if (pair.turning < 0) return;
    Vec3* const J = J_ + place_of_spins(k);
    const S e = all<S>(1);
    A_.rows.spins(pair.b, e, path + B.at_b, B.of_b, J + B.at_b);
    A_.rows.spins(pair.b, -e, path + B.at_a, B.of_a, J + B.at_a);
    convert(k, pair, place_of_spins(k));
  }

  /// Places the columns of a point by the path of its pair, where they are first needed in a solution.
  PYSIM_INLINE void columns(int k, const Pair& pair, int i, const Vec3& p, const Vec3& p_A) {
    bool& is_there = has_columns_[pairs_.first[k] + i];
    if (!is_there) place_columns(k, pair, p, p_A, place_of(k, i));
    is_there = true;
  }

  PYSIM_NOINLINE void place_columns(
      int k, const Pair& pair, const Vec3& p, const Vec3& p_A, std::ptrdiff_t place) {
    const Branches B = branches(k, pair, path_ + std::ptrdiff_t{k} * longest_);
    Vec3* const J = J_ + place;
    const S e = all<S>(1);
    A_.rows.columns(pair.b, pair.b, p, e, B.of_b, J + B.at_b);
    if (B.of_a > 0) A_.rows.columns(pair.a, pair.b, p_A, -e, B.of_a, J + B.at_a);
    convert(k, pair, place);
  }

  /// Of the solution, or of its projection onto loops.
  PYSIM_INLINE Vec3 change_along(int k, const Pair& pair, std::ptrdiff_t place) {
    if constexpr (sizeof(typename S::Real) < sizeof(double)) {
      if (is_exact_ && pair.a >= 0 && rows_.empty()) {
        return exact_.times_solution(path(k), count_[k], exact_J_ + place);
      }
    }
    Vec3 sum = spatial::zero3<S>();
    for (int n = 0; n < count_[k]; ++n) sum = fma(delta_[path(k)[n]], J_[place + n], sum);
    return sum;
  }

  // Recursion.

  const Motion<S>& twist_of(int b) const { return A_.recursion.acceleration[b]; }

  void push(int body, const Vec3& p, const Vec3& f) {
    Force<S>& pA = A_.recursion.pA[body];
    pA = pA - Force<S>{f, cross(p, f)};
  }

  void put(int body, const Vec3& p, const Sym3& G) {
    const Vec3 zero = spatial::zero3<S>();
    const S o = all<S>(0);
    const dynamics::ArticulatedInertia<S> load = {G, {zero, zero, zero}, {o, o, o, o, o, o}};
    A_.recursion.IA[body] = A_.recursion.IA[body] + translate(p, load);
  }

  void twist(int body, const Vec3& t, const Sym3& G) {
    A_.recursion.pA[body].t = A_.recursion.pA[body].t - t;
    A_.recursion.IA[body].I = A_.recursion.IA[body].I + G;
  }

  template <class AddBlocks>
  void solve_by_recursion(Mask<S> left, const AddBlocks& add_blocks, Workspace<S> w) {
    trees.arrange(w);
    trees.begin(left);
    if (!trees.empty()) add_blocks();
    const auto alone = [&](int b) { return !trees.replaces(b); };
    A_.recursion.factor(diagonal_, alone);
    A_.recursion.solve(rhs_, spatial::zero_motion<S>(), nullptr, delta_, alone);
    if (trees.empty()) return;
    trees.factor(diagonal_, base_);
    if (trees.solve(rhs_, delta_)) return;
    trees.demand_factor(w);
    trees.begin(left);
    add_blocks();
    trees.factor(diagonal_, base_);
    trees.solve(rhs_, delta_);
  }

  /// Projects the solution onto K v = 0.
  void hold_rows() {
    rows_.factor([&](const S* b, S* x) {
      if (in_rows_) return with_rows([&](auto& H) { H.solve(b, x); });
      A_.recursion.apply_inverse(b, x);
      if (trees.empty()) return;
      trees.clear_forces();
      trees.solve(b, x);
    });
    rows_.project(delta_);
    if (!in_rows_) A_.recursion.spread(static_cast<const S*>(delta_));
  }

  Plain plain_;
  Exact exact_;  ///< one of them is used in rows
  StepMatrix<S>& A_;
  const ModelOf<S>& model_;
  constraints::VelocityRows<S>& rows_;
  const ActivePairs<S>& pairs_;
  const bool in_rows_, is_exact_, couples_bodies_;
  const bool
      by_twists_;  ///< points move with the twists of their bodies, not by their columns: of many points
  const S* base_ = nullptr;
  S *delta_, *rhs_, *diagonal_;
  bool* const couples_;                     ///< [pairs] whether their loads have coupled trees
  int longest_ = 0;                         ///< path of a pair
  int *path_ = nullptr, *count_ = nullptr;  ///< (pairs, longest) at their places, and numbers of coordinates
  int* last_common_ = nullptr;              ///< [pairs] the last coordinate that moves both bodies, or −1
  bool* has_columns_ = nullptr;             ///< [points]
  int points_ = 0;
  Vec3* J_ = nullptr;             ///< (points and turning points, longest)
  ExactVec3* exact_J_ = nullptr;  ///< the same, of pairs of two bodies, if H is of another type
};

}  // namespace pysim::contact
