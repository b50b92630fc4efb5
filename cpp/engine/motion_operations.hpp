// Steps as operations on states: worlds under a scheme.
#pragma once

#include "engine/world_operations.hpp"
#include "stepping/adaptive.hpp"
#include "stepping/advance.hpp"
#include "stepping/composition.hpp"
#include "stepping/end_report.hpp"
#include "stepping/generalized_alpha.hpp"
#include "stepping/implicit_midpoint.hpp"
#include "stepping/rattle.hpp"
#include "stepping/runge_kutta.hpp"
#include "stepping/sampled_signals.hpp"
#include "stepping/semi_implicit.hpp"
#include "stepping/step_halving.hpp"
#include "stepping/variational.hpp"

namespace pysim::engine {

/// The requested scheme of fixed step.
template <class S>
stepping::FixedScheme<S> any_scheme_of(Integrator integrator) {
  using stepping::fixed_scheme;
  switch (integrator) {
    case Integrator::semi_implicit:
      return fixed_scheme<stepping::SemiImplicit, S>();
    case Integrator::rk2:
      return fixed_scheme<stepping::Rk2, S>();
    case Integrator::rk4:
      return fixed_scheme<stepping::Rk4, S>();
    case Integrator::variational:
      return fixed_scheme<stepping::Rattle<stepping::Variational>, S>();
    case Integrator::variational4:
      return fixed_scheme<stepping::Fourth<stepping::Rattle<stepping::Variational>>, S>();
    case Integrator::implicit_midpoint:
      return fixed_scheme<stepping::Halving<stepping::Rattle<stepping::ImplicitMidpoint>>, S>();
    case Integrator::generalized_alpha:
      return fixed_scheme<stepping::Halving<stepping::GeneralizedAlpha>, S>();
  }
  return {};
}

/// The same; packs of two registers have the explicit ones, see engine/contact_dispatch.cpp.
template <class S>
stepping::FixedScheme<S> scheme_of(Integrator integrator) {
  using stepping::fixed_scheme;
  if constexpr (simd::in_two<S>) {
    if (integrator == Integrator::semi_implicit) return fixed_scheme<stepping::SemiImplicit, S>();
    if (integrator == Integrator::rk2) return fixed_scheme<stepping::Rk2, S>();
    return fixed_scheme<stepping::Rk4, S>();
  } else {
    return any_scheme_of<S>(integrator);
  }
}

/// Lets steps take the worlds of a pack forward.
template <class S, class Steps>
void run_steps(std::ptrdiff_t first,
               const PackOfWorlds<S>& pack,
               const stepping::System<S>& system,
               const WorldInputs<S>& inputs,
               const contact::SensorList* sensors,
               Steps& steps) {
  const auto& call = inputs.call;
  bool jumped[S::width];
  for (int k = 0; k < S::width; ++k) jumped[k] = call.worlds.jumped[pack.world(k)] != 0;
  steps.mark_jumps(stepping::lanes_of<S>(jumped));
  stepping::PackAdvance<S, Steps> advance(call, first, steps);
  advance.run(DueBlocks<S>{system, inputs.lanes, sensors, steps.workspace()},
              inputs,
              StateRows<S>{call, first, inputs.lanes});
  const auto left = steps.jumps();
  for (int k = 0; k < S::width; ++k) call.worlds.jumped[pack.world(k)] = simd::lane(left, k) ? 1 : 0;
}

/// Advance of worlds under a scheme of the engine without contacts that are solved.
struct AdvanceWorlds {
  template <class S>
  static void advance(States<S> states, const contact::Contacts<typename S::Parameter>&) {
    at(states);
  }

  template <class S>
  static void at(States<S> at) {
    const auto& batch = static_cast<const WorldBatch<typename S::Real>&>(at.batch);
    const auto& call = batch.call;
    const PackOfWorlds<S> pack(call, at.first);
    const WorldLanes<S> lanes = pack.load_all(at.model, call.worlds, at.w);
    const int carried = call.worlds.sizes.scheme;
    S* const memory = carried == 0 ? nullptr : pack.load(call.worlds.scheme, carried, at.w);
    const int rows = call.worlds.sizes.pivots;
    S* const pivots = rows == 0 ? nullptr : pack.load(call.worlds.pivots, rows, at.w);
    const int nv = call.controls == nullptr ? 0 : at.model.reduced_nv;
    S *const control = nv == 0 ? nullptr : take<S>(at.w, nv), *const before = take<S>(at.w, nv);
    const stepping::System<S> system = {at.model,
                                        *batch.actuation,
                                        at.w,
                                        lanes.loop_q,
                                        control,
                                        memory,
                                        batch.spectral_radius,
                                        nullptr,
                                        lanes.signals};
    const auto advance_by = [&](const stepping::FixedScheme<S>& scheme) {
      stepping::SchemeSteps<S> steps(scheme, system, lanes.q, lanes.v);
      if (pivots != nullptr) steps.dependence().load(pivots);
      S* const compared = scheme.carries_acceleration ? before : nullptr;
      run_steps(
          at.first, pack, system, {call, at.first, lanes, control, compared}, batch.contacts.sensors, steps);
      if (pivots != nullptr) {
        steps.dependence().store(pivots);
        pack.save(pivots, rows, call.worlds.pivots);
      }
    };
    if constexpr (std::is_same_v<typename S::Parameter, double> &&
                  !simd::in_two<S>) {  // worlds that differ come one at a time
      if (call.adaptive != nullptr) {
        stepping::AdaptiveSteps<S> steps(system, *call.adaptive, lanes.q, lanes.v, memory);
        run_steps(at.first, pack, system, {call, at.first, lanes}, batch.contacts.sensors, steps);
        steps.store();
      }
    }
    if (call.adaptive == nullptr) advance_by(scheme_of<S>(batch.integrator));
    pack.save_all(lanes, call.worlds);
    if (memory != nullptr) pack.save(memory, carried, call.worlds.scheme);
  }
};

/// Values of all events at states.
struct EventValues {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const stepping::Events& events = *batch.events;
    const S *const q = at.reduced_q(), *const v = at.reduced_v();
    S* const values = take<S>(at.w, events.count);
    const stepping::System<S> system = {at.model, *batch.actuation, at.w, nullptr};
    for (int k = 0; k < events.count; ++k) {
      values[k] = stepping::event_value(system, events, events.event[k], q, v);
    }
    at.save(values, batch.out, events.count);
  }
};

