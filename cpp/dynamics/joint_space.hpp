// Matrix A = M + E in joint space, in rows that hold the sparsity of the tree (tree_rows.hpp).
//
//     M_P += M_B moved by p               leaves to root: the inertia of everything the joint carries
//     F = M_B S,  then for every ancestor joint  τ ← τ + p × f,  row k of M: S_ancestorᵀ F
//
// on the axes of the world [Featherstone 2008, table 6.2].
#pragma once

#include "dynamics/inertia_factor.hpp"
#include "dynamics/root_axes.hpp"
#include "dynamics/step_blocks.hpp"
#include "dynamics/tree_rows.hpp"

namespace pysim::dynamics {

template <class S>
class JointSpace {
 public:
  /// Whether rows cost less than the recursion of LoadedFactor, whose cost does not grow with the depth.
  static bool suits(const ModelOf<S>& model) {
    constexpr int most = 320;  // mean of the squared numbers of coordinates above each
    std::ptrdiff_t sum = 0;
    each_above(model, [&](int, int, int depth) { sum += std::ptrdiff_t{depth} * depth; });
    return sum <= std::ptrdiff_t{most} * model.nv;
  }

  /// Bodies are placed by `factor`. Reserves memory only if it is `used`.
  JointSpace(const TreeFactor<S>& factor, bool used, Workspace<S>& w)
      : factor_(factor), model_(factor.model) {
    if (!used) return;
    const int n = model_.nv;
    const std::ptrdiff_t most = std::ptrdiff_t{n} * (n + 1) / 2;
    rows_.reserve(n, most, w);
    for (int b = 0; b < model_.bodies; ++b) {
      const Joint& joint = model_.joint[b];
      for (int i = 0; i < joint.nv; ++i)
        rows_.above[joint.v + i] = i > 0 ? joint.v + i - 1 : last(joint.parent);
    }
    rows_.number(n);
    A_ = take<S>(w, rows_.row[n]);
    L_ = take<S>(w, rows_.row[n]);
    inv_D_ = take<S>(w, n);
    Sj_ = take<Motion<S>>(w, n);
    composite_ = take<Inertia<S>>(w, model_.bodies);
    arm_ = take<Vec3<S>>(w, model_.bodies);
  }

  const TreeRows& rows() const { return rows_; }
  const S* matrix() const { return A_; }  ///< A in these rows
  int size() const { return model_.nv; }

  /// Pivot k of A, after `factor_and_solve`.
  S pivot(int k) const { return L_[rows_.row[k] + rows_.depth[k]]; }

  /// A = M + E, see step_blocks.hpp.
  void form(const S* E) {
    place();
    for (int b = model_.bodies - 1; b >= 0; --b) {
      form_rows(b, E);
      each_sprung_triple(model_, b, [&](int k) {
        for (int j = 1; j < 3; ++j) {
          S* const row = A_ + rows_.row[k + j];
          for (int i = 0; i < j; ++i) row[rows_.depth[k + i]] += E[model_.nv + beside_diagonal(k, i, j)];
        }
      });
      const int parent = model_.joint[b].parent;
      if (parent >= 0) composite_[parent] = composite_[parent] + translate(arm_[b], composite_[b]);
    }
  }

  /// Factors A, and solves A x = b; b is lost.
  void factor_and_solve(S* b, S* x) {
    simd::copy_each<S>(static_cast<const S*>(A_), rows_.row[size()], L_);
    rows_.eliminate(size(), L_, inv_D_, b, [](int, S pivot) { return pivot; });
    rows_.substitute(size(), L_, inv_D_, b, x);
  }

  /// x = A⁻¹ b (nv) after `factor_and_solve`; they may be the same.
  void solve(const S* b, S* x) const { rows_.solve(size(), L_, inv_D_, b, x); }

  /// Adds the weight of all bodies to τ (nv), after `form`.
  void add_gravity(S* tau) const {
    const Vec3<S> g = spatial::all3<S>(model_.gravity);
    for (int b = 0; b < model_.bodies; ++b) {
      const Joint& joint = model_.joint[b];
      const Force<S> F = {composite_[b].m * g, cross(composite_[b].mc, g)};
      for (int i = 0; i < joint.nv; ++i) {
        tau[joint.v + i] += dot_in_root_axes(joint.column[i], Sj_[joint.v + i], F);
      }
    }
  }

  /// The last coordinate that moves both bodies; −1 for none.
  int last_common(int a, int b) const {
    int x = last(a), y = last(b);
    while (x != y) (x > y ? x : y) = rows_.above[x > y ? x : y];
    return x;
  }

  /// Coordinates that move a body at most.
  int longest_path() const {
    int most = 0;
    for (int k = 0; k < model_.nv; ++k) most = rows_.depth[k] < most ? most : rows_.depth[k] + 1;
    return most;
  }

