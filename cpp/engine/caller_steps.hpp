// Steps of the caller in the loop of all worlds, one world after the other.
#pragma once

#include "engine/worlds.hpp"

namespace pysim::engine {

/// Tag of worlds that are stepped one at a time.
struct Alone;
using One = simd::Pack<double, 1, Alone>;

/// Scheme whose steps are those of the caller.
class CallerSteps {
 public:
  static constexpr bool adapts = false, takes_spans = false;

  CallerSteps(const CallerStep& step, std::ptrdiff_t world) : step_(step), world_(world) {}

  simd::Mask<One> make(simd::Mask<One> wanted, One time, One h) const {
    const bool good = step_.make(world_, simd::lane(time, 0), simd::lane(h, 0));
    return good ? wanted : simd::nowhere<One>();
  }

  simd::Mask<One> unsolved() const { return simd::nowhere<One>(); }
  void mark_jumps(simd::Mask<One>) const {}  // they carry no accelerations of the engine

 private:
  const CallerStep& step_;
  std::ptrdiff_t world_;
};

/// Advances the worlds of a call by steps of the caller, who runs their sampled blocks, too.
inline void run_caller_steps(const CallerStep& step,
                             const stepping::WorldCall<double>& call,
                             const stepping::WorldArrays<double>& parts,
                             std::ptrdiff_t states) {
  const auto& n = parts.sizes;
  for (std::ptrdiff_t k = 0; k < states; ++k) {
    const std::ptrdiff_t world = call.world(k);
    WorldLanes<One> lanes = {};
    const auto row = [world](double* part, int count) {
      return reinterpret_cast<One*>(part + world * count);  // one lane lies as its number
    };
    lanes.q = row(parts.q, n.q);
    lanes.v = row(parts.v, n.v);
    lanes.loop_q = row(parts.loop_q, n.loop_q);
    if (call.worlds.signals != nullptr) lanes.signals.numbers = row(parts.signals, n.signals);
    CallerSteps steps(step, world);
    stepping::PackAdvance<One, CallerSteps> advance(call, k, steps);
    const auto no_blocks = [](One, std::uint64_t, const auto&) {};
    advance.run(no_blocks, WorldInputs<One>{call, k, lanes}, StateRows<One>{call, k, lanes});
  }
}

}  // namespace pysim::engine
