// Advance of worlds: the one loop in which worlds go from an instant to a later one, a pack at a time.
//
//     advance(worlds, until) → rows, ends
//
// In every world it makes steps to the next boundary: the next row of the call, the next instant k · period
// of a sampled block, or the last step of the call. There it runs the blocks that are due, writes the row,
// and goes on. Each lane has a clock of its own; what is due is a mask by lane. A world whose step fails
// keeps its last good state, and its rows are NaN from there on.
//
// Where Python has to answer a block that is due, a world stops with the block's bit in `pending`. Steps of
// adapted size pass rows, which are interpolated; a world stops at its event within such a step. Events of
// steps of fixed size are found around this loop (engine/watched_steps.hpp).
//
// The file is long, since the clock of a lane, its rows and its blocks are parts of the one loop.
#pragma once

#include "simd/whole_number.hpp"
#include "stepping/run_description.hpp"
#include "stepping/sampled_signals.hpp"
#include "stepping/solver_state.hpp"
#include "stepping/world_record.hpp"

namespace pysim::stepping {

/// Why the call left a world.
enum class WorldStop : std::int64_t {
  reached,     ///< the last row or step
  unfinished,  ///< the call's steps are used up
  waits,       ///< Python has to run the blocks of `pending`
  lost,        ///< see its status
  event        ///< and later ones: at event k of the scene, event + k
};

constexpr std::int64_t most_steps = std::int64_t{1} << 62;  ///< of an interval, and of a block's instants

/// Sampled blocks of a scene with a period.
struct SampledPeriods {
  int count;
  const double* period;  ///< [count] [s]
  int first_bit;         ///< of the first of them among the due blocks
  std::uint64_t python;  ///< bits that Python runs
  double near;           ///< [s]: a time this close to an instant is at the instant
};

/// Arguments of a call. Rows are at times, or on the grid: the last one at the goal, others `every` steps
/// apart.
template <class Real>
struct WorldCall {
  WorldArrays<Real> worlds;
  const int* index;  ///< [states] number of each state's world; null for 0, 1, …
  SampledPeriods blocks;
  double longest;                    ///< step within an interval [s]
  const AdaptiveSettings* adaptive;  ///< of steps of adapted size; null for steps of fixed size
  const double* times;               ///< (rows) of outputs [s], ascending; null to step on the grid
  std::ptrdiff_t rows;
  std::int64_t every;  ///< steps on the grid from row to row
  std::ptrdiff_t
      known;  ///< times, which may be more than the rows: an instant is at an output if they are close
  std::ptrdiff_t most;       ///< steps that a world makes at most in this call
  const std::int64_t* goal;  ///< [states] steps on the grid at the end of the call
  std::int64_t* row;         ///< [states] rows written, in and out
  WorldStop* stop;           ///< [states]
  Real *q_rows, *v_rows;     ///< (states, rows, nq), (states, rows, nv); null for none; NaN where it is lost
  double* loop_rows;         ///< (states, rows, loop_nq); null for none
  double* signal_rows;       ///< (states, rows, signals); null for none
  const double* inputs;      ///< (states, input_rows, input_count), held up to each row; null to hold all
  std::ptrdiff_t input_rows;
  int input_count;
  const int* input_place;  ///< [input_count] among the numbers of the signals
  const Real* controls;    ///< (states, control_steps, nv) forces of the steps on the grid; null for none
  std::ptrdiff_t control_steps;
  const bool* rests;  ///< [states] worlds that stay as they are; null for none
  bool by_steps;      ///< schemes that choose their steps make one of the interval, too

  PYSIM_INLINE std::ptrdiff_t world(std::ptrdiff_t state) const {
    return index == nullptr ? state : index[state];
  }
};

/// Steps of one lane to its next boundary: at `base` + (first + n) `step`, n = 0 … count − 1.
struct LaneSegment {
  enum class Kind { interval, grid, part, last_part, adaptive };

  double base, step;  ///< of adapted steps: the time that none passes
  std::int64_t first, count;
  double end;         ///< [s], exact; that of steps of adapted size is infinite where no instant follows
  std::uint64_t due;  ///< blocks at the end
  Kind kind;          ///< an interval of a row; steps of the grid; parts of one, the last ends at the grid;
                      ///< steps of adapted size, which pass rows
};

/// Clock of one world during a call. A template, so that no instruction sets share its functions.
template <class S>
class LaneClock {
 public:
  using Call = WorldCall<typename S::Real>;

