// Derivatives of velocity terms as matrices: the rounds of velocity_terms.hpp, as they were made, from the
// first one to the last.
//
//     a ← a + w s,  A s = r = −(RNEA(q_m, v_m, a) + (A − M(q₀)) a)
//
//     A ṡ = ṙ − Ȧ s       ȧ ← ȧ + w ṡ + ẇ s       A ȧ₀ = −ċ − Ȧ a₀
//
// A dot is a derivative by one column: the first 2 nv are q₀ and v₀.
#pragma once

#include "dynamics/sparse_factor.hpp"
#include "dynamics/torque_matrices.hpp"
#include "stepping/velocity_terms_product.hpp"

namespace pysim::stepping {

/// (nv, columns) each.
template <class S>
struct VelocityTermsMatrices {
  int columns;
  const S* before;   ///< in: of v* without these terms
  S *rate, *change;  ///< of a, and of what the rounds change
  S* share;          ///< (columns) of the share that counts
};

template <class S>
class VelocityTermsDerivatives {
 public:
  using ModelOf = tree::ModelOf<S>;

  /// `factor` is that of A, `entries` its (nv, nv) entries beside M; `tree` is placed at q and v.
  VelocityTermsDerivatives(const VelocityRounds<S>& rounds,
                           const dynamics::StepMatrix<S>& A,
                           const dynamics::SparseFactor<S>& factor,
                           dynamics::TreeProduct<S>& tree,
                           const bool* single,
                           const S* entries,
                           S h,
                           tree::Workspace<S>& w)
      : rounds_(rounds),
        A_(A),
        factor_(factor),
        model_(A.recursion.model),
        weightless_(model_),
        tree_(tree),
        single_(single),
        entries_(entries),
        h_(h),
        half_(all<S>(typename S::Real(0.5)) * h),
        torque_(model_.nv, w),
        w_(w) {
    for (auto& g : weightless_.gravity) g = typename S::Parameter{};
  }

  /// `subtract(x, X)` subtracts Ė x from X (nv, columns), of what A has beside M.
  template <class Subtract>
  void evaluate(const S* q, const S* v, const VelocityTermsMatrices<S>& to, const Subtract& subtract) {
    q_ = q;
    columns_ = to.columns;
    const int nv = model_.nv, size = nv * columns_;
    S *const first = zeros(size), *const start = zeros(size), *const step = zeros(size);
    for (S*& changed : changed_) changed = zeros(columns_);
    const S* const a0 = rounds_.rate[0];
    Workspace<S> w = w_;
    torque_.evaluate(weightless_, q, v, a0, nullptr, w);
    subtract_columns(torque_.q, 0, first);
    subtract_columns(torque_.v, nv, first);
    subtract(a0, first);
    solve(first);
    for (int i = 0; i < size; ++i) {
      to.rate[i] = first[i];
      start[i] = simd::fnma(h_, first[i], to.before[i]);
    }
    for (int n = 0; n < rounds_.count; ++n) add_round(n, start, to.rate, step, subtract);
    for (int i = 0; i < size; ++i) to.change[i] = to.rate[i] - first[i];
    add_share(v, to.share);
  }

 private:
  template <class T>
  using Workspace = tree::Workspace<T>;

  S* zeros(int count) {
    S* const x = tree::take<S>(w_, count);
    for (int i = 0; i < count; ++i) x[i] = all<S>(0);
    return x;
  }

  /// X −= B in the columns from `first` on.
  void subtract_columns(const S* B, int first, S* X) const {
    const int nv = model_.nv;
    for (int i = 0; i < nv; ++i) {
      for (int k = 0; k < nv; ++k) X[i * columns_ + first + k] -= B[i * nv + k];
    }
  }

  template <class Subtract>
  void add_round(int n, const S* start, S* rate, S* step, const Subtract& subtract) {
    const int nv = model_.nv;
    const S o = all<S>(0);
    Workspace<S> w = w_;
    const S *const a = rounds_.rate[n], *const s = rounds_.step[n];
    for (int i = 0; i < nv * columns_; ++i) step[i] = o;
    Middle at(*this, n, w);
    add_residual(at, a, start, rate, step, w);
    subtract(a, step);
    const bool counts = weighs_later(n);
    S* const size = changed_[n];
    if (counts) add_product(s, step, size);
    S* const still = tree::take<S>(w, nv);
    for (int i = 0; i < nv; ++i) still[i] = o;
    torque_.evaluate(weightless_, q_, static_cast<const S*>(still), s, nullptr, w);
    subtract_columns(torque_.q, 0, step);
    subtract(s, step);
    if (counts) {
      add_product(s, step, size);
      finish_changed(n, at, start, rate, w);
    }
    solve(step);
    const S weight = rounds_.weight[n];
    for (int i = 0; i < nv * columns_; ++i) rate[i] = fma(weight, step[i], rate[i]);
    add_weight(n, rate);
  }

