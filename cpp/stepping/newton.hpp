// Solves the equation of an implicit step, world by world.
//
//     w ← w + s_k      s_k = −A⁻¹ M (w − v̇(q(w), v(w))), corrected by the steps before it
//
// The correction is Broyden's [Kelley 1995, section 7.3]. A = M to begin with: what is not stiff needs no
// derivatives. A world whose iterations shrink too slowly starts again with A from the analytical
// derivatives, made anew where even that is slow: Newton's method; it begins with them from then on. A step
// after which the next would be longer is halved [Deuflhard 2011, section 3.3].
//
// A world ends by its own numbers, whatever its neighbours do: when what is to come is within the tolerance,
// or when within `rounding` nothing is gained any more.
#pragma once

#include "stepping/newton_matrix.hpp"

namespace pysim::stepping {

/// What may be left of v, relative to 1 + max |v|: usually, where energy is to be kept, where only rounding
/// is left.
template <class Real>
struct NewtonTolerance {
  static constexpr double usual = sizeof(Real) == 8 ? 1e-12 : 1e-6;
  static constexpr double fine = sizeof(Real) == 8 ? 1e-15 : 1e-7;
  static constexpr double rounding = sizeof(Real) == 8 ? 1e-11 : 1e-4;
};

/// The last steps, for Broyden's correction; a step that counts no more is zero. Full, it begins anew.
template <class S>
struct StepHistory {
  static constexpr int most = 16;

  int nv, count;
  S* steps;           ///< (count, nv)
  S* inverse_square;  ///< [count] 1/|s|², or 0

  void forget(typename S::Mask lanes) const {
    const S o = all<S>(0);
    for (int i = 0; i < count * nv; ++i) steps[i] = select(lanes, o, steps[i]);
    for (int k = 0; k < count; ++k) inverse_square[k] = select(lanes, o, inverse_square[k]);
  }

  /// Corrects z and takes it into the history.
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

/// The largest number and where it stands.
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

/// The iterations of one pack; flags are 1 or 0 in each world.
template <class S>
struct Newton {
  static constexpr int most = 80;    ///< iterations
  static constexpr int patient = 6;  ///< iterations that may go by without derivatives

  const System<S>& system;
  const Stage<S>& stage;
  S* w;
  S* start;  ///< w at the beginning
  S* step;
  S* made;  ///< the step that led to w
  Trial<S> trial;
  NewtonMatrix<S> matrix;
  StepHistory<S> history;
  S active, solved, derived, due;  ///< due: A is to be formed; derived: A is in use
  S last, worst;

  Newton(const System<S>& s, const Stage<S>& st, S wanted, S stiff, S* w_, Workspace<S>& scratch)
      : system(s),
        stage(st),
        w(w_),
        start(take<S>(scratch, s.model.own_nv)),
        step(take<S>(scratch, s.model.own_nv)),
        made(take<S>(scratch, s.model.own_nv)),
        trial(take_trial(s.model, scratch)),
        matrix(take_newton_matrix(s.model, scratch)),
        active(wanted),
        solved(all<S>(0)),
        derived(stiff),
        due(stiff),
        last(all<S>(__builtin_inf())),
        worst(all<S>(0)) {
    const int nv = system.model.own_nv;
    constexpr int kept = StepHistory<S>::most;
    history = {nv, 0, take<S>(scratch, std::ptrdiff_t{kept} * nv), take<S>(scratch, kept)};
    for (int i = 0; i < nv; ++i) start[i] = w[i];
  }

  bool go_on() const { return simd::any<S>(active > all<S>(0)); }

  /// One iteration; `inner` is the system with scratch behind everything here.
  void iterate(const System<S>& inner, int n) {
    const S one = all<S>(1), none = all<S>(0);
    evaluate_active(inner);
    const auto forming = active * due == one;
    if (simd::any<S>(forming)) {
      form(inner, stage, trial, static_cast<const S*>(w), forming, matrix);
      history.forget(forming);
      last = select(forming, all<S>(__builtin_inf()), last);
      due = select(forming, none, due);
    }
    direction(inner);
    judge(n);
  }

