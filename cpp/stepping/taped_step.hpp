// Base of the products of steps: the tape on which functions of a step run once more, the numbers of the
// model on it, and the sampled blocks and signals at the end, with the accelerations and wrenches that they
// read.
#pragma once

#include "stepping/acceleration_product.hpp"
#include "stepping/sampled_signals.hpp"
#include "stepping/step_cotangents.hpp"
#include "stepping/step_segments.hpp"
#include "tree/model_copy.hpp"
#include "tree/tape.hpp"

namespace pysim::stepping {

using dynamics::seed_joint;
using spatial::Vec3;
using tree::seed;
using tree::take_cotangent;
using tree::take_inputs;
using tree::take_tape;

/// Numbers of a copied model on a tape; those in which worlds may differ are inputs.
template <class S>
class TapedNumbers {
 public:
  using N = simd::Reverse<S, true>;

  TapedNumbers(const tree::VariedNumbers& varied, simd::Tape<S>& tape, N* inputs)
      : varied_(varied), tape_(tape), inputs_(inputs) {}

  void begin(const char*, int) {}

  void operator()(N& to, const S& from) {
    to = N(from);
    if (next_ < varied_.count && varied_.place[next_] == at_) {
      to = inputs_[next_++] = N(from, &tape_, tape_.add_node());
    }
    ++at_;
  }

 private:
  const tree::VariedNumbers& varied_;
  simd::Tape<S>& tape_;
  N* const inputs_;
  std::ptrdiff_t at_ = 0;
  int next_ = 0;
};

template <class S>
class TapedStep {
 public:
  using Parameter = typename S::Parameter;
  /// Whether worlds may differ in numbers of the model, which are on the tape.
  static constexpr bool differs = !std::is_same_v<Parameter, typename S::Real>;
  using R = simd::Reverse<S, differs>;
  using N = simd::Reverse<S, true>;

  TapedStep(const TapedStep&) = delete;  // numbers on the tape refer to it
  TapedStep& operator=(const TapedStep&) = delete;

  /// Memory that a step leaves free.
  Workspace<S> free_memory() const { return w_; }

  /// Whether the tape had room for the step.
  bool has_room() const { return !tape_.is_full(); }

 protected:
  /// `system` has signals that the step may change. `varied` are the numbers in which worlds may differ; null
  /// for none. Memory is taken where `w_` is, which the product sets.
  TapedStep(const System<S>& system, const tree::VariedNumbers* varied, Workspace<S>& w)
      : system_(system),
        model_(system.model),
        varied_(varied),
        w_(w),
        start_numbers_(take<S>(w, number_count())) {}

  int number_count() const { return system_.signals.numbers == nullptr ? 0 : model_.signals->numbers(); }

  static simd::Mask<R> on_tape(simd::Mask<S> mask) { return {mask.lanes}; }

  R* inputs(const S* values, int count) { return take_inputs<S, differs>(values, count, tape_, w_); }

  R* still_inputs(int count) {
    S* const values = take<S>(w_, count);
    for (int i = 0; i < count; ++i) values[i] = all<S>(0);
    return inputs(values, count);
  }

  Workspace<R> for_tape() const { return {reinterpret_cast<R*>(w_.next)}; }
  void keep(const Workspace<R>& used) { w_.next = reinterpret_cast<S*>(used.next); }

  template <class T>
  T* take_taped(int count) {
    Workspace<R> w = for_tape();
    T* const taken = take<T>(w, count);
    keep(w);
    return taken;
  }

  /// Notes the signals at the start.
  void note_signals() {
    simd::copy_each<S>(static_cast<const S*>(system_.signals.numbers), number_count(), start_numbers_);
  }

  /// Begins the tape with the model as functions on it read it; more(copy, numbers) copies what follows the
  /// model in the order of numbers.
  template <class More>
  void begin_tape(const More& more) {
    tape_ = take_tape<S>(w_);
    if constexpr (differs) {
      varied_number_ = take_taped<N>(varied_->count);
      for (int n = 0; n < varied_->count; ++n) varied_number_[n] = N(all<S>(0));
      TapedNumbers<S> numbers(*varied_, tape_, varied_number_);
      tree::ModelCopy<N, S, TapedNumbers<S>> copy(w_, numbers);
      taped_model_ = copy.of(model_);
      more(copy, numbers);
    } else {
      taped_model_ = model_;
    }
  }

  void take_inputs_of_signals() { number_ = inputs(start_numbers_, number_count()); }

  /// Configuration of joint b moved by its inputs dq.
  void move_joint(int b, const S* from, const R* dq, R* q) const {
    const tree::Joint& joint = model_.joint[b];
    R start[8];
    for (int i = 0; i < joint.nq; ++i) start[i] = R(from[i]);
    dynamics::retract<R>(joint.block, joint.blocks, start, dq, q);
  }

  System<R> taped_system(const Workspace<R>& w) const {
    System<R> system = {taped_model_, system_.actuation, w, nullptr};
    system.signals.numbers = system_.signals.numbers == nullptr ? nullptr : current_;
    system.signals.rate = rates_;
    return system;
  }

  /// visit(joint) of the joints that have coordinates of the user.
  template <class Visit>
  void each_users_joint(const Visit& visit) const {
    for (int b = 0; b < model_.bodies; ++b) {
      if (model_.joint[b].reduced_v >= 0) visit(model_.joint[b]);
    }
  }

  /// The user's state on the tape.
  struct UsersState {
    const R *q, *v;
  };

