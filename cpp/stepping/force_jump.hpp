// Jumps of the forces between two steps: the accelerations that a scheme carries are updated.
//
//     a₀ ← a₀ + (v̇ − w₀)      w₀ ← v̇(q₀, v₀) under the forces now
//
// Of the schemes here only generalised α carries an acceleration into the next velocity. The accelerations of
// earlier steps, from which its iterations start, jump as well. Where a damper stops a velocity within less
// than a step, v̇ is no acceleration of the next step, and the world begins again, see generalized_alpha.hpp.
#pragma once

#include "stepping/generalized_alpha.hpp"
#include "stepping/step_halving.hpp"

namespace pysim::stepping {

template <class Scheme>
constexpr bool carries_acceleration = false;
template <>
inline constexpr bool carries_acceleration<Halving<GeneralizedAlpha>> = true;

/// A scheme of fixed step by its function, so that the loops around it are compiled once for all schemes.
template <class S>
struct FixedScheme {
  void (*step)(const System<S>& system, S time, S h, S* q, S* v);
  bool carries_acceleration;
};

template <class Scheme, class S>
constexpr FixedScheme<S> fixed_scheme() {
  return {&Scheme::template step<S>, carries_acceleration<Scheme>};
}

/// Worlds in which one of n forces has changed.
template <class S>
simd::Mask<S> jumps(const S* forces, const S* before, int n) {
  auto found = simd::nowhere<S>();
  for (int i = 0; i < n; ++i) found |= !(forces[i] == before[i]);
  return found;
}

/// Updates what is carried in the worlds that `jumped` at `time`, at q₀ and v₀.
template <class S>
void jump(const System<S>& system, simd::Mask<S> jumped, S time, const S* q, const S* v) {
  const SolverState<S> memory = {system.memory, system.model.reduced_nv};
  jumped &= !(memory.step() == all<S>(0));  // a world at its start carries none
  if (none(jumped)) return;
  System<S> inner = system;
  inner.dependence = nullptr;
  S* const a = take<S>(inner.workspace, memory.nv);
  inner.acceleration(jumped, time, q, v, a);
  for (int i = 0; i < inner.states(); ++i) {
    S* const y = inner.signals.numbers + inner.model.signals->carried() + i;
    const S change = inner.signals.rate[i] - y[inner.states()];
    y[0] = select(jumped, y[0] + change, y[0]);
    y[inner.states()] = select(jumped, inner.signals.rate[i], y[inner.states()]);
  }
  for (int i = 0; i < memory.nv; ++i) {
    const S change = a[i] - memory.last()[i];
    S* const known[] = {
        memory.last() + i, memory.before() + i, memory.earlier() + i, memory.algorithmic() + i};
    for (S* const x : known) *x = select(jumped, *x + change, *x);
  }
  const S* const rate = a;
  const auto stiff = jumped & GeneralizedAlpha::reverses(inner, jumped, time, memory.step(), q, v, rate);
  memory.step() = select(stiff, all<S>(0), memory.step());
}

}  // namespace pysim::stepping
