// Steps with contacts as an operation on states.
#pragma once

#include "elements/contact_derivatives.hpp"
#include "engine/contact_kernels.hpp"
#include "engine/world_operations.hpp"
#include "simd/finite.hpp"
#include "stepping/advance.hpp"
#include "stepping/convex/steps.hpp"
#include "stepping/convex/touching_points.hpp"

namespace pysim::engine {

template <class S>
class PulledConvexSteps;

/// Runs the sampled blocks that are due at the ends of convex steps, and may read what these report.
template <class S>
struct BlocksAfterContacts {
  const stepping::System<S>& system;
  const WorldLanes<S>& lanes;
  const contact::Contacts<typename S::Parameter>& contacts;
  const contact::SensorList* sensors;
  const contact::ContactState<S>& state;
  const Workspace<S>& workspace;  ///< behind what the steps hold

  template <class IsDue>
  void operator()(S time, std::uint64_t due, const IsDue& is_due) const {
    stepping::System<S> inner = system;
    Workspace<S>& w = inner.workspace = workspace;
    inner.loop_q = system.copy_loop_q(w);
    stepping::EndReport<S> report(state.live->count, sensors, w);
    const auto readers = stepping::report_readers<S>(*system.model.signals, sensors, due, is_due);
    const S *const q = lanes.q, *const v = lanes.v;
    const spatial::Force<S>* wrenches = nullptr;
    if (readers.some()) {
      stepping::add_touching_points<S>(contacts, state, report, w);
      wrenches = report.act(readers, system.model, q, lanes.signals.numbers, w);
    }
    stepping::update_signals(inner, time, q, v, due, is_due, false, stepping::Measured<S>{nullptr, wrenches});
  }
};

/// Advance of worlds by convex steps.
struct AdvanceConvexWorlds {
  template <class S>
  static void at(States<S> at) {
    advance(at, static_cast<const WorldBatch<typename S::Real>&>(at.batch).contacts.contacts);
  }

  template <class S>
  static void advance(States<S> at, const contact::Contacts<typename S::Parameter>& contacts) {
    const auto& batch = static_cast<const WorldBatch<typename S::Real>&>(at.batch);
    const auto& call = batch.call;
    const auto& settings = batch.contacts;
    const PackOfWorlds<S> pack(call, at.first);
    const WorldLanes<S> lanes = pack.load_all(at.model, call.worlds, at.w);
    const contact::ContactMemory places = contact::memory_of(contacts, at.model.nv);
    contact::LivePoints<S> live(places, at.w);
    const int nq = at.model.reduced_nq, nv = at.model.reduced_nv, loop_nq = at.model.loop_nq();
    const contact::ContactState<S> state = {
        lanes.q, lanes.v, lanes.loop_q, live.memory[0], live.report[0], &live};
    const contact::ContactState<S> trial = {
        take<S>(at.w, nq), take<S>(at.w, nv), take<S>(at.w, loop_nq), live.memory[1], live.report[1], &live};
    load_contacts(batch, at.first, pack, state);
    stepping::System<S> system = {at.model, *batch.actuation, at.w, nullptr};
    system.loop_q = lanes.loop_q;
    system.signals = lanes.signals;
    S* const control = call.controls == nullptr ? nullptr : take<S>(system.workspace, nv);
    system.control = control;
    std::int64_t steps_before[S::width];
    for (int k = 0; k < S::width; ++k) steps_before[k] = call.worlds.steps[pack.world(k)];
    const contact::PairSchedule<S> begin = load_schedule(
        batch, at.first, pack, contact::PairSchedule<S>(contacts, at.model.bodies, system.workspace));
    contact::PairSchedule<S> schedule =
        begin;  // no other function has its address, so it may be in registers
    contact::Solution<S> solution = {};
    if (settings.solutions != nullptr) solution = take_solution(at.model.nv, system.workspace);
    const stepping::ConvexRun<S> run = {contacts,
                                        settings.passes,
                                        settings.tolerance,
                                        schedule,
                                        settings.work,
                                        settings.log,
                                        settings.solutions == nullptr ? nullptr : &solution};
    const auto advance = [&](auto steps) {
      stepping::PackAdvance<S, decltype(steps)> loop(call, at.first, steps);
      loop.run(BlocksAfterContacts<S>{system, lanes, contacts, settings.sensors, state, system.workspace},
               WorldInputs<S>{call, at.first, lanes, control},
               ContactRows<S>{{call, at.first, lanes}, batch, state});
    };
    if constexpr (sizeof(typename S::Real) == 8) {  // worlds in single precision have fixed steps alone
      if (settings.accuracy > 0) {
        advance(stepping::ControlledConvexSteps<S>(
            system, run, settings.accuracy, settings.least_step, state, trial));
      } else {
        advance(stepping::ConvexSteps<S>(system, run, state, trial));
      }
    } else {
      advance(stepping::ConvexSteps<S>(system, run, state, trial));
    }
    pack.save_all(lanes, call.worlds);
    if (settings.solutions != nullptr) save_solution(solution, at.model.nv, pack, state, settings.solutions);
    save_contacts(batch, at.first, pack, state, system.workspace, steps_before);
    save_schedule(batch, at.first, pack, schedule);
  }

