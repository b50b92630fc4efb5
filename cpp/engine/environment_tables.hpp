// Tables of an environment: actions, ends, rewards, observations and random changes of worlds.
//
//     input         offset + scale · min(max(a, lowest), highest)
//     end           whether some x < below or some x > above
//     term          weight · f,   f = x, Σ |x|, Σ x², exp(−Σ x² / width), or whether an end holds
//     observation   min(max((x + noise) · factor, −limit), limit)
//
// x are numbers of a world: its signals, its last action, and the change of that. Random numbers are
// functions of the episode's key, the control step and their use: noise is uniform within ± deviation, 16
// bits of Philox each, what is drawn for starts, commands and pushes quantiles at 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/distributions.hpp"
#include "engine/recorded_worlds.hpp"

namespace pysim::engine {

/// Numbers of a world that follow one another.
struct NumberRange {
  int first, count;
};

/// A function of the numbers of a signal, and the name by which tables refer to it.
struct RewardKernel {
  const char* name;
  double (*value)(const double* x, int count, double width);
};

/// The kernel of a name; std::invalid_argument if there is none.
const RewardKernel* reward_kernel(std::string_view name);

struct EndTable {
  NumberRange x;
  double below, above;  ///< infinite for none
};

struct RewardTable {
  NumberRange x;
  const RewardKernel* kernel;
  int end;  ///< that is rewarded by 1 instead of a kernel's value, −1 for none
  double weight, width;
};

/// Numbers that are drawn together, and their places.
struct DrawTable {
  std::vector<Distribution> distribution;
  std::vector<int> place;
  std::uint64_t use;
};

/// When something recurs: after every so many control steps of the episode, or after times that are drawn.
struct ScheduleTable {
  std::int64_t every;  ///< 0 for never, −1 if times are drawn
  Distribution time;   ///< between [s]
  std::uint64_t use;
};

/// What is drawn anew on a schedule.
struct ChangeTable {
  bool pushes;  ///< adds to velocities; otherwise sets numbers of the signals, also as episodes begin
  DrawTable drawn;
  int schedule;
};

struct EnvironmentTables {
  int signals, actions;  ///< numbers of a world
  double lowest, highest;
  std::vector<double> scale, offset;  ///< [actions]
  int first_input;                    ///< place of the first of the action's inputs
  std::vector<EndTable> ends;
  std::vector<RewardTable> rewards;
  std::vector<NumberRange> observed;
  std::vector<double> factor, deviation;  ///< [frame]
  std::vector<int> noisy;                 ///< numbers of the frame with noise
  double limit;
  int history;                       ///< frames of an observation, the oldest first
  std::int64_t length;               ///< control steps of an episode
  double period;                     ///< of a control step [s]
  DrawTable displacement, velocity;  ///< of starts, at places among the velocities
  std::vector<ChangeTable> changes;
  std::vector<ScheduleTable> schedules;

  std::ptrdiff_t frame() const { return static_cast<std::ptrdiff_t>(factor.size()); }
};

/// What environments remember of their worlds, in arrays with one row a world.
struct EnvironmentArrays {
  std::int64_t* number;   ///< of the world, by which random numbers differ
  std::int64_t* episode;  ///< −1 before the first
  double* key;            ///< of the episode's random numbers
  std::int64_t* steps;    ///< made in the episode
  std::int64_t* due;      ///< (schedules) control step at which it happens next, if times are drawn
  bool* occurs;           ///< (schedules) whether it happens after the last step
  double *action, *action_rate;
  double* readings;  ///< the signals
  void* history;     ///< (history, frame) of observations, floats or doubles
  bool has_double_history;
  double* terms;  ///< of the last step, with their weights
  bool* ends;     ///< that hold after the last step
};

/// What a control step led to.
struct Transition {
  double* reward;
  bool *terminated, *truncated;
};

/// Numbers that are not finite in worlds that are not lost.
struct TableFaults {
  static constexpr unsigned end = 1, reward = 2, observation = 4;
};

/// How a frame becomes part of the history.
enum class FrameUse : int { follows, replaces, begins };

/// Begins an episode of a world: its key, from the seed of all worlds.
void begin_episode(const EnvironmentArrays& arrays, std::ptrdiff_t world, double seed);

/// Draws what a world that has begun starts with, and adds its displacement to dq (nv).
void start(const EnvironmentTables& tables,
           const EnvironmentArrays& arrays,
           const RecordedWorlds& worlds,
           std::ptrdiff_t world,
           double* dq);

/// Changes what is due after a control step; returns whether anything that is observed may have changed.
bool change(const EnvironmentTables& tables,
            const EnvironmentArrays& arrays,
            const RecordedWorlds& worlds,
            std::ptrdiff_t world,
            bool lost);

/// Sets actions and the inputs that follow from them; the actions of a row are finite.
void set_action(const EnvironmentTables& tables,
                const EnvironmentArrays& arrays,
                std::ptrdiff_t world,
                const double* requested,
                double* numbers_of_signals);

/// Ends, rewards and truncation of a world that has made a control step. Returns faults.
unsigned end_step(const EnvironmentTables& tables,
                  const EnvironmentArrays& arrays,
                  const Transition& transition,
                  std::ptrdiff_t world,
                  bool lost);

/// Observes a world; `frame` is memory of its numbers. Returns faults.
unsigned observe(const EnvironmentTables& tables,
                 const EnvironmentArrays& arrays,
                 std::ptrdiff_t world,
                 FrameUse use,
                 bool lost,
                 double* frame);

}  // namespace pysim::engine
