// Tables of an environment, world by world.
#include "engine/environment_tables.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "simd/exponential.hpp"
#include "simd/philox.hpp"
#include "simd/whole_number.hpp"

namespace pysim::engine {

namespace {

struct Portable;  // the tag of what is no kernel
using One = simd::Pack<double, 1, Portable>;

constexpr double world_stream = 0x1p52, episode_stream = world_stream + 1;  // pysim/tracing/random_numbers.py
constexpr std::uint64_t first_stream = (std::uint64_t{1} << 52) + 2;        // pysim/environments/draws.py
constexpr std::uint64_t streams_of_a_use = std::uint64_t{1} << 20;
constexpr std::int64_t most_steps = std::int64_t{1} << 62;  // to the next time of a schedule, none in effect

/// Numbers of one world, by their place.
struct Numbers {
  const double *signals, *action, *action_rate;
  int signal_count, action_count;

  Numbers(const EnvironmentTables& tables, const EnvironmentArrays& arrays, std::ptrdiff_t world)
      : signals(arrays.readings + world * tables.signals),
        action(arrays.action + world * tables.actions),
        action_rate(arrays.action_rate + world * tables.actions),
        signal_count(tables.signals),
        action_count(tables.actions) {}

  const double* at(int place) const {
    if (place < signal_count) return signals + place;
    place -= signal_count;
    return place < action_count ? action + place : action_rate + (place - action_count);
  }
};

/// The key of a world as a word; a record may hold any number.
std::uint64_t word_of(double key) {
  return simd::whole_within(key, std::uint64_t{0}, ~std::uint64_t{0});
}

/// Calls put(k, value) for the numbers that a world draws at a control step.
template <class Put>
void draw(const Distribution* distribution,
          std::size_t count,
          std::uint64_t use,
          double key,
          std::int64_t step,
          const Put& put) {
  const std::uint64_t stream = first_stream + use * streams_of_a_use;
  simd::FourWords words = {};
  for (std::size_t k = 0; k < count; ++k) {
    if (k % 4 == 0) {
      words = simd::philox<Portable>(static_cast<std::uint64_t>(step), word_of(key), stream + k / 4);
    }
    put(k, quantile(distribution[k], (words.c[k % 4] + 0.5) * 0x1p-32));
  }
}

template <class Put>
void draw(const DrawTable& table, double key, std::int64_t step, const Put& put) {
  draw(table.distribution.data(),
       table.distribution.size(),
       table.use,
       key,
       step,
       [&](std::size_t k, double value) { put(table.place[k], value); });
}

/// Control steps to the next time of a schedule.
std::int64_t interval(const ScheduleTable& schedule, double period, double key, std::int64_t step) {
  double steps = 0;
  draw(&schedule.time, 1, schedule.use, key, step, [&](std::size_t, double time) {
    steps = std::nearbyint(time / period);
  });
  return simd::whole_within(steps, std::int64_t{1}, most_steps);
}

double first_number(const double* x, int, double) {
  return x[0];
}

double absolute_sum(const double* x, int count, double) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += std::abs(x[i]);
  return sum;
}

double square_sum(const double* x, int count, double) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

double exponential(const double* x, int count, double width) {
  return simd::lane(simd::exp(simd::all<One>(-square_sum(x, count, width) / width)), 0);
}

constexpr RewardKernel reward_kernels[] = {
    {"value", first_number},
    {"absolute_sum", absolute_sum},
    {"square_sum", square_sum},
    {"exponential", exponential},
};

/// Adds noise to the numbers of a frame that have some.
void add_noise(const EnvironmentTables& tables, std::uint64_t key, std::uint64_t step, double* frame) {
  constexpr int halves = 8;  // of a call of Philox
  const std::size_t count = tables.noisy.size();
  for (std::size_t begin = 0; begin < count; begin += halves) {
    const simd::FourWords words = simd::philox<Portable>(step, key, first_stream + begin / halves);
    const std::size_t drawn = std::min<std::size_t>(halves, count - begin);
    for (std::size_t k = 0; k < drawn; ++k) {
      const unsigned half = (words.c[k / 2] >> (16 * (k % 2))) & 0xffffU;
      const int place = tables.noisy[begin + k];
      const double u = (half + 0.5) * 0x1p-16 - 0.5;
      frame[place] += u * (2 * tables.deviation[static_cast<std::size_t>(place)]);
    }
  }
}

template <class Number>
void put_frame(const EnvironmentTables& tables, const double* frame, FrameUse use, Number* history) {
  const std::ptrdiff_t size = tables.frame();
  if (use == FrameUse::follows && tables.history > 1) {
    std::copy(history + size, history + tables.history * size, history);
  }
  Number* const last = history + (tables.history - 1) * size;
  const double* const factor = tables.factor.data();
  const double limit = tables.limit;
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    const double x = frame[i] * factor[i], above = -limit > x ? -limit : x;
    last[i] = static_cast<Number>(limit < above ? limit : above);
  }
  if (use != FrameUse::begins) return;
  for (int k = 0; k + 1 < tables.history; ++k) std::copy(last, last + size, history + k * size);
}

}  // namespace

