// Rollouts as an operation on states: where a pack of worlds starts, its controls step by step, its rows.
#pragma once

#include "engine/operations.hpp"
#include "stepping/rollout.hpp"

namespace pysim::engine {

struct Rollout {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const auto& call = *batch.rollout;
    const int nq = at.model.own_nq, nv = at.model.own_nv;
    const stepping::Riders<S> riders = start(at);
    S *const seen_q = take<S>(at.w, nq), *const seen_v = take<S>(at.w, nv);

    const std::ptrdiff_t steps = call.rows * call.every;
    const auto controls = [&](std::ptrdiff_t n, S* to) {
      if (call.controls == nullptr) return false;
      const auto* numbers = call.controls + (at.first * steps + n) * nv;
      simd::load_rows(numbers, nv, steps * nv, to);
      return true;
    };
    const auto row = [&](std::ptrdiff_t k, const stepping::Riders<S>& now) {
      const S nan = all<S>(0) / all<S>(0);
      const auto good = now.alive == all<S>(1);
      for (int i = 0; i < nq; ++i) seen_q[i] = select(good, now.q[i], nan);
      for (int i = 0; i < nv; ++i) seen_v[i] = select(good, now.v[i], nan);
      save_row(at, seen_q, call.q, k, nq);
      save_row(at, seen_v, call.v, k, nv);
    };
    S* const loop_q = at.loop_q();
    S* const memory = at.memory();
    const stepping::System<S> system = {
        at.model, *batch.actuation, at.w, loop_q, nullptr, memory, batch.spectral_radius};
    const S h = all<S>(static_cast<typename S::Real>(batch.step));
    with_scheme(batch.integrator, [&](auto scheme) {
      stepping::rollout<decltype(scheme)>(system, h, call.every, call.begin, call.end, riders, controls, row);
    });
    at.save(loop_q, batch.out_loop_q, at.model.loop_nq());
    at.save_memory(memory);
  }

 private:
  /// Row `begin`, which an earlier run made or which is the start. A world that is out waits at its start.
  template <class S>
  static stepping::Riders<S> start(States<S>& at) {
    const auto& call = *at.batch.rollout;
    S *const q = at.copy_q(), *const v = at.copy_v();
    const S one = all<S>(1);
    if (call.begin == 0) {
      save_row(at, q, call.q, 0, at.model.own_nq);
      save_row(at, v, call.v, 0, at.model.own_nv);
      return {q, v, one};
    }
    const S* last_q = load_row(at, call.q, at.model.own_nq);
    const S* last_v = load_row(at, call.v, at.model.own_nv);
    const auto good = stepping::finite(at.model, last_q, last_v);
    for (int i = 0; i < at.model.own_nq; ++i) q[i] = select(good, last_q[i], q[i]);
    for (int i = 0; i < at.model.own_nv; ++i) v[i] = select(good, last_v[i], v[i]);
    return {q, v, select(good, one, all<S>(0))};
  }

  template <class S>
  static const S* load_row(States<S>& at, const typename S::Real* rows, int count) {
    const auto& call = *at.batch.rollout;
    const std::ptrdiff_t world = (1 + call.rows) * count;
    S* const packs = take<S>(at.w, count);
    simd::load_rows(rows + at.first * world + call.begin * count, count, world, packs);
    return packs;
  }

  template <class S>
  static void save_row(
      const States<S>& at, const S* packs, typename S::Real* rows, std::ptrdiff_t k, int count) {
    const std::ptrdiff_t world = (1 + at.batch.rollout->rows) * count;
    simd::store_rows(packs, count, rows + at.first * world + k * count, world);
  }
};

}  // namespace pysim::engine
