// Inverse kinematics: Levenberg-Marquardt steps to configurations in which frames have given poses.
//
//     minimise E(q) = ½ |W e(q)|² + ½ |c g(q)|²        lower ≤ q ≤ upper
//     (JᵀJ + λ D) δ = −Jᵀ r,  λ = ρ E + ε               q ← q ⊕ δ, clipped to the limits
//
//     e = [R*ᵀ (p − p*); log(R*ᵀ R)]                    a pose X* = (R*, p*)
//     ė = [R*ᵀ v; Jₗ⁻¹(log R*ᵀ R) R*ᵀ ω]                [v; ω] the frame's twist in the world's axes
//     e = p − p*                                        a position p*: R* = 1, the rotation has no weight
//
// r is W e of all frames and c g of all loops and couplings. Damping in proportion to E needs no search along
// the step and converges quadratically [Sugihara 2011]. A coordinate at a limit that the step would leave is
// held. Every world keeps the best configuration that it has met; it stops when its errors are within the
// tolerance or E does not decrease any more.
#pragma once

#include "constraints/couplings.hpp"
#include "constraints/mechanism_factor.hpp"
#include "constraints/pose_search_arguments.hpp"
#include "dynamics/frame.hpp"
#include "dynamics/retract.hpp"

namespace pysim::constraints {

using dynamics::BodyFrame;
using spatial::Mat3;
using spatial::Motion;
using spatial::Vec3;

/// Steps of one pack of worlds.
template <class S>
class PoseDescent {
 public:
  PoseDescent(
      const ModelOf<S>& model, const PoseSearch& search, const S* goals, S* q, S* loop_q, Workspace<S> w)
      : model_(model),
        search_(search),
        goals_(goals),
        n_(model.reduced_nv),
        q_(q),
        loop_q_(loop_q),
        v_(take<S>(w, n_)),
        H_(take<S>(w, std::ptrdiff_t{1} * n_ * n_)),
        gradient_(take<S>(w, n_)),
        step_(take<S>(w, n_)),
        row_(take<S>(w, 6 * n_)),
        moved_(take<S>(w, model.reduced_nq)),
        best_q(take<S>(w, model.reduced_nq)),
        best_loop_q(take<S>(w, model.loop_nq())),
        factor_(model, w),
        rows_(take_rows(model, false, w)),
        w_(w) {
    for (int i = 0; i < n_; ++i) v_[i] = all<S>(0);
    for (int i = 0; i < model.reduced_nq; ++i) best_q[i] = q[i];
    for (int i = 0; i < model.loop_nq(); ++i) best_loop_q[i] = loop_q[i];
    clip(q_);
  }

  void run() {
    auto active = simd::everywhere<S>(), returned = simd::nowhere<S>();
    S before = all<S>(simd::infinity);
    cost = error = before;
    for (int k = 0;; ++k) {
      evaluate();
      const auto gains = (E_ < cost) | returned;
      keep(active);
      active &= E_ < all<S>(simd::infinity);
      active &= !(largest_ <= all<S>(search_.tolerance));
      if (k % patience == 0) {
        const S reached = search_.careful ? cost : E_;
        active &= reached < all<S>(search_.gain) * before;
        before = reached;
      }
      if (k == search_.iterations || none(active)) return;
      hold_at_limits();
      solve();
      if (search_.careful) {  // where E grew, go back and take shorter steps
        returned = !gains;
        damping_ =
            select(returned, all<S>(8) * damping_, max_of(all<S>(0.5) * damping_, all<S>(damping_share)));
        for (int j = 0; j < n_; ++j) step_[j] = select(returned, all<S>(0), step_[j]);
        simd::copy_where<S>(returned, best_q, model_.reduced_nq, q_);
      }
      dynamics::retract(model_, static_cast<const S*>(q_), static_cast<const S*>(step_), moved_);
      clip(moved_);
      simd::copy_where<S>(active, moved_, model_.reduced_nq, q_);
    }
  }

