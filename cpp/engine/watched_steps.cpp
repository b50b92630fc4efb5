// Steps of fixed size through events.
#include "engine/watched_steps.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "engine/dispatch.hpp"

namespace pysim::engine {

namespace {

constexpr double resolution = 1e-15;  // of a step: of its fraction at an event
constexpr double least_part = 1e-9;   // of a step: a shorter one would be rounding

double sign_of(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/// Whether a sign has changed in the direction of an event; 0 is no sign.
bool is_crossed(const stepping::Event& event, double before, double now) {
  if (before == 0 || now == 0 || before == now) return false;
  return event.direction == 0 || event.direction == now;
}

}  // namespace

bool RootSearch::is_done() const {
  return std::abs(b_ - a_) <= 2 * resolution || next() == a_ || next() == b_;
}

void RootSearch::take(double x, double fx) {
  if ((fx > 0) == (fa_ > 0)) {
    c_ = a_;
    fc_ = fa_;
  } else {
    c_ = b_;
    fc_ = fb_;
    b_ = a_;
    fb_ = fa_;
  }
  a_ = x;
  fa_ = fx;
  t_ = share();
}

/// The share of the bracket, from its newest end, at which the function is evaluated next.
double RootSearch::share() const {
  const double least = std::min(resolution / std::abs(b_ - a_), 0.5);
  const double xi = (a_ - b_) / (c_ - b_), phi = (fa_ - fb_) / (fc_ - fb_);
  double t = 0.5;
  if (phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi) {
    t = fa_ / (fb_ - fa_) * fc_ / (fb_ - fc_) + (c_ - a_) / (b_ - a_) * fa_ / (fc_ - fa_) * fb_ / (fc_ - fb_);
  }
  return std::clamp(std::isfinite(t) ? t : 0.5, least, 1 - least);
}

void WatchedSteps::run(const Batch& batch, std::ptrdiff_t begin, std::ptrdiff_t end) {
  if (batch.call.most <= 0) {  // a goal is set alone
    std::fill(batch.call.stop + begin, batch.call.stop + end, stepping::WorldStop::unfinished);
    return;
  }
  take_batch(batch, begin, end);
  Lanes going;
  evaluate();
  for (std::size_t k = 0; k < index_.size(); ++k) {
    if (batch.call.rests != nullptr && batch.call.rests[begin + static_cast<std::ptrdiff_t>(k)]) continue;
    if (worlds_.status()[world(k)] == 0 && stop_at_event(k)) continue;
    going.push_back(k);
  }
  for (std::ptrdiff_t n = 0; n < batch.call.most && !going.empty(); ++n) {
    for (const std::size_t k : going) hold(k);
    step(going);
    evaluate();
    Lanes crossed, left;
    for (const std::size_t k : going) {
      const auto why = batch_.call.stop[k];
      if (why != stepping::WorldStop::lost && first_crossed(k) >= 0) {
        crossed.push_back(k);
        continue;
      }
      see_signs(k);
      if (why == stepping::WorldStop::unfinished) left.push_back(k);
    }
    if (!crossed.empty()) go_to_events(crossed);
    going = std::move(left);
  }
}

/// The part of a batch that holds states [begin, end).
void WatchedSteps::take_batch(const Batch& batch, std::ptrdiff_t begin, std::ptrdiff_t end) {
  const auto count = static_cast<std::size_t>(end - begin);
  const auto& n = batch.call.worlds.sizes;
  index_.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    index_[k] = static_cast<int>(batch.call.world(begin + static_cast<std::ptrdiff_t>(k)));
  }
  start_.resize(count);
  rests_.assign(count, 0);
  values_.resize(count * static_cast<std::size_t>(events_.count));
  batch_ = batch;
  batch_.states = end - begin;
  const auto shift = [begin](auto*& rows, std::ptrdiff_t numbers) {
    if (rows != nullptr) rows += begin * numbers;
  };
  auto& call = batch_.call;
  call.index = index_.data();
  call.most = 1;
  call.by_steps = true;
  shift(call.goal, 1);
  shift(call.row, 1);
  shift(call.stop, 1);
  shift(call.q_rows, call.rows * n.q);
  shift(call.v_rows, call.rows * n.v);
  shift(call.loop_rows, call.rows * n.loop_q);
  shift(call.signal_rows, call.rows * n.signals);
  shift(call.inputs, call.input_rows * call.input_count);
  const std::ptrdiff_t report = std::ptrdiff_t{contact::ContactReport::numbers} * n.points;
  shift(batch_.report, report);
  shift(batch_.report_rows, call.rows * report);
  shift(batch_.schedules.bytes, batch_.schedules.stride);
  shift(batch_.schedules.key, 1);
}

double* WatchedSteps::signs(std::size_t k) const {
  return batch_.call.worlds.signs + world(k) * events_.count;
}

/// Computes the values of all events at the states of the worlds.
void WatchedSteps::evaluate() {
  const auto& parts = batch_.call.worlds;
  const std::size_t count = index_.size();
  const auto coordinate = [](const stepping::Event& e) { return e.kind == stepping::EventKind::coordinate; };
  if (std::all_of(events_.event, events_.event + events_.count, coordinate)) {
    double* to = values_.data();
    for (std::size_t k = 0; k < count; ++k) {
      const double* const q = parts.q + world(k) * parts.sizes.q;
      for (int i = 0; i < events_.count; ++i) *to++ = q[events_.event[i].index] - events_.event[i].offset;
    }
    return;
  }
  const auto rows = [&](const double* part, int numbers) {
    std::vector<double> found(count * static_cast<std::size_t>(numbers));
    for (std::size_t k = 0; k < count; ++k) {
      std::copy_n(part + world(k) * numbers, numbers, found.data() + k * static_cast<std::size_t>(numbers));
    }
    return found;
  };
  const auto q = rows(parts.q, parts.sizes.q), v = rows(parts.v, parts.sizes.v);
  const auto varied = rows(varied_.values, varied_.count);
  const std::vector<double> of_callbacks(
      count * static_cast<std::size_t>(worlds_.model().callback_numbers()));  // whose joints move no point
  engine::Batch<double> batch = {};
  batch.states = static_cast<std::ptrdiff_t>(count);
  batch.q = q.data();
  batch.v = v.data();
  batch.callback = of_callbacks.data();
  batch.actuation = batch_.actuation;
  batch.events = &events_;
  batch.out = values_.data();
  run_varied(&StateKernels<double>::event_values,
             worlds_.model(),
             batch,
             {varied_.count, varied_.place, varied.data(), varied_.joint_forces});
}

/// The first event of the scene whose sign has changed in its direction, −1 for none.
int WatchedSteps::first_crossed(std::size_t k) const {
  for (int i = 0; i < events_.count; ++i) {
    if (is_crossed(events_.event[i], signs(k)[i], sign_of(value(k, i)))) return i;
  }
  return -1;
}

/// How far the foremost of some events is beyond its crossing; negative before all of them.
double WatchedSteps::crossed_by(std::size_t k, const std::vector<int>& events) const {
  double most = -simd::infinity;
  for (const int i : events) {
    const double beyond = -signs(k)[i] * value(k, i);
    if (beyond > most) most = beyond;
  }
  return most;
}

/// Takes over the signs of events that are not crossed.
void WatchedSteps::see_signs(std::size_t k) {
  for (int i = 0; i < events_.count; ++i) {
    const double now = sign_of(value(k, i));
    if (now != 0 && !is_crossed(events_.event[i], signs(k)[i], now)) signs(k)[i] = now;
  }
}

/// Stops a world whose state is beyond the crossing of an event, at the first of these.
bool WatchedSteps::stop_at_event(std::size_t k) {
  const int event = first_crossed(k);
  see_signs(k);
  if (event < 0) return false;
  signs(k)[event] = -signs(k)[event];
  batch_.call.stop[k] =
      static_cast<stepping::WorldStop>(static_cast<std::int64_t>(stepping::WorldStop::event) + event);
  return true;
}

// ---------------------------------------------------------------------------------------------------- steps

void WatchedSteps::hold(std::size_t k) {
  const auto& parts = batch_.call.worlds;
  const Selection selection = {&index_[k], 1};
  StepStart& start = start_[k];
  start.record.resize(worlds_.saved_size(selection));
  worlds_.save(selection, start.record.data());
  const std::ptrdiff_t numbers = std::ptrdiff_t{contact::ContactReport::numbers} * parts.sizes.points;
  const double* const reported = parts.report + world(k) * numbers;
  start.reported.assign(reported, reported + numbers);
  if (batch_.report != nullptr) {
    const double* const report = batch_.report + static_cast<std::ptrdiff_t>(k) * numbers;
    start.report.assign(report, report + numbers);
  }
  start.row = batch_.call.row == nullptr ? 0 : batch_.call.row[k];
  const std::ptrdiff_t w = world(k);
  start.t = parts.t[w];
  start.begin = parts.begin[w];
  start.step = parts.step[w];
  start.made = parts.made[w];
  start.length = parts.length[w];
  if (caller_step_ != nullptr) caller_step_->hold(world(k));
}

void WatchedSteps::put_back(std::size_t k) {
  const auto& parts = batch_.call.worlds;
  const StepStart& start = start_[k];
  worlds_.put_back(start.record.data(), {&index_[k], 1});
  const auto numbers = static_cast<std::ptrdiff_t>(start.reported.size());
  std::copy(start.reported.begin(), start.reported.end(), parts.report + world(k) * numbers);
  if (batch_.report != nullptr) {
    std::copy(
        start.report.begin(), start.report.end(), batch_.report + static_cast<std::ptrdiff_t>(k) * numbers);
  }
  if (batch_.call.row != nullptr) {
    std::int64_t& row = batch_.call.row[k];
    if (batch_.report_rows != nullptr) {  // of points that the step to come does not reach
      double* const first = batch_.report_rows + static_cast<std::ptrdiff_t>(k) * batch_.call.rows * numbers;
      std::fill(first + start.row * numbers, first + std::max(start.row, row) * numbers, 0.0);
    }
    row = start.row;
  }
  if (caller_step_ != nullptr) caller_step_->put_back(world(k));
}

/// Makes one step of some worlds; the others stay as they are.
void WatchedSteps::advance(Batch& batch, const Lanes& lanes) {
  const std::unique_ptr<bool[]> rests(new bool[index_.size()]);
  std::fill_n(rests.get(), index_.size(), true);
  for (const std::size_t k : lanes) rests[k] = false;
  batch.call.rests = rests.get();
  advance_(batch);
}

void WatchedSteps::step(const Lanes& lanes) {
  Batch batch = batch_;
  advance(batch, lanes);
}

/// Tries a step of θ times a length from the step's start.
void WatchedSteps::try_steps(const Lanes& lanes,
                             const std::vector<double>& theta,
                             const std::vector<double>& length) {
  const auto& parts = batch_.call.worlds;
  for (const std::size_t k : lanes) {
    put_back(k);
    const std::ptrdiff_t w = world(k);
    parts.begin[w] = parts.t[w];
    parts.step[w] = theta[k] * length[k];
    parts.made[w] = 0;
    parts.length[w] = -1;
  }
  const std::vector<std::int64_t> goal(index_.size(), 1);
  std::vector<stepping::WorldStop> stop(index_.size());
  Batch trial = batch_;
  auto& call = trial.call;
  call.times = nullptr;
  call.rows = call.known = 0;
  call.every = 0;
  call.inputs = nullptr;
  call.goal = goal.data();
  call.row = nullptr;
  call.stop = stop.data();
  call.blocks.count = 0;
  trial.report_rows = nullptr;
  advance(trial, lanes);
  evaluate();
}

/// Lets worlds that have crossed events in their last step go back, and on to the first of these.
void WatchedSteps::go_to_events(const Lanes& lanes) {
  const std::size_t count = index_.size();
  std::vector<std::vector<int>> events(count);
  std::vector<double> length(count), theta(count, least_part), at_end(count);
  for (const std::size_t k : lanes) {
    length[k] = batch_.call.worlds.t[world(k)] - start_[k].t;
    for (int i = 0; i < events_.count; ++i) {
      if (is_crossed(events_.event[i], signs(k)[i], sign_of(value(k, i)))) events[k].push_back(i);
    }
    at_end[k] = crossed_by(k, events[k]);
  }
  try_steps(lanes, theta, length);
  std::vector<RootSearch> search(count, {least_part, -1, 1, 1});
  Lanes open;
  for (const std::size_t k : lanes) {
    const double first = crossed_by(k, events[k]);
    if (first > 0) continue;  // θ is the least part
    search[k] = {1, at_end[k], least_part, first};
    open.push_back(k);
  }
  while (!open.empty()) {
    for (const std::size_t k : open) theta[k] = search[k].next();
    try_steps(open, theta, length);
    for (const std::size_t k : open) search[k].take(theta[k], crossed_by(k, events[k]));
    const auto is_done = [&](std::size_t k) {
      if (!search[k].is_done()) return false;
      theta[k] = search[k].after();
      return true;
    };
    open.erase(std::remove_if(open.begin(), open.end(), is_done), open.end());
  }
  Lanes within, at_ends;
  for (const std::size_t k : lanes) (theta[k] < 1 - least_part ? within : at_ends).push_back(k);
  if (!within.empty()) try_steps(within, theta, length);
  for (const std::size_t k : within) end_interval(k);
  for (const std::size_t k : at_ends) put_back(k);
  if (!at_ends.empty()) step(at_ends);
  evaluate();
  for (const std::size_t k : lanes) stop_at_event(k);
}

/// Lets the clock of a world go on from an event: the grid as it was, an interval of a row with steps of its
/// own.
void WatchedSteps::end_interval(std::size_t k) {
  const auto& parts = batch_.call.worlds;
  const std::ptrdiff_t w = world(k);
  const bool on_grid = start_[k].length < 0;
  parts.begin[w] = on_grid ? start_[k].begin : parts.t[w];
  parts.step[w] = start_[k].step;
  parts.made[w] = on_grid ? start_[k].made : 0;
  parts.length[w] = on_grid ? -1 : 0;
}

}  // namespace pysim::engine
