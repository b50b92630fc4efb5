// Contact points: normal impulse and friction in the velocity of a point of b relative to that of a.
//
// Points in reach that push neither at u nor at u' push nowhere between, because their gap is linear in the
// velocity: their impulses are zero, and only the others, those `at work`, are evaluated and summed. Of lanes
// that are done no point is at work, and no load is solved for. Points whose impulse is zero and stays so
// near u load nothing.
#pragma once

#include "constraints/contact_law.hpp"
#include "contact/kinds/kind.hpp"

namespace pysim::contact {

using constraints::ContactImpulse;
using constraints::ContactPoint;

template <class S>
struct PointIterate : Iterate<Vec3<S>> {
  ContactPoint<S> at;
  ContactImpulse<S> impulse;  ///< at u
  Vec3<S> p_A;                ///< the point in body a [m], of a pair of two bodies
  S speed;                    ///< of either body there, at u or u*: rounding is relative to it
  S feature;                  ///< see collision/manifold.hpp
  S lagged;                   ///< `limit` where Newton's method begins
  Mask<S> pushing;            ///< where the impulse at u or γ̂ can differ from zero
  bool pushes;                ///< whether that is so in some world that is not done
};

template <class S>
class PointKind : public Kind<S> {
 public:
  using typename Kind<S>::Real;
  using typename Kind<S>::Pair;

  explicit PointKind(const KindContext<S>& c)
      : point(tree::take<PointIterate<S>>(c.w, c.contacts.points)),
        pairs_(c.pairs),
        h_(c.h),
        tolerance_(all<S>(c.tolerance)),
        at_work_(tree::take_aligned<PointAtWork>(c.w, c.contacts.points)),
        line_(tree::take<constraints::ImpulseLine<S>>(c.w, c.contacts.points)) {}

  PointIterate<S>* const point;  ///< [points] of active pairs

  Mask<S> touched() const {
    const S o = all<S>(0);
    auto found = simd::nowhere<S>();
    each([&](const PointIterate<S>& P, const Pair&) {
      found |= (fnma(h_, dot(P.at.n, P.free), P.at.x) > o) | (P.at.limit > o);
    });
    return found;
  }

  void start() {
    points_at_work_ = 0;
    largest_square_ = all<S>(0);
    each([this](PointIterate<S>& P, const Pair& pair) {
      P.at.limit = P.lagged;
      P.now = P.start;
      P.gamma_hat = P.aimed = spatial::zero3<S>();
      const auto apart = fnma(h_, dot(P.at.n, P.now), P.at.x) <= all<S>(0);
      P.pushing = (!apart) | (P.at.limit > all<S>(0));
      P.pushes = any(P.pushing);
      if (P.pushes) {
        at_work_[points_at_work_++] = {&P, &pair};
      } else {
        P.impulse = constraints::no_impulse<S>();
      }
    });
  }

  /// Impulses are those of the law relative to the largest one, and within rounding.
  void evaluate() {
    allowed_ = fma(tolerance_, sqrt(largest_square_), all<S>(Kind<S>::vanished));
    converged_ = simd::everywhere<S>();
    each_at_work([&](PointIterate<S>& P, const Pair& pair) {
      P.impulse = contact_impulse(pair.law, P.at, h_, P.now);
      const Vec3<S> off = P.impulse.gamma - P.gamma_hat;
      const S speed = max(sqrt(dot(P.now, P.now)), P.speed);
      const S blurred = all<S>(Kind<S>::rounding) * (P.impulse.normal_slope + P.impulse.slope) * speed;
      converged_ &= sqrt(dot(off, off)) <= allowed_ + blurred;
      P.pushing = yields(P.impulse) | (P.at.limit > all<S>(0)) | (sum_of_sizes(P.gamma_hat) > all<S>(0));
      P.pushes = any(P.pushing);
    });
  }

  void begin_iteration(const Iteration<S>& iteration) {
    each_at_work([&](PointIterate<S>& P, const Pair&) {
      P.pushes = P.pushes && any(P.pushing & iteration.left);
      if (!P.pushes) P.aimed = spatial::zero3<S>();
    });
  }

  void add_yielding(const Iteration<S>& iteration, int k, Mask<S>& yielding) const {
    each_of(k, [&](const PointIterate<S>& P) {
      if (P.pushes) yielding |= yields(P.impulse) & iteration.left;
    });
  }