  LaneClock() = default;

  LaneClock(const Call& call, std::ptrdiff_t state) : call_(&call), state_(state), world_(call.world(state)) {
    const auto& w = call.worlds;
    now = w.t[world_];
    if (call.times == nullptr && w.length[world_] >= 0) begin_grid();  // rows ended at times of their own
  }

  double now = 0;  ///< [s]

  /// Whether a row is due now that was not written.
  bool has_row() const {
    if (call_->rows == 0 || row() >= call_->rows) return false;
    if (call_->times != nullptr) return !(now < target());
    return steps_to_row() <= 0 && !is_within_grid();
  }

  /// Steps on the grid to the next row; 0 or less if it is due.
  std::int64_t steps_to_row() const {
    const std::int64_t later = (call_->rows - 1 - row()) * call_->every;
    return call_->goal[state_] - later - call_->worlds.made[world_];
  }

  /// The row that is written next.
  std::int64_t row() const { return call_->row[state_]; }

  bool is_at_end() const {
    if (call_->times != nullptr) return call_->row[state_] >= call_->rows;
    return call_->worlds.made[world_] >= call_->goal[state_] && !is_within_grid();
  }

  /// The steps to the next boundary. An interval that an earlier call left unfinished goes on.
  LaneSegment next() const {
    if (call_->adaptive != nullptr) return next_to_instant();
    return call_->times == nullptr ? next_on_grid() : next_to_row();
  }

  /// Time of the next row, or of the end of the call on the grid.
  double next_output() const { return call_->times == nullptr ? grid(call_->goal[state_]) : target(); }

  /// Passes an output of steps of adapted size at its time, or another state.
  void pass(double time) {
    now = call_->worlds.t[world_] = time;
    if (call_->times == nullptr && !(now < next_output())) call_->worlds.made[world_] = call_->goal[state_];
  }

  /// Counts steps that were made; at the end of the segment the clock is at its end.
  void count(const LaneSegment& segment, std::int64_t n) const {
    const auto& w = call_->worlds;
    w.steps[world_] += n;
    if (segment.kind == LaneSegment::Kind::grid) w.made[world_] += n;
  }

  void finish(const LaneSegment& segment) {
    const auto& w = call_->worlds;
    now = w.t[world_] = segment.end;
    for (int k = 0; k < call_->blocks.count; ++k) {
      if (((segment.due >> (call_->blocks.first_bit + k)) & 1) != 0) ++instant(k);
    }
    if (segment.kind == LaneSegment::Kind::interval) {
      w.begin[world_] = now;
      w.made[world_] = w.length[world_] = 0;
    } else if (segment.kind == LaneSegment::Kind::last_part) {
      ++w.made[world_];
    } else if (segment.kind == LaneSegment::Kind::adaptive) {
      pass(now);
    }
  }

  /// Leaves a segment after `n` of its steps.
  void leave(const LaneSegment& segment, std::int64_t n) const {
    const auto& w = call_->worlds;
    if (n > 0) {
      w.t[world_] = segment.base + static_cast<double>(segment.first + n) * segment.step;
    }
    if (segment.kind != LaneSegment::Kind::interval) return;
    w.begin[world_] = segment.base;
    w.step[world_] = segment.step;
    w.length[world_] = segment.first + segment.count;
    w.made[world_] = segment.first + n;
  }

 private:
  std::int64_t& instant(int k) const { return call_->worlds.instants[world_ * call_->blocks.count + k]; }

  double instant_time(int k) const { return static_cast<double>(instant(k)) * call_->blocks.period[k]; }

  double target() const { return call_->times[call_->row[state_]]; }

  double first_instant() const {
    double first = simd::infinity;
    for (int k = 0; k < call_->blocks.count; ++k) {
      const double t = instant_time(k);
      if (t < first) first = t;
    }
    return first;
  }

  /// Blocks whose instant is `first`.
  std::uint64_t due_at(double first) const {
    std::uint64_t due = 0;
    for (int k = 0; k < call_->blocks.count; ++k) {
      if (instant_time(k) <= first + call_->blocks.near)
        due |= std::uint64_t{1} << (call_->blocks.first_bit + k);
    }
    return due;
  }

  void begin_grid() const {
    const auto& w = call_->worlds;
    w.begin[world_] = now;
    w.step[world_] = call_->longest;
    w.made[world_] = 0;
    w.length[world_] = -1;
  }

