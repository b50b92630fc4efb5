// Maps between the user's reduced coordinates and the tree's full ones, for mimic joints:  q_tree = ratio
// q_reduced + offset.
#pragma once

#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::tree {

using simd::all;
using simd::fma;

/// The tree's q. Without mimic joints, the same array.
template <class S>
const S* full_q(const ModelOf<S>& model, const S* reduced, Workspace<S>& w) {
  if (!model.mimic) return reduced;
  S* const q = take<S>(w, model.nq + model.callback_numbers);
  for (int i = 0; i < model.nq; ++i) {
    const auto& c = model.mimic_q[i];
    q[i] = fma(all<S>(c.ratio), reduced[c.reduced], all<S>(c.offset));
  }
  for (int i = 0; i < model.callback_numbers; ++i) q[model.nq + i] = reduced[model.reduced_nq + i];
  return q;
}

/// The tree's v (or v̇).
template <class S>
const S* full_v(const ModelOf<S>& model, const S* reduced, Workspace<S>& w) {
  if (!model.mimic) return reduced;
  S* const v = take<S>(w, model.nv);
  for (int i = 0; i < model.nv; ++i) {
    const auto& c = model.mimic_v[i];
    v[i] = all<S>(c.ratio) * reduced[c.reduced];
  }
  return v;
}

/// Generalised forces on the user's coordinates, τ_reduced = Σ ratio τ_tree. Without mimic joints, the same
/// array.
template <class S>
const S* reduced_forces(const ModelOf<S>& model, const S* tau, Workspace<S>& w) {
  if (!model.mimic) return tau;
  S* const reduced = take<S>(w, model.reduced_nv);
  for (int i = 0; i < model.reduced_nv; ++i) reduced[i] = all<S>(0);
  for (int i = 0; i < model.nv; ++i) {
    const auto& c = model.mimic_v[i];
    reduced[c.reduced] = fma(all<S>(c.ratio), tau[i], reduced[c.reduced]);
  }
  return reduced;
}

/// Joint-space inertia on the user's coordinates, M_reduced = Eᵀ M E with the mimic joints' matrix E.
template <class S>
S* reduced_inertia(const ModelOf<S>& model, S* M, Workspace<S>& w) {
  if (!model.mimic) return M;
  const int n = model.reduced_nv;
  S* const reduced = take<S>(w, static_cast<std::ptrdiff_t>(n) * n);
  for (int i = 0; i < n * n; ++i) reduced[i] = all<S>(0);
  for (int i = 0; i < model.nv; ++i) {
    for (int j = 0; j < model.nv; ++j) {
      const auto &a = model.mimic_v[i], &b = model.mimic_v[j];
      S& entry = reduced[a.reduced * n + b.reduced];
      entry = fma(all<S>(a.ratio * b.ratio), M[i * model.nv + j], entry);
    }
  }
  return reduced;
}

}  // namespace pysim::tree
