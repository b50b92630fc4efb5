// Newton's method for the equation of an implicit step, world by world.
//
//     w ← w + s_k      s_k = −A⁻¹ M (w − v̇(q(w), v(w))), corrected by the steps before it
//
// The correction is Broyden's [Kelley 1995, section 7.3]. A = M initially: non-stiff motion needs no
// derivatives. A world whose iterations converge too slowly restarts with A from the analytical
// derivatives, recomputed if even that is slow: Newton's method; from then on it starts with them. A step
// after which the next would be longer is halved [Deuflhard 2011, section 3.3]. On long branches, A is first
// that of the joints' springs and dampers (newton_matrix.hpp), and that of all derivatives where this
// converges too slowly: in this step and the next `full_steps`.
//
// Without the second of the conditions for `solved` (see judge) two tests of
// tests/loops/test_implicit_loops.py fail: test_a_stiff_spring_between_bodies_of_a_loop_comes_to_rest is one.
//
// A world stops by its own numbers, independently of its neighbours: when the predicted correction is within
// the tolerance, or when it no longer decreases within `rounding`.
#pragma once

#include "stepping/newton_matrix.hpp"

namespace pysim::stepping {

/// Error of v that may remain, relative to 1 + max |v|: usually, if energy is to be conserved, at
/// rounding.
template <class Real>
struct NewtonTolerance {
  static constexpr double usual = sizeof(Real) == 8 ? 1e-12 : 1e-6;
  static constexpr double fine = sizeof(Real) == 8 ? 1e-15 : 1e-7;
  static constexpr double rounding = sizeof(Real) == 8 ? 1e-11 : 1e-4;
};

/// The last steps, for Broyden's correction; invalidated steps are zero. It restarts when full.
template <class S>
struct StepHistory {
  static constexpr int most = 16;

  int nv, count;
  S* steps;           ///< (count, nv)
  S* inverse_square;  ///< [count] 1/|s|², or 0

  void forget(simd::Mask<S> worlds) const {
    const S o = all<S>(0);
    for (int i = 0; i < count * nv; ++i) steps[i] = select(worlds, o, steps[i]);
    for (int k = 0; k < count; ++k) inverse_square[k] = select(worlds, o, inverse_square[k]);
  }

  /// Corrects z and adds it to the history.
  void correct(S* z) {
    const S o = all<S>(0), one = all<S>(1);
    if (count == most) count = 0;
    S left = one;
    for (int k = 0; k < count; ++k) {
      const S along = product(steps + k * nv, z) * inverse_square[k];
      if (k + 1 == count) {
        left = one - along;
        break;
      }
      for (int i = 0; i < nv; ++i) z[i] = fma(along, steps[(k + 1) * nv + i], z[i]);
    }
    const S scale = one / select(left > all<S>(typename S::Real(0.2)), left, one);
    for (int i = 0; i < nv; ++i) steps[count * nv + i] = z[i] = scale * z[i];
    const S square = product(z, z);
    inverse_square[count] = select(square > o, one / square, o);
    ++count;
  }

 private:
  S product(const S* x, const S* y) const {
    S sum = all<S>(0);
    for (int i = 0; i < nv; ++i) sum = fma(x[i], y[i], sum);
    return sum;
  }
};

/// The largest number and its index.
template <class S>
S largest(const S* x, int count, S* where) {
  S size = all<S>(0);
  *where = all<S>(0);
  for (int i = 0; i < count; ++i) {
    const auto beyond = abs(x[i]) > size;
    *where = select(beyond, all<S>(static_cast<typename S::Real>(i)), *where);
    size = select(beyond, abs(x[i]), size);
  }
  return size;
}

/// The iterations of one pack.
template <class S>
struct Newton {
  static constexpr int most = 80;         ///< iterations
  static constexpr int patient = 6;       ///< iterations allowed without derivatives
  static constexpr int most_sprung = 14;  ///< iterations after which those of joints do not suffice
  static constexpr int full_steps = 32;   ///< steps by all derivatives after one in which they did not
  static constexpr int most_near = 12;    ///< the same while corrections are within rounding

