// The convex problem of a step with contacts, solved by Newton's method in the velocities of contacts.
//
//     minimise over v    ½ |v − v*|²_A + Σ P_i(J_i v)             γ_i = −∇P_i,  G_i = ∇²P_i
//
//     (A + Σ JᵀGJ) Δ = Σ Jᵀ (γ(u) + G (u − u*))     γ' = γ(u) − G (u' − u)
//
//     v = v* + Δ,  u = J v,  A Δ = Σ Jᵀ γ̂
//
// γ̂ are the impulses that make Δ, so the balance of momentum holds to rounding in every iterate; where γ(u) =
// γ̂ the step is solved. The unknowns u are of several kinds (contact/kinds.hpp); the problem uses nothing
// of a kind but what kinds/kind.hpp lists. The line search needs velocities and impulses of contacts alone,
// for the slope of the function is
//
//     l'(α) = Σ (u' − u)·(γ̂ + α (γ' − γ̂) − γ(u + α (u' − u)))
//
// The full step is taken where l' has not risen past half of what it fell by, unless a joint starts or stops
// sticking on the way. Lanes that are done are frozen.
//
// Newton's method ends where every impulse is that of its law to the tolerance. The radii of friction are
// renewed before, as soon as normal impulses change by less than a millionth: only they are used of that
// solution.
//
// After the first iteration, corrections of Δ are solved for, so that rounding is relative to them alone.
// v* and every Δ hold K v = 0 of loops, see contact/matrix.hpp.
#pragma once

#include "contact/kinds.hpp"

namespace pysim::contact {

constexpr int most_iterations = 50;

/// Δ where radii of friction were renewed last.
template <class S>
struct Renewal {
  S* delta;        ///< (nv)
  Mask<S> worlds;  ///< where they were
};

/// A solution of the problem: Δ at its end, and at the last renewal, the same where there is none.
template <class S>
struct Solution {
  S* delta;  ///< (nv)
  Renewal<S> renewal;
};

template <class S, class Kinds = ContactKinds<S>>
class ConvexProblem {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;

  ConvexProblem(StepMatrix<S>& A,
                constraints::VelocityRows<S>& rows,
                const Contacts<Parameter>& contacts,
                int bounded_forces,
                S h,
                Real tolerance,
                Workspace<S>& w)
      : pairs(contacts, w),
        kinds(KindContext<S>{pairs, contacts, bounded_forces, h, tolerance, w}),
        nv_(A.recursion.model.nv),
        matrix_(A, rows, contacts, pairs, w) {
    int corners = 0;
    kinds.each([&](const auto& kind) { corners += kind.most_corners(contacts); });
    search_.corner = take<S>(w, corners);
  }

  ActivePairs<S> pairs;
  Kinds kinds;
  Renewal<S>* renewal = nullptr;  ///< records where radii are renewed; null for none

  /// Where contacts change anything at v*.
  Mask<S> touched() {
    auto found = simd::nowhere<S>();
    kinds.each([&](const auto& kind) { found |= kind.touched(); });
    return found;
  }

  /// Solves the worlds `wanted`; `x` (nv) is Δ, zero elsewhere. `base` is what A has beside
  /// M. Radii of friction are renewed `passes` − 1 times at most. Returns the worlds where Newton's method
  /// converged; counts its iterations. Stops before an iterate Δ with !covers(Δ). `log` receives what each
  /// iteration does, of a world alone; null for none.
  template <class Covers>
  Mask<S> solve(Mask<S> wanted,
                int passes,
                const S* base,
                S* x,
                S& iterations,
                Workspace<S> w,
                const Covers& covers,
                IterationLog* log = nullptr) {
    constexpr bool alone = S::width == 1;  // packs have no log, and do not look for one
    stopped_ = false;
    if (renewal != nullptr) renewal->worlds = simd::nowhere<S>();
    auto failed = simd::nowhere<S>();
    for (int i = 0; i < nv_; ++i) x[i] = all<S>(0);
    start();
    if (none(wanted)) return simd::everywhere<S>();
    auto left = wanted;
    S renewals = all<S>(static_cast<Real>(passes - 1)), since_renewal = all<S>(0);
    for (bool first = true; any(left); first = false) {
      iterations += number(left);
      since_renewal += number(left);
      linearize({left, first}, base, x, w);
      if (!covers(static_cast<const S*>(matrix_.delta()))) {
        stopped_ = true;
        return simd::nowhere<S>();
      }
      const S alpha = first ? all<S>(1) : search(left);
      if constexpr (alone) {
        if (PYSIM_UNLIKELY(log != nullptr)) note_direction(first, alpha, *log);
      }
      advance({left, alpha}, x);
      kinds.each([](auto& kind) { kind.evaluate(); });
      if constexpr (alone) {
        if (PYSIM_UNLIKELY(log != nullptr)) note_end(*log);
      }
      const auto done = left & converged();
      left &= !done;
      const auto due = (done | (left & settled())) & (renewals > all<S>(0));
      if (any(due)) {
        const auto renewed = renew_limits(due);
        if (renewal != nullptr) {
          for (int i = 0; i < nv_; ++i) renewal->delta[i] = select(renewed, x[i], renewal->delta[i]);
          renewal->worlds |= renewed;
        }
        left |= renewed;
        renewals -= number(renewed);
        since_renewal = select(renewed, all<S>(0), since_renewal);
      }
      const auto given_up = left & (since_renewal >= all<S>(Real(most_iterations)));
      failed |= given_up;
      left &= !given_up;
      if constexpr (alone) {
        if (PYSIM_UNLIKELY(log != nullptr)) {
          log->last.renews = any(since_renewal == all<S>(0));
          log->last.converged = none(left | failed);
          log->add_last();
        }
      }
    }
    return !failed;
  }