 private:
  template <class S>
  friend class PulledConvexSteps;

  using Memory = contact::ContactMemory;
  using Entry = stepping::TouchingPoint;
  static constexpr int report_numbers = contact::ContactReport::numbers;
  static constexpr int counted[] = {Memory::iterations, Memory::halved};

  /// Rows of states and of what contacts report.
  template <class S>
  struct ContactRows {
    StateRows<S> states;
    const WorldBatch<typename S::Real>& batch;
    const contact::ContactState<S>& state;

    void operator()(int k, std::int64_t row) const {
      states(k, row);
      write_report(batch, states.first, k, row, state);
    }

    void all(std::int64_t row) const {
      states.all(row);
      for (int k = 0; k < S::width; ++k) write_report(batch, states.first, k, row, state);
    }

    void lose(int k) const { states.lose(k); }
  };

  template <class S>
  static contact::Solution<S> take_solution(int nv, Workspace<S>& w) {
    S* const numbers = take<S>(w, 2 * std::ptrdiff_t{nv});
    for (int i = 0; i < 2 * nv; ++i) numbers[i] = all<S>(0);
    return {numbers, {numbers + nv, simd::nowhere<S>()}};
  }

  template <class S>
  static void save_solution(const contact::Solution<S>& solution,
                            int nv,
                            const PackOfWorlds<S>& pack,
                            const contact::ContactState<S>& state,
                            double* solutions) {
    const S renewed = number(solution.renewal.worlds), halved = state.memory[Memory::halved];
    for (int k = 0; k < S::width; ++k) {
      double* to = solutions + pack.world(k) * contact::solution_numbers(nv);
      for (int i = 0; i < nv; ++i) *to++ = simd::lane(solution.delta[i], k);
      for (int i = 0; i < nv; ++i) *to++ = simd::lane(solution.renewal.delta[i], k);
      *to++ = simd::lane(renewed, k);
      *to = simd::lane(halved, k) == 0 ? 1 : 0;
    }
  }

  template <class S>
  static void load_contacts(const WorldBatch<typename S::Real>& batch,
                            std::ptrdiff_t first,
                            const PackOfWorlds<S>& pack,
                            const contact::ContactState<S>& state) {
    const auto& parts = batch.call.worlds;
    const Memory& places = state.live->places;
    load_numbers([&](int k) { return parts.scheme + pack.world(k) * parts.sizes.scheme; },
                 parts.sizes.scheme,
                 state.memory);
    for (const int i : counted) state.memory[i] = all<S>(0);  // of this call, exact in either precision
    for (int k = 0; k < S::width; ++k) {
      const std::ptrdiff_t world = pack.world(k);
      const double* entry = parts.contacts + world * parts.sizes.points * Entry::numbers;
      for (std::int64_t n = 0; n < parts.touching[world]; ++n, entry += Entry::numbers) {
        const int point = static_cast<int>(entry[Entry::number]);
        state.live->add(point);
        for (int i = 0; i < Memory::per_point; ++i) {
          simd::set_lane(
              state.memory_of(point)[i], k, static_cast<typename S::Real>(entry[Entry::memory + i]));
        }
      }
    }
    if (batch.report == nullptr) return;
    const std::ptrdiff_t row = std::ptrdiff_t{report_numbers} * places.points;
    for (int i = 0; i < places.points; ++i) {  // impulses since the last row, also of points that lost touch
      const double* const numbers = batch.report + first * row + report_numbers * i;
      bool pushed = false;
      for (int k = 0; k < S::width; ++k) {
        for (int j = 0; j < report_numbers; ++j) pushed |= numbers[k * row + j] != 0;
      }
      if (!pushed) continue;
      state.live->add(i);
      load_numbers([&](int k) { return numbers + k * row; }, report_numbers, state.report_of(i));
    }
  }

