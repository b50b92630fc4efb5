// Outcome of a solved convex step: deflections for the next step, the report of its contacts, their work.
#pragma once

#include "contact/pairs_in_reach.hpp"
#include "contact/problem.hpp"
#include "stepping/convex/stage.hpp"

namespace pysim::stepping {

using contact::ContactMemory;
using contact::ContactPair;
using contact::ContactReport;
using contact::ContactState;
using spatial::Pose;

template <class S, class Stage>
class ConvexOutcome {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;
  using Pair = ContactPair<Parameter>;

  ConvexOutcome(const contact::Contacts<Parameter>& contacts,
                const ContactMemory& places,
                const Stage& stage,
                const dynamics::LoadedFactor<S>& factor,
                const contact::PairsInReach<S>& reach,
                const contact::Deflections<S>& deflections,
                const contact::ConvexProblem<S>& problem,
                S h)
      : contacts_(contacts),
        places_(places),
        stage_(stage),
        factor_(factor),
        reach_(reach),
        deflections_(deflections),
        problem_(problem),
        h_(h) {}

  /// Leaves deflections for the next step, and the report.
  void remember(const ContactState<S>& state) const {
    const auto& pairs = problem_.pairs;
    pairs.each([&](int k, const Pair& pair) {
      const Mat3<S> turn = mean_rotation(pair);
      const int first = pairs.first[k];
      for (int m = first; m < first + pairs.used[k]; ++m) {
        const contact::PointIterate<S>& P = problem_.kinds.points.point[m];
        const auto pushes =
            dot(P.gamma_hat, P.gamma_hat) > all<S>(0);  // lagged friction may outlast the normal force
        if (!state.live->has(pairs.slot[m]) && none(pushes)) continue;
        state.live->add(pairs.slot[m]);
        remember_point(k, pair, m, turn, state);
      }
      deflections_.forget(pair, pairs.slot + first, pairs.used[k], state);
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = problem_.kinds.coordinates.coordinate[k];
      const S next = constraints::next_deflection(contacts_.coordinate[k], C.at, h_, C.now);
      state.memory[places_.coordinate(k)] = stage_.carried(C.at.s, next);
    }
  }

  /// Where a point pushes; rounding of friction is no push.
  Mask<S> touches(const contact::PointIterate<S>& P) const {
    return dot(P.at.n, P.gamma_hat) > all<S>(rounding) * sqrt(dot(P.gamma_hat, P.gamma_hat));
  }

  /// Adds the work of contacts, stops and dry friction to states of elements at the places `work` [pairs +
  /// coordinates], −1 for none.
  void add_work(const int* work, S* numbers) const {
    const auto& pairs = problem_.pairs;
    const auto& kinds = problem_.kinds;
    pairs.each([&](int k, const Pair& pair) {
      const int place = work[pairs.index[k]];
      if (place < 0) return;
      const Vec3<S> surface = transpose_times(pairs.R_AB[k], spatial::all3<S>(pair.surface));
      S& sum = numbers[place];
      for (int i = 0; i < pairs.used[k]; ++i) {
        const auto& P = kinds.points.point[pairs.first[k] + i];
        sum = dot_add(P.gamma_hat, stage_.velocity_of_work(P.start, P.now) + surface, sum);
        if (pair.turning < 0) continue;
        const auto& T = kinds.turnings.turning[pairs.first_turning[k] + i];
        sum = dot_add(T.gamma_hat, stage_.velocity_of_work(T.start, T.now), sum);
      }
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const int place = work[contacts_.pairs + k];
      if (place < 0) continue;
      const auto& C = kinds.coordinates.coordinate[k];
      numbers[place] = fma(C.gamma_hat, stage_.velocity_of_work(C.start, C.now), numbers[place]);
    }
  }

 private:
  PYSIM_INLINE void remember_point(
      int k, const Pair& pair, int m, const Mat3<S>& turn, const ContactState<S>& state) const {
    const auto& pairs = problem_.pairs;
    const contact::PointIterate<S>& P = problem_.kinds.points.point[m];
    const Pose<S>& X_WB = factor_.X_WB[pair.b];
    const S pushed = dot(P.at.n, P.gamma_hat), limit = P.at.mu * pushed;
    const auto touches = this->touches(P);
    const auto to_world = [&](const Vec3<S>& on_b) {
      const Vec3<S> s = X_WB.R * on_b;
      return pair.a < 0 ? s : turn * s;
    };
    contact::Deflection<S> next = {};
    const Vec3<S> s = constraints::next_deflection(pair.law, P.at, h_, P.now, P.impulse);
    next.s = to_world(constraints::remembered_deflection(
        all<S>(pair.law.tangential), h_, limit, stage_.carried(P.at.s, s)));
    next.slid = !P.impulse.sticks;
    next.feature = P.feature;
    next.turning = spatial::zero3<S>();
    if (pair.turning >= 0) {
      const auto& T = problem_.kinds.turnings.turning[pairs.first_turning[k] + m - pairs.first[k]];
      const Vec3<S> turned = constraints::next_turning(pair.law, P.at.n, T.s, h_, T.now, T.impulse);
      const S lever = all<S>(pair.law.lever);
      const S arm = max(all<S>(pair.law.rolling), all<S>(pair.law.spinning));
      next.turning = to_world(constraints::remembered_deflection(
          all<S>(pair.law.tangential) * (lever * lever), h_, arm * limit, stage_.carried(T.s, turned)));
      store((all<S>(1) / h_) * (X_WB.R * T.gamma_hat),
            state.report_of(pairs.slot[m]) + ContactReport::moment);
    }
    deflections_.remember(pair, pairs.slot[m] - pair.first, next, touches, state);
    report_point(X_WB, P, touches, state.report_of(pairs.slot[m]));
  }

  /// How two bodies turn in a step, on average.
  Mat3<S> mean_rotation(const Pair& pair) const {
    if (pair.a < 0) return spatial::identity3<S>();
    const auto spin = [&](int b) { return factor_.X_WB[b].R * reach_.start(b).w; };
    const S half = stage_.counted(all<S>(Real(0.5)) * h_);
    return spatial::exp(half * (spin(pair.a) + spin(pair.b)));
  }

  void report_point(const Pose<S>& X_WB,
                    const contact::PointIterate<S>& P,
                    Mask<S> touches,
                    S* report) const {
    const S o = all<S>(0), e = all<S>(1);
    const Vec3<S> impulse = X_WB.R * P.gamma_hat, none = spatial::zero3<S>();
    const S v_n = dot(P.at.n, P.now);
    const Vec3<S> slip = fnma(v_n, P.at.n, P.now);
    store((e / h_) * impulse, report + ContactReport::force);
    store(collision::select(touches, X_WB * P.at.p, none), report + ContactReport::position);
    report[ContactReport::penetration] = select(touches, fnma(h_, v_n, P.at.x), o);
    report[ContactReport::slip] = select(touches, sqrt(dot(slip, slip)), o);
    report[ContactReport::sticks] = number(touches & P.impulse.sticks);
    store(load3(report + ContactReport::impulse) + stage_.counted(impulse), report + ContactReport::impulse);
    store(collision::select(touches, X_WB.R * P.at.n, none), report + ContactReport::normal);
  }

  /// Share of an impulse along its normal that may be rounding of its friction.
  static constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-14) : Real(1e-6);

  const contact::Contacts<Parameter>& contacts_;
  const ContactMemory places_;
  const Stage& stage_;
  const dynamics::LoadedFactor<S>& factor_;
  const contact::PairsInReach<S>& reach_;
  const contact::Deflections<S>& deflections_;
  const contact::ConvexProblem<S>& problem_;
  const S h_;
};

}  // namespace pysim::stepping