  /// Begins at v*, for a solution that is known.
  void begin() { start(); }

  /// H⁻¹ b (nv) with the slopes of impulses as they are, which have been made: Jᵀ of it is what forces b
  /// change. `base` is what A has beside M.
  const S* apply_inverse(const S* base, const S* b, Workspace<S> w) {
    load_matrix({simd::everywhere<S>(), false}, base);
    for (int i = 0; i < nv_; ++i) matrix_.add(i, all<S>(0), b[i]);
    matrix_.solve(simd::everywhere<S>(), blocks({simd::everywhere<S>(), false}), w);
    if (matrix_.iterates()) matrix_.complete();
    return matrix_.delta();
  }

  /// Whether the last solution stopped before an iterate that is not covered.
  bool stopped() const { return stopped_; }

 private:
  /// |∇l|² in the norm of the inverse Hessian is −l'(0). The first iteration begins at velocities that no
  /// impulses have made, where the cost has no value.
  PYSIM_NOINLINE void note_direction(bool first, S alpha, IterationLog& log) {
    log.last = {};
    const S gradient = sqrt(max(-search_.fall, all<S>(0)));
    log.last.gradient = first ? simd::not_a_number : static_cast<double>(simd::lane(gradient, 0));
    log.last.step_length = static_cast<double>(simd::lane(alpha, 0));
  }

  PYSIM_NOINLINE void note_end(IterationLog& log) {
    kinds.each([&](const auto& kind) { kind.note(log.last); });
  }

  /// Impulses at the velocities where Newton's method begins; none are made yet.
  void start() {
    matrix_.start();
    kinds.each([](auto& kind) { kind.start(); });
    kinds.each([](auto& kind) { kind.evaluate(); });
  }

  /// Puts pushes and slopes of impulses into the matrix.
  PYSIM_INLINE void load_matrix(const Iteration<S>& iteration, const S* base) {
    matrix_.begin(base);
    if (matrix_.couples_bodies()) couple_bodies(iteration);
    matrix_.begin_loads();
    pairs.each([&](int k, const Pair& pair) {
      kinds.each([&](auto& kind) { kind.load_pair(iteration, k, pair, matrix_); });
    });
    kinds.each([&](auto& kind) { kind.load(iteration, matrix_); });
  }

  /// The blocks between two bodies, by the place of their pair.
  PYSIM_INLINE auto blocks(const Iteration<S>& iteration) const {
    return [this, iteration](int k) {
      dynamics::BodyCoupling<S> K;
      for (auto& column : K.column) column = spatial::zero_force<S>();
      kinds.each([&](const auto& kind) { kind.couple_pair(iteration, k, K); });
      return K;
    };
  }

  /// u' and γ' of the problem that is linear at u; x (nv) is Δ so far.
  void linearize(const Iteration<S>& iteration, const S* base, const S* x, Workspace<S> w) {
    kinds.each([&](auto& kind) { kind.begin_iteration(iteration); });
    load_matrix(iteration, base);
    matrix_.solve(iteration.left, blocks(iteration), w);
    bool aims = true;
    if (matrix_.iterates()) {
      move(iteration, true, false);
      matrix_.complete();
      aims = false;
    }
    move(iteration, aims, true);
    if (iteration.from_free) return;
    S* const delta = matrix_.delta();
    for (int i = 0; i < nv_; ++i) delta[i] = select(iteration.left, delta[i] + x[i], x[i]);
  }

  /// Announces the loads between two bodies.
  void couple_bodies(const Iteration<S>& iteration) {
    pairs.each([&](int k, const Pair& pair) {
      if (pair.a < 0) return;
      auto yielding = simd::nowhere<S>();
      kinds.each([&](const auto& kind) { kind.add_yielding(iteration, k, yielding); });
      if (any(yielding)) matrix_.couple(k, pair, yielding);
    });
  }