 private:
  /// What is left of the equation at w. φ of a world that is through stays where its last iteration left it.
  void evaluate_active(const System<S>& inner) {
    inner.evaluate_active(
        active, [this](const System<S>& s) { evaluate(s, stage, static_cast<const S*>(w), trial); });
  }

  /// step = s_k.
  void direction(const System<S>& inner) {
    const int nv = history.nv;
    for (int i = 0; i < nv; ++i) step[i] = -trial.rest[i];
    const auto with_derivatives = active * derived == all<S>(1);
    if (simd::any<S>(with_derivatives)) {
      Workspace<S> scratch = inner.workspace;
      S *const x = take<S>(scratch, nv), *const room = take<S>(scratch, nv);
      for (int i = 0; i < nv; ++i) x[i] = step[i];
      precondition(matrix, x, room);
      for (int i = 0; i < nv; ++i) step[i] = select(with_derivatives, x[i], step[i]);
    }
    history.correct(step);
  }

  /// Takes the step where it leads on, and says which worlds are through and which need A.
  void judge(int n) {
    using Real = typename S::Real;
    using Tolerance = NewtonTolerance<Real>;
    const S one = all<S>(1), none = all<S>(0), infinity = all<S>(Real(__builtin_inf()));
    const int nv = history.nv;
    S where, at;
    const S size = stage.G * largest(static_cast<const S*>(step), nv, &where);
    const S whole = one + largest(static_cast<const S*>(trial.v), nv, &at);
    const S first = select(last == infinity, one, none);
    const S to_come = size * select(first == one, one, min(one, size / last));
    const S number = select(size < infinity, one, none);  // NaN is none
    const S near = select(to_come <= all<S>(Real(stage.tolerance)) * whole, one, none);
    const S stalled = select(size > all<S>(Real(0.5)) * last, one, none) *
                      select(size <= all<S>(Real(Tolerance::rounding)) * whole, one, none);
    const S through = active * number * max(near, stalled);
    const S pace = select(derived == one, all<S>(Real(0.5)), all<S>(Real(0.25)));
    const S slow = active * (one - through) * (one - first * number) *
                   max(one - number, select(size <= pace * last, none, one));
    const S late = all<S>(Real(n + 1 >= patient ? 1 : 0));
    const S restart = active * (one - through) * (one - derived) * max(slow, late);
    const S shrinks = select(size <= all<S>(Real(0.95)) * last, one, none);
    const S back = active * derived * (one - through) * (one - first) * (one - shrinks);

    move(restart == one, back == one, active * number * (one - restart) * (one - derived * slow) == one);
    worst = select(active == one, where, worst);
    due = max(restart, derived * slow * (one - back));
    derived = max(derived, restart);
    last = select(active * (one - back) == one, size, last);
    solved += through;
    const S lost = derived * first * (one - number);
    active = active * (one - through) * (one - lost * (one - restart));
  }

  /// Back to the start, half of the way back, or on.
  void move(typename S::Mask restart, typename S::Mask back, typename S::Mask on) {
    const S half = all<S>(typename S::Real(0.5));
    if (simd::any<S>(back)) history.forget(back);
    for (int i = 0; i < history.nv; ++i) {
      const S shorter = half * made[i];
      w[i] = select(back, w[i] - shorter, select(on, w[i] + step[i], w[i]));
      w[i] = select(restart, start[i], w[i]);
      made[i] = select(back, shorter, select(on, step[i], made[i]));
    }
  }
};

/// Solves for w, where it begins, in the `wanted` worlds; 1 where that succeeds.
template <class S>
S solve(const System<S>& system, const Stage<S>& stage, S wanted, const Memory<S>& memory, S* w) {
  Workspace<S> scratch = system.workspace;
  Newton<S> newton(system, stage, wanted, memory.stiff(), w, scratch);
  System<S> inner = system;
  inner.workspace = scratch;
  for (int n = 0; n < Newton<S>::most && newton.go_on(); ++n) {
    memory.iterations() += newton.active;
    newton.iterate(inner, n);
  }
  const S one = all<S>(1);
  memory.stiff() = select(newton.solved == one, newton.derived, memory.stiff());
  memory.worst() = select(wanted == one, newton.worst, memory.worst());
  return newton.solved;
}

}  // namespace pysim::stepping
