// Convex step with contacts: implicit Euler in contacts, limits, dry friction, springs, dampers, actuators of
// coordinates and states of elements.
//
//     A (v* − v₀) = h (τ − h(q₀, v₀)) − h² K v₀,  A = M + h D + h² K        convex/free_velocity.hpp
//     v₁ = argmin ½ |v − v*|²_A + Σ P_i(J_i v)                              contact/problem.hpp
//     q₁ = q₀ ⊕ (h v₁ + shift)                                              convex/move.hpp
//
// The shift of positions is that of velocity terms (convex/free_velocity.hpp). Gaps, deflections and stops
// see it: the convex problem begins at x₀ − n·J shift.
#pragma once

#include "constraints/projection.hpp"
#include "contact/pairs_in_reach.hpp"
#include "contact/problem.hpp"
#include "stepping/advance.hpp"
#include "stepping/convex/free_velocity.hpp"
#include "stepping/convex/move.hpp"
#include "stepping/convex/outcome.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

using contact::Contacts;
using contact::copy_state;
using contact::memory_of;
using contact::PairSchedule;

/// What a step with contacts reads beside the mechanism.
template <class S>
struct ConvexRun {
  const Contacts<typename S::Parameter>& contacts;
  int passes;
  typename S::Real tolerance;  ///< of impulses, relative to the largest one
  PairSchedule<S>& schedule;
  const int* work =
      nullptr;  ///< [pairs + coordinates] places of their work among the states of elements, or −1
  contact::IterationLog* log = nullptr;          ///< of a world alone; null for none
  contact::Solution<S>* solution = nullptr;      ///< takes down that of a step; null for none
  const contact::SensorList* sensors = nullptr;  ///< of contacts, for blocks at its end; null for none
};

template <class S>
class ConvexStepProduct;

/// One step of length h in one pack of worlds, or a stage of that length.
template <class S, class Stage = EulerStep<S>>
class ConvexStep {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;

  ConvexStep(const System<S>& system, const ConvexRun<S>& run, S h, Workspace<S>& w, const Stage& stage = {})
      : stage_(stage),
        system_(system),
        model_(system.model),
        run_(run),
        contacts_(run.contacts),
        places_(memory_of(run.contacts, system.model.nv)),
        h_(h),
        factor_(model_, w),
        A_(factor_, contact::rows_suit<S>(model_, run.contacts), w),
        rows_(model_, w),
        free_(system, run.contacts, stage_, A_, rows_, h, w),
        problem_(A_, rows_, run.contacts, free_.damping.bounded_count(), h, run.tolerance, w),
        deflections_(run.contacts, places_),
        reach_(run.contacts,
               deflections_,
               run.schedule,
               factor_,
               problem_.pairs,
               problem_.kinds,
               h,
               stage_.lead(h),
               free_.velocity,
               w),
        outcome_(run.contacts, places_, stage_, factor_, reach_, deflections_, problem_, h),
        singles_(model_, run.contacts, free_.momentum, w),
        delta_(take<S>(w, model_.nv)),
        next_(take<S>(w, model_.nv)),
        w_(w) {}

  /// Makes the step in place; returns the worlds where it was solved. The others are to be discarded.
  Mask<S> make(Mask<S> wanted, S time, const ContactState<S>& state) {
    S *const q = full(state.q, model_.nq), *const v = full(state.v, model_.nv);
    if (model_.mimic) {
      simd::copy_each<S>(tree::full_q(model_, static_cast<const S*>(state.q), w_), model_.nq, q);
      simd::copy_each<S>(tree::full_v(model_, static_cast<const S*>(state.v), w_), model_.nv, v);
    }
    const S* const x0 = system_.copy_states(w_);
    S* const mean_v = system_.integrates() ? take<S>(w_, model_.reduced_nv) : nullptr;
    if (mean_v != nullptr) simd::copy_each<S>(static_cast<const S*>(state.v), model_.reduced_nv, mean_v);
    const S middle = fma(all<S>(Real(0.5)), h_, time);  // of the forces, and of their work
    auto good = solve(wanted, middle, q, v, state, x0);
    move(model_, contacts_, h_, velocity(), free_.shift, free_.momentum, singles_, q, v);
    remember(state);
    if (model_.mimic) rows_.reduce(q, v, state.q, state.v);
    if (model_.rows > 0) {
      const auto projected = constraints::project(model_, time + h_, state.q, state.v, state.loop_q, w_);
      good &= projected.is_closed;
    }
    for (int i = 0; mean_v != nullptr && i < model_.reduced_nv; ++i) {
      mean_v[i] = all<S>(Real(0.5)) * (mean_v[i] + state.v[i]);
    }
    const S* const at_end = state.v;
    if (x0 != nullptr) {
      end_states<S>(system_, middle, h_, state.q, at_end, mean_v, x0, w_);
    }
    add_work();
    return good;
  }

