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
    const stepping::ContactState<S> state = {
        at.copy_q(), at.copy_v(), at.loop_q(), at.load(call.memory, kept), take<S>(at.w, reported)};
    const stepping::ContactState<S> next = {take<S>(at.w, nq),
                                            take<S>(at.w, nv),
                                            take<S>(at.w, loop_nq),
                                            take<S>(at.w, kept),
                                            take<S>(at.w, reported)};
    for (int i = 0; i < reported; ++i) state.report[i] = all<S>(0);
    const auto signals = at.signals();
    stepping::System<S> system = {at.model, *batch.actuation, at.w, nullptr};
    system.signals = signals;
    const stepping::ConvexRun<S> run = {call.contacts, call.passes};
    auto alive = simd::everywhere<S>();
    S done = all<S>(0);
    for (std::ptrdiff_t n = 0; n < batch.steps && any(alive); ++n) {
      simd::copy_each<S>(state.q, nq, next.q);
      simd::copy_each<S>(state.v, nv, next.v);
      simd::copy_each<S>(state.loop_q, loop_nq, next.loop_q);
      simd::copy_each<S>(state.memory, kept, next.memory);
      simd::copy_each<S>(state.report, reported, next.report);
      const S time = all<S>(batch.time + static_cast<double>(n) * batch.step);
      const auto tried = alive;
      alive &= stepping::convex_step(system, run, alive, time, all<S>(batch.step), next);
      alive &= stepping::finite(at.model, next.q, next.v);
      simd::copy_where<S>(alive, next.q, nq, state.q);
      simd::copy_where<S>(alive, next.v, nv, state.v);
      simd::copy_where<S>(alive, next.loop_q, loop_nq, state.loop_q);
      simd::copy_where<S>(alive, next.memory, kept, state.memory);
      simd::copy_where<S>(alive, next.report, reported, state.report);
      for (int i = 0; i < stepping::ContactMemory::counts; ++i) {
        state.memory[i] = select(tried, next.memory[i], state.memory[i]);
      }
      done += number(alive);
    }
    at.save(state.q, batch.out, nq);
    at.save(state.v, batch.out_v, nv);
    at.save(state.loop_q, batch.out_loop_q, loop_nq);
    at.save(state.memory, call.memory, kept);
    at.save(state.report, call.report, reported);
    for (int i = 0; i < S::width; ++i) {
      batch.done[at.first + i] = static_cast<std::ptrdiff_t>(simd::lane(done, i));
    }
  }
};

}  // namespace pysim::engine
