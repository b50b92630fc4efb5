// Steps past singular configurations of closed mechanisms, resolved by short steps of adapted size.
//
// Where a mechanism comes near a change point, such as a parallelogram whose bars nearly lie in one line, its
// motion turns within a distance d, the sine of the least angle between its rows. A step that moves by more
// than d passes the turn unseen: the constraints then take away what is left of the velocity across them, and
// with it energy. Such a step is made again by Dormand and Prince's pair, whose steps shrink with d and grow
// again.
#pragma once

#include "dynamics/energy.hpp"
#include "stepping/dopri5.hpp"

namespace pysim::stepping {

struct SingularStep {
  static constexpr double reach = 10;        ///< steps within which a turn is looked for
  static constexpr double farthest = 0.2;    ///< sine beyond which no turn is near, however long the step is
  static constexpr double changes = 1.2;     ///< of a pivot within a step
  static constexpr double tolerance = 1e-9;  ///< of a step's error, for numbers of one
  static constexpr double rounding = 1e-16;  ///< of accelerations, relative, over the least pivot
  static constexpr double noisiest = 1e-5;
  static constexpr double slight = 1e-6;    ///< pivot below which the energy is kept
  static constexpr double worked = 1e-2;    ///< of the kinetic energy in such a step
  static constexpr double first = 0.5;      ///< of the step
  static constexpr double shortest = 1e-9;  ///< of the step
  static constexpr int attempts = 20000;
};

/// Worlds in which a step of length h reaches a singular configuration, or nearly does.
template <class S>
struct Nearness {
  simd::Mask<S> reached;  ///< some pivot is so small
  simd::Mask<S> turns;    ///< and changes within the step, or did in the one before
};

/// The pivots of rows are squares of d; they change by more than a constant within a step that reaches d. One
/// that passes it in the middle begins and ends with the same pivot: the step before shows the change.
template <class S>
Nearness<S> nearness(const constraints::Dependence<S>& dependence, S fastest, S h) {
  const S reach = min(all<S>(SingularStep::reach) * h * fastest, all<S>(SingularStep::farthest));
  const S size = reach * reach;
  const auto vanishes = (dependence.least <= all<S>(0)) & (dependence.least < size);
  Nearness<S> near = {vanishes, vanishes};
  for (int i = 0; i < dependence.rows; ++i) {
    const auto reached = dependence.low[i] < size;
    near.reached |= reached;
    near.turns |= reached & (max(dependence.high[i], dependence.before[i]) >=
                             all<S>(SingularStep::changes) * dependence.low[i]);
  }
  return near;
}

/// Worlds in which the step of length h just made from q, v, φ may have passed a singular configuration, or
/// come so near that it turns there. Where the pivots at the start are not known and matter,
/// they are found, and those in the middle: no step before shows how they change.
template <class S>
simd::Mask<S> nears_singularity(const System<S>& system, S time, S h, const S* q, const S* v, const S* phi) {
  const auto& model = system.model;
  S fastest = all<S>(0);
  for (int i = 0; i < model.reduced_nv; ++i) fastest = max(fastest, abs(v[i]));
  const auto& dependence = *system.dependence;
  const auto near = nearness(dependence, fastest, h);
  const auto open = near.reached & !near.turns & !dependence.begun;
  if (none(open)) return near.turns;

  System<S> inner = system;
  auto known = system.copy_dependence(inner.workspace);
  inner.dependence = &known;
  inner.loop_q = take<S>(inner.workspace, model.loop_nq());
  simd::copy_each<S>(phi, model.loop_nq(), inner.loop_q);
  S *const a = take<S>(inner.workspace, model.reduced_nv),
           *const part = take<S>(inner.workspace, model.reduced_nv),
           *const middle = take<S>(inner.workspace, model.reduced_nq + model.callback_numbers);
  inner.begin_part();
  inner.acceleration(time, q, v, a);
  for (int i = 0; i < model.reduced_nv; ++i) part[i] = all<S>(0.5) * h * v[i];
  retract(model, q, static_cast<const S*>(part), middle);
  inner.acceleration(time, middle, v, a);
  return near.turns | (open & nearness(known, fastest, h).turns);
}

/// Relative rounding error of accelerations near a singular configuration, from the least pivot of the step.
template <class S>
S rounding_of_accelerations(S pivot) {
  const S noise = all<S>(SingularStep::rounding) / max(pivot, all<S>(1e-30));
  const auto slight = pivot < all<S>(SingularStep::slight);
  return select(slight, min(noise, all<S>(SingularStep::noisiest)), all<S>(0));
}

/// Largest error of a step, over what is allowed.
template <class S>
S error_of_step(int nv, S pivot, const S* xi, const S* e_v, const S* v) {
  const S one = all<S>(1);
  const S allowed = all<S>(SingularStep::tolerance) + rounding_of_accelerations(pivot);
  S worst = all<S>(0), fastest = all<S>(0);
  for (int i = 0; i < nv; ++i) fastest = max(fastest, abs(v[i]));
  for (int i = 0; i < nv; ++i) {
    worst = max(worst, max(abs(xi[i]) / allowed, abs(e_v[i]) / (allowed * (one + fastest))));
  }
  return worst;
}

/// Kinetic energy, and the sum of it and of gravity's potential [J].
template <class S>
void energies(const System<S>& system, const S* reduced_q, const S* reduced_v, S* kinetic, S* total) {
  Workspace<S> w = system.workspace;
  const S* const q = tree::full_q(system.model, reduced_q, w);
  const S* const v = tree::full_v(system.model, reduced_v, w);
  *kinetic = dynamics::kinetic_energy(system.model, q, v, w);
  *total = *kinetic + dynamics::potential_energy(system.model, q, w);
}

/// Power of motors and of the joints' own forces [W].
template <class S>
S power_of_forces(const System<S>& system, S time, const S* q, const S* v) {
  System<S> inner = system;
  S* const force = take<S>(inner.workspace, system.model.reduced_nv);
  inner.generalized_force(time, q, v, force);
  S sum = all<S>(0);
  for (int i = 0; i < system.model.reduced_nv; ++i) sum = fma(force[i], v[i], sum);
  return sum;
}

/// Scales v₁ to the kinetic energy that follows from the work of the applied forces. Constraint forces do no
/// work, but near a singular configuration rounding errors of the pivots make them do some. Applies to steps
/// so short that the trapezoidal rule is accurate for the work, and without prescribed motions, which do
/// work.
template <class S>
void keep_energy(const System<S>& system, S time, S length, const S* q0, const S* v0, const S* q1, S* v1) {
  const S one = all<S>(1), zero = all<S>(0);
  const auto slight = system.dependence->least < all<S>(SingularStep::slight);
  if (none(slight) || system.model.timed) return;
  S before, total_before, after, total_after;
  energies(system, q0, v0, &before, &total_before);
  energies<S>(system, q1, v1, &after, &total_after);
  const S work =
      all<S>(0.5) * length *
      (power_of_forces<S>(system, time, q0, v0) + power_of_forces<S>(system, time + length, q1, v1));
  const S wanted = after + (total_before + work - total_after);
  const S fallen = (total_before - before) - (total_after - after);
  const auto is_short = abs(fallen) + abs(work) < all<S>(SingularStep::worked) * after;
  const auto applies = slight & is_short & (wanted > zero);
  const S factor = select(applies, sqrt(max(wanted, zero) / select(after > zero, after, one)), one);
  for (int i = 0; i < system.model.reduced_nv; ++i) v1[i] *= factor;
}

/// Moves `active` worlds from q, v to time + h. Holds where that succeeds.
template <class S>
simd::Mask<S> step_past_singularity(const System<S>& system, simd::Mask<S> active, S time, S h, S* q, S* v) {
  using Tableau = DormandPrince<typename S::Isa>;
  System<S> inner = system;
  const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
  const S one = all<S>(1), failed = all<S>(1e10);
  const Stages<S> stages = take_stages<Tableau>(system, inner.workspace);
  S *const xi = take<S>(inner.workspace, nv), *const e_v = take<S>(inner.workspace, nv);
  S* const q1 = take<S>(inner.workspace, nq + system.model.callback_numbers);
  S* const v1 = take<S>(inner.workspace, nv);
  inner.loop_q = system.copy_loop_q(inner.workspace);
  auto accepted = inner.copy_dependence(inner.workspace);
  S at = all<S>(0), part = all<S>(SingularStep::first) * h;
  auto left = active;
  for (int n = 0; n < SingularStep::attempts; ++n) {
    left &= (at < h) & (part > all<S>(SingularStep::shortest) * h);
    if (none(left)) break;
    const S remaining = h - at, length = select(all<S>(1.001) * part > remaining, remaining, part);
    simd::copy_each<S>(system.loop_q, system.model.loop_nq(), inner.loop_q);
    inner.begin_step();
    evaluate_stages<Tableau>(inner, time + at, length, q, v, 0, stages, xi, q1, v1);
    combine<S>(Tableau::e, Tableau::stages, length, stages.k, nv, nullptr, xi);
    combine<S>(Tableau::e, Tableau::stages, length, stages.a, nv, nullptr, e_v);
    S error = error_of_step<S>(nv, inner.dependence->least, xi, e_v, v1);
    error = select(error < failed, error, failed);  // NaN too
    error = select(inner.project(time + at + length, q1, v1), error, failed);
    keep_energy<S>(inner, time + at, length, q, v, q1, v1);
    const auto good = left & (error <= one);
    if (const int states = inner.states()) {
      S* const x = inner.signals.numbers;
      combine<S>(Tableau::A[6], 6, length, stages.x, states, stages.x0, stages.x + 6 * states);
      for (int i = 0; i < states; ++i) x[i] = select(good, stages.x[6 * states + i], stages.x0[i]);
    }
    simd::copy_where<S>(good, q1, nq, q);
    simd::copy_where<S>(good, v1, nv, v);
    system.keep_loop_q(good, inner.loop_q);
    accepted.keep(good, *inner.dependence);
    inner.keep_dependence(!good, accepted);
    at = select(good, select(length == remaining, h, at + length), at);
    const S wish = all<S>(0.9) * power(max(error, all<S>(1e-10)), -0.2);
    const S growth = min(max(wish, all<S>(0.1)), select(good, all<S>(5), all<S>(0.9)));
    part = select(left, length * growth, part);
  }
  return active & (at == h);
}

}  // namespace pysim::stepping