  /// Velocity at the end, of the tree's coordinates at q and v, and the momenta of single bodies. `x0` are
  /// the states of elements at the beginning, null for none; actuators see those that follow at q and v.
  Mask<S> solve(Mask<S> wanted, S time, const S* q, const S* v, const ContactState<S>& state, const S* x0) {
    factor_.move(q, v, w_);
    reach_.begin();
    free_.evaluate(time, q, v, state, x0, w_);
    reach_.shift(free_.is_shifted ? free_.shift : nullptr);
    place_coordinates(q, v, state);
    reach_.place_due(wanted, v, state);
    const auto touched = wanted & problem_.touched();
    if (any(touched)) reach_.list_left_out(state);
    const auto good = known_ == nullptr ? solve_contacts(wanted, touched, state) : recall_solution(state);
    for (int i = 0; i < model_.nv; ++i) free_.velocity[i] += delta_[i];
    reach_.end(any(touched) ? velocity() : nullptr);
    singles_.add_impulses(problem_);
    return good;
  }

  /// Result of a solved stage, on the axes of the prediction.
  const S* velocity() const { return free_.velocity; }

  /// P and L of a single body after a stage, on the axes of its joint's frame in the world.
  Force<S> momentum(int b) const {
    const Mat3<S> R = free_.axes(b);
    return {R * free_.momentum[b].f, R * free_.momentum[b].t};
  }

  /// Leaves deflections for the next step, and the report.
  void remember(const ContactState<S>& state) const { outcome_.remember(state); }

  /// Adds the work of rows, contacts, stops and dry friction to the states of elements.
  void add_work() const {
    S* const numbers = system_.signals.numbers;
    if (model_.timed && numbers != nullptr) rows_.add_motion_work(!Stage::is_about_end, numbers);
    if (run_.work != nullptr) outcome_.add_work(run_.work, numbers);
  }

  /// The largest angular velocity of a body at the prediction.
  S fastest_turn() const {
    S square = all<S>(0);
    for (int b = 0; b < model_.bodies; ++b) square = max(square, dot(reach_.start(b).w, reach_.start(b).w));
    return sqrt(square);
  }

  /// The user's coordinates among the tree's, of a mechanism with mimic joints.
  void reduce(const S* q, const S* v, S* reduced_q, S* reduced_v) const {
    rows_.reduce(q, v, reduced_q, reduced_v);
  }

 private:
  friend class ConvexStepProduct<S>;

  /// Room for the tree's coordinates, or the user's where they are the same.
  S* full(S* reduced, int numbers) { return model_.mimic ? take<S>(w_, numbers) : reduced; }

  /// Solves for delta in the worlds that are `touched`; it is taken down for those that are `wanted`.
  Mask<S> solve_contacts(Mask<S> wanted, Mask<S> touched, const ContactState<S>& state) {
    Workspace<S> w = w_;
    contact::Renewal<S> renewal = {nullptr, simd::nowhere<S>()};
    if (run_.solution != nullptr) {
      renewal.delta = take<S>(w, model_.nv);
      problem_.renewal = &renewal;
    }
    S& iterations = state.memory[ContactMemory::iterations];
    const S before = iterations;
    contact::IterationLog* const log = run_.log;
    const int logged = log == nullptr ? 0 : log->count;
    if (log != nullptr) log->length = static_cast<double>(simd::lane(h_, 0));
    const auto solved = [&] {
      const auto covers = [this](const S* delta) { return !reach_.has_left_out() || reaches_nothing(delta); };
      return problem_.solve(touched, run_.passes, free_.base, delta_, iterations, w, covers, log);
    };
    auto good = solved();
    if (problem_.stopped()) {
      reach_.place_left_out(state);
      iterations = before;
      if (log != nullptr) log->count = logged;
      good = solved();
    }
    S& worst = state.memory[ContactMemory::worst];
    worst = select(good, worst, problem_.kinds.points.worst());
    if (run_.solution != nullptr) {
      problem_.renewal = nullptr;
      take_down(wanted, renewal);
    }
    return good;
  }

  void take_down(Mask<S> wanted, const contact::Renewal<S>& renewal) const {
    auto& to = *run_.solution;
    for (int i = 0; i < model_.nv; ++i) {
      const S before = select(renewal.worlds, renewal.delta[i], delta_[i]);
      to.delta[i] = select(wanted, delta_[i], to.delta[i]);
      to.renewal.delta[i] = select(wanted, before, to.renewal.delta[i]);
    }
    to.renewal.worlds = (renewal.worlds & wanted) | (to.renewal.worlds & !wanted);
  }

  /// Takes the solution that is known; its impulses are not made.
  Mask<S> recall_solution(const ContactState<S>& state) {
    const auto reaches = [this](const S* delta) { return !reaches_nothing(delta); };
    if (reach_.has_left_out() && (reaches(known_->delta) || reaches(known_->renewal.delta))) {
      reach_.place_left_out(state);
    }
    problem_.begin();
    simd::copy_each<S>(static_cast<const S*>(known_->delta), model_.nv, delta_);
    return simd::everywhere<S>();
  }

