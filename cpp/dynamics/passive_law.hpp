// Law of the passive force of one coordinate: spring, stop, damper and dry friction.
//
//     τ = −k (q − q_rest) − stop − d v − f tanh(v / w)
//
// Everything else about these forces follows: kernels compute them and their derivatives, energies and powers
// from this text, and Python traces it.
#pragma once

#include "simd/math.hpp"
#include "simd/parameter.hpp"
#include "tree/model_view.hpp"

namespace pysim::dynamics {

using simd::all;
using tree::Passive;

/// Law of one coordinate: its force τ, and the slopes of τ.
template <class S>
struct PassiveLaw {
  S force, by_q, by_v;
};

/// How far a plain coordinate is beyond its stops, (q − upper)₊ + (q − lower)₋.
template <class S>
PYSIM_INLINE S beyond_stops(const Passive<typename S::Parameter>& p, S q) {
  const S o = all<S>(0);
  return max(q - all<S>(p.upper), o) + min(q - all<S>(p.lower), o);
}

/// Spring and stop of a plain coordinate, −k (q − rest) − stop. The stop acts while it pushes back:
///
///     stop = k_s x + c_s v  where it has the sign of x, else 0        x beyond the stops
template <class S>
PYSIM_INLINE PassiveLaw<S> spring_and_stop(const Passive<typename S::Parameter>& p, S rest, S q, S v) {
  const S o = all<S>(0), k = all<S>(p.stiffness);
  PassiveLaw<S> law = {k * (rest - q), -k, o};
  if (!simd::is_there(p.stop_stiffness) && !simd::is_there(p.stop_damping)) return law;
  const S k_s = all<S>(p.stop_stiffness), c_s = all<S>(p.stop_damping), x = beyond_stops(p, q);
  const S push = fma(c_s, v, k_s * x);
  const auto acts = x * push > o;
  law.force = law.force - select(acts, push, o);
  law.by_q = law.by_q - select(acts, k_s, o);
  law.by_v = -select(acts, c_s, o);
  return law;
}

/// Energy in the spring and the stop of a plain coordinate [J].
template <class S>
PYSIM_INLINE S stored_energy(const Passive<typename S::Parameter>& p, S rest, S q) {
  const S away = q - rest, x = beyond_stops(p, q);
  return all<S>(0.5) * (all<S>(p.stiffness) * away * away + all<S>(p.stop_stiffness) * x * x);
}

/// Adds the damper and the dry friction of a coordinate to its law, −d v − f tanh(v / w).
template <class S>
PYSIM_INLINE void add_damper_and_friction(const Passive<typename S::Parameter>& p, S v, PassiveLaw<S>& law) {
  law.force = fnma(all<S>(p.damping), v, law.force);
  law.by_v = law.by_v - all<S>(p.damping);
  if (!simd::is_there(p.friction)) return;
  const S o = all<S>(0), f = all<S>(p.friction), w = all<S>(p.friction_width), t = tanh(v / w);
  law.force = select(f > o, fnma(f, t, law.force), law.force);
  law.by_v = select(f > o, fnma(f / w, fnma(t, t, all<S>(1)), law.by_v), law.by_v);
}

}  // namespace pysim::dynamics