  PYSIM_INLINE void load_pair(const Iteration<S>& iteration,
                              int k,
                              const Pair& pair,
                              ContactMatrix<S>& matrix) {
    for (int i = 0; i < pairs_.used[k]; ++i) {
      const PointIterate<S>& P = point[pairs_.first[k] + i];
      if (!P.pushes) continue;
      matrix.push(k, pair, i, P.at.p, P.p_A, push_of(iteration, P, P.at.n));
      if (none(yields(P.impulse) & iteration.left)) continue;
      matrix.add(k, pair, i, P.at.p, P.p_A, P.impulse.matrix(P.at.n));
    }
  }

  /// −[1 | −p_A×]ᵀ R_AB G [1 | −p_B×], summed over the points of a pair.
  void couple_pair(const Iteration<S>& iteration, int k, dynamics::BodyCoupling<S>& K) const {
    each_of(k, [&](const PointIterate<S>& P) {
      if (none(yields(P.impulse) & iteration.left)) return;
      const Mat3<S> W = times(pairs_.R_AB[k], P.impulse.matrix(P.at.n));
      const Vec3<S>& p = P.at.p;
      const auto subtract = [&](int c, const Vec3<S>& f) {
        K.column[c] = K.column[c] - spatial::Force<S>{f, cross(P.p_A, f)};
      };
      subtract(0, W.x);
      subtract(1, W.y);
      subtract(2, W.z);
      subtract(3, fnma(p.z, W.y, p.y * W.z));
      subtract(4, fnma(p.x, W.z, p.z * W.x));
      subtract(5, fnma(p.y, W.x, p.x * W.y));
    });
  }

  void begin_move(bool lists) {
    if (lists) points_at_work_ = 0;
  }

  /// `change` gives velocities relative to those of a.
  template <class Change>
  PYSIM_INLINE void move_pair(
      const Iteration<S>& iteration, int k, const Pair& pair, const Change& change, bool aims, bool lists) {
    for (int i = 0; i < pairs_.used[k]; ++i) {
      PointIterate<S>& P = point[pairs_.first[k] + i];
      const Vec3<S> moved = change.at(i, P.at.p, P.p_A);
      P.next = (iteration.from_free ? P.free : P.now) + moved;
      if (P.pushes && aims) P.aimed = aimed_at(iteration, P, P.at.n, moved);
      if (lists && (P.pushes || reaches(iteration.left, P))) at_work_[points_at_work_++] = {&P, &pair};
    }
  }

  void begin_search(Search<S>& search) {
    for (int n = 0; n < points_at_work_; ++n) {
      const PointIterate<S>& P = *at_work_[n].point;
      const Vec3<S> du = P.next - P.now;
      search.add(du, P.gamma_hat, P.aimed, P.impulse.gamma);
      line_[n] = impulse_line(at_work_[n].pair->law, P.at, h_, P.now, du);
    }
  }

  PYSIM_INLINE void add_slope_along(S alpha, S& sum) const {
    for (int n = 0; n < points_at_work_; ++n) sum += line_[n](alpha);
  }

  void advance(const Advance<S>& mix) {
    each([&](PointIterate<S>& P, const Pair&) { P.now = mix(P.now, P.next); });
    S square = all<S>(0), most = all<S>(0), change = all<S>(0);
    each_at_work([&](PointIterate<S>& P, const Pair&) {
      const Vec3<S> mixed = mix(P.gamma_hat, P.aimed);
      change =
          max(change, abs(dot(P.at.n, P.aimed - P.gamma_hat)));  // of a whole step, however short this one is
      most = max(most, dot(P.at.n, mixed));
      square = max(square, dot(mixed, mixed));
      P.gamma_hat = mixed;
    });
    largest_square_ = square;
    settled_ = change < all<S>(known) * most;
  }

  Mask<S> converged() const { return converged_; }

  /// Residual of an impulse [N·s] that the last test of convergence allowed.
  S allowed() const { return allowed_; }

  /// Share of the largest normal impulse by which all may still change where they are known well enough. What
  /// is left of it is about its square: radii, and velocities, then depend on the number of iterations by
  /// rounding only.
  static constexpr Real known = sizeof(Real) == 8 ? Real(1e-6) : Real(1e-3);

  /// Where normal impulses are known well enough to limit friction.
  Mask<S> settled() const { return settled_; }

  /// μ times the normal impulse just found.
  static S renewed_limit(const PointIterate<S>& P) {
    return P.at.mu * max(dot(P.at.n, P.gamma_hat), all<S>(0));
  }