  double grid(std::int64_t n) const {
    const auto& w = call_->worlds;
    return w.begin[world_] + static_cast<double>(n) * w.step[world_];
  }

  /// Whether an instant has divided the step of the grid, and a part is left.
  bool is_within_grid() const { return now > grid(call_->worlds.made[world_]); }

  LaneSegment next_to_row() const {
    const auto& w = call_->worlds;
    const double first = first_instant(), row = target();
    std::uint64_t due = 0;
    double end = row;
    if (first <= row + call_->blocks.near) {
      due = due_at(first);
      if (first < row - call_->blocks.near) end = first;
    }
    const auto interval = LaneSegment::Kind::interval;
    if (w.length[world_] > 0) {
      const double ends = grid(w.length[world_]);
      if (simd::magnitude_of(ends - end) <= 1e-9 * w.step[world_]) {
        const std::int64_t n = w.made[world_];
        return {w.begin[world_], w.step[world_], n, w.length[world_] - n, end, due, interval};
      }
    }
    const double span = end - now, count = simd::ceiling_of(span / call_->longest - 1e-9);
    const double steps = count > 1 ? count : 1;
    return {now, span / steps, 0, simd::whole_within(steps, std::int64_t{1}, most_steps), end, due, interval};
  }

  LaneSegment next_on_grid() const {
    const auto& w = call_->worlds;
    const std::int64_t n = w.made[world_], left = call_->goal[state_] - n;
    const double h = w.step[world_], next = grid(n + 1), first = first_instant();
    const double near = call_->blocks.near;
    if (is_within_grid() || first < next - near) {
      const bool reaches = !(first < next - near);
      const double end = reaches ? next : first;
      const std::uint64_t due = first <= end + near ? due_at(first) : 0;
      return {
          now, end - now, 0, 1, end, due, reaches ? LaneSegment::Kind::last_part : LaneSegment::Kind::part};
    }
    std::int64_t count = left > 1 ? left : 1;
    if (call_->inputs != nullptr) {  // which change at the next row
      const std::int64_t to_row = steps_to_row();
      if (to_row > 0 && to_row < count) count = to_row;
    }
    if (first < grid(n + count) - near) {
      count = static_cast<std::int64_t>(simd::floor_of((first - w.begin[world_]) / h + 1e-9)) - n;
      while (count > 1 && grid(n + count) > first + near) --count;
    }
    const double end = grid(n + count);
    return {
        w.begin[world_], h, n, count, end, first <= end + near ? due_at(first) : 0, LaneSegment::Kind::grid};
  }

  /// Steps of adapted size to the next instant; an output this close to it is at it.
  LaneSegment next_to_instant() const {
    const double first = first_instant(), near = call_->blocks.near;
    const auto meets = [&](double output) { return output >= first - near && output <= first + near; };
    LaneSegment segment = {first, 0, 0, 1, first, 0, LaneSegment::Kind::adaptive};
    if (call_->times == nullptr) {  // the step does not know how long the call is
      if (meets(next_output())) segment.end = next_output();
    } else if (call_->inputs != nullptr && target() < first - near) {  // other inputs from the row on
      segment.base = segment.end = target();
      return segment;
    } else {
      std::ptrdiff_t k = row();
      while (k < call_->known && call_->times[k] < first - near) ++k;
      if (k < call_->known && meets(call_->times[k])) segment.base = segment.end = call_->times[k];
    }
    if (first < simd::infinity) segment.due = due_at(first);
    return segment;
  }

  const Call* call_ = nullptr;
  std::ptrdiff_t state_ = 0, world_ = 0;
};

/// The lanes whose flag is set.
template <class S>
simd::Mask<S> lanes_of(const bool (&flag)[S::width]) {
  S numbers = all<S>(0);
  for (int k = 0; k < S::width; ++k) simd::set_lane(numbers, k, flag[k] ? 1 : 0);
  return numbers > all<S>(0);
}

/// Times of the steps in the lanes, base + n · step, computed in double precision.
template <class S>
class StepTimes {
 public:
  void set(int k, double base, double step, double n) {
    base_[k] = base;
    step_[k] = step;
    n_[k] = n;
  }

  /// Whether the times are the same in all lanes.
  bool are_alike() const {
    bool alike = true;
    for (int k = 1; k < S::width; ++k) {
      alike = alike && base_[k] == base_[0] && step_[k] == step_[0] && n_[k] == n_[0];
    }
    return alike;
  }