  template <class S>
  PYSIM_NOINLINE static contact::PairSchedule<S> load_schedule(const WorldBatch<typename S::Real>& batch,
                                                               std::ptrdiff_t first,
                                                               const PackOfWorlds<S>& pack,
                                                               contact::PairSchedule<S> schedule) {
    const SavedSchedules& saved = batch.schedules;
    if (saved.bytes == nullptr || saved.key[first] == 0) return schedule;
    if (saved.key[first] == state_key<S>(batch.call.worlds, pack)) {
      schedule.load(saved.bytes + first * saved.stride);
    }
    return schedule;
  }

  template <class S>
  PYSIM_NOINLINE static void save_schedule(const WorldBatch<typename S::Real>& batch,
                                           std::ptrdiff_t first,
                                           const PackOfWorlds<S>& pack,
                                           contact::PairSchedule<S> schedule) {
    const SavedSchedules& saved = batch.schedules;
    if (saved.bytes == nullptr) return;
    for (int k = 0; k < S::width; ++k) saved.key[first + k] = 0;
    if (!schedule.is_complete()) return;
    schedule.save(saved.bytes + first * saved.stride);
    saved.key[first] = state_key<S>(batch.call.worlds, pack);
  }

  /// Keeps what contacts remember, and what they report of worlds that have made a step.
  template <class S>
  static void save_contacts(const WorldBatch<typename S::Real>& batch,
                            std::ptrdiff_t first,
                            const PackOfWorlds<S>& pack,
                            const contact::ContactState<S>& state,
                            const Workspace<S>& w,
                            const std::int64_t* steps_before) {
    const auto& parts = batch.call.worlds;
    const Memory& places = state.live->places;
    for (int k = 0; k < S::width; ++k) {
      double* const to = parts.scheme + pack.world(k) * parts.sizes.scheme;
      const double before[] = {to[counted[0]], to[counted[1]]};
      for (int i = 0; i < parts.sizes.scheme; ++i) to[i] = simd::lane(state.memory[i], k);
      for (int i = 0; i < 2; ++i) to[counted[i]] += before[i];
    }
    const int* const ascending = state.live->ascending(w);
    for (int k = 0; k < S::width; ++k) {
      const std::ptrdiff_t world = pack.world(k);
      double* const begin = parts.contacts + world * parts.sizes.points * Entry::numbers;
      double* entry = begin;
      double* reported = parts.report + world * parts.sizes.points * report_numbers;
      for (int n = 0; n < state.live->count; ++n) {
        const int point = state.live->number[ascending[n]];
        const S* const memory = state.memory_of(point);
        if (!(simd::lane(memory[Memory::feature], k) > 0)) continue;
        entry[Entry::number] = point;
        for (int i = 0; i < Memory::per_point; ++i) entry[Entry::memory + i] = simd::lane(memory[i], k);
        entry += Entry::numbers;
        if (parts.steps[world] == steps_before[k]) continue;
        const S* const report = state.report_of(point);
        for (int i = 0; i < report_numbers; ++i) *reported++ = simd::lane(report[i], k);
      }
      parts.touching[world] = (entry - begin) / Entry::numbers;
    }
    if (batch.report == nullptr) return;
    const std::ptrdiff_t row = std::ptrdiff_t{report_numbers} * places.points;
    for (int n = 0; n < state.live->count; ++n) {
      const int at = report_numbers * state.live->number[n];
      PackOfWorlds<S>::save_rows(state.report + report_numbers * n, report_numbers, [&](int k) {
        return batch.report + (first + k) * row + at;
      });
    }
  }

