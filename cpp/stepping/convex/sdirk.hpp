// Steps of order 2 from convex ones, under control of their error: the L-stable SDIRK scheme of two stages.
//
//     γ = 1 − 1/√2        M(q_i) (v_i − v_a) = γh f(q_i, v_i) + Σ Jᵀγ_c        q_i = q_a ⊕ γh v_i
//
//     stage 1   from q₀, v₀, s₀                                                              [Alexander 1977]
//     stage 2   from q₀ ⊕ (1−γ)h v₁, v₀ + (1−γ)/γ (v₁ − v₀), s likewise; its end is that of the step
//
//     e = max(γh |v₂ − v₁|, h |v₂ − v₀ − (v₁ − v₀)/γ|)     h ← h · clamp(0.9 √(accuracy/e))
//
// e is the distance to the solution of order 1, of positions and of velocities times the step. Each stage is
// the problem of a convex step, linear about the position and velocity that the rate of the stage before
// predicts; where a body turns and the prediction is far off, it is solved again about the velocity found.
// Single bodies have the velocity of their centre of mass on the axes of their joint's frame in the world
// here, and their momenta balance to rounding.
//
// At the least step, a step whose error is too large is a convex step of order 1.
#pragma once

#include "stepping/convex/step.hpp"

namespace pysim::stepping {

/// Motion of the tree as a stage sees it: velocities y, of single bodies (V of the centre of mass on the axes
/// of the joint's frame in the world, ω).
template <class S>
class StageMotion {
 public:
  using Real = typename S::Real;

  StageMotion(const ModelOf<S>& model, const Contacts<typename S::Parameter>& contacts)
      : model_(model), contacts_(contacts) {}

  /// y, and P and L about the centre of mass on the same axes, of a state.
  void read(const S* q, const S* v, S* y, Force<S>* momentum) const {
    for (int i = 0; i < model_.nv; ++i) y[i] = v[i];
    each_single([&](int b, const tree::Joint& joint, const spatial::Inertia<S>& M, const Vec3<S>& c) {
      const Mat3<S> R = rotation(q, joint);
      const Vec3<S> omega = load3(v + joint.v + 3), V = R * cross_add(omega, c, load3(v + joint.v));
      store(V, y + joint.v);
      momentum[b] = {M.m * V, R * (translate(-c, M).I * omega)};
    });
  }

  /// q₁ = q ⊕ t y, and v there; q₁ may not be q.
  void move(const S* q, S t, const S* y, S* q1, S* v1) const {
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (contacts_.single[b]) continue;
      S dq[tree::max_joint_nv];
      for (int i = 0; i < joint.nv; ++i) {
        v1[joint.v + i] = y[joint.v + i];
        dq[i] = t * y[joint.v + i];
      }
      dynamics::retract<S>(joint.block, joint.blocks, q + joint.q, dq, q1 + joint.q);
    }
    each_single([&](int, const tree::Joint& joint, const spatial::Inertia<S>&, const Vec3<S>& c) {
      const Vec3<S> V = load3(y + joint.v), omega = load3(y + joint.v + 3);
      const auto before = dynamics::load_quaternion(q + joint.q + 3);
      const auto after = normalized(before * spatial::exp_quaternion(t * omega));
      const Mat3<S> R = spatial::rotation(after);
      store(fma(t, V, load3(q + joint.q) + spatial::rotation(before) * c) - R * c, q1 + joint.q);
      store(after, q1 + joint.q + 3);
      store(transpose_times(R, V) - cross(omega, c), v1 + joint.v);
      store(omega, v1 + joint.v + 3);
    });
  }

  /// v of single bodies from their momenta.
  void finish(const S* q, const Force<S>* momentum, S* v) const {
    each_single([&](int b, const tree::Joint& joint, const spatial::Inertia<S>& M, const Vec3<S>& c) {
      const Mat3<S> R = rotation(q, joint);
      const Vec3<S> omega = inverse(translate(-c, M).I) * transpose_times(R, momentum[b].t);
      store((all<S>(1) / M.m) * transpose_times(R, momentum[b].f) - cross(omega, c), v + joint.v);
      store(omega, v + joint.v + 3);
    });
  }

