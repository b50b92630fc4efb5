// Subdivision of an implicit step whose equation cannot be solved into 2, 4, … shorter steps.
#pragma once

#include "stepping/solver_state.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

template <class Scheme>
struct Halving {
  static constexpr int levels = 6;  ///< at most 2⁶ substeps

  template <class S>
  static void step(const System<S>& system, S time, S h, S* q, S* v) {
    System<S> outer = system;
    const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
    S *const q1 = take<S>(outer.workspace, nq), *const v1 = take<S>(outer.workspace, nv);
    const SolverState<S> memory = {system.memory, nv};
    const System<S> begun = outer.with_own_signals(outer.workspace);
    const S nan = all<S>(simd::not_a_number);
    for (int i = 0; i < nq; ++i) q1[i] = nan;
    for (int i = 0; i < nv; ++i) v1[i] = nan;
    auto left = memory.lost() == all<S>(0);
    for (int level = 0; level <= levels && any(left); ++level) {
      left &= !walk(outer, begun, left, time, h, 1 << level, q, v, q1, v1);
    }
    memory.lost() = select(left, all<S>(1), memory.lost());
    for (int i = 0; i < nq; ++i) q[i] = q1[i];
    for (int i = 0; i < nv; ++i) v[i] = v1[i];
  }

 private:
  /// Tries h in `parts` steps from the state of the signals that `begun` has; q1 and v1 receive the end in
  /// the `wanted` worlds that succeed. Returns these.
  template <class S>
  static simd::Mask<S> walk(const System<S>& system,
                            const System<S>& begun,
                            simd::Mask<S> wanted,
                            S time,
                            S h,
                            int parts,
                            const S* q,
                            const S* v,
                            S* q1,
                            S* v1) {
    using Real = typename S::Real;
    System<S> inner = system;
    const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
    S* const next_q = take<S>(inner.workspace, nq + system.model.callback_numbers);
    S* const next_v = take<S>(inner.workspace, nv);
    for (int i = 0; i < nq; ++i) next_q[i] = q[i];
    for (int i = 0; i < nv; ++i) next_v[i] = v[i];
    inner.loop_q = system.copy_loop_q(inner.workspace);
    inner.signals = begun.with_own_signals(inner.workspace).signals;
    const auto dependence = system.copy_dependence(inner.workspace);
    const SolverState<S> memory = {system.memory, nv}, trial = memory.copy(inner.workspace);
    const S part = h / all<S>(Real(parts));
    auto good = wanted;
    for (int k = 0; k < parts && any(good); ++k) {
      if (k > 0) good &= inner.project(time + all<S>(Real(k)) * part, next_q, next_v);
      if (parts > 1) inner.begin_part(good);
      good = Scheme::attempt(inner, good, time + all<S>(Real(k)) * part, part, next_q, next_v, trial);
    }
    trial.rejected() += number(wanted & !good);
    memory.keep(trial, wanted, good);
    system.keep_loop_q(good, inner.loop_q);
    system.keep_signals(good, inner);
    system.keep_dependence(!wanted, dependence);
    for (int i = 0; i < nq; ++i) q1[i] = select(good, next_q[i], q1[i]);
    for (int i = 0; i < nv; ++i) v1[i] = select(good, next_v[i], v1[i]);
    return good;
  }
};

}  // namespace pysim::stepping
