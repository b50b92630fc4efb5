// Corners of the laws of forces that evaluations of accelerations meet, under schemes that solve no contacts:
//
//     |q − limit| ≤ ε (|q| + |limit| + h |v|)       a stop begins or ends to push
//     |k x + c v| ≤ ε (|k x| + |c v|)               its damper lets go
//     |f − bound| ≤ ε max(|f|, |bound|)             a force reaches its bound
//     |x| ≤ ε r,  |1 − d v_n| ≤ ε (1 + |d v_n|)     a point of a smooth contact begins or ends to push
//
// with r the radius of a shape; the first of a point is none in Hertz's law, whose force begins with no
// slope. A step counts once, however many of its evaluations meet a switch.
#pragma once

#include "contact/smooth.hpp"
#include "stepping/feature_switches.hpp"
#include "stepping/signals.hpp"

namespace pysim::stepping {

/// Worlds in which a pair of smooth contacts is at a switch.
template <class S>
struct PairSwitches {
  simd::Mask<S> touching, feature;
};

template <class S>
PairSwitches<S> pair_switches(const contact::SmoothContacts& smooth,
                              int k,
                              const elements::PairMotion<S>& motion,
                              Workspace<S> w) {
  using Counts = SwitchCounts<S>;
  contact::ContactPair<double> room;
  const auto& pair = smooth.contacts.pair_at<S>(k, room);
  const double near = Counts::rounding * pair.shape_b->radius;
  const S o = all<S>(0), e = all<S>(1), d = all<S>(pair.law.dissipation);
  auto* const point = take<PlacedPoint<S>>(w, pair.points);
  auto* const stays = take<simd::Mask<S>>(w, pair.points);
  PairSwitches<S> met = {simd::nowhere<S>(), simd::nowhere<S>()};
  int count = 0;
  const auto visit = [&](const contact::PairPoint<S>& from, const contact::SmoothPoint<S>& P) {
    const S damper = d * P.v_n;
    met.touching |= from.exists & (P.x > o) & Counts::is_met(e - damper, e + abs(damper));
    if (!pair.law.hertz) met.touching |= from.exists & (abs(P.x) <= all<S>(near));
    point[count++] = {from.index, from.feature, P.p, P.n, from.exists & (P.f_n > o)};
  };
  if (!contact::visit_smooth_points<S>(smooth, k, motion.X_AB, motion.V_AB, near, visit)) return met;
  const FeatureSwitches<S> switches(pair, nullptr, motion.X_AB);
  met.feature = switches.met(
      count,
      [&](int n) -> const PlacedPoint<S>& { return point[n]; },
      [&](int n) -> simd::Mask<S>& { return stays[n]; });
  return met;
}

/// Switches that evaluations of a step of length h meet: 1 in worlds where they do, else 0.
template <class S>
class ForceSwitches {
 public:
  /// Memory is taken for switches of these sizes; null for none.
  ForceSwitches(const ModelOf<S>& model, const SwitchSizes* sizes, S h, Workspace<S>& w)
      : model_(model), sizes_(sizes == nullptr ? SwitchSizes{} : *sizes), h_(h), sum_(take<S>(w, count())) {}

  int count() const { return sizes_.count(); }

  /// Begins a step.
  void begin() const {
    for (int i = 0; i < count(); ++i) sum_[i] = all<S>(0);
  }

  /// Marks the switches of forces in `met` [count] at q and v of the tree.
  void mark(const S* q, const S* v, S* met, Workspace<S> w) const {
    for (int i = 0; i < count(); ++i) met[i] = all<S>(0);
    const auto marks = SwitchCounts<S>::in(met, sizes_);
    mark_stops(q, v, marks);
    mark_contacts(q, v, marks, w);
  }

  /// Adds what an evaluation has met, in worlds whose step depends on it.
  void add(simd::Mask<S> depends, const S* met) const {
    for (int i = 0; i < count(); ++i) sum_[i] = max(sum_[i], select(depends, met[i], all<S>(0)));
  }

