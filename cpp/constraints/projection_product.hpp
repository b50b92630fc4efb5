// Product of the derivatives of a projection with cotangents: its corrections, as they were made, from the
// last one to the first. M, J and G are those of the state q̃ that was projected.
//
//     c = M⁻¹Jᵀ f,  G f = −g(q)  or  −ġ(q₁, v)           q ← q ⊕ c,  v ← v + c
//
//     σ = M⁻¹ c̄,  ω = G⁺J σ,  π = σ − M⁻¹Jᵀ ω            ḡ = −ω
//     q̃ receives  πᵀ(dJᵀ f − dM c) − ωᵀ dJ c
//
// Corrections are those of the user's coordinates. With mimic joints, π and c move the tree by x_tree = E x,
// and cotangents of its coordinates return by Eᵀ.
#pragma once

#include "constraints/projection.hpp"
#include "constraints/row_product.hpp"
#include "dynamics/retract_product.hpp"
#include "dynamics/step_matrix_product.hpp"

namespace pysim::constraints {

template <class S, bool differs>
class ProjectionProduct {
 public:
  using R = simd::Reverse<S, differs>;

  ProjectionProduct(const ModelOf<S>& model, Workspace<S>& w)
      : model_(model),
        start_(take<S>(w, model.reduced_nq)),
        q_(take<S>(w, model.reduced_nq)),
        v_(take<S>(w, model.reduced_nv)),
        phi_(take<S>(w, model.loop_nq())),
        rounds_(model, w),
        J_(take<S>(w, std::ptrdiff_t{model.rows} * model.reduced_nv)),
        tree_(model, nullptr, w),
        projection_(model, q_, v_, phi_, nullptr, w) {
    projection_.rounds_ = &rounds_;
  }

  ProjectionProduct(const ProjectionProduct&) = delete;
  ProjectionProduct& operator=(const ProjectionProduct&) = delete;

  /// Projects q and v once more, from where they were; φ are coordinates of loops' joints near those of q.
  /// Rows that are known to depend on others are left out, as in the step; null to detect them.
  void make(
      S time, const S* q, const S* v, const S* phi, Workspace<S> w, Dependence<S>* dependence = nullptr) {
    time_ = time;
    projection_.dependence_ = dependence;
    simd::copy_each<S>(q, model_.reduced_nq, start_);
    simd::copy_each<S>(q, model_.reduced_nq, q_);
    simd::copy_each<S>(v, model_.reduced_nv, v_);
    simd::copy_each<S>(phi, model_.loop_nq(), phi_);
    projection_.begin(time, w);
    spread_jacobian(projection_.rows_, J_);
    projection_.settle_position(simd::everywhere<S>());
    note_closed();
    projection_.settle_velocity();
  }

  /// Replaces cotangents of the state that was found, along δ of q ⊕ δ, by those of the state that was
  /// projected. Adds to those of M's numbers, of the tree; `matrix.q` is not used. `places` [bodies] as
  /// TreeProduct has it; null for none.
  void pull(S* q_bar,
            S* v_bar,
            const dynamics::StepMatrixCotangents<S>& matrix,
            Vec3<S>* places,
            RowProduct<S, differs>& rows,
            Workspace<S> w) {
    const int nv = model_.reduced_nv;
    S *const start_bar = zeros(model_.nv, w), *const along = model_.mimic ? zeros(model_.nv, w) : nullptr;
    tree_.gather_places(places);
    S *const omega = take<S>(w, model_.rows), *const minus = take<S>(w, model_.rows),
             *const pi = take<S>(w, nv), *const dq_bar = take<S>(w, nv), *const before = take<S>(w, nv);
    const dynamics::StepMatrixCotangents<S> of_start = {start_bar, matrix.base, matrix.theta};
    for (int n = rounds_.velocities - 1; n >= 0; --n) {
      const auto& round = rounds_.velocity[n];
      turn(v_bar, round.made, omega, minus, pi, w);
      pull_matrices(round.force, round.change, pi, minus, of_start, rows, w);
      pull_rates(round.from, minus, q_bar, v_bar, along, rows, w);
    }
    for (int n = rounds_.positions - 1; n >= 0; --n) {
      const auto& round = rounds_.position[n];
      for (int i = 0; i < nv; ++i) before[i] = dq_bar[i] = all<S>(0);
      for (int b = 0; b < model_.bodies; ++b) {
        const Joint& joint = model_.joint[b];
        const int v = joint.reduced_v;
        if (v < 0) continue;
        dynamics::add_retract_product<S>(joint, round.change + v, q_bar + v, before + v, dq_bar + v);
      }
      turn(dq_bar, round.made, omega, minus, pi, w);
      pull_matrices(round.force, round.change, pi, minus, of_start, rows, w);
      pull_residuals(round.from, minus, before, along, rows, w);
      simd::copy_where<S>(round.made, static_cast<const S*>(before), nv, q_bar);
    }
    if (model_.mimic) return add_to_users(start_bar, q_bar);
    for (int i = 0; i < nv; ++i) q_bar[i] += start_bar[i];
  }

