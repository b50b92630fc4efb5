// Product of the derivatives of a scheme's step with cotangents: from those of the state at the end to those
// of the state at the start.
//
// The scheme's own text runs once more with numbers on a tape (simd/reverse.hpp), whose accelerations are one
// operation each (acceleration_product.hpp): an explicit step of s stages goes back by s solutions and s
// products of inverse dynamics, an implicit one by one solution with the derivative of its equation; and both
// through what the scheme does beside them, such as J_r⁻¹(ξ) v of Munthe-Kaas's schemes and the axes of
// bodies that move freely, as it was computed. What ends the step is its projection onto the constraints,
// which has a product of its own (constraints/projection_product.hpp), and so has what RATTLE finds before
// (rattle_product.hpp).
//
// Generalised α carries accelerations from step to step: they are part of the state.
#pragma once

#include "constraints/projection_product.hpp"
#include "stepping/acceleration_product.hpp"
#include "stepping/advance.hpp"
#include "stepping/end_report.hpp"
#include "stepping/implicit_midpoint.hpp"
#include "stepping/rattle.hpp"
#include "stepping/rattle_product.hpp"
#include "stepping/taped_contacts.hpp"
#include "stepping/taped_step.hpp"

namespace pysim::stepping {

/// How a step of a scheme is made with numbers on a tape.
template <class Scheme>
struct TapedScheme {
  static constexpr bool is_implicit = false;

  template <class R>
  static void step(const System<R>& system, R time, R h, R* q, R* v) {
    Scheme::template step<R>(system, time, h, q, v);
  }
};

/// A step that was not halved.
template <class Scheme>
struct TapedScheme<Halving<Scheme>> {
  static constexpr bool is_implicit = true;

  template <class R>
  static void step(const System<R>& system, R time, R h, R* q, R* v) {
    const SolverState<R> memory = {system.memory, system.model.reduced_nv};
    Scheme::template attempt<R>(system, simd::everywhere<R>(), time, h, q, v, memory);
  }
};

/// Whether constraints change the velocity at the start of a step.
template <class Scheme>
constexpr bool changes_start = false;
template <class Base>
inline constexpr bool changes_start<Halving<Rattle<Base>>> = true;

/// State of worlds under a scheme; `memory` is what the scheme carries, null for none, and `pivots` are those
/// of constraint rows.
template <class S>
struct SchemeState {
  S *q, *v, *memory, *loop_q, *pivots;

  /// copy(from, count, to) of every part to that of another state; a scheme carries so many numbers.
  template <class Copy>
  void each_part(const ModelOf<S>& model, int carried, const SchemeState& to, const Copy& copy) const {
    copy(static_cast<const S*>(q), model.reduced_nq, to.q);
    copy(static_cast<const S*>(v), model.reduced_nv, to.v);
    copy(static_cast<const S*>(memory), carried, to.memory);
    copy(static_cast<const S*>(loop_q), model.loop_nq(), to.loop_q);
    copy(static_cast<const S*>(pivots), constraints::Dependence<S>::carried(model.rows), to.pivots);
  }
};

/// Worlds in which a step was made in one part, and those that its jump of forces let begin again.
template <class S>
struct MadeStep {
  simd::Mask<S> good, begun;
};

/// Makes a step from `start` in `end`, a copy of it, in worlds whose forces have `jumped` before it. `system`
/// has room for the dependence of rows.
template <class Scheme, class S>
MadeStep<S> make_step(const System<S>& system,
                      simd::Mask<S> jumped,
                      S time,
                      S h,
                      const SchemeState<S>& start,
                      const SchemeState<S>& end) {
  MadeStep<S> made = {simd::everywhere<S>(), simd::nowhere<S>()};
  const S *const q = start.q, *const v = start.v, *const phi = start.loop_q;
  System<S> inner = system;
  inner.memory = end.memory;
  inner.loop_q = end.loop_q;
  if (system.model.rows > 0) inner.dependence->load(start.pivots);
  const SolverState<S> memory = {end.memory, system.model.reduced_nv};
  S rejected = all<S>(0);
  if constexpr (TapedScheme<Scheme>::is_implicit) {
    const S length = memory.step();
    rejected = memory.rejected();
    if constexpr (carries_acceleration<Scheme>) jump(inner, jumped, time, q, v);
    made.begun = !(memory.step() == length);
  }
  const auto step = constrained_step(fixed_scheme<Scheme, S>(), inner, q, v, phi, time, h, end.q, end.v);
  if (system.model.rows > 0) inner.dependence->store(end.pivots);
  made.good = step.closed & !step.in_parts;
  if constexpr (TapedScheme<Scheme>::is_implicit) made.good &= memory.rejected() == rejected;
  made.good &= finite(system.model, static_cast<const S*>(end.q), static_cast<const S*>(end.v));
  made.good &= finite_states(system);
  return made;
}

template <class S, class Scheme>
class SchemeStepProduct : public TapedStep<S> {
  using Base = TapedStep<S>;