  /// Adds the step to counts of steps.
  void add_to(S* counts) const {
    for (int i = 0; i < count(); ++i) counts[i] += sum_[i];
  }

  /// Marks bounds of forces at the user's q and v, with these numbers of signals, in `met`, as above.
  PYSIM_NOINLINE void mark_bounds(
      S time, const S* q, const S* v, const S* numbers, S* met, Workspace<S> w) const {
    using Place = tree::SignalBounds;
    const tree::Signals& signals = *model_.signals;
    if (signals.bounded == 0) return;
    const SignalPoint<S> at(model_, time, q, v, numbers, w);
    const S* const registers = at.run(signals.slopes, w);
    const int* outputs =
        model_.program[signals.slopes.program].outputs + elements::effort_count(model_) + signals.slope_count;
    const auto marks = SwitchCounts<S>::in(met, sizes_);
    for (int n = 0; n < signals.bounded; ++n, outputs += Place::count) {
      const S lower = registers[outputs[Place::lower]], upper = registers[outputs[Place::upper]];
      note(marks.bound[n], marks.is_at_bound(registers[outputs[Place::x]], lower, max(lower, upper)));
    }
  }

 private:
  /// Marks stops at q and v of the tree.
  PYSIM_NOINLINE void mark_stops(const S* q, const S* v, const SwitchCounts<S>& met) const {
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      for (int k = 0; k < joint.blocks; ++k) {
        const tree::Block& block = joint.block[k];
        if (block.group != tree::Group::real) continue;
        for (int i = 0; i < block.nv; ++i) {
          const int at = joint.v + block.v + i;
          note(met.stop[at], is_at_stop(model_.passive[at], q[joint.q + block.q + i], v[at]));
        }
      }
    }
  }

  /// Marks smooth contacts at q and v of the tree.
  PYSIM_NOINLINE void mark_contacts(const S* q,
                                    const S* v,
                                    const SwitchCounts<S>& met,
                                    Workspace<S> w) const {
    using U = typename collision::UniformOf<S>::type;  // shapes are the same in all worlds
    if (model_.contacts == nullptr) return;
    const auto& smooth = *static_cast<const contact::SmoothContacts*>(model_.contacts->law);
    auto* const body = take<elements::PlacedBody<S>>(w, model_.bodies);
    auto* const columns = take<spatial::Motion<S>>(w, model_.stored_columns);
    elements::place_bodies(model_, q, v, body, columns);
    for (int k = 0; k < model_.contacts->pairs; ++k) {
      const tree::ContactForces::Bodies& bodies = model_.contacts->pair[k];
      const auto motion = elements::pair_motion<S>(body, bodies.a, bodies.b);
      const auto switches = pair_switches<U>(
          smooth, k, collision::same_lanes<elements::PairMotion<U>>(motion), {reinterpret_cast<U*>(w.next)});
      note(met.touching[k], collision::same_lanes<simd::Mask<S>>(switches.touching));
      note(met.feature[k], collision::same_lanes<simd::Mask<S>>(switches.feature));
    }
  }

  static void note(S& to, simd::Mask<S> met) { to = max(to, number(met)); }

  simd::Mask<S> is_at_stop(const tree::Passive<typename S::Parameter>& law, S q, S v) const {
    const S k = all<S>(law.stop_stiffness), c = all<S>(law.stop_damping), o = all<S>(0);
    auto met = simd::nowhere<S>();
    const auto meet = [&](S limit, S x, S into) {
      const S spring = k * x, damper = c * into;
      met |= SwitchCounts<S>::is_met(q - limit, abs(q) + abs(limit) + h_ * abs(v));
      met |= (x > o) & SwitchCounts<S>::is_met(spring + damper, spring + abs(damper));
    };
    if (simd::is_finite(law.upper)) meet(all<S>(law.upper), q - all<S>(law.upper), v);
    if (simd::is_finite(law.lower)) meet(all<S>(law.lower), all<S>(law.lower) - q, -v);
    return met & (k + c > o);
  }

  const ModelOf<S>& model_;
  const SwitchSizes sizes_;
  const S h_;
  S* const sum_;
};

}  // namespace pysim::stepping
