// Where forces jump between two steps: what a scheme carries on of accelerations is of the forces before.
//
//     a₀ ← a₀ + (v̇ − w₀)      w₀ ← v̇(q₀, v₀) under the forces now
//
// Of the schemes here generalised α alone carries an acceleration into the next velocity. Those of the steps
// before, from which its iterations begin, jump with it.
#pragma once

#include "stepping/generalized_alpha.hpp"
#include "stepping/halving.hpp"

namespace pysim::stepping {

template <class Scheme>
constexpr bool carries_acceleration = false;
template <>
inline constexpr bool carries_acceleration<Halving<GeneralizedAlpha>> = true;

/// 1 in every world in which one of n forces is another than before.
template <class S>
S jumps(const S* forces, const S* before, int n) {
  const S one = all<S>(1);
  S found = all<S>(0);
  for (int i = 0; i < n; ++i) found = select(forces[i] == before[i], found, one);
  return found;
}

/// Takes the accelerations in the memory along where `jumped` is 1, at q₀ and v₀.
template <class S>
void jump(const System<S>& system, S jumped, const S* q, const S* v) {
  const Memory<S> memory = {system.memory, system.model.own_nv};
  const S none = all<S>(0);
  jumped = select(memory.step() == none, none, jumped);  // a world that begins knows none
  if (!simd::any<S>(jumped > none)) return;
  System<S> inner = system;
  inner.dependence = nullptr;
  S* const a = take<S>(inner.workspace, memory.nv);
  inner.acceleration(jumped, none, q, v, a);
  const auto here = jumped > none;
  for (int i = 0; i < memory.nv; ++i) {
    const S change = a[i] - memory.last()[i];
    S* const known[] = {
        memory.last() + i, memory.before() + i, memory.earlier() + i, memory.algorithmic() + i};
    for (S* const x : known) *x = select(here, *x + change, *x);
  }
}

}  // namespace pysim::stepping