  /// The state at which a round is made.
  struct Middle {
    S *q, *v, *dq;

    Middle(const VelocityTermsDerivatives& of, int n, Workspace<S>& w)
        : q(tree::take<S>(w, of.model_.nq)),
          v(tree::take<S>(w, of.model_.nv)),
          dq(tree::take<S>(w, of.model_.nv)) {
      const auto& rounds = of.rounds_;
      simd::copy_each<S>(of.q_, of.model_.nq, q);
      for (int i = 0; i < of.model_.nv; ++i) v[i] = dq[i] = all<S>(0);
      of.each_joint([&](const tree::Joint& joint) {
        for (int i = joint.v; i < joint.v + joint.nv; ++i) {
          v[i] = fma(of.half_, rounds.rate[n][i], simd::fnma(of.h_, rounds.rate[0][i], rounds.before[i]));
          dq[i] = of.half_ * v[i];
        }
        dynamics::retract<S>(joint.block, joint.blocks, of.q_ + joint.q, dq + joint.v, q + joint.q);
      });
    }
  };

  /// Adds ṙ but for Ė a: −Q X δq₀ − P start˙ − (h/2 P + M + E) ȧ, with P = h/2 Q Y + V, where X and Y say how
  /// q_m turns with q₀ and with its step.
  void add_residual(const Middle& at, const S* a, const S* start, const S* rate, S* to, Workspace<S> w) {
    const int nv = model_.nv;
    S *const by_start = tree::take<S>(w, nv * nv), *const by_rate = tree::take<S>(w, nv * nv);
    torque_.evaluate(weightless_, static_cast<const S*>(at.q), static_cast<const S*>(at.v), a, nullptr, w);
    simd::copy_each<S>(static_cast<const S*>(torque_.q), nv * nv, by_start);
    each_joint([&](const tree::Joint& joint) {
      if (!is_real(joint)) turn_columns(joint, at, by_start);
    });
    subtract_columns(torque_.q, 0, to);
    for (int i = 0; i < nv * nv; ++i) {
      by_start[i] = fma(half_, by_start[i], torque_.v[i]);
      by_rate[i] = fma(half_, by_start[i], torque_.a[i] + entries_[i]);
    }
    factor_.subtract_product(by_start, start, columns_, to);
    factor_.subtract_product(by_rate, rate, columns_, to);
  }

  static bool is_real(const tree::Joint& joint) {
    for (int k = 0; k < joint.blocks; ++k) {
      if (joint.block[k].group != tree::Group::real) return false;
    }
    return true;
  }

  /// Replaces the columns of a joint in Q by those of Q X, and in `by_step` by those of Q Y.
  void turn_columns(const tree::Joint& joint, const Middle& at, S* by_step) {
    constexpr int most = tree::max_joint_nv;
    const int nv = model_.nv, v = joint.v, n = joint.nv;
    const S o = all<S>(0);
    S X[most][most], Y[most][most];
    for (int r = 0; r < n; ++r) {
      S unit[most];
      for (int k = 0; k < n; ++k) {
        unit[k] = all<S>(k == r ? 1 : 0);
        X[r][k] = Y[r][k] = o;
      }
      add_retract_product<S>(
          joint, static_cast<const S*>(at.dq) + v, static_cast<const S*>(unit), X[r], Y[r]);
    }
    for (int i = 0; i < nv; ++i) {
      S *const row = torque_.q + i * nv + v, *const step = by_step + i * nv + v;
      S q[most];
      for (int r = 0; r < n; ++r) q[r] = row[r];
      for (int k = 0; k < n; ++k) {
        row[k] = step[k] = o;
        for (int r = 0; r < n; ++r) {
          row[k] = fma(q[r], X[r][k], row[k]);
          step[k] = fma(q[r], Y[r][k], step[k]);
        }
      }
    }
  }

  /// to += xᵀ X.
  void add_product(const S* x, const S* X, S* to) const {
    for (int i = 0; i < model_.nv; ++i) {
      for (int c = 0; c < columns_; ++c) to[c] = fma(x[i], X[i * columns_ + c], to[c]);
    }
  }

  /// Whether what round n changes decides how much of a later one counts.
  bool weighs_later(int n) const {
    for (int k = n + 1; k < rounds_.count && k < n + 3; ++k) {
      if (any((rounds_.weight[k] > all<S>(0)) & (rounds_.weight[k] < all<S>(1)))) return true;
    }
    return false;
  }