  /// Whether the state that the step reaches is projected onto loops.
  bool projects() const { return model_.rows > 0; }

  /// The state at the end of a step that was projected: an input, with the displacement of its configuration.
  UsersState take_projected_end(const S* q, const S* v) {
    end_dq_ = still_inputs(model_.reduced_nv);
    projected_v_ = inputs(v, model_.reduced_nv);
    R* const moved = take_taped<R>(model_.reduced_nq);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (joint.reduced_v < 0) continue;
      move_joint(b, q + joint.reduced_q, end_dq_ + joint.reduced_v, moved + joint.reduced_q);
    }
    return {moved, projected_v_};
  }

  /// Adds cotangents of that state to those of the end.
  void pull_projected_end(const StateCotangents<S>& bar) const {
    for (int i = 0; i < model_.reduced_nv; ++i) {
      bar.q[i] += take_cotangent(end_dq_[i]);
      bar.v[i] += take_cotangent(projected_v_[i]);
    }
  }

  /// Numbers that sampled blocks hold from the end on, at the user's q and v of a system, on whose bodies
  /// contacts exert wrenches, null for none.
  void record_blocks(const StepSegment<S>& segment,
                     const System<R>& system,
                     const R* q,
                     const R* v,
                     const spatial::Force<R>* wrenches) {
    if (segment.due == 0) return;
    const auto is_due = [&](int block) { return on_tape(segment.is_due(block)); };
    const Measured<R> measured = {nullptr, wrenches};
    update_signals<R>(system, R(segment.end), q, v, segment.due, is_due, false, measured);
  }

  /// The signals that a segment reads at its end, after the sampled blocks. `numbers` are those of the
  /// signals with what contact sensors measure; the others as `record_blocks` has them.
  void record_readings(const StepSegment<S>& segment,
                       const System<R>& system,
                       const R* numbers,
                       const R* q,
                       const R* v,
                       const spatial::Force<R>* wrenches) {
    const tree::Signals& signals = *model_.signals;
    const int nv = model_.reduced_nv, late = nv + 6 * (model_.ports + model_.bodies);
    Workspace<R> w = system.workspace;
    readings_ = take<R>(w, signals.reading_count);
    keep(w);
    const R time(segment.end);
    if (segment.reads == ReadSignals::all) {
      System<R> inner = system;
      inner.workspace = w;
      return read_end<R>(inner, time, q, v, numbers, wrenches, readings_);
    }
    R* const none = take<R>(w, late);
    for (int i = 0; i < late; ++i) none[i] = R(all<S>(0));
    SignalPoint<R> at(taped_model_, time, q, v, numbers, w);
    at.values.acceleration = at.values.port_acceleration = at.values.reaction = none;
    read_point(at, readings_, w);
  }

  void seed_signals(const StateCotangents<S>& bar) const {
    for (int i = 0; i < number_count(); ++i) seed(current_[i], bar.signals[i]);
    for (int i = 0; readings_ != nullptr && i < model_.signals->reading_count; ++i) {
      seed(readings_[i], bar.readings[i]);
    }
  }

  /// Seeds a joint's q and v on the tape with cotangents, along δ of q.
  static void seed_state(const tree::Joint& joint, const R* q, const R* v, const S* q_bar, const S* v_bar) {
    S at[8] = {}, number_bar[8] = {};
    for (int i = 0; i < joint.nq; ++i) at[i] = q[i].value;
    seed_joint<S>(joint, at, q_bar, number_bar);
    for (int i = 0; i < joint.nq; ++i) seed(q[i], number_bar[i]);
    for (int i = 0; i < joint.nv; ++i) seed(v[i], v_bar[i]);
  }

  /// Seeds armatures (nv) and places of joints in their parents [bodies].
  void seed_numbers(const S* armature, const Vec3<S>* places) const {
    if constexpr (differs) {
      for (int i = 0; i < model_.nv; ++i) seed(taped_model_.armature[i], armature[i]);
      for (int b = 0; b < model_.bodies; ++b) {
        auto* const place = taped_model_.constants[b].placement + 9;
        seed(place[0], places[b].x), seed(place[1], places[b].y), seed(place[2], places[b].z);
      }
    }
  }

  void seed_gravity(const S (&bar)[3]) const {
    if constexpr (differs) {
      for (int i = 0; i < 3; ++i) seed(taped_model_.gravity[i], bar[i]);
    }
  }

  /// Reads cotangents of signals and of numbers of the model at the start.
  void read_numbers(const StateCotangents<S>& bar, const ParameterCotangents<S>& sums) const {
    for (int i = 0; i < number_count(); ++i) bar.signals[i] = take_cotangent(number_[i]);
    if constexpr (differs) {
      for (int n = 0; n < varied_->count; ++n) sums.numbers[n] += take_cotangent(varied_number_[n]);
    }
  }

  System<S> system_;
  const ModelOf<S>& model_;
  const tree::VariedNumbers* const varied_;
  Workspace<S> w_;
  S* const start_numbers_;  ///< of the signals; a step takes the memory behind it
  simd::Tape<S> tape_;
  ModelOf<R> taped_model_;
  N* varied_number_ = nullptr;
  R *number_ = nullptr, *current_ = nullptr, *rates_ = nullptr;  ///< of the signals
  R* readings_ = nullptr;                                        ///< null for none

 private:
  const R *end_dq_ = nullptr, *projected_v_ = nullptr;  ///< displacement of q and v of a projected end
};

}  // namespace pysim::stepping
