// Product of the derivatives of signals with cotangents: from those of the readings of worlds to those of the
// states at which they are read.
//
//     y = f(t, q, v, x; p)      q̄ += f_qᵀ ȳ      v̄ += f_vᵀ ȳ      x̄ += f_xᵀ ȳ      p̄ += f_pᵀ ȳ
//
// x are the numbers of the signals, p those in which worlds may differ. Signals that depend on accelerations,
// wrenches or contacts have no cotangents: these count as 0.
#pragma once

#include "engine/gradients.hpp"
#include "engine/world_operations.hpp"
#include "stepping/taped_step.hpp"

namespace pysim::engine {

/// Readings of a pack of worlds on a tape.
template <class S>
class ReadingProduct {
 public:
  static constexpr bool differs = !std::is_same_v<typename S::Parameter, typename S::Real>;
  using R = simd::Reverse<S, differs>;
  using N = simd::Reverse<S, true>;

  ReadingProduct(States<S> at, const GradientBatch& batch)
      : batch_(batch),
        first_(at.first),
        nv_(at.model.reduced_nv),
        w_(at.w),
        tape_(stepping::take_tape<S>(w_)) {
    copy_model(at.model);
    const auto& parts = batch.call.worlds;
    const PackOfWorlds<S> pack(batch.call, first_);
    const WorldLanes<S> lanes = pack.load_all(at.model, parts, w_);
    for (int k = 0; k < S::width; ++k) simd::set_lane(time_, k, parts.t[pack.world(k)]);
    S* const still = take<S>(w_, nv_);
    for (int i = 0; i < nv_; ++i) still[i] = all<S>(0);
    q_ = lanes.q;
    dq_ = inputs(still, nv_);
    v_ = inputs(lanes.v, nv_);
    x_ = inputs(lanes.signals.numbers, parts.sizes.signals);
  }

  ReadingProduct(const ReadingProduct&) = delete;
  ReadingProduct& operator=(const ReadingProduct&) = delete;

  /// Adds to the cotangents of the states and of the numbers.
  void pull() {
    const int count = model_.signals->reading_count;
    S* const bar = take<S>(w_, count);
    simd::load_rows(batch_.readings + first_ * count, count, count, bar);
    const R* const readings = read();
    const int* const outputs = model_.program[model_.signals->readings.program].outputs;
    for (int i = 0; i < count; ++i) stepping::seed(readings[outputs[i]], bar[i]);
    tape_.pull(0);
    add(dq_, nv_, batch_.bar.q);
    add(v_, nv_, batch_.bar.v);
    add(x_, batch_.call.worlds.sizes.signals, batch_.bar.signals);
    if constexpr (differs) add(varied_, batch_.varied->count, batch_.bar.numbers);
    const S made = all<S>(tape_.is_full() ? -1 : 1);
    simd::store_rows(&made, 1, batch_.good + first_, 1);
  }

 private:
  R* inputs(const S* values, int count) {
    return stepping::take_inputs<S, differs>(values, count, tape_, w_);
  }

  /// The model as the program reads it.
  void copy_model(const ModelOf<S>& model) {
    if constexpr (differs) {
      varied_ = take<N>(w_, batch_.varied->count);
      for (int n = 0; n < batch_.varied->count; ++n) varied_[n] = N(all<S>(0));
      stepping::TapedNumbers<S> numbers(*batch_.varied, tape_, varied_);
      tree::ModelCopy<N, S, stepping::TapedNumbers<S>> copy(w_, numbers);
      model_ = copy.of(model);
    } else {
      model_ = model;
    }
  }

  /// Registers of the program of readings.
  const R* read() {
    Workspace<R> w = {reinterpret_cast<R*>(w_.next)};
    const int nq = model_.reduced_nq, late = nv_ + 6 * (model_.ports + model_.bodies);
    R *const q = take<R>(w, nq), *const start = take<R>(w, nq), *const none = take<R>(w, late);
    for (int i = 0; i < nq; ++i) start[i] = R(q_[i]);
    for (int i = 0; i < late; ++i) none[i] = R(all<S>(0));
    dynamics::retract<R>(model_, start, dq_, q);
    stepping::SignalPoint<R> at(model_, R(time_), q, v_, x_, w);
    at.values.acceleration = at.values.port_acceleration = at.values.reaction = none;
    return at.run(model_.signals->readings, w);
  }

  /// Adds cotangents of inputs to those of the states.
  template <class Number>
  void add(const Number* from, int count, double* rows) {
    double* const own = rows + first_ * count;
    Workspace<S> w = w_;
    S* const sum = take<S>(w, count);
    simd::load_rows(own, count, count, sum);
    for (int i = 0; i < count; ++i) {
      if (!from[i].is_constant()) sum[i] += stepping::take_cotangent(from[i]);
    }
    simd::store_rows(sum, count, own, count);
  }

  const GradientBatch& batch_;
  const std::ptrdiff_t first_;
  const int nv_;
  Workspace<S> w_;
  simd::Tape<S> tape_;
  ModelOf<R> model_;
  N* varied_ = nullptr;
  S time_;
  const S* q_;
  R *dq_, *v_, *x_;
};

}  // namespace pysim::engine
