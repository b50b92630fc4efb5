// Rolling and spinning friction of contact points, in the angular velocity of b relative to a.
#pragma once

#include "contact/kinds/point.hpp"

namespace pysim::contact {

using constraints::turning_impulse;

template <class S>
struct TurningIterate : Iterate<Vec3<S>> {
  Vec3<S> s;                  ///< θ₀
  ContactImpulse<S> impulse;  ///< at ω
  S speed;  ///< of either body at ω or ω*, and the point's over L: rounding is relative to it
};

template <class S>
class TurningKind : public Kind<S> {
 public:
  using typename Kind<S>::Real;
  using typename Kind<S>::Pair;

  TurningKind(const KindContext<S>& c, const PointKind<S>& points)
      : turning(tree::take<TurningIterate<S>>(c.w, c.contacts.turning_points)),
        points_(points),
        pairs_(c.pairs),
        h_(c.h),
        exists_(c.contacts.turning_points > 0) {}

  TurningIterate<S>* const turning;  ///< [turning points] of active pairs

  Mask<S> touched() const { return simd::nowhere<S>(); }  // where its point does

  void start() {
    each([](TurningIterate<S>& T, const PointIterate<S>&, const Pair&) {
      T.now = T.start;
      T.gamma_hat = spatial::zero3<S>();
    });
  }

  void evaluate() {
    each([&](TurningIterate<S>& T, const PointIterate<S>& P, const Pair& pair) {
      T.impulse = turning_impulse(pair.law, P.at.n, T.s, P.at.limit, h_, T.now);
    });
  }

  void add_yielding(const Iteration<S>& iteration, int k, Mask<S>& yielding) const {
    each_of(k, pairs_.pair(k), [&](const TurningIterate<S>& T, const PointIterate<S>&) {
      yielding |= yields(T.impulse) & iteration.left;
    });
  }

  PYSIM_INLINE void load_pair(const Iteration<S>& iteration,
                              int k,
                              const Pair& pair,
                              ContactMatrix<S>& matrix) {
    each_of(k, pair, [&](const TurningIterate<S>& T, const PointIterate<S>& P) {
      matrix.twist(k, pair, push_of(iteration, T, P.at.n), T.impulse.matrix(P.at.n));
    });
  }

  void couple_pair(const Iteration<S>&, int k, dynamics::BodyCoupling<S>& K) const {
    each_of(k, pairs_.pair(k), [&](const TurningIterate<S>& T, const PointIterate<S>& P) {
      const Mat3<S> W = times(pairs_.R_AB[k], T.impulse.matrix(P.at.n));
      K.column[3].t = K.column[3].t - W.x;
      K.column[4].t = K.column[4].t - W.y;
      K.column[5].t = K.column[5].t - W.z;
    });
  }

  template <class Change>
  PYSIM_INLINE void move_pair(
      const Iteration<S>& iteration, int k, const Pair& pair, const Change& change, bool aims, bool) {
    each_of(k, pair, [&](TurningIterate<S>& T, const PointIterate<S>& P) {
      const Vec3<S> moved = change.turning();
      T.next = (iteration.from_free ? T.free : T.now) + moved;
      if (aims) T.aimed = aimed_at(iteration, T, P.at.n, moved);
    });
  }

  void begin_search(Search<S>& search) const {
    each([&](const TurningIterate<S>& T, const PointIterate<S>&, const Pair&) {
      search.add(T.next - T.now, T.gamma_hat, T.aimed, T.impulse.gamma);
    });
  }

  void add_slope_along(S alpha, S& sum) const {
    each([&](const TurningIterate<S>& T, const PointIterate<S>& P, const Pair& pair) {
      const Vec3<S> du = T.next - T.now;
      const auto I = turning_impulse(pair.law, P.at.n, T.s, P.at.limit, h_, fma(alpha, du, T.now));
      sum = dot_add(du, I.gamma, sum);
    });
  }

  void advance(const Advance<S>& mix) {
    each([&](TurningIterate<S>& T, const PointIterate<S>&, const Pair&) {
      T.now = mix(T.now, T.next);
      T.gamma_hat = mix(T.gamma_hat, T.aimed);
    });
  }

  /// Relative to the largest impulse of points, by the length of the friction.
  Mask<S> converged() const {
    auto good = simd::everywhere<S>();
    each([&](const TurningIterate<S>& T, const PointIterate<S>&, const Pair& pair) {
      const Vec3<S> off = T.impulse.gamma - T.gamma_hat;
      const S speed = max(sqrt(dot(T.now, T.now)), T.speed);
      const S blurred = all<S>(Kind<S>::rounding) * (T.impulse.normal_slope + T.impulse.slope) * speed;
      const S length = max(all<S>(pair.law.rolling), all<S>(pair.law.spinning));
      good &= sqrt(dot(off, off)) <= fma(length, points_.allowed(), blurred);
    });
    return good;
  }

  void note(NewtonIteration& last) const {
    const S most = sqrt(points_.largest_square());
    each([&](const TurningIterate<S>& T, const PointIterate<S>& P, const Pair& pair) {
      const Vec3<S> off = T.impulse.gamma - T.gamma_hat;
      const S length = max(all<S>(pair.law.rolling), all<S>(pair.law.spinning));
      const S potential = constraints::turning_potential(pair.law, P.at.n, T.s, P.at.limit, h_, T.now);
      this->add_cost(last, potential, dot(T.now - T.free, T.gamma_hat));
      this->add_residual(last, sqrt(dot(off, off)), length * most);
    });
  }

  Mask<S> limits_differ() const {
    constexpr Real same = PointKind<S>::same;
    auto changed = simd::nowhere<S>();
    each([&](const TurningIterate<S>& T, const PointIterate<S>& P, const Pair& pair) {
      const S limit = PointKind<S>::renewed_limit(P);
      const auto differs = abs(limit - P.at.limit) > all<S>(same) * max(limit, P.at.limit);
      const S spun = dot(P.at.n, T.gamma_hat);
      const Vec3<S> rolled = fnma(spun, P.at.n, T.gamma_hat);
      const S least = min(limit, P.at.limit) * all<S>(Real(1 - same));
      const S roll = all<S>(pair.law.rolling) * least, spin = all<S>(pair.law.spinning) * least;
      changed |= differs & ((dot(rolled, rolled) > roll * roll) | (abs(spun) > spin));
    });
    return changed;
  }

  /// After those of the points.
  void renew_limits(Mask<S>) { evaluate(); }

 private:
  /// visit(turning, point) for those of the pair at a place.
  template <class Visit>
  void each_of(int k, const Pair& pair, const Visit& visit) const {
    for (int i = 0; pair.turning >= 0 && i < pairs_.used[k]; ++i) {
      visit(turning[pairs_.first_turning[k] + i], points_.point[pairs_.first[k] + i]);
    }
  }

  template <class Visit>
  void each(const Visit& visit) const {
    if (!exists_) return;
    pairs_.each([&](int k, const Pair& pair) {
      each_of(k, pair, [&](TurningIterate<S>& T, const PointIterate<S>& P) { visit(T, P, pair); });
    });
  }

  const PointKind<S>& points_;
  const ActivePairs<S>& pairs_;
  const S h_;
  const bool exists_;
};

}  // namespace pysim::contact
