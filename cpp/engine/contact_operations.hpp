// Steps with contacts as an operation on states.
#pragma once

#include "engine/contact_kernels.hpp"
#include "simd/finite.hpp"
#include "stepping/advance.hpp"
#include "stepping/convex.hpp"

namespace pysim::engine {

/// Equal convex steps in place, until a world cannot be solved or is no longer finite.
struct AdvanceContacts {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const auto& call = static_cast<const ContactBatch&>(batch).contacts;
    const int nq = at.model.reduced_nq, nv = at.model.reduced_nv, loop_nq = at.model.loop_nq();
    const int kept = stepping::ContactMemory{call.contacts.points, call.contacts.coordinates}.numbers();
    const int reported = stepping::ContactReport::numbers * call.contacts.points;
    const stepping::ContactMemory places = {call.contacts.points, call.contacts.coordinates};
    bool* const live = take<bool>(at.w, call.contacts.points);
    const stepping::ContactState<S> state = {
        at.copy_q(), at.copy_v(), at.loop_q(), at.load(call.memory, kept), take<S>(at.w, reported), live};
    const stepping::ContactState<S> trial = {take<S>(at.w, nq),
                                             take<S>(at.w, nv),
                                             take<S>(at.w, loop_nq),
                                             take<S>(at.w, kept),
                                             take<S>(at.w, reported),
                                             live};
    for (int i = 0; i < reported; ++i) state.report[i] = trial.report[i] = all<S>(0);
    simd::copy_each<S>(state.memory, kept, trial.memory);
    for (int i = 0; i < call.contacts.points; ++i) {
      live[i] = any(state.memory[places.point(i) + stepping::ContactMemory::feature] > all<S>(0));
    }
    const auto signals = at.signals();
    stepping::System<S> system = {at.model, *batch.actuation, at.w, nullptr};
    system.signals = signals;
    S* const control = call.controls == nullptr ? nullptr : take<S>(system.workspace, nv);
    system.control = control;
    const stepping::ConvexRun<S> run = {call.contacts, call.passes};
    auto alive = simd::everywhere<S>();
    S done = all<S>(0);
    for (std::ptrdiff_t n = 0; n < batch.steps && any(alive); ++n) {
      const S time = all<S>(batch.time + static_cast<double>(n) * batch.step);
      if (control != nullptr) {
        const double* const numbers = call.controls + (at.first * call.control_steps + n) * nv;
        simd::load_rows(numbers, nv, call.control_steps * nv, control);
      }
      alive &= stepping::convex_step(system, run, alive, time, all<S>(batch.step), state, trial);
      done += number(alive);
    }
    at.save(state.q, batch.out, nq);
    at.save(state.v, batch.out_v, nv);
    at.save(state.loop_q, batch.out_loop_q, loop_nq);
    at.save(state.memory, call.memory, kept);
    if (call.report != nullptr) at.save(state.report, call.report, reported);
    for (int i = 0; i < S::width; ++i) {
      batch.done[at.first + i] = static_cast<std::ptrdiff_t>(simd::lane(done, i));
    }
  }
};

}  // namespace pysim::engine