/// States of the signals after the sampled blocks that are due at a time: the new numbers.
struct UpdateSignals {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const auto signals = at.signals();
    S* const loop_q = at.loop_q();
    const S *const q = at.reduced_q(), *const v = at.reduced_v();
    const stepping::Measured<S> measured = {batch.x == nullptr ? nullptr : at.reduced_x(), at.f_ext()};
    stepping::System<S> system = {at.model, *batch.actuation, at.w, loop_q};
    system.signals = signals;
    const auto everywhere = [](int) { return simd::everywhere<S>(); };
    stepping::update_signals(system, all<S>(batch.time), q, v, batch.due, everywhere, batch.first, measured);
    at.save_signals(signals.numbers);
  }
};

/// Numbers of contact sensors among those of the signals, from what points report at states: x (states,
/// points, ContactReport::numbers).
struct MeasureContacts {
  using Report = contact::ContactReport;

  template <class S>
  static void at(States<S> at) {
    const contact::MeasuredPoints& points = *at.batch.measured;
    const std::ptrdiff_t row = std::ptrdiff_t{points.count} * Report::numbers;
    const auto numbers = at.signals().numbers;
    const S* const q = at.reduced_q();
    const auto three = [&](int point, int place) {
      const double* const x = at.batch.x + at.first * row + point * Report::numbers + place;
      return Vec3<S>{gather<S>(x, row), gather<S>(x + 1, row), gather<S>(x + 2, row)};
    };
    const auto pushes = [&](int point) {
      const Vec3<S> f = three(point, Report::force);
      return abs(f.x) + abs(f.y) + abs(f.z) > all<S>(0);
    };
    int count = 0;
    for (int n = 0; n < points.count; ++n) count += any(pushes(n)) ? 1 : 0;
    stepping::EndReport<S> report(count, &points.sensors, at.w);
    for (int n = 0; n < points.count; ++n) {
      const auto acts = pushes(n);
      if (none(acts)) continue;
      constexpr int unread = -1;  // bodies, of wrenches alone
      const Vec3<S> force = three(n, Report::force), moment = three(n, Report::moment),
                    position = three(n, Report::position), normal = three(n, Report::normal);
      report.add({points.shapes[n], unread, unread, force, moment, position, dot(force, normal), acts});
    }
    report.act({false, simd::everywhere<S>()}, at.model, q, numbers, at.w);
    at.save_signals(numbers);
  }
};

/// Every signal at states with times of their own.
struct ReadSignals {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const int count = at.model.signals->reading_count;
    const S time = simd::gather<S>(batch.times + at.first, 1);
    const S *const q = at.reduced_q(), *const v = at.reduced_v(), *const a = at.reduced_x();
    const auto signals = at.signals();
    const auto* const f_ext = at.f_ext();
    S* const readings = take<S>(at.w, count);
    stepping::read_signals<S>(at.model, time, q, v, a, f_ext, signals.numbers, readings, at.w);
    at.save(readings, batch.out, count);
  }
};

/// Forces of the signals' actuators at states with times of their own, and the rates of the elements' states.
struct SignalForces {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const int nv = at.model.reduced_nv;
    const S time = simd::gather<S>(batch.times + at.first, 1);
    const S *const q = at.reduced_q(), *const v = at.reduced_v();
    const auto signals = at.signals();
    S* const tau = take<S>(at.w, nv);
    for (int i = 0; i < nv; ++i) tau[i] = all<S>(0);
    stepping::add_signal_forces<S>(at.model, time, q, v, signals, tau, at.w);
    at.save(tau, batch.out, nv);
    at.save(signals.rate, batch.out_v, at.model.signals->states);
  }
};

}  // namespace pysim::engine