  /// The times `later` steps after those that were set.
  S at(std::int64_t later, bool alike) const {
    const double n = static_cast<double>(later);
    if (alike) return all<S>(static_cast<typename S::Real>(base_[0] + (n_[0] + n) * step_[0]));
    typename S::Real time[S::width];
    for (int k = 0; k < S::width; ++k) {
      time[k] = static_cast<typename S::Real>(base_[k] + (n_[k] + n) * step_[k]);
    }
    return simd::load<S>(time);
  }

  /// Lets `count` steps pass.
  void pass(std::int64_t count) {
    for (double& n : n_) n += static_cast<double>(count);
  }

  S step() const {
    typename S::Real step[S::width];
    for (int k = 0; k < S::width; ++k) step[k] = static_cast<typename S::Real>(step_[k]);
    return simd::load<S>(step);
  }

 private:
  double base_[S::width] = {}, step_[S::width] = {}, n_[S::width] = {};
};

/// Advances the worlds of one pack, each along its own clock.
template <class S, class Steps>
class PackAdvance {
 public:
  using Real = typename S::Real;

  PackAdvance(const WorldCall<Real>& call, std::ptrdiff_t first, Steps& steps)
      : call_(call), first_(first), steps_(steps) {}

  /// `update(time, bits, is_due)` runs the sampled blocks of `bits`, block k in the worlds is_due(k);
  /// `set(lane, row)` sets the inputs that are held up to a row, set.forces(numbers) those of steps on the
  /// grid, and returns where they jump; `row(lane, index)` writes one, row.all(index) one of all lanes, and
  /// row.lose(lane) the rows of a lost world.
  template <class Update, class Inputs, class Row>
  void run(const Update& update, const Inputs& set, const Row& row) {
    for (int k = 0; k < W; ++k) begin(k, row);
    for (;;) {
      const auto wanted = lanes_of<S>(goes_);
      if (none(wanted)) return;
      std::uint64_t due[W] = {};
      bool ends[W] = {};
      if constexpr (Steps::adapts) {
        try_steps(wanted, row);
        for (int k = 0; k < W; ++k) {
          if (goes_[k]) ends[k] = end_attempt(k, due[k], set, row);
        }
      } else {
        std::int64_t n = 0;
        const auto good = make(wanted, n, set, row);
        for (int k = 0; k < W; ++k) {
          if (!goes_[k]) continue;
          ends[k] = end_steps(k, lane(good, k) ? n : n - 1, lane(good, k), due[k], set, row);
        }
      }
      run_blocks(due, update);
      for (int k = 0; k < W; ++k) {
        if (ends[k]) plan(k, row);
      }
    }
  }

 private:
  static constexpr int W = S::width;

  std::int64_t& status(int k) { return call_.worlds.status[call_.world(first_ + k)]; }

  void stop(int k, WorldStop why) {
    call_.stop[first_ + k] = why;
    goes_[k] = false;
  }

  template <class Row>
  void begin(int k, const Row& row) {
    times_.set(k, call_.worlds.t[call_.world(first_ + k)], call_.longest, 0);
    if (call_.rests != nullptr && call_.rests[first_ + k]) return;
    clock_[k] = LaneClock<S>(call_, first_ + k);
    left_[k] = call_.most;
    if (status(k) == 0) {
      plan(k, row);
    } else {
      lose(k, row);
    }
  }

  template <class Row>
  void lose(int k, const Row& row) {
    row.lose(k);
    stop(k, WorldStop::lost);
  }

  template <class Row>
  void write_due(int k, const Row& row) {
    while (clock_[k].has_row()) row(k, call_.row[first_ + k]++);
  }

  /// Writes the rows that are due, and plans the steps to the next boundary.
  template <class Row>
  void plan(int k, const Row& row) {
    if (shows_state(k)) write_due(k, row);
    if (clock_[k].is_at_end()) return stop(k, WorldStop::reached);
    if (left_[k] <= 0) return stop(k, WorldStop::unfinished);
    goes_[k] = true;
    segment_[k] = clock_[k].next();
    n_[k] = 0;
    times_.set(k, segment_[k].base, segment_[k].step, static_cast<double>(segment_[k].first));
  }

  /// Whether a row that is due now is the world's state; steps of adapted size that go on give it later.
  bool shows_state(int k) const {
    if constexpr (Steps::adapts) return steps_.is_fresh(k);
    return true;
  }