 private:
  static S* zeros(int count, Workspace<S>& w) {
    S* const to = take<S>(w, count);
    for (int i = 0; i < count; ++i) to[i] = all<S>(0);
    return to;
  }

  /// Places the tree at q of the user's coordinates; returns its coordinates.
  const S* place(const S* q, Workspace<S>& w) {
    const S* const full = tree::full_q(model_, q, w);
    Workspace<S> inner = w;
    tree_.place(full, zeros(model_.nv, inner), inner);
    return full;
  }

  /// Zeros for cotangents of the tree's coordinates, or those of the user's where they are the same.
  S* begin_along(S* along, S* bar) const {
    for (int i = 0; model_.mimic && i < model_.nv; ++i) along[i] = all<S>(0);
    return model_.mimic ? along : bar;
  }

  /// Returns them to those of the user's coordinates.
  void end_along(const S* along, S* bar) const {
    if (model_.mimic) add_to_users(along, bar);
  }

  /// Adds Eᵀ x (reduced nv).
  void add_to_users(const S* x, S* to) const {
    for (int i = 0; i < model_.nv; ++i) {
      const auto& mimic = model_.mimic_v[i];
      to[mimic.reduced] = simd::fma(all<S>(mimic.ratio), x[i], to[mimic.reduced]);
    }
  }

  /// Adds those of J v where velocities were corrected. `along` (nv) is room; null without mimic joints.
  void pull_rates(
      const S* v, const S* m, S* q_bar, S* v_bar, S* along, RowProduct<S, differs>& rows, Workspace<S> w) {
    const S *const q = place(q_, w), *const x = tree::full_v(model_, v, w);
    S* const along_v = model_.mimic ? take<S>(w, model_.nv) : nullptr;
    S *const by_q = begin_along(along, q_bar), *const by_v = begin_along(along_v, v_bar);
    rows.add(tree_, q, phi_, time_, {{{x, m, true, by_v}}, 1}, nullptr, by_q, w);
    end_along(by_q, q_bar);
    end_along(by_v, v_bar);
  }

  /// Adds those of g where positions were corrected.
  void pull_residuals(
      const S* q, const S* gamma, S* q_bar, S* along, RowProduct<S, differs>& rows, Workspace<S> w) {
    const S* const from = place(q, w);
    S* const by_q = begin_along(along, q_bar);
    rows.add(tree_, from, phi_, time_, {}, gamma, by_q, w);
    end_along(by_q, q_bar);
  }

  /// Takes down a correction by nothing in worlds that satisfied the constraints already: states beside
  /// theirs are corrected.
  void note_closed() {
    auto closed = simd::everywhere<S>();
    for (int n = 0; n < rounds_.positions; ++n) closed &= !rounds_.position[n].made;
    if (none(closed)) return;
    projection_.note_position(simd::nowhere<S>());
    rounds_.position[rounds_.positions - 1].made = closed;
  }

  /// ω, −ω and π of a correction, zero where none was made.
  void turn(const S* bar, simd::Mask<S> made, S* omega, S* minus, S* pi, Workspace<S> w) {
    const int nv = model_.reduced_nv;
    const S o = all<S>(0);
    S* const back = take<S>(w, nv);
    for (int i = 0; i < nv; ++i) pi[i] = select(made, bar[i], o);
    projection_.factor_.apply(pi);
    for (int i = 0; i < model_.rows; ++i) {
      omega[i] = o;
      for (int k = 0; k < nv; ++k) omega[i] = simd::fma(J_[i * nv + k], pi[k], omega[i]);
    }
    projection_.delassus_.correct(projection_.factor_, omega, back);
    for (int i = 0; i < nv; ++i) pi[i] -= back[i];
    for (int i = 0; i < model_.rows; ++i) minus[i] = -omega[i];
  }

  void pull_matrices(const S* force,
                     const S* reduced_change,
                     const S* reduced_pi,
                     const S* minus,
                     const dynamics::StepMatrixCotangents<S>& matrix,
                     RowProduct<S, differs>& rows,
                     Workspace<S> w) {
    const S *const q = place(start_, w), *const pi = tree::full_v(model_, reduced_pi, w),
                   *const change = tree::full_v(model_, reduced_change, w);
    dynamics::subtract_matrix_product(model_, tree_, pi, change, matrix, w);
    rows.add(tree_,
             q,
             phi_,
             time_,
             {{{pi, force, false, nullptr}, {change, minus, false, nullptr}}, 2},
             nullptr,
             matrix.q,
             w);
  }

  const ModelOf<S>& model_;
  S time_;
  S *const start_, *const q_, *const v_, *const phi_;
  ProjectionRounds<S> rounds_;
  S* const J_;  ///< (rows, reduced nv) at the start
  dynamics::TreeProduct<S> tree_;
  Projection<S> projection_;
};

}  // namespace pysim::constraints