  /// y from the velocities of a solved stage on the axes of its prediction, and its momenta.
  void take(const ConvexStep<S, ConvexStage<S>>& step, S* y, Force<S>* momentum) const {
    for (int i = 0; i < model_.nv; ++i) y[i] = step.velocity()[i];
    each_single([&](int b, const tree::Joint& joint, const spatial::Inertia<S>& M, const Vec3<S>&) {
      momentum[b] = step.momentum(b);
      store((all<S>(1) / M.m) * momentum[b].f, y + joint.v);
    });
  }

  /// to = a + factor (b − a), of single bodies' momenta.
  void extrapolate(const Force<S>* a, const Force<S>* b, S factor, Force<S>* to) const {
    each_single([&](int k, const tree::Joint&, const spatial::Inertia<S>&, const Vec3<S>&) {
      to[k] = fma(factor, b[k] - a[k], a[k]);
    });
  }

 private:
  static Mat3<S> rotation(const S* q, const tree::Joint& joint) {
    return spatial::rotation(dynamics::load_quaternion(q + joint.q + 3));
  }

  template <class Visit>
  void each_single(const Visit& visit) const {
    for (int b = 0; b < model_.bodies; ++b) {
      if (!contacts_.single[b]) continue;
      const auto M = dynamics::body_inertia<S>(model_, b);
      visit(b, model_.joint[b], M, centre(M));
    }
  }

  const ModelOf<S>& model_;
  const Contacts<typename S::Parameter>& contacts_;
};

/// One step of order 2 in one pack of worlds.
template <class S>
class SdirkStep {
 public:
  using Real = typename S::Real;
  static constexpr Real gamma = Real(0.29289321881345247559915563789515096);

  /// `accuracy` [m or rad] of the prediction; steps of the order's own error need no more.
  SdirkStep(const System<S>& system, const ConvexRun<S>& run, S h, S accuracy)
      : inner_(system),
        run_{run.contacts,
             run.passes > least_passes ? run.passes : least_passes,
             run.tolerance,
             run.schedule,
             run.work,
             run.log},
        motion_(system.model, run.contacts),
        h_(h),
        part_(all<S>(gamma) * h),
        accuracy_(accuracy) {}

  /// Makes the step in place, and writes its error; returns the worlds where it was solved. The others are to
  /// be discarded. `rate` (nv) is that of the velocities in the last stage.
  Mask<S> make(Mask<S> wanted, S time, const ContactState<S>& state, S* rate, S& error) {
    const auto& model = inner_.model;
    Workspace<S>& w = inner_.workspace;
    const int nq = model.nq, nv = model.nv;
    const S o = all<S>(0), factor = all<S>((1 - gamma) / gamma);
    S *const q0 = tree::take<S>(w, nq), *const v0 = tree::take<S>(w, nv), *const q1 = tree::take<S>(w, nq);
    S *const y0 = tree::take<S>(w, nv), *const y1 = tree::take<S>(w, nv), *const y2 = tree::take<S>(w, nv);
    S *const from = tree::take<S>(w, nv), *const y = tree::take<S>(w, nv);
    auto *const P0 = tree::take<Force<S>>(w, model.bodies), *const P1 = tree::take<Force<S>>(w, model.bodies),
                *const P2 = tree::take<Force<S>>(w, model.bodies);
    simd::copy_each<S>(tree::full_q(model, static_cast<const S*>(state.q), w), nq, q0);
    simd::copy_each<S>(tree::full_v(model, static_cast<const S*>(state.v), w), nv, v0);
    motion_.read(q0, v0, y0, P0);
    S* const x0 = inner_.copy_states(w);

    for (int i = 0; i < nv; ++i) y[i] = fma(part_, rate[i], y0[i]);
    auto good = solve(wanted, time + part_, {y0, P0, factor}, q0, y, state, x0, y1, P1);

    motion_.move(q0, h_ - part_, y1, q1, v0);
    for (int i = 0; i < nv; ++i) {
      from[i] = fma(factor, y1[i] - y0[i], y0[i]);
      y[i] = from[i] + (y1[i] - y0[i]);
    }
    motion_.extrapolate(P0, P1, factor, P0);
    for (int i = 0; i < inner_.states(); ++i) {
      x0[i] = fma(factor, inner_.signals.numbers[i] - x0[i], x0[i]);
      inner_.signals.numbers[i] = x0[i];
    }
    good = solve(good, time + h_, {from, P0, all<S>(1)}, q1, y, state, x0, y2, P2);

    error = o;
    const S share = all<S>(1 / gamma);
    for (int i = 0; i < nv; ++i) {
      error = max(error, part_ * abs(y2[i] - y1[i]));
      error = max(error, h_ * abs(fnma(share, y1[i] - y0[i], y2[i] - y0[i])));
      rate[i] = (y2[i] - from[i]) / part_;
    }
    motion_.move(q1, part_, y2, q0, v0);
    motion_.finish(q0, P2, v0);
    return finish(good, time + h_, q0, v0, state);
  }

