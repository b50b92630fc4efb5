// Product of the derivatives of a projection with cotangents: its corrections, as they were made, from the
// last one to the first. M, J and G are those of the state q̃ that was projected.
//
//     c = M⁻¹Jᵀ f,  G f = −g(q)  or  −ġ(q₁, v)           q ← q ⊕ c,  v ← v + c
//
//     σ = M⁻¹ c̄,  ω = G⁺J σ,  π = σ − M⁻¹Jᵀ ω            ḡ = −ω
//     q̃ receives  πᵀ(dJᵀ f − dM c) − ωᵀ dJ c
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

  /// Velocities are those of a tree without mimic joints.
  ProjectionProduct(const ModelOf<S>& model, Workspace<S>& w)
      : model_(model),
        start_(take<S>(w, model.nq)),
        q_(take<S>(w, model.nq)),
        v_(take<S>(w, model.nv)),
        phi_(take<S>(w, model.loop_nq())),
        rounds_(model, w),
        J_(take<S>(w, std::ptrdiff_t{model.rows} * model.nv)),
        tree_(model, nullptr, w),
        projection_(model, q_, v_, phi_, nullptr, w) {
    projection_.rounds_ = &rounds_;
  }

  ProjectionProduct(const ProjectionProduct&) = delete;
  ProjectionProduct& operator=(const ProjectionProduct&) = delete;

  /// Projects q and v once more, from where they were; φ are coordinates of loops' joints near those of q.
  void make(S time, const S* q, const S* v, const S* phi, Workspace<S> w) {
    time_ = time;
    simd::copy_each<S>(q, model_.nq, start_);
    simd::copy_each<S>(q, model_.nq, q_);
    simd::copy_each<S>(v, model_.nv, v_);
    simd::copy_each<S>(phi, model_.loop_nq(), phi_);
    projection_.begin(time, w);
    spread_jacobian(projection_.rows_, J_);
    projection_.settle_position(simd::everywhere<S>());
    note_closed();
    projection_.settle_velocity();
  }

  /// Replaces cotangents of the state that was found, along δ of q ⊕ δ, by those of the state that was
  /// projected. Adds to those of M's numbers; `matrix.q` is not used. `places` [bodies] as
  /// TreeProduct has it; null for none.
  void pull(S* q_bar,
            S* v_bar,
            const dynamics::StepMatrixCotangents<S>& matrix,
            Vec3<S>* places,
            RowProduct<S, differs>& rows,
            const simd::Tape<S>& tape,
            Workspace<S> w) {
    const int nv = model_.nv;
    S* const start_bar = zeros(nv, w);
    tree_.gather_places(places);
    S *const omega = take<S>(w, model_.rows), *const minus = take<S>(w, model_.rows),
             *const pi = take<S>(w, nv), *const dq_bar = take<S>(w, nv), *const before = take<S>(w, nv);
    const dynamics::StepMatrixCotangents<S> of_start = {start_bar, matrix.base, matrix.theta};
    for (int n = rounds_.velocities - 1; n >= 0; --n) {
      const auto& round = rounds_.velocity[n];
      turn(v_bar, round.made, omega, minus, pi, w);
      pull_matrices(round.force, round.change, pi, minus, of_start, rows, w);
      place(q_, w);
      rows.add(tree_, q_, phi_, time_, {{{round.from, minus, true, v_bar}}, 1}, nullptr, q_bar, w);
    }
    for (int n = rounds_.positions - 1; n >= 0; --n) {
      const auto& round = rounds_.position[n];
      for (int i = 0; i < nv; ++i) before[i] = dq_bar[i] = all<S>(0);
      for (int b = 0; b < model_.bodies; ++b) {
        const Joint& joint = model_.joint[b];
        const int q = joint.q, v = joint.v;
        dynamics::add_retract_product<S>(
            joint, round.from + q, round.change + v, q_bar + v, before + v, dq_bar + v, tape, w);
      }
      turn(dq_bar, round.made, omega, minus, pi, w);
      pull_matrices(round.force, round.change, pi, minus, of_start, rows, w);
      place(round.from, w);
      rows.add(tree_, round.from, phi_, time_, {}, minus, before, w);
      simd::copy_each<S>(static_cast<const S*>(before), nv, q_bar);
    }
    for (int i = 0; i < nv; ++i) q_bar[i] += start_bar[i];
  }

 private:
  static S* zeros(int count, Workspace<S>& w) {
    S* const to = take<S>(w, count);
    for (int i = 0; i < count; ++i) to[i] = all<S>(0);
    return to;
  }

  void place(const S* q, Workspace<S> w) { tree_.place(q, zeros(model_.nv, w), w); }

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
    const int nv = model_.nv;
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
                     const S* change,
                     const S* pi,
                     const S* minus,
                     const dynamics::StepMatrixCotangents<S>& matrix,
                     RowProduct<S, differs>& rows,
                     Workspace<S> w) {
    place(start_, w);
    dynamics::subtract_matrix_product(model_, tree_, pi, change, matrix, w);
    rows.add(tree_,
             start_,
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
  S* const J_;  ///< (rows, nv) at the start
  dynamics::TreeProduct<S> tree_;
  Projection<S> projection_;
};

}  // namespace pysim::constraints
