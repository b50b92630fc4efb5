// Where the iterations of an implicit step begin: the last two accelerations, drawn on.
//
//     w = w_n + (h / h_n) (w_n − w_n₋₁)
#pragma once

#include "stepping/memory.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// Shifts the memory's accelerations by a step; a world that begins takes the one it starts with for all of
/// them, a stiff one the last as it is.
template <class S>
static void predict(
    const System<S>& system, S wanted, S time, S h, const S* q, const S* v, const Memory<S>& memory) {
  const int nv = system.model.own_nv;
  const S none = all<S>(0), one = all<S>(1);
  const S begins = wanted * select(memory.step() == none, one, none);
  if (simd::any<S>(begins == one)) {
    System<S> inner = system;
    S* const a = inner.workspace.template take<S>(nv);
    inner.acceleration(time, q, v, a);
    for (int i = 0; i < nv; ++i) {
      memory.last()[i] = select(begins == one, a[i], memory.last()[i]);
      memory.before()[i] = select(begins == one, a[i], memory.before()[i]);
      memory.algorithmic()[i] = select(begins == one, a[i], memory.algorithmic()[i]);
    }
    memory.step() = select(begins == one, h, memory.step());
  }
  const S far = select(memory.stiff() == one, none, h / memory.step());
  for (int i = 0; i < nv; ++i) {
    S &last = memory.last()[i], &before = memory.before()[i];
    const S now = last;
    last = fma(far, last - before, last);
    before = now;
  }
}

}  // namespace pysim::stepping