 private:
  static constexpr int least_passes = 12;  ///< friction's bound is to be the stage's own normal force
  static constexpr int predictions = 4;
  static constexpr Real share = Real(0.05);  ///< of the accuracy that the prediction may cost

  /// y and the momenta of a stage from its prediction `y`, which is lost; states of elements from `x_a`.
  Mask<S> solve(Mask<S> wanted,
                S time,
                const ConvexStage<S>& stage,
                const S* q_a,
                S* y,
                const ContactState<S>& state,
                const S* x_a,
                S* y_stage,
                Force<S>* momentum) {
    const auto& model = inner_.model;
    System<S> system = inner_;
    Workspace<S>& w = system.workspace;
    S *const q = tree::take<S>(w, model.nq), *const v = tree::take<S>(w, model.nv);
    ContactState<S> at = state;
    at.q = model.mimic ? tree::take<S>(w, model.reduced_nq) : q;
    at.v = model.mimic ? tree::take<S>(w, model.reduced_nv) : v;
    auto again = wanted;
    for (int n = 0;; ++n) {
      Workspace<S> room = w;
      run_.schedule.restart();  // stages do not follow each other in time
      motion_.move(q_a, part_, y, q, v);
      ConvexStep<S, ConvexStage<S>> step(system, run_, part_, room, stage);
      if (model.mimic) step.reduce(q, v, at.q, at.v);
      const S iterations = state.memory[ContactMemory::iterations];
      const auto good = step.solve(wanted, time, q, v, at, x_a);
      S& counted = state.memory[ContactMemory::iterations];
      counted = select(again, counted, iterations);
      motion_.take(step, y_stage, momentum);
      S off = all<S>(0);
      for (int i = 0; i < model.nv; ++i) off = max(off, abs(y_stage[i] - y[i]));
      const S turned = part_ * step.fastest_turn();
      again &= good & (part_ * off * turned > all<S>(share) * accuracy_);
      if (n + 1 == predictions || none(again)) {
        step.remember(at);
        if (x_a != nullptr) {
          motion_.move(q_a, part_, y_stage, q, v);
          if (model.mimic) step.reduce(q, v, at.q, at.v);
          end_states<S>(system, time, part_, at.q, at.v, nullptr, x_a, room);
        }
        step.add_work();
        return good;
      }
      for (int i = 0; i < model.nv; ++i) y[i] = select(again, y_stage[i], y[i]);
    }
  }

  /// Puts the end at a time into the state, projected onto the constraints.
  Mask<S> finish(Mask<S> good, S time, const S* q, const S* v, const ContactState<S>& state) {
    const auto& model = inner_.model;
    if (model.mimic) {
      Workspace<S> room = inner_.workspace;
      ConvexStep<S>(inner_, run_, part_, room).reduce(q, v, state.q, state.v);
    } else {
      simd::copy_each<S>(q, model.nq, state.q);
      simd::copy_each<S>(v, model.nv, state.v);
    }
    if (model.rows == 0) return good;
    const auto projected =
        constraints::project(model, time, state.q, state.v, state.loop_q, inner_.workspace);
    return good & projected.is_closed;
  }

