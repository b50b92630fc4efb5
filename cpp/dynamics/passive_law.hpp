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

/// Law of one coordinate: its force τ, the slopes of τ, and the energy in its spring and its stop [J].
template <class S>
struct PassiveLaw {
  S force, by_q, by_v, energy;
};

/// Spring and stop of a plain coordinate, −k (q − rest) − stop. The stop acts while it pushes back:
///
///     x = (q − upper)₊ + (q − lower)₋     stop = k_s x + c_s v  where it has the sign of x, else 0
template <class S>
PYSIM_INLINE PassiveLaw<S> spring_and_stop(const Passive<typename S::Parameter>& p, S rest, S q, S v) {
  const S o = all<S>(0), k = all<S>(p.stiffness), k_s = all<S>(p.stop_stiffness),
          c_s = all<S>(p.stop_damping);
  const S x = max(q - all<S>(p.upper), o) + min(q - all<S>(p.lower), o), away = q - rest;
  const S push = fma(c_s, v, k_s * x);
  const auto acts = x * push > o;
  return {k * (rest - q) - select(acts, push, o),
          -k - select(acts, k_s, o),
          -select(acts, c_s, o),
          all<S>(0.5) * (k * away * away + k_s * x * x)};
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