 private:
  /// r, E, the largest error, JᵀJ (its lower triangle) and Jᵀr at q.
  void evaluate() {
    Workspace<S> w = w_;
    for (int i = 0; i < n_ * n_; ++i) H_[i] = all<S>(0);
    for (int i = 0; i < n_; ++i) gradient_[i] = all<S>(0);
    E_ = largest_ = all<S>(0);
    const S* q = tree::full_q(model_, static_cast<const S*>(q_), w);
    for (int k = 0; k < search_.frames; ++k) add_frame(search_.frame[k], goals_ + 12 * k, q, w);
    if (model_.rows > 0) add_rows(q, w);
  }

  void add_frame(const SearchedFrame& frame, const S* goal, const S* q, Workspace<S> w) {
    Pose<S>* const X_BF = take<Pose<S>>(w, model_.bodies);
    Motion<S>* const columns = take<Motion<S>>(w, model_.stored_columns);
    const BodyFrame<S> placed = {frame.body,
                                 {spatial::all33<S>(frame.placement), spatial::all3<S>(frame.placement + 9)}};
    const Pose<S> X_WF = dynamics::climb(model_, q, placed, X_BF, columns);
    const Mat3<S> R = {{goal[0], goal[1], goal[2]}, {goal[3], goal[4], goal[5]}, {goal[6], goal[7], goal[8]}};
    const Vec3<S> p = {goal[9], goal[10], goal[11]};
    const Vec3<S> away = transpose_times(R, X_WF.p - p);
    const Mat3<S> turned = {
        transpose_times(R, X_WF.R.x), transpose_times(R, X_WF.R.y), transpose_times(R, X_WF.R.z)};
    const Vec3<S> angle = spatial::log(turned);
    S r[6] = {away.x, away.y, away.z, angle.x, angle.y, angle.z};
    S square[2] = {all<S>(0), all<S>(0)};
    for (int i = 0; i < 6; ++i) {
      if (frame.weight[i] > 0) square[i / 3] = fma(r[i], r[i], square[i / 3]);
      r[i] *= all<S>(frame.weight[i]);
    }
    include(sqrt(max_of(square[0], square[1])));
    for (int i = 0; i < 6 * n_; ++i) row_[i] = all<S>(0);
    for (int b = frame.body; b >= 0; b = model_.joint[b].parent) {
      const tree::Joint& joint = model_.joint[b];
      for (int i = 0; i < joint.nv; ++i) {
        const Motion<S> V = to_child(X_BF[b], column(tree::axis(joint, columns, i)));  // in the frame's axes
        const Vec3<S> v = turned * V.v, w_goal = turned * V.w;
        const Vec3<S> u = spatial::left_jacobian_inverse_times(angle, w_goal);
        const auto& mimic = model_.mimic_v[joint.v + i];
        const S entry[6] = {v.x, v.y, v.z, u.x, u.y, u.z};
        for (int m = 0; m < 6; ++m) {
          S& number = row_[m * n_ + mimic.reduced];
          number = fma(all<S>(mimic.ratio * frame.weight[m]), entry[m], number);
        }
      }
    }
    for (int m = 0; m < 6; ++m) {
      if (frame.weight[m] > 0) add_row(r[m], row_ + m * n_);
    }
  }

  void add_rows(const S* q, Workspace<S> w) {
    const S* v = tree::full_v(model_, static_cast<const S*>(v_), w);
    factor_.move_freely(q, v, w);
    evaluate_rows(model_, factor_, Clock<S>(), loop_q_, rows_, true, w);
    evaluate_couplings<S>(model_, Clock<S>(), q_, v_, nullptr, rows_, w);
    follow_hinges(model_, factor_, loop_q_);
    for (int k = 0; k < model_.rows; ++k) {
      const double c = search_.row_weight[k];
      if (c == 0) continue;
      include(abs(rows_.g[k]));
      for (int i = 0; i < n_; ++i) row_[i] = all<S>(0);
      const int* const at = rows_.coordinates(k);
      for (int m = 0; m < rows_.path[k].nv; ++m) row_[at[m]] = all<S>(c) * rows_.J[k * n_ + m];
      add_row(all<S>(c) * rows_.g[k], row_);
    }
  }

  static S max_of(S a, S b) { return select(b < a, a, b); }

