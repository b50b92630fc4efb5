// Constraints of a mechanism as conditions K v = 0 on the tree's velocities, and the projection that holds
// them.
//
//     K = [ J      loops and couplings, on the coordinates that other joints mimic
//           v_i − ratio v_k          of every mimic joint ]
//
//     x ← x − H⁻¹Kᵀ (K H⁻¹ Kᵀ)⁺ K x          the solution of H x = b with K x = 0, from that without
//
// Velocities satisfy K v = r, where r are the rates of prescribed motions.
//
// H is whatever `solve` applies the inverse of. Rows may be redundant.
#pragma once

#include "constraints/constraint_rows.hpp"
#include "constraints/couplings.hpp"
#include "constraints/semidefinite.hpp"

namespace pysim::constraints {

using tree::Joint;

template <class S>
class VelocityRows {
 public:
  VelocityRows(const ModelOf<S>& model, Workspace<S>& w)
      : model_(model), rows_(take_rows(model, false, w)), count_(model.rows) {
    if (model.mimic) leader_ = take<int>(w, model.reduced_nv);
    for (int b = 0; model.mimic && b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      for (int i = 0; i < joint.nv; ++i) {
        if (joint.reduced_v >= 0) leader_[joint.reduced_v + i] = joint.v + i;
      }
      if (joint.reduced_v < 0) count_ += joint.nv;
    }
    const std::ptrdiff_t count = count_;
    K_ = take<S>(w, count * model.nv);
    X_ = take<S>(w, count * model.nv);
    lambda_ = take<S>(w, count);
    if (model.timed) {
      rate_ = take<S>(w, count);
      first_rate_ = take<S>(w, count);
      impulse_ = take<S>(w, count);
      later_ = take<S>(w, count);
      change_ = take<S>(w, count);
    }
    G_.n = count_;
    G_.A = take<S>(w, count * count);
    G_.inv_D = take<S>(w, count);
    G_.scale = take<S>(w, count);
    G_.pass = take<S>(w, count);
    G_.column = take<S>(w, count);
    G_.regularised = take<S>(w, count);
    G_.first = take<int>(w, count);
    G_.last = take<int>(w, count);
  }

  bool empty() const { return count_ == 0; }
  int count() const { return count_; }

  /// (K H⁻¹Kᵀ)⁺ K x of the last projection [count], for K x − r of velocities.
  const S* multipliers() const { return lambda_; }

  /// K where `factor` has placed and moved the bodies; φ of the loops follows.
  void evaluate(const TreeFactor<S>& factor,
                const Clock<S>& clock,
                const S* reduced_q,
                const S* reduced_v,
                S* phi,
                Workspace<S> w) {
    const int n = model_.nv;
    for (int k = 0; k < model_.loops; ++k) put_loop_rows(model_, k, factor, clock, phi, rows_, true, w);
    evaluate_couplings<S>(model_, clock, reduced_q, reduced_v, nullptr, rows_, w);
    if (model_.timed) find_rates(reduced_v);
    for (int i = 0; i < count_ * n; ++i) K_[i] = all<S>(0);
    for (int i = 0; i < rows_.count; ++i) {
      const int* const own = rows_.coordinates(i);
      for (int m = 0; m < rows_.path[i].nv; ++m) {
        K_[i * n + (model_.mimic ? leader_[own[m]] : own[m])] = rows_.J[i * rows_.nv + m];
      }
    }
    int row = rows_.count;
    for (int b = 0; model_.mimic && b < model_.bodies; ++b) {
      const Joint& joint = model_.joint[b];
      for (int i = joint.v; joint.reduced_v < 0 && i < joint.v + joint.nv; ++i, ++row) {
        K_[row * n + i] = all<S>(1);
        K_[row * n + leader_[model_.mimic_v[i].reduced]] = -all<S>(model_.mimic_v[i].ratio);
      }
    }
  }

  /// Factors K H⁻¹ Kᵀ; solve(b, x) gives x = H⁻¹ b.
  template <class Solve>
  void factor(const Solve& solve) {
    const int n = model_.nv;
    for (int i = 0; i < count_; ++i) {
      solve(static_cast<const S*>(K_ + i * n), X_ + i * n);
      G_.first[i] = 0;
      for (int j = 0; j <= i; ++j) G_.A[i * count_ + j] = times(K_ + i * n, X_ + j * n);
    }
    const S o = all<S>(0), e = all<S>(1);
    const auto diagonal = [this](int i) { return G_.A[i * count_ + i]; };
    for (int i = 0; i < count_; ++i) {
      G_.scale[i] = select(diagonal(i) > o, e / sqrt(select(diagonal(i) > o, diagonal(i), e)), o);
    }
    scale_loop_rows(model_, rows_, diagonal, diagonal, G_.scale);
    S residual = o;
    for (int i = 0; i < rows_.count; ++i) residual = max(residual, abs(rows_.g[i]));
    G_.factorise(residual, simd::nowhere<S>(), nullptr);
  }

