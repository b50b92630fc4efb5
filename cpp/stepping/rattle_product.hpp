// Product of the derivatives of RATTLE's change of the velocity at the start of a step with cotangents.
//
//     v₀⁺ = v₀ + p,  p = M₀⁻¹J₀ᵀ λ      λ such that g(q₁) = 0, where the step from q₀, v₀⁺ ends
//
//     λ̅ = J₀M₀⁻¹ p̅        F = ∂g(q₁)/∂λ,  Fᵀy = −λ̅
//     q₁ receives  yᵀ∂g        q₀ receives  σᵀ(∂J₀ᵀ λ − ∂M₀ p),  σ = M₀⁻¹ p̅
//
// Rows of F are products of the step with rows of ∂g; p̅ is that of both products, of the end and of y. Rows
// of wheels that constrain velocities only have J₀ p = 0 in the place of g(q₁) = 0. Rows that depend on
// others at the start are left out.
#pragma once

#include "constraints/constrained_dynamics.hpp"
#include "constraints/row_product.hpp"
#include "dynamics/step_matrix_product.hpp"
#include "dynamics/tree_elimination.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

template <class S, bool differs>
class RattleProduct {
 public:
  using Rows = constraints::RowProduct<S, differs>;

  RattleProduct(const ModelOf<S>& model, Rows& rows, Workspace<S>& w)
      : model_(model),
        product_(rows),
        factor_(model, w),
        rows_(constraints::take_rows(model, false, w)),
        delassus_(rows_, w),
        start_(model, nullptr, w),
        end_(model, nullptr, w),
        q0_(take<S>(w, model.nq)),
        q1_(take<S>(w, model.nq)),
        p_(take<S>(w, model.nv)),
        phi_(take<S>(w, model.loop_nq())),
        lambda_(take<S>(w, model.rows)),
        y_(take<S>(w, model.rows)),
        F_(take<S>(w, std::ptrdiff_t{1} * model.rows * model.rows)),
        of_rates_(take<int>(w, model.rows)) {
    for (int i = 0; i < model.rows; ++i) of_rates_[i] = 0;
    for (int k = 0; k < model.loops; ++k) {
      const tree::Loop& loop = model.loop[k];
      if (loop.kind != tree::LoopKind::wheel) continue;
      for (int i = 0; i < loop.rows; ++i) of_rates_[loop.row + i] = loop.independent[i] > 0 ? 1 : 0;
    }
  }

  RattleProduct(const RattleProduct&) = delete;
  RattleProduct& operator=(const RattleProduct&) = delete;

  /// Begins a step of length h from q₀ and v₀ to q₁ of the user, which has found p; φ are coordinates of
  /// loops' joints near those of both.
  void begin(S time, S h, const S* q0, const S* v0, const S* p, const S* q1, const S* phi, Workspace<S> w) {
    time_ = time;
    end_time_ = time + h;
    simd::copy_each<S>(phi, model_.loop_nq(), phi_);
    const auto place = [&](const S* users, dynamics::TreeProduct<S>& tree, S* q) {
      Workspace<S> inner = w;
      const S* const full = tree::full_q(model_, users, inner);
      S* const still = take<S>(inner, model_.nv);
      for (int i = 0; i < model_.nv; ++i) still[i] = all<S>(0);
      simd::copy_each<S>(full, model_.nq, q);
      tree.place(q, still, inner);
    };
    place(q0, start_, q0_);
    place(q1, end_, q1_);
    const S *const v = tree::full_v(model_, v0, w), *const full_p = tree::full_v(model_, p, w);
    simd::copy_each<S>(full_p, model_.nv, p_);
    factor_.move(q0_, v, w);
    factor_.factor(q0_, w);
    const constraints::Clock<S> clock = {time, all<S>(1)};
    S* const fitted = take<S>(w, model_.loop_nq());
    simd::copy_each<S>(phi, model_.loop_nq(), fitted);
    constraints::evaluate_rows(model_, factor_, clock, fitted, rows_, true, w);
    constraints::evaluate_couplings<S>(model_, clock, q0, v0, nullptr, rows_, w);
    delassus_.factorise(factor_);
    for (int i = 0; i < model_.rows; ++i) lambda_[i] = rows_.times(i, p);
    delassus_.G.solve(lambda_);
  }

  /// Forms Fᵀ; step(q̅₁, p̅, memory) takes cotangents of q₁ back to those of p (reduced nv).
  template <class Step>
  void form(const Step& step, Workspace<S> w) {
    const int rows = model_.rows;
    S *const y = take<S>(w, rows), *const q_bar = take<S>(w, model_.reduced_nv),
             *const p_bar = take<S>(w, model_.reduced_nv), *const row = take<S>(w, rows);
    for (int i = 0; i < rows; ++i) {
      for (int k = 0; k < rows; ++k) y[k] = all<S>(i == k ? 1 : 0);
      for (int k = 0; k < model_.reduced_nv; ++k) q_bar[k] = all<S>(0);
      for (int k = 0; k < model_.reduced_nv; ++k) p_bar[k] = all<S>(0);
      if (of_rates_[i] != 0) {
        add_row(i, all<S>(1), p_bar);
      } else {
        pull_residuals(y, q_bar, nullptr, w);
        step(q_bar, p_bar, w);
      }
      reduce(p_bar, row);
      for (int k = 0; k < rows; ++k) {
        F_[k * rows + i] = select(is_taken(i) & is_taken(k), row[k], all<S>(i == k ? 1 : 0));
      }
    }
    dynamics::factor_tree_matrix(rows, nullptr, F_);
  }

