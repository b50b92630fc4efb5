// Projection onto the constraints after a step, by the smallest motion in the norm of M.
//
//     q ← q ⊕ −M⁻¹Jᵀ G⁺ g    until g = 0            v ← v − M⁻¹Jᵀ G⁺ ġ            G = J M⁻¹ Jᵀ
//
// The component of v that violates the constraints is M-orthogonal to the rest, so the loss of kinetic energy
// is of second order in the drift of one step: the motion is not damped [Eich 1993; Blajer
// 2011].
#pragma once

#include "constraints/constrained_dynamics.hpp"

namespace pysim::constraints {

/// Residual [m, rad] at which projection stops, residual below which it stops when it no longer decreases,
/// residuals that independent and redundant rows must reach, and the largest number of iterations.
template <class Real>
struct ProjectionTolerance {
  static constexpr Real residual = sizeof(Real) == 8 ? Real(1e-15) : Real(2e-7);
  static constexpr Real enough = sizeof(Real) == 8 ? Real(1e-13) : Real(1e-6);
  static constexpr Real required = sizeof(Real) == 8 ? Real(1e-10) : Real(1e-4);
  /// of rows that repeat others in a file's digits, which no configuration closes
  static constexpr Real required_of_redundant = sizeof(Real) == 8 ? Real(1e-7) : Real(1e-4);
  static constexpr int tries = 12;
  /// product of the initial residual and the remaining rate above which v is corrected once more
  static constexpr Real aside = sizeof(Real) == 8 ? Real(1e-14) : Real(1e-7);
};

/// Result of a projection.
template <class S>
struct Projected {
  S residual;               ///< largest |g| [m, rad]
  simd::Mask<S> is_closed;  ///< whether it is within the tolerance
  S rank;                   ///< independent rows of J
};

/// How a projection went, for its derivatives: the corrections that it made.
template <class S>
struct ProjectionRounds {
  static constexpr int most = ProjectionTolerance<typename S::Real>::tries + 1;

  struct Round {
    S* from;    ///< (reduced nq) or (reduced nv) before
    S* force;   ///< [rows] −G⁺ g or −G⁺ ġ
    S* change;  ///< (reduced nv) M⁻¹Jᵀ of it; both are zero where it was not made
    simd::Mask<S> made;
  };

  Round position[most], velocity[most];
  int positions = 0, velocities = 0;

  ProjectionRounds(const ModelOf<S>& model, Workspace<S>& w) {
    for (int n = 0; n < most; ++n) {
      position[n] = take_round(model, model.reduced_nq, w);
      velocity[n] = take_round(model, model.reduced_nv, w);
    }
  }

 private:
  static Round take_round(const ModelOf<S>& model, int numbers, Workspace<S>& w) {
    return {take<S>(w, numbers), take<S>(w, model.rows), take<S>(w, model.reduced_nv), simd::nowhere<S>()};
  }
};

template <class S, bool differs>
class ProjectionProduct;

/// Moves q and v of the user's coordinates onto the constraints.
///
/// M and G are factored once, at the given state: after one step of a scheme that is close enough.
template <class S>
class Projection {
  using Tolerance = ProjectionTolerance<typename S::Real>;

 public:
  Projection(
      const ModelOf<S>& model, S* reduced_q, S* reduced_v, S* phi, Dependence<S>* dependence, Workspace<S>& w)
      : model_(model),
        q_(reduced_q),
        v_(reduced_v),
        phi_(phi),
        dependence_(dependence),
        step_(take<S>(w, model.reduced_nv)),
        lambda_(take<S>(w, model.rows)),
        moved_(take<S>(w, model.reduced_nq)),
        factor_(model, w),
        bodies_(model, w),
        rows_(take_rows(model, false, w)),
        delassus_(rows_, w),
        w_(w) {}

  /// Factors M and G at the state, and takes the rows there; uses what is behind `w`.
  void begin(S time, Workspace<S> w) {
    clock_ = {time, all<S>(1)};
    w_ = w;
    factorise();
    found_ = residual();
  }