  /// Projects a change of a solution of H x = b.
  void project(S* x) const {
    project_from(x, nullptr);
    for (int i = 0; model_.timed && i < count_; ++i) change_[i] = -lambda_[i];
  }

  /// Begins a solution with no change of the velocities.
  void begin() const {
    for (int i = 0; model_.timed && i < count_; ++i) later_[i] = all<S>(0);
  }

  /// Takes the projected change as far as `mix` goes from a number to another.
  template <class Mix>
  void advance(const Mix& mix) const {
    for (int i = 0; model_.timed && i < count_; ++i) later_[i] = mix(later_[i], later_[i] + change_[i]);
  }

  /// Projects velocities:  K v = r.
  void project_velocity(S* v) const {
    project_from(v, rate_);
    for (int i = 0; model_.timed && i < count_; ++i) {
      impulse_[i] = -lambda_[i];
      later_[i] = all<S>(0);
    }
  }

  /// Adds the work of prescribed motions in a step to its places among `numbers`: impulses of all
  /// projections times the rate at the end, or the `mean` of both ends.
  void add_motion_work(bool mean, S* numbers) const {
    visit_motions<S>(model_, [&](int row, int count, int place) {
      for (int i = row; place >= 0 && i < row + count; ++i) {
        const S rate = mean ? all<S>(0.5) * (first_rate_[i] + rate_[i]) : rate_[i];
        numbers[place] = fma(impulse_[i] + later_[i], rate, numbers[place]);
      }
    });
  }

  /// The user's coordinates among the tree's.
  void reduce(const S* q, const S* v, S* reduced_q, S* reduced_v) const {
    for (int b = 0; b < model_.bodies; ++b) {
      const Joint& joint = model_.joint[b];
      if (joint.reduced_v < 0) continue;
      for (int i = 0; i < joint.nq; ++i) reduced_q[joint.reduced_q + i] = q[joint.q + i];
      for (int i = 0; i < joint.nv; ++i) reduced_v[joint.reduced_v + i] = v[joint.v + i];
    }
  }

  /// The tree's generalised forces of the user's.
  void spread_forces(const S* reduced, S* tau) const {
    for (int i = 0; i < model_.nv; ++i) tau[i] = all<S>(0);
    for (int i = 0; i < model_.reduced_nv; ++i) tau[leader_[i]] = reduced[i];
  }

 private:
  void project_from(S* x, const S* rate) const {
    const int n = model_.nv;
    for (int i = 0; i < count_; ++i) {
      lambda_[i] = times(K_ + i * n, x);
      if (rate != nullptr) lambda_[i] -= rate[i];
    }
    G_.solve(lambda_);
    for (int i = 0; i < count_; ++i) {
      for (int k = 0; k < n; ++k) x[k] = fnma(lambda_[i], X_[i * n + k], x[k]);
    }
  }

  /// r, from ġ = K v − r.
  void find_rates(const S* reduced_v) {
    for (int i = 0; i < count_; ++i) rate_[i] = all<S>(0);
    visit_motions<S>(model_, [&](int row, int count, int) {
      for (int i = row; i < row + count; ++i) {
        first_rate_[i] = rows_.times(i, reduced_v);
        rate_[i] = first_rate_[i] - rows_.gd[i];
      }
    });
  }

  S times(const S* a, const S* b) const {
    S sum = all<S>(0);
    for (int k = 0; k < model_.nv; ++k) sum = fma(a[k], b[k], sum);
    return sum;
  }

  const ModelOf<S>& model_;
  Rows<S> rows_;
  int count_;
  int* leader_ = nullptr;  ///< [reduced nv] the tree's coordinate of the user's
  S *K_, *X_;              ///< (count, nv) K, and H⁻¹Kᵀ transposed
  S* lambda_;
  S* rate_ = nullptr;        ///< [count] r; null without prescribed motions, as the following
  S* first_rate_ = nullptr;  ///< K v before
  S *impulse_ = nullptr, *later_ = nullptr, *change_ = nullptr;  ///< impulses of projections
  Semidefinite<S> G_;
};

}  // namespace pysim::constraints
