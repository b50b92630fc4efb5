// Inertia on the reduced coordinates of a tree in which joints mimic others, factored densely.
//
//     q = E q_r + offset      M_r = Eᵀ M(q) E = L D Lᵀ      M_r v̇_r = τ − Eᵀ h(q, v)
//
// The articulated-body recursion cannot represent Eᵀ M E: the composite-rigid-body algorithm computes M.
#pragma once

#include "dynamics/crba.hpp"
#include "dynamics/inertia_factor.hpp"
#include "dynamics/rnea.hpp"
#include "spatial/symmetric.hpp"
#include "tree/coordinates.hpp"

namespace pysim::dynamics {

using spatial::SymmetricFactor;

template <class S>
SymmetricFactor<S> take_symmetric(int n, Workspace<S>& w) {
  return {n, take<S>(w, std::ptrdiff_t{1} * n * n), take<S>(w, n)};
}

/// Factors M_r at the full coordinates q; `diagonal` (reduced nv) is added unless it is null.
template <class S>
void factor_reduced(
    const ModelOf<S>& model, const S* q, const S* diagonal, const SymmetricFactor<S>& M_r, Workspace<S> w) {
  S* const M = take<S>(w, std::ptrdiff_t{1} * model.nv * model.nv);
  crba(model, q, M, w);
  const S* reduced = tree::reduced_inertia(model, M, w);
  for (int i = 0; i < M_r.n * M_r.n; ++i) M_r.A[i] = reduced[i];
  for (int i = 0; diagonal != nullptr && i < M_r.n; ++i) M_r.A[i * M_r.n + i] += diagonal[i];
  M_r.factor();
}

/// τ + Eᵀ (passive − h(q, v)) on the reduced coordinates; `passive` and `f_ext` may be null.
template <class S>
void reduced_load(const ModelOf<S>& model,
                  const S* q,
                  const S* v,
                  const S* tau,
                  const S* passive,
                  const Force<S>* f_ext,
                  S* load,
                  Workspace<S> w) {
  S* const h = take<S>(w, model.nv);
  rnea(model, q, v, static_cast<const S*>(nullptr), f_ext, h, w);
  for (int i = 0; i < model.nv; ++i) h[i] = passive == nullptr ? -h[i] : passive[i] - h[i];
  const S* rest = tree::reduced_forces(model, static_cast<const S*>(h), w);
  for (int i = 0; i < model.reduced_nv; ++i) load[i] = tau[i] + rest[i];
}

/// The bodies move as those of TreeFactor; systems are solved on the reduced coordinates.
template <class S>
struct ReducedFactor : TreeFactor<S> {
  using TreeFactor<S>::model;
  SymmetricFactor<S> M_r;

  /// Reserves memory for the bodies, and for M_r, if they are used.
  ReducedFactor(const ModelOf<S>& m, Workspace<S>& w, bool bodies, bool reduced)
      : TreeFactor<S>(m, w, bodies), M_r(take_symmetric(reduced ? m.reduced_nv : 0, w)) {
    if (reduced) this->inv_D = M_r.inv_D;
  }

  void factor(const S* q, const S* diagonal, Workspace<S> w) { factor_reduced(model, q, diagonal, M_r, w); }

  /// Returns all external wrenches: inverse dynamics needs them again.
  const Force<S>* add_straight_paths(const Force<S>* f_ext, Workspace<S>& w) {
    if (model.straight_paths == 0) return f_ext;
    Force<S>* const F = take<Force<S>>(w, model.bodies);
    for (int b = 0; b < model.bodies; ++b) F[b] = f_ext == nullptr ? spatial::zero_force<S>() : f_ext[b];
    this->path_wrenches([F](int b, const Force<S>& pull) { F[b] += pull; }, w);
    return F;
  }

  void accelerate(
      const S* q, const S* v, const S* tau, const S* passive, const Force<S>* f_ext, S* a, Workspace<S> w) {
    reduced_load(model, q, v, tau, passive, f_ext, a, w);
    factor(q, nullptr, w);
    apply(a);
    this->accelerate_bodies(tree::full_v(model, static_cast<const S*>(a), w));
  }

  void forward(const tree::SupportPath&, int rows, S* y, int stride) const {
    for (int r = 0; r < rows; ++r) M_r.forward(y + r * stride);
  }
  void backward(S* y) const { M_r.backward(y); }
  void apply(S* x) const { M_r.apply(x); }
};

}  // namespace pysim::dynamics
