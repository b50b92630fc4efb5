// Composite-rigid-body algorithm, joint-space inertia [Featherstone 2008, table 6.2].
//
//     M_P += M_B moved by p               leaves to root: the inertia of everything the joint carries
//     F = M_B S,  then for every ancestor joint  τ ← τ + p × f,  M[ancestor, k] = S_ancestorᵀ F
//
// on the axes of root_axes.hpp.
#pragma once

#include "dynamics/root_axes.hpp"

namespace pysim::dynamics {

/// Quantities from which the rows of M are computed: composite bodies and the joints' columns (tree nv).
template <class S>
struct CompositeTree {
  RootAxesBody<S>* body;
  Motion<S>* Sj;
};

template <class S>
CompositeTree<S> composite_tree(const ModelOf<S>& model, const S* q, Workspace<S>& w) {
  const CompositeTree<S> tree = {take<RootAxesBody<S>>(w, model.bodies), take<Motion<S>>(w, model.nv)};
  to_root_axes(model, q, tree.body, tree.Sj, w);
  for (int b = model.bodies - 1; b >= 0; --b) {
    const int parent = model.joint[b].parent;
    if (parent < 0) continue;
    Inertia<S>& P = tree.body[parent].M;
    P = P + translate(tree.body[b].p, tree.body[b].M);
  }
  return tree;
}

/// Largest number of rows of M that are computed together.
template <class S>
constexpr int inertia_group = S::width < 8 ? 8 : S::width;

/// Rows first … first + count of M up to their diagonals, and the columns that mirror them; count is at most
/// a group.
///
/// They are propagated to the root together: a joint is read once for all of them, and their sums are
/// independent. The rows are neighbours, because a joint's coordinates are followed by those it moves.
template <class S>
void inertia_rows(const ModelOf<S>& model, const CompositeTree<S>& tree, int first, int count, S* M) {
  const int n = model.nv;
  Force<S> F[inertia_group<S>];
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    const int begin = joint.v - first, end = velocities_end(model, b) - first;
    if (begin >= count) continue;
    const RootAxesBody<S>& B = tree.body[b];
    for (int i = begin; i < begin + joint.nv; ++i) {
      const Motion<S> Sj = tree.Sj[first + i];
      if (i >= 0 && i < count) F[i] = B.M * Sj;
    }
    const int moved = end < count ? end : count;
    for (int i = begin; i < begin + joint.nv; ++i) {
      const Motion<S> Sj = tree.Sj[first + i];
      S* const column = M + first * n + first + i;
      int r = i < 0 ? 0 : i;
      S* const mirror = M + (first + i) * n + first;
      for (; r < moved; ++r) column[r * n] = mirror[r] = dot_in_root_axes(joint.column[i - begin], Sj, F[r]);
      for (; r < count; ++r) column[r * n] = mirror[r] = all<S>(0);
    }
    if (joint.parent < 0) continue;
    for (int r = begin < 0 ? 0 : begin; r < moved; ++r) F[r].t = cross_add(B.p, F[r].f, F[r].t);
  }
  for (int k = first; k < first + count; ++k) M[k * n + k] += all<S>(model.armature[k]);
}

/// M(q), full and symmetric, row-major (nv × nv), armature on the diagonal.
template <class S>
void crba(const ModelOf<S>& model, const S* q, S* M, Workspace<S> w) {
  const CompositeTree<S> tree = composite_tree(model, q, w);
  const int n = model.nv, group = inertia_group<S>;
  for (int k = 0; k < n; k += group) {
    inertia_rows(model, tree, k, k + group < n ? group : n - k, M);
  }
}

}  // namespace pysim::dynamics