const RewardKernel* reward_kernel(std::string_view name) {
  for (const RewardKernel& kernel : reward_kernels) {
    if (kernel.name == name) return &kernel;
  }
  throw std::invalid_argument("there is no kernel '" + std::string(name) + "'");
}

void begin_episode(const EnvironmentArrays& arrays, std::ptrdiff_t world, double seed) {
  const auto uniform = simd::philox_uniform<Portable>;
  const double of_world = 0x1p53 * uniform(static_cast<double>(arrays.number[world]), seed, world_stream);
  const auto episode = static_cast<double>(++arrays.episode[world]);
  arrays.key[world] =
      episode == 0 ? of_world : std::floor(0x1p53 * uniform(episode, of_world, episode_stream));
}

void start(const EnvironmentTables& tables,
           const EnvironmentArrays& arrays,
           const RecordedWorlds& worlds,
           std::ptrdiff_t world,
           double* dq) {
  const double key = arrays.key[world];
  arrays.steps[world] = 0;
  std::fill_n(arrays.action + world * tables.actions, tables.actions, 0.0);
  std::fill_n(arrays.action_rate + world * tables.actions, tables.actions, 0.0);
  double* const signals = worlds.signals(world);
  std::copy(tables.offset.begin(), tables.offset.end(), signals + tables.first_input);
  draw(tables.displacement, key, 0, [&](int place, double value) { dq[place] = value; });
  draw(tables.velocity, key, 0, [&](int place, double value) { worlds.accelerate(world, place, value); });
  for (const ChangeTable& change : tables.changes) {
    if (!change.pushes) draw(change.drawn, key, 0, [&](int place, double value) { signals[place] = value; });
  }
  const std::size_t count = tables.schedules.size();
  std::int64_t* const due = arrays.due + world * static_cast<std::ptrdiff_t>(count);
  for (std::size_t k = 0; k < count; ++k) {
    const ScheduleTable& schedule = tables.schedules[k];
    if (schedule.every < 0) due[k] = interval(schedule, tables.period, key, 0);
  }
}

bool change(const EnvironmentTables& tables,
            const EnvironmentArrays& arrays,
            const RecordedWorlds& worlds,
            std::ptrdiff_t world,
            bool lost) {
  const std::size_t count = tables.schedules.size();
  if (count == 0) return false;
  const std::int64_t step = arrays.steps[world];
  const double key = arrays.key[world];
  std::int64_t* const due = arrays.due + world * static_cast<std::ptrdiff_t>(count);
  bool* const occurs = arrays.occurs + world * static_cast<std::ptrdiff_t>(count);
  for (std::size_t k = 0; k < count; ++k) {
    const ScheduleTable& schedule = tables.schedules[k];
    occurs[k] = schedule.every < 0 ? step >= due[k] : schedule.every > 0 && step % schedule.every == 0;
    if (occurs[k] && schedule.every < 0) due[k] = step + interval(schedule, tables.period, key, step);
  }
  bool changed = false;
  double* const signals = worlds.signals(world);
  for (const ChangeTable& change : tables.changes) {
    if (!occurs[change.schedule] || (change.pushes && lost)) continue;
    changed = true;
    draw(change.drawn, key, step, [&](int place, double value) {
      if (change.pushes) {
        worlds.accelerate(world, place, value);
      } else {
        signals[place] = value;
      }
    });
  }
  return changed;
}

