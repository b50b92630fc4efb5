// Segments of one step on the grid, in a pack of worlds: instants of sampled blocks within it divide it.
//
// The clocks are those of an advance (world_advance.hpp), beside the records, which stay as they are.
#pragma once

#include "stepping/world_advance.hpp"

namespace pysim::stepping {

/// What is read of signals at the end of a segment: nothing, those of the state there, or those of
/// accelerations, wrenches and contacts, too.
enum class ReadSignals { none, of_state, all };

/// A segment of the steps of some worlds, and the sampled blocks that are due at its end. Worlds that have
/// ended their step, or are between two segments of others, are not among them.
template <class S>
struct StepSegment {
  simd::Mask<S> worlds;
  S time, length, end;  ///< [s]
  std::uint64_t due;    ///< blocks that are due in some world
  std::uint64_t due_by_lane[S::width];
  ReadSignals reads = ReadSignals::none;

  simd::Mask<S> is_due(int block) const {
    bool flag[S::width];
    for (int k = 0; k < S::width; ++k) flag[k] = ((due_by_lane[k] >> block) & 1) != 0;
    return lanes_of<S>(flag);
  }
};

template <class S>
class StepSegments {
 public:
  using Call = WorldCall<typename S::Real>;

  /// Of the worlds of a pack of a call, whose first state is `first`.
  StepSegments(const Call& call, std::ptrdiff_t first, Workspace<S>& w)
      : call_(call), instants_(take<std::int64_t>(w, std::ptrdiff_t{W} * call.blocks.count)) {
    const auto& parts = call.worlds;
    const std::ptrdiff_t blocks = call.blocks.count;
    for (int k = 0; k < W; ++k) {
      const std::ptrdiff_t world = call.world(first + k);
      t_[k] = parts.t[world], begin_[k] = parts.begin[world], step_[k] = parts.step[world];
      n_[k] = parts.made[world], length_[k] = parts.length[world], steps_[k] = parts.steps[world];
      goal_[k] = n_[k] + 1;
      for (std::ptrdiff_t i = 0; i < blocks; ++i) {
        instants_[k * blocks + i] = parts.instants[world * blocks + i];
      }
    }
    call_.index = nullptr;
    call_.goal = goal_;
    auto& worlds = call_.worlds;
    worlds.t = t_, worlds.begin = begin_, worlds.step = step_;
    worlds.made = n_, worlds.length = length_, worlds.steps = steps_, worlds.instants = instants_;
    for (int k = 0; k < W; ++k) clock_[k] = LaneClock<S>(call_, k);
  }

  StepSegments(const StepSegments&) = delete;
  StepSegments& operator=(const StepSegments&) = delete;

  /// The next segment; false where all worlds have ended their step.
  bool next(StepSegment<S>& segment) {
    bool goes[W];
    segment.due = 0;
    for (int k = 0; k < W; ++k) {
      goes[k] = !clock_[k].is_at_end();
      const LaneSegment own = goes[k] ? clock_[k].next() : LaneSegment{t_[k], step_[k], 0, 1, t_[k], 0, {}};
      simd::set_lane(segment.time, k, own.base + static_cast<double>(own.first) * own.step);
      simd::set_lane(segment.length, k, own.step);
      simd::set_lane(segment.end, k, own.end);
      segment.due_by_lane[k] = own.due;
      segment.due |= own.due;
      if (!goes[k]) continue;
      clock_[k].count(own, own.count);
      clock_[k].finish(own);
    }
    segment.worlds = lanes_of<S>(goes);
    return any(segment.worlds);
  }

  /// Number of segments from here to the end of the step.
  int count() {
    StepSegment<S> segment;
    int count = 0;
    while (next(segment)) ++count;
    return count;
  }

 private:
  static constexpr int W = S::width;

  Call call_;
  std::int64_t* const instants_;  ///< (lanes, blocks)
  double t_[W], begin_[W], step_[W];
  std::int64_t n_[W], length_[W], steps_[W], goal_[W];
  LaneClock<S> clock_[W];
};

}  // namespace pysim::stepping