  /// Steps of the wanted worlds to the first boundary, without a look at single lanes, as long as all are
  /// good; `n` counts them. Rows on the grid that are due in all of them are no boundaries. Schemes that
  /// choose their steps make all of a segment.
  template <class Inputs, class Row>
  simd::Mask<S> make(simd::Mask<S> wanted, std::int64_t& n, const Inputs& set, const Row& row) {
    const S h = times_.step();
    if constexpr (Steps::takes_spans) {
      S count = all<S>(0);
      for (int k = 0; k < W; ++k) simd::set_lane(count, k, static_cast<Real>(span_count(k)));
      n = 1;
      return steps_.make(wanted, times_.at(0, false), h, count);
    } else {
      std::int64_t until = steps_to_row();
      const std::int64_t most = until == 0 ? 1 : steps_to_boundary();
      const bool alike = times_.are_alike(), all_go = all(wanted);
      std::int64_t written = 0;
      auto good = wanted;
      bool none_failed;
      do {
        if (call_.controls != nullptr) set_forces(n, set);
        good = steps_.make(wanted, times_.at(n, alike), h);
        ++n;
        none_failed = none(wanted & !good);
        if (n != until || !none_failed) continue;
        write_all(all_go, written++, row);
        until += call_.every;
      } while (n < most && none_failed);
      for (int k = 0; k < W && written > 0; ++k) {
        if (goes_[k]) call_.row[first_ + k] += written;
      }
      times_.pass(n);
      return good;
    }
  }

  /// Steps of an interval: those of the grid, or one if the scheme chooses its own.
  std::int64_t span_count(int k) const { return call_.by_steps ? 1 : segment_[k].count; }

  /// Steps to the first boundary of a world, or to the end of the call's steps.
  std::int64_t steps_to_boundary() const {
    std::int64_t least = call_.most;
    for (int k = 0; k < W; ++k) {
      if (!goes_[k]) continue;
      const std::int64_t here = segment_[k].count - n_[k];
      const std::int64_t most = here < left_[k] ? here : left_[k];
      if (most < least) least = most;
    }
    return least;
  }

  /// Steps to the next row on the grid, if that is the same row of all worlds that go; 0 if it is not, or
  /// negative if there is none, or if inputs change at it, which end segments.
  std::int64_t steps_to_row() const {
    if (call_.every == 0 || call_.inputs != nullptr) return -1;
    std::int64_t steps = -1, index = -1;
    for (int k = 0; k < W; ++k) {
      if (!goes_[k]) continue;
      if (segment_[k].kind != LaneSegment::Kind::grid) return 0;
      if (index >= 0 && (clock_[k].row() != index || clock_[k].steps_to_row() != steps)) return 0;
      index = clock_[k].row();
      steps = clock_[k].steps_to_row();
    }
    return index < call_.rows ? steps : -1;
  }

  /// Writes a row, `later` rows after the next one, of all worlds that go.
  template <class Row>
  void write_all(bool all_go, std::int64_t later, const Row& row) {
    if (all_go) return row.all(clock_[0].row() + later);
    for (int k = 0; k < W; ++k) {
      if (goes_[k]) row(k, clock_[k].row() + later);
    }
  }

  /// Sets the forces of the next step.
  template <class Inputs>
  void set_forces(std::int64_t n, const Inputs& set) {
    std::int64_t number[W];
    for (int k = 0; k < W; ++k) number[k] = goes_[k] ? segment_[k].first + n_[k] + n : 0;
    steps_.mark_jumps(set.forces(number));
  }

  /// Counts good steps, after which a world may have failed; true at a boundary, with the blocks to run.
  template <class Inputs, class Row>
  bool end_steps(int k, std::int64_t n, bool good, std::uint64_t& due, const Inputs& set, const Row& row) {
    if constexpr (Steps::takes_spans) n *= span_count(k);
    n_[k] += n;
    left_[k] -= n;
    clock_[k].count(segment_[k], n);
    if (!good) {
      clock_[k].leave(segment_[k], n_[k]);
      const auto why = lane(steps_.unsolved(), k) ? WorldStatus::unsolved : WorldStatus::diverged;
      status(k) = static_cast<std::int64_t>(why);
      lose(k, row);
      return false;
    }
    if (n_[k] < segment_[k].count) {
      write_due(k, row);
      if (left_[k] > 0) return false;
      clock_[k].leave(segment_[k], n_[k]);
      stop(k, WorldStop::unfinished);
      return false;
    }
    return pass_boundary(k, due, set);
  }