  /// Sets cotangents of q₁ (reduced nv) by which g(q₁) = 0 answers those of p; `pull_start` adds those of
  /// J₀ p = 0.
  void answer(const S* p_bar, S* q_bar, Vec3<S>* places, Workspace<S> w) {
    S* const x = take<S>(w, model_.reduced_nv);
    simd::copy_each<S>(p_bar, model_.reduced_nv, x);
    reduce(x, y_);
    for (int i = 0; i < model_.rows; ++i) y_[i] = select(is_taken(i), -y_[i], all<S>(0));
    dynamics::solve_tree_matrix(model_.rows, nullptr, static_cast<const S*>(F_), y_);
    for (int i = 0; i < model_.reduced_nv; ++i) q_bar[i] = all<S>(0);
    pull_residuals(y_, q_bar, places, w);
    for (int i = 0; i < model_.rows; ++i) y_[i] = of_rates_[i] != 0 ? y_[i] : all<S>(0);
  }

  /// Adds to cotangents of q₀ (reduced nv) and of M's numbers, of the tree, for all cotangents of p (reduced
  /// nv), which are lost. `places` [bodies] as TreeProduct has it.
  void pull_start(
      S* p_bar, S* q_bar, const dynamics::StepMatrixCotangents<S>& matrix, Vec3<S>* places, Workspace<S> w) {
    S* const of_tree = take<S>(w, model_.nv);
    for (int i = 0; i < model_.nv; ++i) of_tree[i] = all<S>(0);
    for (int i = 0; i < model_.rows; ++i) {
      if (of_rates_[i] != 0) add_row(i, y_[i], p_bar);
    }
    factor_.apply(p_bar);
    const S* const sigma = tree::full_v(model_, static_cast<const S*>(p_bar), w);
    start_.gather_places(places);
    const S* const p = p_;
    dynamics::subtract_matrix_product(model_, start_, sigma, p, {of_tree, matrix.base, matrix.theta}, w);
    const constraints::RowTerms<S> terms = {{{sigma, lambda_, false, nullptr}, {p, y_, false, nullptr}}, 2};
    product_.add(start_, q0_, phi_, time_, terms, nullptr, of_tree, w);
    add_to_users(of_tree, q_bar, w);
  }

 private:
  simd::Mask<S> is_taken(int row) const { return delassus_.G.is_taken(row); }

  /// Adds a multiple of row i of J₀ to x (reduced nv).
  void add_row(int i, S factor, S* x) const {
    const int* const k = rows_.coordinates(i);
    for (int m = 0; m < rows_.path[i].nv; ++m)
      x[k[m]] = simd::fma(factor, rows_.J[i * rows_.nv + m], x[k[m]]);
  }

  /// x ← M₀⁻¹ x, and J₀ of it.
  void reduce(S* x, S* rows) {
    factor_.apply(x);
    for (int i = 0; i < model_.rows; ++i) rows[i] = rows_.times(i, x);
  }

  /// Adds yᵀ∂g at the end to cotangents of q₁ (reduced nv).
  void pull_residuals(const S* y, S* q_bar, Vec3<S>* places, Workspace<S> w) {
    S* const of_tree = take<S>(w, model_.nv);
    for (int i = 0; i < model_.nv; ++i) of_tree[i] = all<S>(0);
    end_.gather_places(places);
    product_.add(end_, q1_, phi_, end_time_, {}, y, of_tree, w);
    add_to_users(of_tree, q_bar, w);
  }

  /// Adds cotangents of the tree's coordinates to those of the user's.
  void add_to_users(const S* of_tree, S* q_bar, Workspace<S> w) const {
    const S* const users = tree::reduced_forces(model_, of_tree, w);
    for (int i = 0; i < model_.reduced_nv; ++i) q_bar[i] += users[i];
  }

  const ModelOf<S>& model_;
  Rows& product_;
  constraints::MechanismFactor<S> factor_;
  constraints::Rows<S> rows_;
  constraints::Delassus<S> delassus_;
  dynamics::TreeProduct<S> start_, end_;
  S *const q0_, *const q1_, *const p_;  ///< of the tree
  S *const phi_, *const lambda_, *const y_, *const F_;
  int* const of_rates_;  ///< [rows] 1 for those that constrain velocities only
  S time_, end_time_;
};

}  // namespace pysim::stepping
