// Between the user's coordinates and the tree's, where one joint follows another:  q_tree = ratio q_own +
// offset.
#pragma once

#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::tree {

using simd::all;
using simd::fma;

/// The tree's q. Without couplings the very same array.
template <class S>
const S* full_q(const ModelOf<S>& model, const S* own, Workspace<S>& w) {
  if (!model.mimic) return own;
  S* const q = take<S>(w, model.nq + model.callback_numbers);
  for (int i = 0; i < model.nq; ++i) {
    const auto& c = model.mimic_q[i];
    q[i] = fma(all<S>(c.ratio), own[c.own], all<S>(c.offset));
  }
  for (int i = 0; i < model.callback_numbers; ++i) q[model.nq + i] = own[model.reduced_nq + i];
  return q;
}

/// The tree's v (or v̇).
template <class S>
const S* full_v(const ModelOf<S>& model, const S* own, Workspace<S>& w) {
  if (!model.mimic) return own;
  S* const v = take<S>(w, model.nv);
  for (int i = 0; i < model.nv; ++i) {
    const auto& c = model.mimic_v[i];
    v[i] = all<S>(c.ratio) * own[c.own];
  }
  return v;
}

/// Generalised forces on the user's coordinates, τ_own = Σ ratio τ_tree. Without couplings the very same
/// array.
template <class S>
const S* reduced_forces(const ModelOf<S>& model, const S* tau, Workspace<S>& w) {
  if (!model.mimic) return tau;
  S* const own = take<S>(w, model.reduced_nv);
  for (int i = 0; i < model.reduced_nv; ++i) own[i] = all<S>(0);
  for (int i = 0; i < model.nv; ++i) {
    const auto& c = model.mimic_v[i];
    own[c.own] = fma(all<S>(c.ratio), tau[i], own[c.own]);
  }
  return own;
}

/// Joint-space inertia on the user's coordinates, M_own = Eᵀ M E with E the coupling's matrix.
template <class S>
S* reduced_inertia(const ModelOf<S>& model, S* M, Workspace<S>& w) {
  if (!model.mimic) return M;
  const int n = model.reduced_nv;
  S* const own = take<S>(w, static_cast<std::ptrdiff_t>(n) * n);
  for (int i = 0; i < n * n; ++i) own[i] = all<S>(0);
  for (int i = 0; i < model.nv; ++i) {
    for (int j = 0; j < model.nv; ++j) {
      const auto &a = model.mimic_v[i], &b = model.mimic_v[j];
      S& entry = own[a.own * n + b.own];
      entry = fma(all<S>(a.ratio * b.ratio), M[i * model.nv + j], entry);
    }
  }
  return own;
}

}  // namespace pysim::tree