  const System<S>& system;
  const Stage<S>& stage;
  S* w;
  S* start;  ///< initial w
  S* step;
  S* last_step;  ///< the step that led to w
  NewtonIterate<S> trial;
  NewtonMatrix<S> matrix;
  StepHistory<S> history;
  simd::Mask<S> active, solved;
  simd::Mask<S> derived, full, due;  ///< A is in use; it is that of all derivatives; it is to be formed
  S last, worst;

  Newton(const System<S>& s,
         const Stage<S>& st,
         simd::Mask<S> wanted,
         const SolverState<S>& memory,
         S* w_,
         Workspace<S>& scratch)
      : system(s),
        stage(st),
        w(w_),
        start(take<S>(scratch, s.model.reduced_nv)),
        step(take<S>(scratch, s.model.reduced_nv)),
        last_step(take<S>(scratch, s.model.reduced_nv)),
        trial(take_iterate(s.model, scratch)),
        matrix(take_newton_matrix(s.model, scratch)),
        active(wanted),
        solved(simd::nowhere<S>()),
        derived(memory.stiff() >= all<S>(1)),
        full(matrix.has_sprung ? memory.stiff() > all<S>(1) : simd::everywhere<S>()),
        due(derived),
        last(all<S>(simd::infinity)),
        worst(all<S>(0)) {
    const int nv = system.model.reduced_nv;
    constexpr int kept = StepHistory<S>::most;
    history = {nv, 0, take<S>(scratch, std::ptrdiff_t{kept} * nv), take<S>(scratch, kept)};
    for (int i = 0; i < nv; ++i) start[i] = w[i];
  }

  bool go_on() const { return any(active); }

  /// That of a solved step, for the next one that begins with that of this one.
  S stiffness(S before) const {
    const S one = all<S>(1);
    if (!matrix.has_sprung) return number(derived);
    const S left = max(one, before - all<S>(typename S::Real(1.0 / full_steps)));
    return select(derived & full, select(before > one, left, all<S>(2)), number(derived));
  }

  /// One iteration; `inner` is the system with scratch behind everything here.
  void iterate(const System<S>& inner, int n) {
    evaluate_active(inner);
    const auto forming = active & due;
    if (any(forming)) {
      if (any(forming & full)) form(inner, stage, trial, static_cast<const S*>(w), forming & full, matrix);
      if (any(forming & !full)) form_sprung(inner, stage, trial, forming & !full, matrix);
      history.forget(forming);
      last = select(forming, all<S>(simd::infinity), last);
      due &= !forming;
    }
    direction(inner);
    judge(n);
  }

 private:
  /// Residual of the equation at w. φ of a finished world stays at its last iteration.
  void evaluate_active(const System<S>& inner) {
    inner.evaluate_active(
        active, [this](const System<S>& s) { evaluate(s, stage, static_cast<const S*>(w), trial); });
  }

  /// step = s_k.
  void direction(const System<S>& inner) {
    const int nv = history.nv;
    for (int i = 0; i < nv; ++i) step[i] = -trial.residual[i];
    Workspace<S> scratch = inner.workspace;
    S *const x = take<S>(scratch, nv), *const room = take<S>(scratch, nv);
    const auto apply = [&](simd::Mask<S> worlds, const auto& times_inverse) {
      if (none(worlds)) return;
      for (int i = 0; i < nv; ++i) x[i] = step[i];
      times_inverse();
      for (int i = 0; i < nv; ++i) step[i] = select(worlds, x[i], step[i]);
    };
    apply(active & derived & full, [&] { precondition(matrix, x, room); });
    apply(active & derived & !full, [&] { matrix.sprung.apply(x); });
    history.correct(step);
  }