 public:
  using Base::differs;
  using typename Base::R;
  using Choices = typename TapedAccelerations<R>::Choices;

  /// Memory is taken where `w` is; `system` has signals that the step may change. `varied` are the numbers in
  /// which worlds may differ; null for none. The scheme carries so many numbers. `sensors` are those of
  /// smooth contacts, and `switches` the sizes of switches to count; null for none.
  SchemeStepProduct(const System<S>& system,
                    const tree::VariedNumbers* varied,
                    int carried,
                    S h,
                    Workspace<S>& w,
                    const contact::SensorList* sensors = nullptr,
                    const SwitchSizes* switches = nullptr)
      : Base(system, varied, w),
        carried_(carried),
        sensors_(sensors),
        h_(h),
        dependence_(constraints::take_dependence<S>(model_.rows, w)),
        start_change_(take<S>(w, model_.reduced_nv)),
        contacts_(model_.contacts, tape_, w),
        rows_(model_, taped_model_, tape_),
        switches_(model_, switches, h, w),
        shared_{rows_,
                projects() ? &dependence_ : nullptr,
                take<S>(w, model_.loop_nq()),
                switches == nullptr ? nullptr : &switches_},
        accelerations_(model_, shared_, tape_, TapedScheme<Scheme>::is_implicit, w),
        rattle_(model_, rows_, w),
        projection_(model_, w) {
    w_ = w;
  }

  /// Makes the step of a segment, of length h in all lanes, from `start` in `end`. The sampled blocks that
  /// are due at its end are not run but in the product. Returns the worlds where the step was made in one
  /// part.
  simd::Mask<S> make(const StepSegment<S>& segment,
                     simd::Mask<S> jumped,
                     const SchemeState<S>& start,
                     const SchemeState<S>& end) {
    note_signals();
    start.each_part(
        model_, carried_, end, [](const S* from, int count, S* to) { simd::copy_each<S>(from, count, to); });
    System<S> system = system_;
    system.workspace = w_;
    system.dependence = &dependence_;
    if constexpr (changes_start<Scheme>) {
      for (int i = 0; i < model_.reduced_nv; ++i) start_change_[i] = all<S>(0);
      system.start_change = start_change_;
    }
    const auto made = make_step<Scheme>(system, jumped, segment.time, h_, start, end);
    record(segment, jumped, start, end, choices(end, made));
    return made.good;
  }

  /// Replaces cotangents at the end by those at the start, and adds to the sums. Returns whether the tape had
  /// room.
  bool pull(const StateCotangents<S>& bar, const ParameterCotangents<S>& sums) {
    const S o = all<S>(0);
    Workspace<S> w = w_;
    S* const inertia = take<S>(w, dynamics::step_block_numbers(model_.nv));  // armatures first
    auto* const places = take<Vec3<S>>(w, model_.bodies);
    S gravity[3] = {o, o, o};
    for (int i = 0; i < dynamics::step_block_numbers(model_.nv); ++i) inertia[i] = o;
    for (int b = 0; b < model_.bodies; ++b) places[b] = spatial::zero3<S>();
    switches_.begin();
    seed_signals(bar);
    const AccelerationCotangents<S> of_model = {sums.theta, inertia, places, gravity};
    if (projects()) {
      accelerations_.pull(tape_.edges, of_model, w, begin_end_);
      pull_projected_end(bar);
      projection_.pull(bar.q, bar.v, {nullptr, inertia, sums.theta}, places, rows_, w);
    }
    for (int i = 0; i < carried_; ++i) seed(memory_[i], bar.scheme[i]);
    seed_end(bar.q, bar.v);
    accelerations_.pull(begin_end_, of_model, w);
    S* const start_bar = take<S>(w, model_.reduced_nv);
    for (int i = 0; i < model_.reduced_nv; ++i) start_bar[i] = o;
    if constexpr (changes_start<Scheme>) {
      if (projects()) pull_start_change(of_model, start_bar, w);
    }
    seed_numbers(inertia, places);
    seed_gravity(gravity);
    for (int i = 0; i < model_.reduced_nv; ++i) {
      bar.q[i] = take_cotangent(dq_[i]) + start_bar[i];
      bar.v[i] = take_cotangent(v_[i]);
    }
    for (int i = 0; i < carried_; ++i) bar.scheme[i] = take_cotangent(start_memory_[i]);
    accelerations_.read(model_.bodies, sums.theta);
    read_numbers(bar, sums);
    if (sums.switches.counts()) switches_.add_to(sums.switches.touching);
    return has_room();
  }

