// Factor of M + E (dynamics/sprung_factor.hpp) of a mechanism with constraint rows: O(n) for a few rows.
//
//     (M + E) x = M r + Jᵀ μ      J x = J r       (1 + N E) x = r,  N of constrained_derivatives.hpp
//     Y = (L⁻¹ Jᵀ)ᵀ      z = d⁻¹ L⁻¹ M r      μ = (Y d⁻¹ Yᵀ)⁺ (J r − Y z)      x = L⁻ᵀ (z + d⁻¹ Yᵀ μ)
//
// Rows that depend on others are left out of the Schur complement Y d⁻¹ Yᵀ.
#pragma once

#include "constraints/couplings.hpp"
#include "constraints/semidefinite.hpp"
#include "constraints/singular/dependence.hpp"
#include "dynamics/sprung_factor.hpp"

namespace pysim::constraints {

/// Time and loop coordinates of the state at which rows are evaluated, and what is known of their dependence,
/// which may be null.
template <class S>
struct RowState {
  Clock<S> clock;
  const S* phi;
  const Dependence<S>* dependence;
};

template <class S>
class SprungMechanism {
 public:
  /// Reserves memory only if it is `used`.
  SprungMechanism(const ModelOf<S>& model, bool used, Workspace<S>& w)
      : model_(model), tree_(model, used, w), rows_(model.rows) {
    if (!used) return;
    const std::ptrdiff_t size = std::ptrdiff_t{1} * rows_ * model.nv;
    J_ = take<S>(w, size);
    Y_ = take<S>(w, size);
    inverse_ = take<S>(w, std::ptrdiff_t{1} * rows_ * rows_);
    gap_ = take<S>(w, rows_);
  }

  /// Factors M + E at q and v, E as SprungFactor has it, and the Schur complement of the rows there.
  void factor(const S* q, const S* v, S G, S B, const RowState<S>& state, Workspace<S> w) {
    tree_.factor(q, v, G, B, w);
    if (rows_ == 0) return;
    evaluate_jacobian(q, v, state, w);
    const int nv = model_.nv;
    for (int i = 0; i < rows_; ++i) tree_.forward(J_ + i * nv, Y_ + i * nv);
    invert(state.dependence, w);
  }

  /// Copies the factor of another one in the `wanted` worlds.
  void keep(simd::Mask<S> wanted, const SprungMechanism& other) {
    tree_.keep(wanted, other.tree_);
    simd::copy_where<S>(wanted, other.J_, rows_ * model_.nv, J_);
    simd::copy_where<S>(wanted, other.Y_, rows_ * model_.nv, Y_);
    simd::copy_where<S>(wanted, other.inverse_, rows_ * rows_, inverse_);
  }

  /// x ← (1 + N E)⁻¹ x.
  void apply(S* x) {
    if (rows_ == 0) return tree_.apply(x);
    const int nv = model_.nv;
    tree_.begin(x);
    S* const z = tree_.z();
    for (int i = 0; i < rows_; ++i) gap_[i] = product(J_ + i * nv, x) - product(Y_ + i * nv, z);
    for (int i = 0; i < rows_; ++i) {
      S force = all<S>(0);
      for (int k = 0; k < rows_; ++k) force = fma(inverse_[i * rows_ + k], gap_[k], force);
      for (int k = 0; k < nv; ++k) z[k] = fma(force * tree_.inv_d()[k], Y_[i * nv + k], z[k]);
    }
    tree_.finish(x);
  }

 private:
  void evaluate_jacobian(const S* q, const S* v, const RowState<S>& state, Workspace<S> w) {
    MechanismFactor<S> bodies(model_, w);
    const Rows<S> rows = take_rows(model_, false, w);
    S* const phi = take<S>(w, model_.loop_nq());
    simd::copy_each<S>(state.phi, model_.loop_nq(), phi);
    bodies.place(q, v, w);
    evaluate_rows(model_, bodies, state.clock, phi, rows, true, w);
    const S* none = nullptr;
    evaluate_couplings(model_, state.clock, q, v, none, rows, w);
    spread_jacobian(rows, J_);
  }

  /// (Y d⁻¹ Yᵀ)⁺ of the rows that are independent.
  void invert(const Dependence<S>* dependence, Workspace<S> w) {
    const int nv = model_.nv, n = rows_;
    Semidefinite<S> G = take_semidefinite<S>(n, w);
    S* const by_d = take<S>(w, nv);
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < nv; ++k) by_d[k] = tree_.inv_d()[k] * Y_[i * nv + k];
      for (int j = 0; j <= i; ++j) G.A[i * n + j] = product(Y_ + j * nv, by_d);
      for (int j = 0; j < n; ++j) inverse_[i * n + j] = all<S>(i == j ? 1 : 0);
      G.scale[i] = all<S>(1) / sqrt(abs(G.A[i * n + i]));
      G.first[i] = 0;
    }
    const bool known = dependence != nullptr;
    G.factorise(all<S>(0), known ? dependence->known : simd::nowhere<S>(), known ? dependence->row : nullptr);
    G.solve_columns(inverse_, n, n);
  }

  S product(const S* x, const S* y) const {
    S sum = all<S>(0);
    for (int i = 0; i < model_.nv; ++i) sum = fma(x[i], y[i], sum);
    return sum;
  }

  const ModelOf<S>& model_;
  dynamics::SprungFactor<S> tree_;
  const int rows_;
  S *J_ = nullptr, *Y_ = nullptr;  ///< (rows, nv)
  S* inverse_ = nullptr;           ///< (rows, rows)
  S* gap_ = nullptr;               ///< [rows]
};

}  // namespace pysim::constraints
