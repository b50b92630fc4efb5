// Control steps of environments, on threads.
#include "engine/environment_steps.hpp"

#include <algorithm>
#include <atomic>

#include "engine/threads.hpp"

namespace pysim::engine {

namespace {

constexpr std::ptrdiff_t block = 32;  ///< worlds whose signals are read at once

/// Takes the readings of worlds, or reads their signals, and calls f(world, lost, memory of a frame); returns
/// all faults.
template <class F>
unsigned each(const EnvironmentWorlds& all,
              const int* chosen,
              std::ptrdiff_t count,
              const double* readings,
              int threads,
              const F& f) {
  const std::ptrdiff_t size = all.tables.signals;
  const std::int64_t* const status = all.worlds.status();
  std::atomic<unsigned> faults = 0;
  parallel_for(count, block, threads, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
    std::vector<double> rows(static_cast<std::size_t>(chosen == nullptr ? 0 : block * size));
    std::vector<double> frame(static_cast<std::size_t>(all.tables.frame()));
    unsigned local_faults = 0;
    for (std::ptrdiff_t begin = first; begin < last; begin += block) {
      const std::ptrdiff_t n = std::min(block, last - begin);
      double* const recorded = all.arrays.readings + begin * size;
      if (readings != nullptr) {
        if (chosen == nullptr) std::copy_n(readings + begin * size, n * size, recorded);
      } else if (chosen == nullptr) {
        all.worlds.read(nullptr, begin, n, recorded);
      } else {
        all.worlds.read(chosen + begin, 0, n, rows.data());
      }
      const double* const from = readings == nullptr ? rows.data() : readings + begin * size;
      for (std::ptrdiff_t k = 0; k < n; ++k) {
        const std::ptrdiff_t world = chosen == nullptr ? begin + k : chosen[begin + k];
        if (chosen != nullptr) std::copy_n(from + k * size, size, all.arrays.readings + world * size);
        local_faults |= f(world, status[world] != 0, frame.data());
      }
    }
    faults |= local_faults;
  });
  return faults;
}

}  // namespace

void start_episodes(const EnvironmentWorlds& all, const int* chosen, std::ptrdiff_t count) {
  const std::ptrdiff_t nv = all.worlds.nv();
  std::vector<double> dq(static_cast<std::size_t>(count * nv));
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    start(all.tables, all.arrays, all.worlds, chosen[k], dq.data() + k * nv);
  }
  if (!all.tables.displacement.place.empty()) all.worlds.displace(chosen, count, dq.data());
}

unsigned end_steps(const EnvironmentWorlds& all,
                   const Transition& transition,
                   const double* readings,
                   int threads,
                   std::vector<int>& changed) {
  const std::ptrdiff_t worlds = all.worlds.count();
  std::vector<unsigned char> changes(static_cast<std::size_t>(worlds));
  const auto end = [&](std::ptrdiff_t world, bool lost, double* frame) {
    ++all.arrays.steps[world];
    const unsigned faults = end_step(all.tables, all.arrays, transition, world, lost);
    changes[static_cast<std::size_t>(world)] = change(all.tables, all.arrays, all.worlds, world, lost);
    return faults | observe(all.tables, all.arrays, world, FrameUse::follows, lost, frame);
  };
  unsigned faults = each(all, nullptr, worlds, readings, threads, end);
  for (int k = 0; k < worlds; ++k) {
    if (changes[static_cast<std::size_t>(k)] != 0) changed.push_back(k);
  }
  if (readings == nullptr && !changed.empty()) {
    const auto count = static_cast<std::ptrdiff_t>(changed.size());
    faults |= observe_worlds(all, changed.data(), count, nullptr, false, threads);
  }
  return faults;
}

unsigned observe_worlds(const EnvironmentWorlds& all,
                        const int* chosen,
                        std::ptrdiff_t count,
                        const double* readings,
                        bool begins,
                        int threads) {
  const auto use = begins ? FrameUse::begins : FrameUse::replaces;
  return each(all, chosen, count, readings, threads, [&](std::ptrdiff_t world, bool lost, double* frame) {
    return observe(all.tables, all.arrays, world, use, lost, frame);
  });
}

}  // namespace pysim::engine