  bool has_room() const { return Base::has_room() && rows_.has_room(); }

 private:
  using Base::begin_tape, Base::current_, Base::each_users_joint, Base::for_tape, Base::inputs, Base::keep;
  using Base::model_, Base::move_joint, Base::note_signals, Base::number_, Base::number_count, Base::on_tape;
  using Base::projects, Base::pull_projected_end, Base::rates_, Base::read_numbers, Base::record_blocks,
      Base::record_readings, Base::seed_gravity, Base::seed_numbers;
  using Base::seed_signals, Base::seed_state, Base::still_inputs, Base::system_;
  using Base::take_inputs_of_signals, Base::take_projected_end, Base::tape_, Base::taped_model_,
      Base::taped_system, Base::w_;
  using typename Base::UsersState;

  /// Runs the step and the sampled blocks at its end once more on the tape.
  void record(const StepSegment<S>& segment,
              simd::Mask<S> jumped,
              const SchemeState<S>& start,
              const SchemeState<S>& end,
              const Choices& choices) {
    const int nv = model_.reduced_nv;
    begin_tape([](auto&, auto&) {});
    taped_model_.contacts = contacts_.forces();
    dq_ = still_inputs(nv);
    v_ = inputs(start.v, nv);
    if constexpr (changes_start<Scheme>) taped_change_ = inputs(start_change_, nv);
    take_inputs_of_signals();
    start_memory_ = inputs(start.memory, carried_);
    accelerations_.begin(model_, choices);
    simd::copy_each<S>(static_cast<const S*>(start.loop_q), model_.loop_nq(), shared_.phi);
    Workspace<R> w = for_tape();
    q_ = take<R>(w, model_.reduced_nq);
    end_v_ = take<R>(w, nv);
    memory_ = take<R>(w, carried_);
    current_ = take<R>(w, number_count());
    rates_ = take<R>(w, system_.states());
    R* const phi = take<R>(w, model_.loop_nq());
    keep(w);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (joint.reduced_v < 0) continue;
      move_joint(b, start.q + joint.reduced_q, dq_ + joint.reduced_v, q_ + joint.reduced_q);
    }
    for (int i = 0; i < nv; ++i) end_v_[i] = v_[i];
    for (int i = 0; i < carried_; ++i) memory_[i] = start_memory_[i];
    for (int i = 0; i < model_.loop_nq(); ++i) phi[i] = R(start.loop_q[i]);
    for (int i = 0; i < number_count(); ++i) current_[i] = number_[i];
    System<R> system = taped_system(for_tape());
    system.taped = &accelerations_;
    system.memory = memory_;
    system.loop_q = phi;
    system.start_change = taped_change_;
    system.spectral_radius = system_.spectral_radius;
    const R time(segment.time);
    if constexpr (carries_acceleration<Scheme>) {
      jump<R>(system, on_tape(jumped), time, q_, end_v_);
    }
    TapedScheme<Scheme>::template step<R>(system, time, R(h_), q_, end_v_);
    begin_end_ = tape_.edges;
    if (projects()) {
      end_step(segment.time, start);
      const UsersState projected = take_projected_end(end.q, end.v);
      system.workspace = for_tape();
      record_signals(segment, system, projected.q, projected.v);
    } else {
      record_signals(segment, system, q_, end_v_);
      begin_end_ = tape_.edges;
    }
  }

  /// Sampled blocks and signals at the end, which may read smooth contacts.
  void record_signals(const StepSegment<S>& segment, System<R> system, const R* q, const R* v) {
    if (segment.due != 0) {
      const auto is_due = [&](int block) { return on_tape(segment.is_due(block)); };
      const auto readers = report_readers<R>(*model_.signals, sensors_, segment.due, is_due);
      measure_smooth_contacts<R>(taped_model_, sensors_, readers.contacts, q, v, current_, for_tape());
      record_blocks(segment, system, q, v, nullptr);
    }
    if (segment.reads == ReadSignals::none) return;
    const R* numbers = current_;
    if (segment.reads == ReadSignals::all) {
      R* const measured = this->template take_taped<R>(number_count());
      for (int i = 0; i < number_count(); ++i) measured[i] = current_[i];
      measure_smooth_contacts<R>(taped_model_, sensors_, simd::everywhere<R>(), q, v, measured, for_tape());
      numbers = measured;
    }
    system.workspace = for_tape();
    record_readings(segment, system, numbers, q, v, nullptr);
  }