  /// Tries steps of adapted size, and writes the rows in those that are taken.
  template <class Row>
  void try_steps(simd::Mask<S> wanted, const Row& row) {
    S now = all<S>(0), limit = all<S>(0);
    for (int k = 0; k < W; ++k) {
      simd::set_lane(now, k, clock_[k].now);
      simd::set_lane(limit, k, segment_[k].base);
      at_end_[k] = false;
    }
    const auto next = [&](int k) {
      const double output = clock_[k].next_output();
      return output < segment_[k].end ? output : segment_[k].base;
    };
    const auto reach = [&](int k, double time) {
      at_end_[k] = !(clock_[k].next_output() < segment_[k].end);
      if (at_end_[k]) return true;
      clock_[k].pass(time);
      if (call_.times != nullptr) row(k, call_.row[first_ + k]++);
      return clock_[k].is_at_end();
    };
    steps_.attempt(wanted, now, limit, next, reach);
  }

  /// Counts an attempt; true at a boundary, with the blocks to run there.
  template <class Inputs, class Row>
  bool end_attempt(int k, std::uint64_t& due, const Inputs& set, const Row& row) {
    const StepOutcome outcome = steps_.outcome(k);
    const bool advances = outcome == StepOutcome::accepted || at_end_[k];
    clock_[k].count(segment_[k], advances ? 1 : 0);
    --left_[k];
    if (at_end_[k]) {
      bool anew[W] = {};
      anew[k] = true;
      steps_.mark_jumps(lanes_of<S>(anew));
      return pass_boundary(k, due, set);
    }
    if (outcome == StepOutcome::passed) return true;
    if (outcome == StepOutcome::event) {
      clock_[k].pass(steps_.seen(k));
      stop(k, WorldStop::event);
    } else if (outcome == StepOutcome::underflow || outcome == StepOutcome::blurred) {
      clock_[k].pass(steps_.start(k));
      const auto why = outcome == StepOutcome::underflow ? WorldStatus::underflow : WorldStatus::blurred;
      status(k) = static_cast<std::int64_t>(why);
      lose(k, row);
    } else if (left_[k] <= 0) {
      if (steps_.start(k) > clock_[k].now) {
        steps_.show_start(k);
        clock_[k].pass(steps_.start(k));
      }
      stop(k, WorldStop::unfinished);
    }
    return false;
  }

  /// Passes the end of a segment; true where the world goes on at once, with the blocks to run there.
  template <class Inputs>
  bool pass_boundary(int k, std::uint64_t& due, const Inputs& set) {
    clock_[k].finish(segment_[k]);
    if (call_.inputs != nullptr && clock_[k].has_row() && clock_[k].row() + 1 < call_.input_rows) {
      set(k, clock_[k].row() + 1);
      bool jumps[W] = {};
      jumps[k] = true;
      steps_.mark_jumps(lanes_of<S>(jumps));
    }
    due = segment_[k].due;
    if ((due & call_.blocks.python) == 0) return true;
    call_.worlds.pending[call_.world(first_ + k)] = static_cast<std::int64_t>(due);
    due = 0;
    stop(k, WorldStop::waits);
    return false;
  }

  template <class Update>
  void run_blocks(const std::uint64_t (&due)[W], const Update& update) {
    std::uint64_t bits = 0;
    S time = all<S>(0);
    for (int k = 0; k < W; ++k) {
      bits |= due[k];
      simd::set_lane(time, k, static_cast<Real>(clock_[k].now));
    }
    if (bits == 0) return;
    update(time, bits, [&](int block) {
      bool is_due[W];
      for (int k = 0; k < W; ++k) is_due[k] = ((due[k] >> block) & 1) != 0;
      return lanes_of<S>(is_due);
    });
    bool jumps[W];
    for (int k = 0; k < W; ++k) jumps[k] = due[k] != 0;
    steps_.mark_jumps(lanes_of<S>(jumps));
  }

  const WorldCall<Real>& call_;
  const std::ptrdiff_t first_;
  Steps& steps_;
  StepTimes<S> times_;
  LaneClock<S> clock_[W];
  LaneSegment segment_[W];
  std::int64_t n_[W], left_[W];
  bool goes_[W] = {};
  bool at_end_[W] = {};  ///< a step of adapted size has ended with its segment
};

}  // namespace pysim::stepping