  /// q of the `active` worlds.
  void settle_position(simd::Mask<S> active) {
    S last = all<S>(simd::infinity);
    for (int n = 0; n < Tolerance::tries; ++n) {
      const S size = residual();
      const auto gains = (size > all<S>(Tolerance::enough)) | (size + size < last);
      active &= gains & (size > all<S>(Tolerance::residual));
      last = size;
      if (none(active)) break;
      correct(rows_.g);
      if (rounds_ != nullptr) note_position(active);
      dynamics::retract(model_, static_cast<const S*>(q_), static_cast<const S*>(step_), moved_);
      simd::copy_where<S>(active, moved_, model_.reduced_nq, q_);
      evaluate(false);
    }
  }

  /// q once more from `found_q` if it does not converge with rows left out that were dependent at the
  /// start of the step, or regularised: the step began at a singular position, and the rows are needed again.
  void settle_with_all_rows(const S* found_q) {
    if (dependence_ == nullptr) return;
    const auto stuck = !is_closed();
    if (none(stuck)) return;
    for (int i = 0; i < model_.rows; ++i) dependence_->row[i] &= !stuck;
    for (int i = 0; i < model_.reduced_nq; ++i) moved_[i] = q_[i], q_[i] = found_q[i];
    factorise();
    for (int i = 0; i < model_.reduced_nq; ++i) q_[i] = select(stuck, q_[i], moved_[i]);
    evaluate(false);
    regularised_ = false;
    settle_position(stuck);
    regularised_ = true;
  }

  /// G was factored at the given state: the remaining ġ is about the product of both
  /// residuals.
  void settle_velocity() {
    auto aside = leaves_rate();
    correct(rows_.gd);
    note_velocity(simd::everywhere<S>());
    for (int i = 0; i < model_.reduced_nv; ++i) v_[i] += step_[i];
    for (int n = 0; n < Tolerance::tries && any(aside); ++n) {
      evaluate(false);
      const auto still = aside & leaves_rate();
      correct(rows_.gd);
      note_velocity(aside);
      for (int i = 0; i < model_.reduced_nv; ++i) v_[i] += select(aside, step_[i], all<S>(0));
      aside = still;
    }
  }

  void follow() const { follow_hinges(model_, *placed_, phi_); }

  /// Largest |g|.
  S residual() const { return largest(static_cast<const S*>(rows_.g), model_.rows); }

  /// Whether every row is within its tolerance.
  simd::Mask<S> is_closed() const {
    const auto closed = residual() <= all<S>(Tolerance::required);
    if (none(!closed)) return closed;
    auto within = simd::everywhere<S>();
    visit_tolerances([&](int row, S tolerance) { within &= abs(rows_.g[row]) <= tolerance; });
    return closed | within;
  }

  /// Calls `use(row, largest |g| at which the row counts as closed)`. Rows that were left out, as they repeat
  /// others of their loop, may be open by its digits; couplings by the rounding of their large angles.
  template <class Use>
  void visit_tolerances(Use use) const {
    const S required = all<S>(Tolerance::required);
    for (int k = 0; k < model_.loops; ++k) {
      const auto& loop = model_.loop[k];
      auto holds = simd::nowhere<S>();
      for (int i = loop.row; i < loop.row + loop.rows; ++i) holds |= factor().is_taken(i);
      for (int i = loop.row; i < loop.row + loop.rows; ++i) {
        const auto repeats = holds & !factor().is_taken(i);
        use(i, select(repeats, all<S>(Tolerance::required_of_redundant), required));
      }
    }
    for (int k = 0; k < model_.couplings; ++k) {
      const auto& coupling = model_.coupling[k];
      use(coupling.row, max(required, rounding_of_coupling<S>(model_, coupling, q_)));
    }
  }

  S rank() const { return delassus_.G.rank; }
  const Semidefinite<S>& factor() const { return delassus_.G; }