  /// Of h² s·A s / energy, from those of s·A s.
  void finish_changed(int n, const Middle& at, const S* start, const S* rate, Workspace<S> w) {
    using spatial::Force;
    using spatial::Motion;
    const int nv = model_.nv;
    const S o = all<S>(0), e = all<S>(1) / rounds_.energy[n];
    dynamics::TreeProduct<S> middle(model_, single_, w);
    auto* const V = tree::take<Motion<S>>(w, model_.bodies);
    auto* const V_bar = tree::take<Force<S>>(w, model_.bodies);
    S *const q_bar = tree::take<S>(w, nv), *const v_bar = tree::take<S>(w, nv),
             *const dq_bar = tree::take<S>(w, nv), *const row = changed_[n];
    middle.place(at.q, at.v, w);
    middle.spread(at.v, V);
    const S of_energy = -(rounds_.changed[n] * e);
    for (int b = 0; b < model_.bodies; ++b) {
      if (!single_[b]) V_bar[b] = (of_energy + of_energy) * (dynamics::body_inertia<S>(model_, b) * V[b]);
    }
    for (int i = 0; i < nv; ++i) q_bar[i] = v_bar[i] = dq_bar[i] = o;
    middle.gather(V, at.v, V_bar, q_bar, v_bar);
    for (int c = 0; c < columns_; ++c) row[c] = h_ * h_ * e * row[c];
    each_joint([&](const tree::Joint& joint) {
      const int k = joint.v;
      add_retract_product<S>(
          joint, static_cast<const S*>(at.dq) + k, static_cast<const S*>(q_bar) + k, row + k, dq_bar + k);
    });
    for (int i = 0; i < nv; ++i) v_bar[i] = fma(half_, dq_bar[i], v_bar[i]);
    add_product(v_bar, start, row);
    for (int i = 0; i < nv; ++i) v_bar[i] = half_ * v_bar[i];
    add_product(v_bar, rate, row);
  }

  void add_weight(int n, S* rate) const {
    S by_changed[VelocityRounds<S>::most];
    for (S& own : by_changed) own = all<S>(0);
    pull_weight(rounds_, n, all<S>(1), by_changed);
    for (int k = n - 2; k < n; ++k) {
      if (k < 0 || all(by_changed[k] == all<S>(0))) continue;
      for (int i = 0; i < model_.nv; ++i) {
        const S share = by_changed[k] * rounds_.step[n][i];
        for (int c = 0; c < columns_; ++c) {
          rate[i * columns_ + c] = fma(share, changed_[k][c], rate[i * columns_ + c]);
        }
      }
    }
  }

  /// Of the share of the rounds that counts.
  void add_share(const S* v, S* to) {
    const int nv = model_.nv;
    Workspace<S> w = w_;
    for (int c = 0; c < columns_; ++c) to[c] = all<S>(0);
    if (none((rounds_.share > all<S>(0)) & (rounds_.share < all<S>(1)))) return;
    auto *const V_bar = tree::take<spatial::Force<S>>(w, model_.bodies), *const c_bar =
                                                                             tree::take<spatial::Force<S>>(
                                                                                 w, model_.bodies);
    S *const none = tree::take<S>(w, nv), *const unused = tree::take<S>(w, nv);
    for (int i = 0; i < nv; ++i) none[i] = unused[i] = all<S>(0);
    pull_share(A_, single_, h_, rounds_.share, all<S>(1), V_bar, c_bar);
    tree_.add(v, rounds_.rate[0], none, false, to, to + nv, unused, nullptr, V_bar, c_bar);
  }

  template <class Visit>
  void each_joint(const Visit& visit) const {
    for (int b = 0; b < model_.bodies; ++b) {
      if (!single_[b]) visit(model_.joint[b]);
    }
  }

  /// Solves A X = X, and leaves zeros in the rows of single bodies.
  void solve(S* X) const {
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      for (int i = 0; single_[b] && i < joint.nv * columns_; ++i) X[joint.v * columns_ + i] = all<S>(0);
    }
    factor_.solve(X, columns_);
  }

  const VelocityRounds<S>& rounds_;
  const dynamics::StepMatrix<S>& A_;
  const dynamics::SparseFactor<S>& factor_;
  const ModelOf& model_;
  ModelOf weightless_;
  dynamics::TreeProduct<S>& tree_;
  const bool* const single_;
  const S* const entries_;
  const S h_, half_;
  dynamics::TorqueMatrices<S> torque_;
  tree::Workspace<S> w_;
  const S* q_ = nullptr;
  int columns_ = 0;
  S* changed_[VelocityRounds<S>::most];  ///< (columns) of the shares of the energy that rounds change
};

}  // namespace pysim::stepping