  /// Decides on the step by the first case that applies:
  ///
  ///     case      applies if                                     w             A       |s| kept   ends
  ///     solved    the next correction is within the tolerance,   w + s         stays   yes        solved
  ///               or no decrease within rounding
  ///     lost      the first step by a new A is NaN or infinite   w             stays   yes        unsolved
  ///     restart   without A, beyond rounding: slow, or           start         form    yes
  ///               patience is over; later within rounding too
  ///               with M + E: slow, NaN or infinite, or after
  ///               `most_sprung` iterations
  ///     halve     with A: |s| does not shrink                    w − last_step/2    stays   no
  ///     renew     with A: slow                                   w             form    yes
  ///     advance   otherwise                                      w + s         stays   yes
  void judge(int n) {
    using Real = typename S::Real;
    using Tolerance = NewtonTolerance<Real>;
    const S one = all<S>(1), infinity = all<S>(Real(simd::infinity));
    const int nv = history.nv;
    S where, at;
    const S size = stage.G * largest(static_cast<const S*>(step), nv, &where);
    const S scale = one + largest(static_cast<const S*>(trial.v), nv, &at);
    const auto first = last == infinity, finite = size < infinity;
    const S to_come = size * select(first, one, min(one, size / last));
    const auto near = to_come <= all<S>(Real(stage.tolerance)) * scale;
    const auto rounding = size <= all<S>(Real(Tolerance::rounding)) * scale;
    const auto stalled = (size > all<S>(Real(0.5)) * last) & rounding;
    const auto slow = (!finite) | !(size <= select(derived, all<S>(Real(0.5)), all<S>(Real(0.25))) * last);
    const auto shrinks = size <= all<S>(Real(0.95)) * last;
    const auto late = n + 1 >= patient ? simd::everywhere<S>() : simd::nowhere<S>();
    const auto restarts = n + 1 >= most_near ? late : (slow | late) & !rounding;

    auto left = active;
    const auto takes = [&left](simd::Mask<S> applies) {
      const auto taken = left & applies;
      left &= !applies;
      return taken;
    };
    const auto sprung = derived & !full;
    const auto late_sprung = n + 1 >= most_sprung ? simd::everywhere<S>() : simd::nowhere<S>();
    const auto fails = sprung & (late_sprung | (!finite) | ((!first) & slow));
    const auto solves = takes(finite & (near | stalled));
    const auto lost = takes(derived & full & first & !finite);
    const auto restart = takes(((!derived) & restarts) | fails);
    const auto halve = takes(derived & !first & !shrinks);
    const auto renew = takes(derived & slow);
    move(restart, halve, solves | left);
    worst = select(active, where, worst);
    last = select(active & !halve, size, last);
    due = restart | renew;
    full |= restart & sprung;
    derived |= restart;
    solved |= solves;
    active &= !(solves | lost);
  }

  /// Back to the start, back by half of the step that led to w, or forward.
  void move(simd::Mask<S> restart, simd::Mask<S> halve, simd::Mask<S> on) {
    const S half = all<S>(typename S::Real(0.5));
    if (any(halve)) history.forget(halve);
    for (int i = 0; i < history.nv; ++i) {
      const S shorter = half * last_step[i];
      w[i] = select(halve, w[i] - shorter, select(on, w[i] + step[i], w[i]));
      w[i] = select(restart, start[i], w[i]);
      last_step[i] = select(halve, shorter, select(on, step[i], last_step[i]));
    }
  }
};

/// As `solve`, of numbers that are not on a tape.
template <class S>
simd::Mask<S> iterate(const System<S>& system,
                      const Stage<S>& stage,
                      simd::Mask<S> wanted,
                      const SolverState<S>& memory,
                      S* w) {
  Workspace<S> scratch = system.workspace;
  Newton<S> newton(system, stage, wanted, memory, w, scratch);
  System<S> inner = system;
  inner.workspace = scratch;
  for (int n = 0; n < Newton<S>::most && newton.go_on(); ++n) {
    memory.iterations() += number(newton.active);
    newton.iterate(inner, n);
  }
  memory.stiff() = select(newton.solved, newton.stiffness(memory.stiff()), memory.stiff());
  memory.worst() = select(wanted, newton.worst, memory.worst());
  return newton.solved;
}

/// Solves for w from its initial value, in the `wanted` worlds; returns those in which that succeeds. Numbers
/// on a tape have the solution that they are given.
template <class S>
simd::Mask<S> solve(const System<S>& system,
                    const Stage<S>& stage,
                    simd::Mask<S> wanted,
                    const SolverState<S>& memory,
                    S* w) {
  if constexpr (simd::is_on_tape<S>) {
    return system.taped->solve(system, stage, w);
  } else {
    return iterate(system, stage, wanted, memory, w);
  }
}

}  // namespace pysim::stepping