  /// Projects the state that the scheme has reached once more.
  void end_step(S time, const SchemeState<S>& start) {
    S *const q = take<S>(w_, model_.reduced_nq), *const v = take<S>(w_, model_.reduced_nv);
    for (int i = 0; i < model_.reduced_nq; ++i) q[i] = q_[i].value;
    for (int i = 0; i < model_.reduced_nv; ++i) v[i] = end_v_[i].value;
    projection_.make(time + h_, q, v, shared_.phi, w_, &dependence_);
    if constexpr (changes_start<Scheme>) {
      rattle_.begin(time, h_, start.q, start.v, start_change_, q, shared_.phi, w_);
      form_start_change();
    }
  }

  /// Cotangents of q and v at the end of the scheme, along δ of q ⊕ δ.
  void seed_end(const S* q_bar, const S* v_bar) {
    each_users_joint([&](const tree::Joint& joint) {
      const int at = joint.reduced_v;
      seed_state(joint, q_ + joint.reduced_q, end_v_ + at, q_bar + at, v_bar + at);
    });
  }

  /// Forms what RATTLE solves. No cotangents are on the tape yet, and none are left.
  void form_start_change() {
    Workspace<S> w = w_;
    const int nv = model_.reduced_nv;
    S *const armature = take<S>(w, model_.nv), *const still = take<S>(w, nv);
    S gravity[3];
    for (int i = 0; i < nv; ++i) still[i] = all<S>(0);
    const auto step = [&](const S* q_bar, S* p_bar, const Workspace<S>& inner) {
      seed_end(q_bar, still);
      accelerations_.pull(begin_end_, {nullptr, armature, nullptr, gravity}, inner);
      for (int i = 0; i < nv; ++i) p_bar[i] = take_cotangent(taped_change_[i]);
      for (int node = 0; node < tape_.nodes; ++node) tape_.cotangent[node] = all<S>(0);
    };
    rattle_.form(step, w);
  }

  /// Takes cotangents of RATTLE's change of v back to what the tape had before, and adds to those of q at the
  /// start (reduced nv).
  void pull_start_change(const AccelerationCotangents<S>& sums, S* start_bar, Workspace<S> w) {
    const int nv = model_.reduced_nv;
    S *const p_bar = take<S>(w, nv), *const q_bar = take<S>(w, nv), *const still = take<S>(w, nv);
    for (int i = 0; i < nv; ++i) {
      p_bar[i] = take_cotangent(taped_change_[i]);
      still[i] = all<S>(0);
    }
    rattle_.answer(p_bar, q_bar, sums.places, w);
    seed_end(q_bar, still);
    accelerations_.pull(begin_end_, sums, w);
    for (int i = 0; i < nv; ++i) p_bar[i] += take_cotangent(taped_change_[i]);
    rattle_.pull_start(p_bar, start_bar, {nullptr, sums.armature, sums.theta}, sums.places, w);
  }

  /// What the step has found, from the state that it carries on.
  Choices choices(const SchemeState<S>& end, const MadeStep<S>& made) const {
    if constexpr (TapedScheme<Scheme>::is_implicit) {
      const SolverState<S> after = {end.memory, model_.reduced_nv};
      return {after.last(), on_tape(after.step() == all<S>(0)), on_tape(made.begun)};
    }
    return {};
  }

  const int carried_;
  const contact::SensorList* const sensors_;
  const S h_;
  constraints::Dependence<S> dependence_;
  S* const start_change_;  ///< (reduced nv) of v by constraints at the start
  TapedContacts<S, differs> contacts_;
  constraints::RowProduct<S, differs> rows_;
  const ForceSwitches<S> switches_;
  const SharedInStep<S, differs> shared_;
  TapedAccelerations<R> accelerations_;
  RattleProduct<S, differs> rattle_;
  constraints::ProjectionProduct<S, differs> projection_;
  int begin_end_ = 0;  ///< operations of the scheme
  R *dq_ = nullptr, *v_ = nullptr, *taped_change_ = nullptr, *start_memory_ = nullptr;  ///< inputs
  R *q_ = nullptr, *end_v_ = nullptr, *memory_ = nullptr;                               ///< the end
};

}  // namespace pysim::stepping