  /// An error among those whose largest is sought; NaN stays.
  void include(S size) { largest_ = select(size <= largest_, largest_, size); }

  /// One row of J with its r.
  void add_row(S r, const S* J) {
    E_ = fma(all<S>(0.5) * r, r, E_);
    for (int i = 0; i < n_; ++i) {
      gradient_[i] = fma(J[i], r, gradient_[i]);
      for (int j = 0; j <= i; ++j) H_[i * n_ + j] = fma(J[i], J[j], H_[i * n_ + j]);
    }
  }

  /// The state where it is better than those before.
  void keep(simd::Mask<S> active) {
    const auto better = active & (E_ < cost);
    cost = select(better, E_, cost);
    error = select(better, largest_, error);
    simd::copy_where<S>(better, q_, model_.reduced_nq, best_q);
    simd::copy_where<S>(better, loop_q_, model_.loop_nq(), best_loop_q);
  }

  /// Leaves out the coordinates at a limit that a descent would leave.
  void hold_at_limits() {
    for (int k = 0; k < search_.limits; ++k) {
      const CoordinateLimit& limit = search_.limit[k];
      const S x = q_[limit.q], slope = gradient_[limit.v], o = all<S>(0);
      const auto held =
          ((x <= all<S>(limit.lower)) & (slope > o)) | ((x >= all<S>(limit.upper)) & (slope < o));
      if (none(held)) continue;
      gradient_[limit.v] = select(held, o, slope);
      for (int i = 0; i < n_; ++i) {
        if (i == limit.v) continue;
        S& entry = H_[i < limit.v ? limit.v * n_ + i : i * n_ + limit.v];
        entry = select(held, o, entry);
      }
    }
  }

  /// δ by Cholesky's factors of JᵀJ + λ D, no longer than allowed.
  void solve() {
    const S damping = fma(damping_, E_, all<S>(least_damping));
    for (int j = 0; j < n_; ++j) {
      S* const L = H_ + j * n_;
      S D = fma(damping, all<S>(search_.scale[j]), L[j]);
      S x = -gradient_[j];
      for (int k = 0; k < j; ++k) {
        const S* const other = H_ + k * n_;
        S entry = L[k];
        for (int m = 0; m < k; ++m) entry = fma(-L[m], other[m], entry);
        L[k] = entry * other[k];
        D = fma(-L[k], L[k], D);
        x = fma(-L[k], step_[k], x);
      }
      L[j] = all<S>(1) / sqrt(D);
      step_[j] = x * L[j];
    }
    S largest = all<S>(longest);
    for (int j = n_ - 1; j >= 0; --j) {
      S x = step_[j];
      for (int k = j + 1; k < n_; ++k) x = fma(-H_[k * n_ + j], step_[k], x);
      step_[j] = x * H_[j * n_ + j];
      largest = max_of(largest, abs(step_[j]) * all<S>(simd::square_root(search_.scale[j])));
    }
    const S share = all<S>(longest) / largest;
    for (int j = 0; j < n_; ++j) step_[j] *= share;
  }

  void clip(S* q) const {
    for (int k = 0; k < search_.limits; ++k) {
      const CoordinateLimit& limit = search_.limit[k];
      const S lower = all<S>(limit.lower), upper = all<S>(limit.upper);
      S& x = q[limit.q];
      x = select(x < lower, lower, select(x > upper, upper, x));
    }
  }

  static constexpr double damping_share = 0.1;    ///< ρ
  static constexpr double least_damping = 1e-12;  ///< ε
  static constexpr double longest = 1;            ///< largest |√D δ| of a coordinate in a step
  static constexpr int patience = 6;              ///< steps between comparisons of E

  const ModelOf<S>& model_;
  const PoseSearch& search_;
  const S* goals_;
  int n_;
  S *q_, *loop_q_, *v_, *H_, *gradient_, *step_, *row_, *moved_;

 public:
  S *best_q, *best_loop_q;
  S cost, error;

 private:
  MechanismFactor<S> factor_;
  Rows<S> rows_;
  Workspace<S> w_;
  S E_, largest_, damping_ = all<S>(damping_share);
};

}  // namespace pysim::constraints