  /// Coordinates that move a body behind coordinate `common`, ascending; returns their number.
  int path(int b, int common, int* coordinates) const {
    const int end = last(b), count = end < 0 ? 0 : rows_.depth[end] - (common < 0 ? -1 : rows_.depth[common]);
    for (int n = count - 1, k = end; n >= 0; --n, k = rows_.above[k]) coordinates[n] = k;
    return count;
  }

  /// Columns of a point p of body b by the last `count` coordinates that move it, ascending: its velocity on
  /// the axes of body `axes`, times a sign.
  void columns(int b, int axes, const Vec3<S>& p, S sign, int count, Vec3<S>* J) const {
    const spatial::Mat3<S>& R = factor_.X_WB[axes].R;
    Vec3<S> d = factor_.X_WB[b].R * p;
    for (int c = b, n = count - 1; n >= 0; c = model_.joint[c].parent) {
      const Joint& joint = model_.joint[c];
      for (int i = joint.nv - 1; i >= 0 && n >= 0; --i, --n) {
        const Motion<S>& column = Sj_[joint.v + i];
        const auto kind = joint.column[i];
        const Vec3<S> u = kind == tree::stored ? cross_add(column.w, d, column.v)
                          : kind >= tree::wx   ? cross(column.w, d)
                                               : column.v;
        J[n] = sign * transpose_times(R, u);
      }
      d += arm_[c];
    }
  }

  /// Those of the angular velocity of the body that a path moves.
  void spins(int axes, S sign, const int* path, int count, Vec3<S>* J) const {
    const spatial::Mat3<S>& R = factor_.X_WB[axes].R;
    for (int n = 0; n < count; ++n) J[n] = sign * transpose_times(R, Sj_[path[n]].w);
  }

  /// The last coordinate that moves a body; −1 for none.
  int last(int b) const {
    while (b >= 0 && model_.joint[b].nv == 0) b = model_.joint[b].parent;
    return b < 0 ? -1 : model_.joint[b].v + model_.joint[b].nv - 1;
  }

 private:
  /// visit(k, the coordinate above it or −1, depth).
  template <class Visit>
  static void each_above(const ModelOf<S>& model, const Visit& visit) {
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      int above = -1, depth = 0;
      for (int c = joint.parent; c >= 0; c = model.joint[c].parent) {
        if (above < 0 && model.joint[c].nv > 0) above = model.joint[c].v + model.joint[c].nv - 1;
        depth += model.joint[c].nv;
      }
      for (int k = joint.v; k < joint.v + joint.nv; ++k, ++depth) {
        visit(k, above, depth);
        above = k;
      }
    }
  }

  /// Bodies, offsets of their origins from those of their parents, and columns, on the axes of the world.
  void place() {
    for (int b = 0; b < model_.bodies; ++b) {
      const Joint& joint = model_.joint[b];
      const spatial::Mat3<S>& R = factor_.X_WB[b].R;
      const Vec3<S>& p = factor_.body[b].X_PB.p;
      arm_[b] = joint.parent < 0 ? p : factor_.X_WB[joint.parent].R * p;
      composite_[b] = rotate(R, body_inertia<S>(model_, b));
      for (int i = 0; i < joint.nv; ++i) {
        Sj_[joint.v + i] = to_parent({R, zero3<S>()}, tree::axis(joint, factor_.columns, i));
      }
    }
  }

  /// Rows of A of the coordinates of body b.
  void form_rows(int b, const S* diagonal) {
    const Joint& joint = model_.joint[b];
    const Inertia<S>& M = composite_[b];
    for (int i = 0; i < joint.nv; ++i) {
      const int k = joint.v + i;
      const Motion<S>& column = Sj_[k];
      S* const row = A_ + rows_.row[k];
      const bool spins = joint.column[i] != tree::stored && joint.column[i] >= tree::wx;
      Force<S> F = spins ? Force<S>{cross(column.w, M.mc), M.I * column.w} : M * column;
      for (int j = 0; j <= i; ++j) {
        row[rows_.depth[joint.v + j]] = dot_in_root_axes(joint.column[j], Sj_[joint.v + j], F);
      }
      row[rows_.depth[k]] += all<S>(model_.armature[k]) + diagonal[k];
      for (int c = b; model_.joint[c].parent >= 0;) {
        F.t = cross_add(arm_[c], F.f, F.t);
        c = model_.joint[c].parent;
        const Joint& above = model_.joint[c];
        for (int j = 0; j < above.nv; ++j) {
          row[rows_.depth[above.v + j]] = dot_in_root_axes(above.column[j], Sj_[above.v + j], F);
        }
      }
    }
  }

  const TreeFactor<S>& factor_;
  const ModelOf<S>& model_;
  TreeRows rows_;
  S *A_ = nullptr, *L_ = nullptr, *inv_D_ = nullptr;
  Motion<S>* Sj_ = nullptr;          ///< [nv] columns about the origins of their bodies
  Inertia<S>* composite_ = nullptr;  ///< [bodies]
  Vec3<S>* arm_ = nullptr;           ///< [bodies]
};

}  // namespace pysim::dynamics