void set_action(const EnvironmentTables& tables,
                const EnvironmentArrays& arrays,
                std::ptrdiff_t world,
                const double* requested,
                double* numbers_of_signals) {
  double *const action = arrays.action + world * tables.actions, *const rate = arrays.action_rate +
                                                                               world * tables.actions;
  for (int i = 0; i < tables.actions; ++i) {
    const double clipped = std::min(std::max(requested[i], tables.lowest), tables.highest);
    rate[i] = clipped - action[i];
    action[i] = clipped;
    const auto k = static_cast<std::size_t>(i);
    numbers_of_signals[tables.first_input + i] = tables.offset[k] + tables.scale[k] * clipped;
  }
}

unsigned end_step(const EnvironmentTables& tables,
                  const EnvironmentArrays& arrays,
                  const Transition& transition,
                  std::ptrdiff_t world,
                  bool lost) {
  const Numbers numbers(tables, arrays, world);
  bool* const ends = arrays.ends + world * static_cast<std::ptrdiff_t>(tables.ends.size());
  double* const terms = arrays.terms + world * static_cast<std::ptrdiff_t>(tables.rewards.size());
  unsigned faults = 0;
  bool over = lost;
  for (std::size_t k = 0; k < tables.ends.size(); ++k) {
    const EndTable& end = tables.ends[k];
    const double* const x = numbers.at(end.x.first);
    bool holds = false;
    for (int i = 0; i < end.x.count; ++i) {
      holds |= x[i] < end.below || x[i] > end.above;
      if (std::isnan(x[i]) && !lost) faults |= TableFaults::end;
    }
    ends[k] = holds && !lost;
    over |= ends[k];
  }
  double reward = 0;
  for (std::size_t k = 0; k < tables.rewards.size(); ++k) {
    const RewardTable& term = tables.rewards[k];
    const double value = term.end >= 0
                             ? (ends[term.end] ? 1.0 : 0.0)
                             : term.kernel->value(numbers.at(term.x.first), term.x.count, term.width);
    terms[k] = lost ? 0.0 : term.weight * value;
    if (!std::isfinite(terms[k])) faults |= TableFaults::reward;
    reward += terms[k];
  }
  transition.reward[world] = reward;
  transition.terminated[world] = over;
  transition.truncated[world] = !over && arrays.steps[world] >= tables.length;
  return faults;
}

unsigned observe(const EnvironmentTables& tables,
                 const EnvironmentArrays& arrays,
                 std::ptrdiff_t world,
                 FrameUse use,
                 bool lost,
                 double* frame) {
  const Numbers numbers(tables, arrays, world);
  const std::ptrdiff_t size = tables.frame();
  double* to = frame;
  for (const NumberRange& range : tables.observed) to = std::copy_n(numbers.at(range.first), range.count, to);
  double zero = 0;  // NaN if a number is not finite
  for (std::ptrdiff_t i = 0; i < size; ++i) zero += 0 * frame[i];
  if (!tables.noisy.empty()) {
    add_noise(tables, word_of(arrays.key[world]), static_cast<std::uint64_t>(arrays.steps[world]), frame);
  }
  const std::ptrdiff_t row = world * tables.history * size;
  if (arrays.has_double_history) {
    put_frame(tables, frame, use, static_cast<double*>(arrays.history) + row);
  } else {
    put_frame(tables, frame, use, static_cast<float*>(arrays.history) + row);
  }
  return zero == 0 || lost ? 0 : TableFaults::observation;
}

}  // namespace pysim::engine