  /// u' at the solution; `aims` computes γ' there, and `lists` the unknowns at work between u and u'.
  void move(const Iteration<S>& iteration, bool aims, bool lists) {
    kinds.each([&](auto& kind) { kind.begin_move(lists); });
    pairs.each([&](int k, const Pair& pair) {
      const auto change = matrix_.change(k, pair);
      kinds.each([&](auto& kind) { kind.move_pair(iteration, k, pair, change, aims, lists); });
    });
    kinds.each([&](auto& kind) { kind.move(iteration, matrix_.delta(), aims); });
  }

  /// l'(α).
  S slope_along(S alpha) const {
    S slope = all<S>(0);
    kinds.each([&](const auto& kind) { kind.add_slope_along(alpha, slope); });
    return fma(alpha, search_.change, search_.base) - slope;
  }

  /// Moves α to the nearest corner between `low` and `high`; returns where there is one.
  Mask<S> snap_to_corner(S low, S high, S& alpha) const {
    const S infinite = all<S>(Real(simd::infinity));
    S found = alpha, least = infinite;
    for (int k = 0; k < search_.corners; ++k) {
      const S corner = search_.corner[k], distance = abs(corner - alpha);
      const auto nearer = (corner > low) & (corner < high) & (distance < least);
      found = select(nearer, corner, found);
      least = select(nearer, distance, least);
    }
    alpha = found;
    return least < infinite;
  }

  /// α of every world: 1, or near the root of l' where the full step goes too far.
  ///
  /// A joint that sticks moves by 10⁻¹⁰ rad at most. A secant ends beside so narrow a range, where the joint
  /// slides, and Newton's method cycles. So trials are made at corners until the bracket has none: then the
  /// root is within a range of sticking, or between two.
  S search(Mask<S> wanted) {
    constexpr int trials = 30;
    const S o = all<S>(0), e = all<S>(1), half = all<S>(Real(0.5));
    search_.begin();
    kinds.each([&](auto& kind) { kind.begin_search(search_); });
    const S fall = search_.fall, rise = slope_along(e), accepted = half * abs(fall);
    auto left = wanted & (rise > o);
    if (none(left)) return e;
    S first_corner = o;
    left &= (rise > accepted) | snap_to_corner(o, e, first_corner);
    S low = o, high = e, at_low = fall, at_high = rise, alpha = e;
    for (int n = 0; n < trials && any(left); ++n) {
      const S width = high - low;
      const S secant = low - at_low * width / (at_high - at_low);
      const S inside =
          max(min(secant, fma(all<S>(Real(0.9)), width, low)), fma(all<S>(Real(0.1)), width, low));
      S trial = n % 3 == 2 ? half * (low + high) : inside;
      const auto at_corner = snap_to_corner(low, high, trial);
      const S at_trial = slope_along(trial);
      alpha = select(left, trial, alpha);
      const auto above = at_trial > o;
      high = select(left & above, trial, high);
      at_high = select(left & above, at_trial, at_high);
      low = select(left & !above, trial, low);
      at_low = select(left & !above, at_trial, at_low);
      left &= (abs(at_trial) > accepted) | at_corner;
    }
    return alpha;
  }

  void advance(const Advance<S>& mix, S* x) {
    const S* const delta = matrix_.delta();
    for (int i = 0; i < nv_; ++i) x[i] = mix(x[i], delta[i]);
    matrix_.advance(mix);
    kinds.each([&](auto& kind) { kind.advance(mix); });
  }

  /// Where every impulse is that of its law.
  Mask<S> converged() const {
    auto good = simd::everywhere<S>();
    kinds.each([&](const auto& kind) { good &= kind.converged(); });
    return good;
  }

  /// Where radii of friction are to be renewed.
  Mask<S> settled() {
    auto settled = simd::everywhere<S>();
    kinds.each([&](const auto& kind) { settled &= kind.settled(); });
    return settled;
  }

  /// Puts μ times the normal impulses just found in place of the radii; returns where that changes friction.
  Mask<S> renew_limits(Mask<S> worlds) {
    auto changed = simd::nowhere<S>();
    kinds.each([&](const auto& kind) { changed |= kind.limits_differ(); });
    changed &= worlds;
    if (none(changed)) return changed;
    kinds.each([&](auto& kind) { kind.renew_limits(changed); });
    return changed;
  }

  using Pair = ContactPair<Parameter>;

  const int nv_;
  ContactMatrix<S> matrix_;
  Search<S> search_;
  bool stopped_ = false;
};

}  // namespace pysim::contact
