// Check of saved records of worlds: what stepping keeps true of every number.
#include "engine/record_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "stepping/adaptive_state.hpp"

namespace pysim::engine {

namespace {

constexpr double exact = 0x1p53;      // whole numbers below it are doubles
constexpr double rounding = 1e-9;     // of a step, by which sums of times differ
constexpr double of_a_time = 1e-12;   // the same, of a time
constexpr double of_a_period = 1e-6;  // from an instant to the time at which its block has run
constexpr double of_a_length = 1e-3;  // of a quaternion, after any number of steps

[[noreturn]] void reject(const char* part, const std::string& problem) {
  throw std::invalid_argument("its part '" + std::string(part) + "' " + problem);
}

std::string text(double x) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.9g", x);
  return digits;
}

bool is_whole(double x, double least, double end) {
  return x >= least && x < end && x == std::floor(x);
}

}  // namespace

template <class Real>
RecordCheck<Real>::RecordCheck(const RecordBounds& bounds, const char* begin, const char* end)
    : bounds_(bounds), at_(begin), end_(end) {
  world_.sizes = bounds.sizes;
}

template <class Real>
void RecordCheck<Real>::next(std::ptrdiff_t world) {
  buffer_ = 0;
  world_.visit(*this);
  try {
    check_counts();
    check_state();
    check_clock();
    check_instants();
    check_scheme();
    check_contacts();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("the record of world " + std::to_string(world) +
                                " is impossible: " + error.what());
  }
}

template <class Real>
void RecordCheck<Real>::finish() const {
  if (at_ != end_) throw std::invalid_argument("the records are of other worlds: they have other sizes");
}

template <class Real>
template <class Number>
void RecordCheck<Real>::operator()(const char* name, Number*& part, int numbers) {
  const std::size_t size = static_cast<std::size_t>(numbers) * sizeof(Number);
  const char* const from = skip(name, size);
  if (buffer_ == buffers_.size()) buffers_.emplace_back();
  auto& buffer = buffers_[buffer_++];  // which operator new aligns
  buffer.assign(from, from + size);
  part = reinterpret_cast<Number*>(buffer.data());
}

template <class Real>
void RecordCheck<Real>::list(
    const char* name, double*& part, int numbers, const std::int64_t*, int an_entry) {
  const std::int64_t count = *world_.touching;
  if (count < 0 || count > numbers / an_entry) skip(name, std::numeric_limits<std::size_t>::max());
  (*this)(name, part, static_cast<int>(count) * an_entry);
}

template <class Real>
const char* RecordCheck<Real>::skip(const char* name, std::size_t size) {
  if (static_cast<std::size_t>(end_ - at_) < size) {
    throw std::invalid_argument(std::string("the records are of other worlds: their part '") + name +
                                "' has another size");
  }
  const char* const from = at_;
  at_ += size;
  return from;
}

template <class Real>
void RecordCheck<Real>::check_counts() const {
  const auto demand = [](const char* name, std::int64_t x, std::int64_t least, double most) {
    if (x >= least && static_cast<double>(x) <= most) return;
    reject(name,
           "is " + std::to_string(x) + ", and must be from " + std::to_string(least) + " to " + text(most));
  };
  demand("made", *world_.made, 0, exact);
  demand("length", *world_.length, -1, exact);
  demand("steps", *world_.steps, 0, exact);
  const int blocks = bounds_.first_bit + static_cast<int>(bounds_.periods.size());
  demand("pending", *world_.pending, 0, std::ldexp(1.0, blocks) - 1);
  demand("jumped", *world_.jumped, 0, 1);
  demand("status", *world_.status, 0, static_cast<double>(stepping::WorldStatus::ended));
  demand("episode", *world_.episode, 0, exact);
  using stepping::WorldStatus;
  const auto status = static_cast<WorldStatus>(*world_.status);
  const bool of_adaptive_steps = status == WorldStatus::underflow || status == WorldStatus::blurred;
  const bool of_solvers = status == WorldStatus::unsolved || status == WorldStatus::diverged;
  const bool solves = bounds_.sizes.scheme > 0;
  if (bounds_.is_adaptive ? of_solvers : of_adaptive_steps || (status == WorldStatus::unsolved && !solves)) {
    reject("status", "is " + std::to_string(*world_.status) + ", for which no step of the scheme stops");
  }
}

template <class Real>
void RecordCheck<Real>::check_state() const {
  const auto& n = bounds_.sizes;
  const auto demand = [](const char* name, const auto* x, int count) {
    const auto* const wrong = std::find_if(x, x + count, [](double value) { return !std::isfinite(value); });
    if (wrong != x + count) reject(name, "holds " + text(*wrong));
  };
  demand("t", world_.t, 1);
  demand("q", world_.q, n.q);
  demand("v", world_.v, n.v);
  demand("loop_q", world_.loop_q, n.loop_q);
  demand("caller_numbers", world_.caller_numbers, n.caller_numbers);
  const auto is_sign = [](double x) { return x == 0 || std::abs(x) == 1; };
  if (!std::all_of(world_.signs, world_.signs + n.events, is_sign)) {
    reject("signs", "holds a number that is no sign");
  }
  for (const auto& place : bounds_.quaternions) {
    double square = 0;
    for (int i = 0; i < 4; ++i) square += double{world_.q[place.at + i]} * world_.q[place.at + i];
    const double length = std::sqrt(square);
    if (!(std::abs(length - 1) <= of_a_length)) reject("q", "holds a quaternion of length " + text(length));
  }
  if (bounds_.key >= 0 && !is_whole(world_.signals[bounds_.key], 0, exact)) {
    reject("signals", "holds the key " + text(world_.signals[bounds_.key]) + " of random numbers");
  }
}

