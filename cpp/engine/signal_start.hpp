// Products of the derivatives of signals at the start of worlds, by the numbers in which worlds differ.
//
// Blocks at the start set initial values z, from which sampled blocks run. Where initial values depend on one
// another, also through held outputs o of these, they are a solution of
//
//     z = f(z, p)      f: sampled blocks give o(z), run again, and then blocks at the start
//
//     ȳ = (1 − ∂f/∂z)⁻ᵀ z̄      p̄ += (∂f/∂p)ᵀ ȳ
//
// The records have the numbers before any block ran, with a solution z in its place.
#pragma once

#include "engine/gradients.hpp"
#include "engine/world_operations.hpp"
#include "stepping/taped_step.hpp"

namespace pysim::engine {

/// Signals of a pack of worlds at the start, on a tape.
template <class S>
class SignalStartProduct {
 public:
  using R = simd::Reverse<S, true>;

  SignalStartProduct(States<S> at, const GradientBatch& batch)
      : batch_(batch),
        first_(at.first),
        signals_(batch.call.worlds.sizes.signals),
        settled_(batch.start.settled),
        bar_(take<S>(at.w, signals_)),
        sums_(take<S>(at.w, batch.varied->count)),
        y_(take<S>(at.w, settled_)),
        slopes_(take<S>(at.w, std::ptrdiff_t{settled_} * settled_)),
        tape_(stepping::take_tape<S>(at.w)),
        varied_(take<R>(at.w, batch.varied->count)) {
    for (int n = 0; n < batch.varied->count; ++n) varied_[n] = R(all<S>(0));
    stepping::TapedNumbers<S> numbers(*batch.varied, tape_, varied_);
    tree::ModelCopy<R, S, stepping::TapedNumbers<S>> copy(at.w, numbers);
    model_ = copy.of(at.model);
    const auto& parts = batch.call.worlds;
    const PackOfWorlds<S> pack(batch.call, first_);
    const WorldLanes<S> lanes = pack.load_all(at.model, parts, at.w);
    S time;
    for (int k = 0; k < S::width; ++k) simd::set_lane(time, k, parts.t[pack.world(k)]);
    time_ = R(time);
    w_ = {reinterpret_cast<R*>(at.w.next)};
    q_ = constants(lanes.q, parts.sizes.q);
    v_ = constants(lanes.v, parts.sizes.v);
    start_ = constants(lanes.signals.numbers, signals_);
    z_ = take<R>(w_, settled_);
    const int late = at.model.reduced_nv + 6 * (at.model.ports + at.model.bodies);
    still_ = take<R>(w_, late);
    for (int i = 0; i < late; ++i) still_[i] = R(all<S>(0));
    for (int i = 0; i < settled_; ++i) {
      z_[i] = R(lanes.signals.numbers[batch.start.place[i]], &tape_, tape_.add_node());
    }
  }

  SignalStartProduct(const SignalStartProduct&) = delete;
  SignalStartProduct& operator=(const SignalStartProduct&) = delete;

  /// Takes cotangents of the numbers after the blocks back, and adds to those of the model's numbers.
  void pull() {
    const int blocks = model_.signals->blocks, begins = batch_.call.blocks.first_bit;
    const std::uint64_t every = bits(blocks), begin = bits(begins);
    const int count = batch_.varied->count;
    simd::load_rows(batch_.bar.signals + first_ * signals_, signals_, signals_, bar_);
    simd::load_rows(batch_.bar.numbers + first_ * count, count, count, sums_);
    if (settled_ == 0) {
      const R* const end = run(every, start_);
      for (int i = 0; i < signals_; ++i) stepping::seed(end[i], bar_[i]);
      pull_numbers();
    } else {
      pull_settled(every & ~begin, begin);
    }
    simd::store_rows(sums_, count, batch_.bar.numbers + first_ * count, count);
    const S made = all<S>(tape_.is_full() ? -1 : 1);
    simd::store_rows(&made, 1, batch_.good + first_, 1);
  }

 private:
  static std::uint64_t bits(int count) {
    return count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
  }

  R* constants(const S* from, int count) {
    R* const to = take<R>(w_, count);
    for (int i = 0; i < count; ++i) to[i] = R(from[i]);
    return to;
  }

  R* copy(const R* from) {
    R* const to = take<R>(w_, signals_);
    for (int i = 0; i < signals_; ++i) to[i] = from[i];
    return to;
  }

  /// Numbers after blocks have run from others.
  R* run(std::uint64_t due, const R* from) {
    R* const numbers = copy(from);
    stepping::SignalPoint<R> at(model_, time_, q_, v_, numbers, w_);
    at.values.acceleration = at.values.port_acceleration = at.values.reaction = still_;
    const auto everywhere = [](int) { return simd::everywhere<R>(); };
    stepping::run_blocks<R>(at, due, everywhere, numbers, w_);
    return numbers;
  }

  /// Numbers with initial values in their places.
  R* with_initial(const R* from) {
    R* const numbers = copy(from);
    for (int i = 0; i < settled_; ++i) numbers[batch_.start.place[i]] = z_[i];
    return numbers;
  }

  void pull_settled(std::uint64_t sampled, std::uint64_t begin) {
    const auto& signals = batch_.start;
    R* const placed = with_initial(start_);
    const R* const outputs = run(sampled, placed);
    for (int i = 0; i < signals.outputs; ++i) placed[signals.output[i]] = outputs[signals.output[i]];
    const R* const end = run(sampled, placed);
    const R* const f = run(begin, with_initial(end));
    for (int i = 0; i < signals_; ++i) stepping::seed(end[i], bar_[i]);
    pull_numbers();
    for (int i = 0; i < settled_; ++i) y_[i] = stepping::take_cotangent(z_[i]);
    for (int i = 0; i < settled_; ++i) {
      stepping::seed(f[signals.place[i]], all<S>(1));
      tape_.pull(0);
      for (int j = 0; j < settled_; ++j) slopes_[j * settled_ + i] = stepping::take_cotangent(z_[j]);
      each_number([](int, S) {});
    }
    stepping::factor_states(settled_, all<S>(1), slopes_);
    stepping::solve_states<S>(settled_, slopes_, 1, y_);
    for (int i = 0; i < settled_; ++i) stepping::seed(f[signals.place[i]], y_[i]);
    pull_numbers();
  }

  void pull_numbers() {
    tape_.pull(0);
    each_number([this](int n, S bar) { sums_[n] += bar; });
  }

  /// use(n, cotangent) of the numbers that programs may read; those of contacts are not on the tape.
  template <class Use>
  void each_number(const Use& use) const {
    for (int n = 0; n < batch_.varied->count; ++n) {
      if (!varied_[n].is_constant()) use(n, stepping::take_cotangent(varied_[n]));
    }
  }

  const GradientBatch& batch_;
  const std::ptrdiff_t first_;
  const int signals_, settled_;
  S *const bar_, *const sums_, *const y_, *const slopes_;
  simd::Tape<S> tape_;
  R* const varied_;
  ModelOf<R> model_;
  R time_;
  Workspace<R> w_;
  R *q_, *v_, *start_, *z_;
  R* still_;  ///< accelerations and wrenches before the first step
};

}  // namespace pysim::engine