  /// Share of a limit within which it is the same.
  static constexpr Real same = sizeof(Real) == 8 ? Real(1e-9) : Real(1e-4);

  /// Where renewed limits would change friction.
  Mask<S> limits_differ() const {
    auto changed = simd::nowhere<S>();
    each_at_work([&](const PointIterate<S>& P, const Pair&) {
      const S limit = renewed_limit(P);
      const auto differs = abs(limit - P.at.limit) > all<S>(same) * max(limit, P.at.limit);
      const Vec3<S> friction = fnma(dot(P.at.n, P.gamma_hat), P.at.n, P.gamma_hat);
      const auto slides = (!P.impulse.sticks) | (dot(friction, friction) > limit * limit);
      changed |= differs & slides;
    });
    return changed;
  }

  void renew_limits(Mask<S> changed) {
    each_at_work([&](PointIterate<S>& P, const Pair& pair) {
      P.at.limit = select(changed, renewed_limit(P), P.at.limit);
      P.impulse = contact_impulse(pair.law, P.at, h_, P.now);
    });
  }

  void note(NewtonIteration& last) const {
    const S most = sqrt(largest_square_);
    each_at_work([&](const PointIterate<S>& P, const Pair& pair) {
      const Vec3<S> off = P.impulse.gamma - P.gamma_hat;
      this->add_cost(last, contact_potential(pair.law, P.at, h_, P.now), dot(P.now - P.free, P.gamma_hat));
      this->add_residual(last, sqrt(dot(off, off)), most);
      const bool pushes = any(P.impulse.normal_slope > all<S>(0));
      last.touching += pushes;
      last.sticking += pushes && any(P.impulse.sticks);
    });
  }

  /// γ̂² of the point that pushes most.
  S largest_square() const { return largest_square_; }

  /// Index of the point whose impulse is farthest from its law, in every world.
  S worst() const {
    S most = all<S>(-1), found = all<S>(0);
    each([&](const PointIterate<S>& P, const Pair&) {
      const Vec3<S> off = P.impulse.gamma - P.gamma_hat;
      const S size = dot(off, off);
      found = select(size > most, all<S>(static_cast<Real>(pairs_.slot[&P - point])), found);
      most = max(size, most);
    });
    return found;
  }

 private:
  /// A point whose impulse can differ from zero somewhere between u and u', in some world.
  struct PointAtWork {
    PointIterate<S>* point;
    const Pair* pair;
  };

  static S sum_of_sizes(const Vec3<S>& a) { return abs(a.x) + abs(a.y) + abs(a.z); }

  /// Whether a point that pushes nothing at u may push before or at u', but for rounding.
  bool reaches(Mask<S> left, const PointIterate<S>& P) const {
    constexpr Real margin = 16 * (sizeof(Real) == 8 ? Real(2.3e-16) : Real(1.2e-7));
    const S gap = fnma(h_, dot(P.at.n, P.next), P.at.x);
    const S size = fma(h_, sum_of_sizes(P.now) + sum_of_sizes(P.next), abs(P.at.x));
    return any(left & !(fma(all<S>(margin), size, gap) <= all<S>(0)));
  }

  /// visit(point) for those of the pair at a place.
  template <class Visit>
  void each_of(int k, const Visit& visit) const {
    for (int i = pairs_.first[k]; i < pairs_.first[k] + pairs_.used[k]; ++i) visit(point[i]);
  }

  template <class Visit>
  void each(const Visit& visit) const {
    pairs_.each([&](int k, const Pair& pair) { each_of(k, [&](PointIterate<S>& P) { visit(P, pair); }); });
  }

  template <class Visit>
  void each_at_work(const Visit& visit) const {
    for (int n = 0; n < points_at_work_; ++n) visit(*at_work_[n].point, *at_work_[n].pair);
  }

  const ActivePairs<S>& pairs_;
  const S h_, tolerance_;
  PointAtWork* const at_work_;               ///< [points_at_work_] in the order of their pairs
  constraints::ImpulseLine<S>* const line_;  ///< [points_at_work_] in a search
  int points_at_work_ = 0;
  S largest_square_ = all<S>(0);  ///< see largest_square()
  S allowed_ = all<S>(0);
  Mask<S> converged_ = simd::nowhere<S>(), settled_ = simd::nowhere<S>();
};

}  // namespace pysim::contact
