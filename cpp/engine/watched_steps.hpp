// Steps of fixed size through events, under every scheme.
//
// After every step the signs of all events are looked at. Where one has changed, the world goes back to the
// record of the step's start, steps of θh are tried for the least θ after which an event has its new sign,
// and the world stops there. The next step is the rest of the divided one if steps are on the grid, else the
// first of a new interval up to the next row.
//
// Sign changes are seen from step to step: two of one event within a step are missed. Events at one instant
// stop a world one after the other, for signs are taken over one by one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/worlds.hpp"

namespace pysim::engine {

/// Search for the root of an increasing function in [a, b] [Chandrupatla 1997]: inverse quadratic
/// interpolation where that is safe, otherwise bisection. A value that is negative or NaN is before the root.
class RootSearch {
 public:
  RootSearch(double a, double fa, double b, double fb) : a_(a), b_(b), c_(a), fa_(fa), fb_(fb), fc_(fa) {}

  /// Whether the bracket is as narrow as `resolution`, 1e-15.
  bool is_done() const;

  /// Where to evaluate the function next.
  double next() const { return a_ + t_ * (b_ - a_); }

  void take(double x, double fx);

  /// The end of the bracket that is after the root.
  double after() const { return fa_ > 0 ? a_ : b_; }

 private:
  double share() const;

  double a_, b_, c_, fa_, fb_, fc_;
  double t_ = 0.5;
};

/// Steps of some worlds of a batch, on the calling thread.
class WatchedSteps {
 public:
  using Batch = WorldBatch<double>;
  using Advance = std::function<void(Batch&)>;

  /// `advance` makes the steps of a batch; `own` makes them in place of the scheme, null for none; `varied`
  /// are the numbers of the worlds.
  WatchedSteps(Worlds<double>& worlds,
               const stepping::Events& events,
               const CallerStep* caller_step,
               const tree::VariedNumbers& varied,
               Advance advance)
      : worlds_(worlds),
        events_(events),
        caller_step_(caller_step),
        varied_(varied),
        advance_(std::move(advance)) {}

  /// Advances states [begin, end) of a batch.
  void run(const Batch& batch, std::ptrdiff_t begin, std::ptrdiff_t end);

 private:
  /// What a step changes of a world, as it was at the step's start.
  struct StepStart {
    std::string record;
    std::vector<double> report, reported;  ///< of the caller, and of the record's last step
    std::int64_t row, made, length;
    double t, begin, step;
  };

  using Lanes = std::vector<std::size_t>;

  void take_batch(const Batch& batch, std::ptrdiff_t begin, std::ptrdiff_t end);
  std::ptrdiff_t world(std::size_t k) const { return index_[k]; }
  double* signs(std::size_t k) const;
  double value(std::size_t k, int event) const {
    return values_[k * static_cast<std::size_t>(events_.count) + static_cast<std::size_t>(event)];
  }
  void evaluate();
  int first_crossed(std::size_t k) const;
  double crossed_by(std::size_t k, const std::vector<int>& events) const;
  void see_signs(std::size_t k);
  bool stop_at_event(std::size_t k);
  void hold(std::size_t k);
  void put_back(std::size_t k);
  void advance(Batch& batch, const Lanes& lanes);
  void step(const Lanes& lanes);
  void try_steps(const Lanes& lanes, const std::vector<double>& theta, const std::vector<double>& length);
  void go_to_events(const Lanes& lanes);
  void end_interval(std::size_t k);

  Worlds<double>& worlds_;
  const stepping::Events& events_;
  const CallerStep* caller_step_;
  const tree::VariedNumbers varied_;
  const Advance advance_;
  Batch batch_ = {};  ///< of these worlds
  std::vector<int> index_;
  std::vector<StepStart> start_;
  std::vector<double> values_;  ///< (worlds, events)
  std::vector<char> rests_;
};

}  // namespace pysim::engine
