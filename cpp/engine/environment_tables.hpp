// Tables of an environment: actions, ends, rewards and observations of worlds.
//
//     input         offset + scale · min(max(a, lowest), highest)
//     end           whether some x < below or some x > above
//     term          weight · f,   f = x, Σ |x|, Σ x², exp(−Σ x² / width), or whether an end holds
//     observation   min(max((x + noise) · factor, −limit), limit)
//
// x are numbers of a world: its signals, its last action, and the change of that. Noise is uniform within
// ± deviation, 16 bits of Philox each, a function of the episode's key and the control step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pysim::engine {

/// Numbers of a world that follow one another.
struct NumberRange {
  int first, count;
};

enum class RewardKernel : int { value, absolute_sum, square_sum, exponential, end };

struct EndTable {
  NumberRange x;
  double below, above;  ///< infinite for none
};

struct RewardTable {
  NumberRange x;  ///< of a kernel `end`, the number of the end
  RewardKernel kernel;
  double weight, width;
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
  int history;          ///< frames of an observation, the oldest first
  std::int64_t length;  ///< control steps of an episode

  std::ptrdiff_t frame() const { return static_cast<std::ptrdiff_t>(factor.size()); }
};

/// What environments remember of their worlds, in arrays with one row a world.
struct EnvironmentArrays {
  std::int64_t* steps;  ///< made in the episode
  double* key;          ///< of the episode's random numbers
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

/// Sets actions and the inputs that follow from them; the actions of a row are finite.
void set_action(const EnvironmentTables& tables,
                const EnvironmentArrays& arrays,
                std::ptrdiff_t world,
                const double* given,
                double* numbers_of_signals);

/// Ends, rewards and truncation of a world that has made a control step. Returns faults.
unsigned end_step(const EnvironmentTables& tables,
                  const EnvironmentArrays& arrays,
                  const Transition& transition,
                  std::ptrdiff_t world,
                  bool lost);

/// Observes a world. Returns faults.
unsigned observe(const EnvironmentTables& tables,
                 const EnvironmentArrays& arrays,
                 std::ptrdiff_t world,
                 FrameUse use,
                 bool lost);

}  // namespace pysim::engine