  /// Whether pairs that were left out touch nothing at v* + delta.
  bool reaches_nothing(const S* delta) const {
    for (int i = 0; i < model_.nv; ++i) next_[i] = free_.velocity[i] + delta[i];
    return reach_.covers(next_);
  }

  void place_coordinates(const S* q, const S* v, const ContactState<S>& state) {
    const S lead = stage_.lead(h_);
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& law = contacts_.coordinate[k];
      auto& C = problem_.kinds.coordinates.coordinate[k];
      const S far = all<S>(-simd::infinity);
      const S shift = free_.shift[law.v], s = state.memory[places_.coordinate(k)];
      C.stuck = abs(s) < all<S>(constraints::sticking_deflection<Real>);
      C.at = {s + shift, far, far};
      if (law.q >= 0) {
        C.at.below = fma(lead, v[law.v], all<S>(law.lower) - q[law.q]) - shift;
        C.at.above = fnma(lead, v[law.v], q[law.q] - all<S>(law.upper)) + shift;
      }
      C.start = v[law.v];
      C.free = free_.velocity[law.v];
    }
    for (int n = 0; n < free_.damping.bounded_count(); ++n) {
      auto& B = problem_.kinds.bounded.bounded[n];
      B.law = free_.damping.bounded(n, v, Stage::is_about_end, h_);
      B.start = v[B.law.v];
      B.free = free_.velocity[B.law.v];
    }
  }

  const Stage stage_;
  const System<S>& system_;
  const ModelOf<S>& model_;
  const ConvexRun<S>& run_;
  const Contacts<Parameter>& contacts_;
  const ContactMemory places_;
  const S h_;
  dynamics::LoadedFactor<S> factor_;
  dynamics::StepMatrix<S> A_;
  constraints::VelocityRows<S> rows_;
  FreeVelocity<S, Stage> free_;
  contact::ConvexProblem<S> problem_;
  const contact::Deflections<S> deflections_;
  contact::PairsInReach<S> reach_;
  const ConvexOutcome<S, Stage> outcome_;
  SingleBodies<S> singles_;
  S *delta_, *next_;                             ///< [nv] v₁ − v*, and room for a v₁
  const contact::Solution<S>* known_ = nullptr;  ///< null if the problem is to be solved
  Workspace<S> w_;
};

/// A step in place, or 2, 4, … shorter ones where it cannot be solved. Worlds that are not solved even so are
/// marked in the memory; these, and worlds whose step is not finite, are left where they were. `trial` has
/// zeros for points that are not live. Returns the worlds that were stepped.
template <class S>
Mask<S> convex_step(const System<S>& system,
                    const ConvexRun<S>& run,
                    Mask<S> wanted,
                    S time,
                    S h,
                    const ContactState<S>& state,
                    const ContactState<S>& trial) {
  using Real = typename S::Real;
  constexpr int levels = 6;
  const ContactMemory places = memory_of(run.contacts, system.model.nv);
  System<S> tried = system;
  tried.signals = system.with_own_signals(tried.workspace).signals;
  ConvexRun<S> tried_run = run;
  auto left = wanted, solved = simd::nowhere<S>();
  for (int level = 0; level <= levels && any(left); ++level) {
    const int parts = 1 << level;
    if (level > 0) {
      run.schedule.restart();
      tried_run.solution = nullptr;
    }
    copy_state<S>(system.model, places, state, trial, [](const S* from, int count, S* to) {
      simd::copy_each(from, count, to);
    });
    tried.keep_signals(simd::everywhere<S>(), system);
    const S part = h / all<S>(Real(parts));
    auto good = left;
    for (int n = 0; n < parts && any(good); ++n) {
      Workspace<S> inner = tried.workspace;
      good &=
          ConvexStep<S>(tried, tried_run, part, inner).make(good, fma(all<S>(Real(n)), part, time), trial);
    }
    trial.memory[ContactMemory::halved] += number(left & !good);
    for (int i = 0; i < ContactMemory::counts; ++i) {
      state.memory[i] = select(left, trial.memory[i], state.memory[i]);
    }
    for (int i = 0; i < ContactMemory::counts; ++i) trial.memory[i] = state.memory[i];
    left &= !good;
    good &= finite(system.model, static_cast<const S*>(trial.q), static_cast<const S*>(trial.v)) &
            finite_states(tried);
    copy_state<S>(system.model, places, trial, state, [&](const S* from, int count, S* to) {
      simd::copy_where<S>(good, from, count, to);
    });
    system.keep_signals(good, tried);
    solved |= good;
    if (level > 0) run.schedule.restart();  // worlds that were solved before are not where the trial is
  }
  state.memory[ContactMemory::failed] = select(left, all<S>(1), state.memory[ContactMemory::failed]);
  return solved;
}

}  // namespace pysim::stepping