/// t = begin + made · step within an interval; on the grid t is within a step, for an instant may divide
/// one.
template <class Real>
void RecordCheck<Real>::check_clock() const {
  const double t = *world_.t, begin = *world_.begin, step = *world_.step;
  const std::int64_t n = *world_.made, length = *world_.length;
  if (!std::isfinite(begin)) reject("begin", "is " + text(begin));
  const bool any_step = bounds_.is_adaptive;  // that of a call
  if (!(step > 0) ||
      !(any_step ? std::isfinite(step) || step == bounds_.step : step <= bounds_.step * (1 + rounding))) {
    reject("step", "is " + text(step) + " s, and the longest step is " + text(bounds_.step) + " s");
  }
  if (any_step && length >= 0) reject("length", "is " + std::to_string(length) + " of steps of adapted size");
  if (any_step && !std::isfinite(step)) return;  // no grid was begun
  const double slack = rounding * std::min(step, 1.0) + of_a_time * std::abs(t);
  const double now = begin + static_cast<double>(n) * step;
  const auto demand = [&](bool holds) {
    if (!holds) {
      reject("begin",
             "is " + text(begin) + " s, and t " + text(t) + " s after " + std::to_string(n) + " steps of " +
                 text(step) + " s");
    }
  };
  if (any_step) return demand(now <= t + slack);
  if (length < 0) {
    if (step != bounds_.step) {
      reject("step", "is " + text(step) + " s, and steps here have " + text(bounds_.step) + " s");
    }
    return demand(now <= t + slack && t <= now + step + slack);
  }
  if (n > length) reject("made", "is " + std::to_string(n) + " of " + std::to_string(length) + " steps");
  const double steps = static_cast<double>(length);
  if (length > 1 && (steps - 1) * bounds_.step * (1 - of_a_period) > steps * step) {
    reject("length", "is " + std::to_string(length) + " steps of " + text(step) + " s");
  }
  demand(std::abs(t - now) <= slack);
}

/// The next instant of every sampled block is within a period.
template <class Real>
void RecordCheck<Real>::check_instants() const {
  const double t = *world_.t;
  for (std::size_t k = 0; k < bounds_.periods.size(); ++k) {
    const double period = bounds_.periods[k], next = static_cast<double>(world_.instants[k]) * period;
    const double slack = of_a_period * period + of_a_time * std::abs(t);
    if (next >= t - slack && next <= t + period + slack) continue;
    reject("instants",
           "lets a block of period " + text(period) + " s run next at " + text(next) + " s, and t is " +
               text(t) + " s");
  }
}

template <class Real>
void RecordCheck<Real>::check_scheme() const {
  using Memory = contact::ContactMemory;
  const auto& n = bounds_.sizes;
  if (n.scheme == 0) return;
  const double* const numbers = world_.scheme;
  const auto demand = [&](int place, double end) {
    if (!is_whole(numbers[place], 0, end))
      reject("scheme", "holds " + text(numbers[place]) + " where it counts");
  };
  const int coordinates = std::max(n.v, 1);
  if (bounds_.is_adaptive) {
    demand(stepping::AdaptivePlaces::rejected, exact);
    demand(stepping::AdaptivePlaces::worst, coordinates);
    return check_adaptive();
  }
  demand(Memory::iterations, exact);  // as stepping::SolverState counts
  demand(Memory::halved, exact);
  demand(Memory::worst, bounds_.is_convex ? std::max(n.points, 1) : coordinates);
  demand(Memory::failed, 2);
  if (!bounds_.is_convex) return;
  const double next = numbers[bounds_.contacts.next_step()];
  if (!(next >= 0) || !std::isfinite(next)) reject("scheme", "holds a next step of " + text(next) + " s");
}

/// The start of a step lies before t, and the step does not end before t.
template <class Real>
void RecordCheck<Real>::check_adaptive() const {
  using Places = stepping::AdaptivePlaces;
  const double* const numbers = world_.scheme;
  if (!is_whole(numbers[Places::begun], 0, 2)) {
    reject("scheme", "holds " + text(numbers[Places::begun]) + " for whether steps have begun");
  }
  if (*world_.status != 0) return;  // the last step has failed
  const double size = numbers[Places::size], time = numbers[Places::time], t = *world_.t;
  if (!(size >= 0) || !std::isfinite(size)) reject("scheme", "holds a step of " + text(size) + " s");
  if (numbers[Places::begun] == 0) return;
  const double slack = of_a_time * std::max(std::abs(t), std::abs(time));
  if (!(size <= bounds_.step) || !(time <= t + slack) || !(t <= time + size * (1 + rounding) + slack)) {
    reject("scheme",
           "holds a step of " + text(size) + " s from " + text(time) + " s, and t is " + text(t) + " s");
  }
  const auto place = Places::of(bounds_.events, bounds_.sizes.q, bounds_.sizes.v, 0);
  const auto* const wrong = std::find_if(
      numbers + place.q, numbers + place.states, [](double value) { return !std::isfinite(value); });
  if (wrong != numbers + place.states) reject("scheme", "holds " + text(*wrong) + " for a state");
}

/// Points are named by whole numbers that ascend.
template <class Real>
void RecordCheck<Real>::check_contacts() const {
  using Entry = stepping::TouchingPoint;
  double least = 0;
  for (std::int64_t k = 0; k < *world_.touching; ++k) {
    const double point = world_.contacts[k * Entry::numbers + Entry::number];
    if (!is_whole(point, least, bounds_.sizes.points)) {
      reject("contacts",
             "names point " + text(point) + " where one from " + text(least) + " to " +
                 std::to_string(bounds_.sizes.points - 1) + " follows");
    }
    least = point + 1;
  }
}

template class RecordCheck<double>;
template class RecordCheck<float>;

}  // namespace pysim::engine
