// Start of the iterations of an implicit step: the accelerations of the last steps, extrapolated.
//
//     w = w_n + (w_n − w_n₋₁) + (w_n − 2 w_n₋₁ + w_n₋₂)        steps of one length
//     w = w_n + (h / h_n) (w_n − w_n₋₁)                         a step of another
#pragma once

#include "stepping/solver_state.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// A world that begins takes the acceleration it starts with for all of those before.
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

/// Which rows depend on others at q and v, where a step begins: found there, where the step before met some
/// that did or nearly did. The first acceleration that its equation needs is off the constraints,
/// where such rows seem to hold.
template <class S>
void find_dependence(const System<S>& system,
                     simd::Mask<S> wanted,
                     S time,
                     const S* q,
                     const S* v,
                     const SolverState<S>& memory) {
  if (system.dependence == nullptr) return;
  const auto unknown = wanted & (memory.apart() == all<S>(0)) & !system.dependence->known;
  if (none(unknown)) return;
  System<S> inner = system;
  S* const a = take<S>(inner.workspace, system.model.reduced_nv);
  inner.acceleration(unknown, time, q, v, a);
}

/// What the next step needs to know of that.
template <class S>
void keep_apart(const System<S>& system, simd::Mask<S> wanted, const SolverState<S>& memory) {
  if (system.dependence == nullptr) return;
  memory.apart() = select(wanted, number(system.dependence->apart), memory.apart());
}

/// Shifts the memory's accelerations by a step and draws them on; of a stiff world the last stays as it is.
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
  const S far = select(memory.stiff() == one, o, ratio);
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
