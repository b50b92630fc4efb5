// Pieces of a call that advances worlds, of so many steps that the call ends about at the wall time it is
// allowed. Where it ends changes no bit.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "engine/world_operations.hpp"

namespace pysim::engine {

/// How much a call does before it leaves worlds unfinished: steps that each makes, and wall time [s].
struct Allowance {
  std::ptrdiff_t most = std::ptrdiff_t{1} << 62;
  double wall = simd::infinity;
};

/// Steps of a world that take about a quarter of the wall time of a call, found from call to call.
class CallPieces {
 public:
  CallPieces() = default;
  explicit CallPieces(std::ptrdiff_t first) : piece_(first) {}

  /// Calls run(), which advances a batch, until all worlds have stopped, one waits for the caller, or the
  /// allowance is used up.
  template <class Real, class Run>
  void run(WorldBatch<Real>& batch, const Allowance& allowance, const Run& run) {
    const auto begin = Clock::now();
    const bool is_timed = std::isfinite(allowance.wall);
    const std::unique_ptr<bool[]> rests(new bool[static_cast<std::size_t>(batch.states)]);
    auto& call = batch.call;
    call.rests = nullptr;
    for (std::ptrdiff_t left = allowance.most;; left -= call.most) {
      call.most = is_timed ? std::min(left, piece_) : left;
      const auto start = Clock::now();
      run();
      bool goes_on = false, waits = false;
      for (std::ptrdiff_t k = 0; k < batch.states; ++k) {
        const auto why = call.stop[k];
        rests[k] = why != stepping::WorldStop::unfinished;
        goes_on |= !rests[k];
        waits |= why == stepping::WorldStop::waits || why >= stepping::WorldStop::event;
      }
      if (is_timed && call.most == piece_) fit(seconds_since(start), allowance.wall, goes_on);
      if (!goes_on || waits || left <= call.most || seconds_since(begin) >= allowance.wall) return;
      call.rests = rests.get();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  }

  /// Fits the next piece to the time [s] that the last one took.
  void fit(double seconds, double wall, bool is_used_up) {
    const double longest = is_used_up ? 16 : 1;  // a piece that was not used up may be too long
    const double factor = std::clamp(0.25 * wall / std::max(seconds, 1e-9), 0.5, longest);
    const double most = 1e15;  // far from the end of whole numbers
    piece_ = static_cast<std::ptrdiff_t>(std::clamp(factor * static_cast<double>(piece_), 1.0, most));
  }

  std::ptrdiff_t piece_ = 1;
};

}  // namespace pysim::engine