  /// Writes what contacts report at a row, and begins to add impulses anew.
  template <class S>
  static void write_report(const WorldBatch<typename S::Real>& batch,
                           std::ptrdiff_t first,
                           int k,
                           std::int64_t row,
                           const contact::ContactState<S>& state) {
    if (batch.report_rows == nullptr) return;
    const std::ptrdiff_t numbers = std::ptrdiff_t{report_numbers} * state.live->places.points;
    double* const to = batch.report_rows + ((first + k) * batch.call.rows + row) * numbers;
    for (int n = 0; n < state.live->count; ++n) {
      S* const report = state.report + report_numbers * n;
      for (int i = 0; i < report_numbers; ++i) {
        to[report_numbers * state.live->number[n] + i] = simd::lane(report[i], k);
      }
      for (int i = 0; i < 3; ++i) simd::set_lane(report[contact::ContactReport::impulse + i], k, 0);
    }
  }
};

/// Contact points of the smooth law at states.
struct ReportContacts {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = static_cast<const ContactBatch&>(at.batch);
    const int numbers = contact::ContactReport::numbers * batch.smooth->contacts.points;
    S* const report = take<S>(at.w, numbers);
    const S *const q = at.full_q(), *const v = at.full_v();
    contact::report_smooth_points<S>(at.model, *batch.smooth, batch.reach, q, v, report, at.w);
    at.save(report, batch.contacts.report, numbers);
  }
};

/// Damping and stiffness of actuators that a convex step of size h is implicit in, at states.
struct ActuatorSlopes {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const int n = at.model.reduced_nv;
    S *const q = at.copy_q(), *const v = at.copy_v();
    const auto signals = at.signals();
    stepping::System<S> system = {at.model, *batch.actuation, at.w, nullptr};
    system.signals = signals;
    Workspace<S>& w = system.workspace;
    S *const d = take<S>(w, n), *const k = take<S>(w, n);
    stepping::ActuatorDamping<S> damping(system, w);
    const S* const states = system.copy_states(w);
    system.signals.base = system.signals.start = states;
    system.signals.factor = all<S>(batch.step);
    damping.evaluate(system, all<S>(batch.time), q, v, w);
    damping.copy(d, k);
    at.save(d, batch.derivative[0], n);
    at.save(k, batch.derivative[1], n);
  }
};

/// Generalised forces of the smooth law at states, and their derivatives by q and v.
struct ContactSlopes {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const int n = at.model.reduced_nv;
    const S *const q = at.full_q(), *const v = at.full_v();
    S *const tau = take<S>(at.w, at.model.nv), *const by_q = take<S>(at.w, n * n),
             *const by_v = take<S>(at.w, n * n);
    for (int i = 0; i < at.model.nv; ++i) tau[i] = all<S>(0);
    for (int i = 0; i < n * n; ++i) by_q[i] = by_v[i] = all<S>(0);
    elements::add_contact_forces(at.model, q, v, tau, at.w);
    elements::add_contact_derivatives(at.model, q, v, all<S>(1), by_q, by_v, at.w);
    at.save_forces(tau);
    at.save(by_q, batch.derivative[0], n * n);
    at.save(by_v, batch.derivative[1], n * n);
  }
};

/// The smooth law behind a table, see tree::ContactForces.
template <class S>
bool contact_wrench(const void* law, int pair, const void* motion, void* wrench, void* slope) {
  const auto& smooth = *static_cast<const contact::SmoothContacts*>(law);
  return contact::smooth_wrench<S>(
      smooth, pair, static_cast<const S*>(motion), static_cast<S*>(wrench), static_cast<S*>(slope));
}

/// Gap of a pair behind a table, see stepping::PairGaps.
template <class S>
void pair_gap(const void* contacts, int pair, int point, const void* pose, void* gap) {
  const auto& own = *static_cast<const contact::Contacts<double>*>(contacts);
  const auto& X_AB = *static_cast<const spatial::Pose<S>*>(pose);
  *static_cast<S*>(gap) = contact::continuous_gap<S>(own, pair, point, X_AB);
}

}  // namespace pysim::engine
