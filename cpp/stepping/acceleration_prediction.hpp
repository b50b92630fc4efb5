// Prediction of an implicit step's acceleration: the accelerations of the last steps, extrapolated.
//
//     w = w_n + (w_n − w_n₋₁) + (w_n − 2 w_n₋₁ + w_n₋₂)        steps of one length
//     w = w_n + (h / h_n) (w_n − w_n₋₁)                         a step of different length
#pragma once

#include "stepping/solver_state.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// A world at its start uses its initial acceleration for all earlier ones.
template <class S>
void begin(const System<S>& system,
           simd::Mask<S> begins,
           S time,
           S h,
           const S* q,
           const S* v,
           const SolverState<S>& memory) {
  System<S> inner = system;
  const int nv = system.model.reduced_nv;
  S* const a = take<S>(inner.workspace, nv);
  inner.acceleration(begins, time, q, v, a);
  S* const all_known[] = {memory.last(), memory.before(), memory.earlier(), memory.algorithmic()};
  for (S* const known : all_known) {
    for (int i = 0; i < nv; ++i) known[i] = select(begins, a[i], known[i]);
  }
  memory.step() = select(begins, h, memory.step());
}

/// Dependent rows at q and v, where a step begins: determined there if the previous step had dependent or
/// nearly dependent rows. The first acceleration of its equation is off the constraints,
/// where such rows appear to be independent.
template <class S>
void find_dependence(const System<S>& system,
                     simd::Mask<S> wanted,
                     S time,
                     const S* q,
                     const S* v,
                     const SolverState<S>& memory) {
  if (system.dependence == nullptr || system.model.rows == 0) return;
  const auto unknown = wanted & (memory.apart() == all<S>(0)) & !system.dependence->known;
  if (none(unknown)) return;
  System<S> inner = system;
  S* const a = take<S>(inner.workspace, system.model.reduced_nv);
  inner.acceleration(unknown, time, q, v, a);
}

/// Stores the dependence of rows for the next step.
template <class S>
void keep_apart(const System<S>& system, simd::Mask<S> wanted, const SolverState<S>& memory) {
  if (system.dependence == nullptr) return;
  memory.apart() = select(wanted, number(system.dependence->apart), memory.apart());
}

/// Shifts the stored accelerations by a step and extrapolates them; for a stiff world the last one is kept.
template <class S>
void predict(const System<S>& system,
             simd::Mask<S> wanted,
             S time,
             S h,
             const S* q,
             const S* v,
             const SolverState<S>& memory) {
  using Real = typename S::Real;
  const S o = all<S>(0), one = all<S>(1), two = all<S>(2);
  const auto begins = wanted & (memory.step() == o);
  if (any(begins)) begin(system, begins, time, h, q, v, memory);
  const S ratio = h / memory.step();
  const S far = select(memory.stiff() >= one, o, ratio);
  const S curved = select(abs(ratio - one) < all<S>(Real(1e-6)), far, o);
  for (int i = 0; i < system.model.reduced_nv; ++i) {
    S &last = memory.last()[i], &before = memory.before()[i], &earlier = memory.earlier()[i];
    const S now = last, bend = fnma(two, before, last) + earlier;
    last = fma(curved, bend, fma(far, last - before, last));
    earlier = before;
    before = now;
  }
}

}  // namespace pysim::stepping
