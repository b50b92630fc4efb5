// Adjoint of a mechanism's equations of motion with its constraint rows.
//
//     M v̇ − Jᵀλ = r,  g̈ = J v̇ + bias = 0        r = τ + passive − h
//
//     M μ + Jᵀκ = a̅,  J μ = −λ̅        ⟹        κ = G⁺ (J M⁻¹ a̅ + λ̅),  μ = M⁻¹ (a̅ − Jᵀκ)
//
// a̅·dv̇ + λ̅·dλ is then  μ·(∂r + ∂Jᵀ λ) − κ·∂g̈  at constant v̇ and λ. In an implicit step v̇ = w, on which q and
// v depend, too: A = −∂(r + Jᵀλ − M w)/∂w takes the place of M, and B = ∂g̈/∂w that of J,
//
//     Aᵀμ + Bᵀκ = w̅,  J μ = 0        ⟹        J A⁻ᵀBᵀ κ = J A⁻ᵀ w̅
//
// Rows that depend on others are left out, as in v̇ itself. With mimic joints these are the equations of the
// user's coordinates.
#pragma once

#include "constraints/constrained_dynamics.hpp"
#include "constraints/row_product.hpp"
#include "dynamics/tree_elimination.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// `differs`: worlds differ in numbers of the model, to which the rows have derivatives, too.
template <class S, bool differs>
class MechanismAdjoint {
 public:
  using Rows = constraints::RowProduct<S, differs>;

  /// Memory is reserved for A and B if the step may be `implicit`.
  MechanismAdjoint(const ModelOf<S>& model, bool implicit, Workspace<S>& w)
      : model_(model),
        mechanism_(model, {}, w),
        phi_(take<S>(w, model.loop_nq())),
        lambda_(take<S>(w, model.rows)),
        rate_(take<S>(w, model.rows)),
        A_(take<S>(w, implicit ? std::ptrdiff_t{1} * model.reduced_nv * model.reduced_nv : 0)),
        B_(take<S>(w, implicit ? std::ptrdiff_t{1} * model.rows * model.reduced_nv : 0)),
        G_(take<S>(w, implicit ? std::ptrdiff_t{1} * model.rows * model.rows : 0)) {}

  MechanismAdjoint(const MechanismAdjoint&) = delete;
  MechanismAdjoint& operator=(const MechanismAdjoint&) = delete;

  /// v̇ (reduced nv) as a step computes it; φ follows. Rows that are known to depend on others are left out.
  void accelerate(S time,
                  const S* q,
                  const S* v,
                  const S* tau,
                  const spatial::Force<S>* loads,
                  S* phi,
                  constraints::Dependence<S>* dependence,
                  S* a,
                  Workspace<S> w) {
    if (model_.rows == 0) return constraints::acceleration<S>(model_, q, v, tau, loads, true, a, w);
    mechanism_.clock = {time, all<S>(1)};
    mechanism_.accelerate(q, v, tau, loads, true, phi, a, lambda_, w, dependence);
    simd::copy_each<S>(static_cast<const S*>(phi), model_.loop_nq(), phi_);
    for (int i = 0; i < model_.rows; ++i) rate_[i] = mechanism_.rows.times(i, v) - mechanism_.rows.gd[i];
  }

  /// Factors M at q and v of the tree, where there are no rows.
  void factor(const S* q, const S* v, Workspace<S> w) {
    if (model_.rows > 0) return;
    mechanism_.factor.move(q, v, w);
    mechanism_.factor.factor(q, w);
  }

  /// λ [rows], and the rates J v − ġ of prescribed motions.
  const S* lambda() const { return lambda_; }
  const S* motion_rate() const { return rate_; }

  /// Aᵀ (reduced nv, reduced nv) and B (rows, reduced nv) of an implicit step, which `factor_implicit` reads.
  S* A() const { return A_; }
  S* B() const { return B_; }

  /// Factors A and J A⁻ᵀ Bᵀ; from then on the equations are those of the implicit step.
  void factor_implicit() {
    const int count = model_.reduced_nv, rows = model_.rows;
    const S o = all<S>(0), e = all<S>(1);
    is_implicit_ = true;
    dynamics::factor_tree_matrix(count, nullptr, A_);
    for (int k = 0; k < rows; ++k) {
      S* const x = B_ + k * count;
      dynamics::solve_tree_matrix(count, nullptr, static_cast<const S*>(A_), x);
      for (int i = 0; i < rows; ++i) {
        const auto taken = is_taken(i) & is_taken(k);
        G_[i * rows + k] = select(taken, mechanism_.rows.times(i, x), i == k ? e : o);
      }
    }
    dynamics::factor_tree_matrix(rows, nullptr, G_);
  }

  /// Replaces a̅ (reduced nv) by μ, and λ̅ [rows], 0 in an implicit step, by κ.
  void solve(S* x, S* kappa, Workspace<S> w) {
    const int count = model_.reduced_nv, rows = model_.rows;
    if (is_implicit_) {
      dynamics::solve_tree_matrix(count, nullptr, static_cast<const S*>(A_), x);
    } else {
      mechanism_.factor.apply(x);
    }
    if (rows == 0) return;
    for (int i = 0; i < rows; ++i) kappa[i] += mechanism_.rows.times(i, x);
    if (is_implicit_) {
      for (int i = 0; i < rows; ++i) kappa[i] = select(is_taken(i), kappa[i], all<S>(0));
      dynamics::solve_tree_matrix(rows, nullptr, static_cast<const S*>(G_), kappa);
      for (int k = 0; k < rows; ++k) {
        for (int i = 0; i < count; ++i) x[i] = fnma(kappa[k], B_[k * count + i], x[i]);
      }
      return;
    }
    S* const back = take<S>(w, count);
    mechanism_.delassus.correct(mechanism_.factor, kappa, back);
    for (int i = 0; i < count; ++i) x[i] -= back[i];
  }

  /// Cotangents of the tree's coordinates, to which the rows add.
  struct Cotangents {
    S *q, *v, *a;                     ///< (nv)
    spatial::Force<S>*V_bar, *A_bar;  ///< [bodies] of bodies' velocities and accelerations
  };

  /// Adds μ·∂Jᵀλ − κ·∂g̈ at q, v, v̇ of the tree, where `tree` is; μ (nv) is the tree's.
  void add(const dynamics::TreeProduct<S>& tree,
           const S* q,
           const S* v,
           const S* a,
           const S* mu,
           const S* kappa,
           const Cotangents& bar,
           Rows& product,
           Workspace<S> w) const {
    auto *const V = take<spatial::Motion<S>>(w, model_.bodies), *const A = take<spatial::Motion<S>>(
                                                                    w, model_.bodies);
    tree.accelerations(v, a, V, A);
    S* const minus = take<S>(w, model_.rows);
    for (int i = 0; i < model_.rows; ++i) minus[i] = -kappa[i];
    const constraints::RowAccelerations<S> accelerations = {
        v, a, minus, V, A, bar.V_bar, bar.A_bar, bar.v, bar.a};
    const constraints::RowTerms<S> terms = {{{mu, lambda_, false, nullptr}}, 1};
    product.add(tree, q, phi_, mechanism_.clock.time, terms, nullptr, bar.q, w, &accelerations);
  }

 private:
  simd::Mask<S> is_taken(int row) const { return mechanism_.delassus.G.is_taken(row); }

  const ModelOf<S>& model_;
  constraints::ConstrainedMechanism<S> mechanism_;
  S *const phi_, *const lambda_, *const rate_;
  S *const A_, *const B_, *const G_;
  bool is_implicit_ = false;
};

}  // namespace pysim::stepping