  System<S> inner_;
  const ConvexRun<S> run_;
  const StageMotion<S> motion_;
  const S h_, part_, accuracy_;
};

/// Bounds of steps under error control.
template <class S>
struct AccuracyBounds {
  double accuracy;  ///< [m or rad]
  S longest;        ///< step of each world [s]
  double least;     ///< step [s]
};

/// Copies counts, which failed attempts keep, in the `tried` worlds.
template <class S>
void keep_counts(Mask<S> tried, const S* from, S* to) {
  for (int i = 0; i < ContactMemory::counts; ++i) to[i] = select(tried, from[i], to[i]);
}

/// Steps of worlds, each of its own length, from `begin` to `end`, in place. `trial` has zeros for points
/// that are not live. Returns the worlds that reached the end; the others are left at their last good state.
template <class S>
Mask<S> advance_accurately(const System<S>& system,
                           const ConvexRun<S>& run,
                           const AccuracyBounds<S>& bounds,
                           Mask<S> wanted,
                           S begin,
                           S end,
                           const ContactState<S>& state,
                           const ContactState<S>& trial) {
  const ModelOf<S>& model = system.model;
  const ContactMemory places = memory_of(run.contacts, model.nv);
  const S least = all<S>(bounds.least), longest = bounds.longest, accuracy = all<S>(bounds.accuracy);
  const S o = all<S>(0), e = all<S>(1), tiny = all<S>(1e-300);
  const auto number = [](double x) { return all<S>(x); };
  S &next = state.memory[places.next_step()], &stages = state.memory[places.stages()];
  S *const rate = state.memory + places.rates(), *const tried = trial.memory + places.rates();
  next = select(next > o, next, longest);
  S time = begin;
  auto left = wanted, reached = simd::nowhere<S>();
  while (any(left)) {
    const S remaining = end - time, wish = max(min(next, longest), least);
    S h = select(wish >= remaining, remaining, wish);
    h = select((h < remaining) & (h + h > remaining), number(0.5) * remaining, h);
    copy_state<S>(model, places, state, trial, [](const S* from, int count, S* to) {
      simd::copy_each(from, count, to);
    });
    simd::copy_each<S>(rate, model.nv, tried);
    System<S> inner = system;
    inner.signals = system.with_own_signals(inner.workspace).signals;
    S error;
    auto good = SdirkStep<S>(inner, run, h, accuracy).make(left, time, trial, tried, error);
    stages = select(left, stages + number(2), stages);
    keep_counts(left, trial.memory, state.memory);
    good &= finite(model, static_cast<const S*>(trial.q), static_cast<const S*>(trial.v)) &
            finite_states(inner) & (error * o == o);
    const S factor = number(0.9) * sqrt(accuracy / max(error, tiny));
    const auto accepted = left & good & (error <= accuracy), at_least = left & (!accepted) & (h <= least);
    keep_counts(left, static_cast<const S*>(state.memory), trial.memory);
    copy_state<S>(model, places, trial, state, [&](const S* from, int count, S* to) {
      simd::copy_where<S>(accepted, from, count, to);
    });
    system.keep_signals(accepted, inner);
    for (int i = 0; i < model.nv; ++i) {
      rate[i] = select(accepted, tried[i], select(at_least, o, rate[i]));
    }
    auto stepped = accepted;
    if (any(at_least)) {
      run.schedule.restart();
      const auto made = convex_step(system, run, at_least, time, h, state, trial);
      stages = select(at_least, stages + e, stages);
      stepped |= made;
      left &= made | !at_least;
    }
    const S longer = h * min(max(factor, number(0.2)), number(5));
    const S shorter = select(good, h * min(max(factor, number(0.1)), number(0.7)), number(0.25) * h);
    next = select(
        accepted, select(h < wish, max(next, longer), longer), select(left & !at_least, shorter, next));
    next = select(at_least, h + h, next);
    const auto ends = stepped & (h >= remaining);
    time = select(ends, end, select(stepped, time + h, time));
    reached |= ends;
    left &= !ends;
  }
  return reached;
}

}  // namespace pysim::stepping