 private:
  template <class, bool>
  friend class ProjectionProduct;

  using Rounds = ProjectionRounds<S>;

  /// Takes down the correction of the worlds `made`, from `from` (count).
  void note(simd::Mask<S> made, const S* from, int count, typename Rounds::Round& round) const {
    const S o = all<S>(0);
    round.made = made;
    simd::copy_each<S>(from, count, round.from);
    for (int i = 0; i < model_.rows; ++i) round.force[i] = select(made, lambda_[i], o);
    for (int i = 0; i < model_.reduced_nv; ++i) round.change[i] = select(made, step_[i], o);
  }

  void note_position(simd::Mask<S> made) const {
    note(made, q_, model_.reduced_nq, rounds_->position[rounds_->positions++]);
  }

  void note_velocity(simd::Mask<S> made) const {
    if (rounds_ != nullptr) note(made, v_, model_.reduced_nv, rounds_->velocity[rounds_->velocities++]);
  }

  void factorise() {
    evaluate(true);
    delassus_.factorise(factor_, dependence_);
  }

  void evaluate(bool first) {
    Workspace<S> inner = w_;
    const S* q = tree::full_q(model_, static_cast<const S*>(q_), inner);
    const S* v = tree::full_v(model_, static_cast<const S*>(v_), inner);
    if (first) {
      factor_.move(q, v, inner);
      factor_.factor(q, inner);
    } else {
      bodies_.place(q, v, inner);
    }
    placed_ = first ? &factor_ : &bodies_;
    evaluate_rows(model_, *placed_, clock_, phi_, rows_, first, inner);
    evaluate_couplings<S>(model_, clock_, q_, v_, nullptr, rows_, inner);
  }

  /// −M⁻¹Jᵀ G⁺ off.
  void correct(const S* off) {
    for (int i = 0; i < model_.rows; ++i) lambda_[i] = -off[i];
    delassus_.correct(factor_, lambda_, step_, regularised_);
  }

  simd::Mask<S> leaves_rate() const {
    return found_ * largest(static_cast<const S*>(rows_.gd), model_.rows) > all<S>(Tolerance::aside);
  }

  const ModelOf<S>& model_;
  Clock<S> clock_;
  S *q_, *v_, *phi_;
  Dependence<S>* dependence_;
  S *step_, *lambda_, *moved_;
  MechanismFactor<S> factor_;  ///< at the given state
  MechanismFactor<S> bodies_;  ///< where they are after corrections
  const MechanismFactor<S>* placed_ = &factor_;
  Rows<S> rows_;
  Delassus<S> delassus_;
  Workspace<S> w_;
  S found_;                   ///< residual where the state was found
  bool regularised_ = true;   ///< whether rows that have nearly vanished are regularised
  Rounds* rounds_ = nullptr;  ///< records the corrections; null for none
};

/// Moves q and v of the user's coordinates onto the constraints at a time; φ follows. A world that satisfies
/// them already keeps its q to the last bit. The pivots of its factorisation are recorded in `watch`, if
/// given.
template <class S>
Projected<S> project(const ModelOf<S>& model,
                     S time,
                     S* reduced_q,
                     S* reduced_v,
                     S* phi,
                     Workspace<S> w,
                     Dependence<S>* dependence = nullptr,
                     Dependence<S>* watch = nullptr) {
  S* const found_q = take<S>(w, model.reduced_nq);
  for (int i = 0; i < model.reduced_nq; ++i) found_q[i] = reduced_q[i];
  Projection<S> projection(model, reduced_q, reduced_v, phi, dependence, w);
  projection.begin(time, w);
  if (watch != nullptr && dependence == nullptr) watch->watch(projection.factor());
  projection.settle_position(simd::everywhere<S>());
  projection.settle_with_all_rows(found_q);
  projection.settle_velocity();
  projection.follow();
  return {projection.residual(), projection.is_closed(), projection.rank()};
}

}  // namespace pysim::constraints
