// Control steps of environments: all worlds, or some, on threads that share them.
#pragma once

#include <vector>

#include "engine/environment_tables.hpp"

namespace pysim::engine {

/// Tables of an environment, what it remembers, and its worlds.
struct EnvironmentWorlds {
  const EnvironmentTables& tables;
  const EnvironmentArrays& arrays;
  const RecordedWorlds& worlds;
};

/// Draws what worlds start with that have begun.
void start_episodes(const EnvironmentWorlds& all, const int* chosen, std::ptrdiff_t count);

/// Ends a control step of all worlds, at readings (worlds, signals), or null to read the signals; lists the
/// worlds that it changes, which are read again without readings. Returns faults.
unsigned end_steps(const EnvironmentWorlds& all,
                   const Transition& transition,
                   const double* readings,
                   int threads,
                   std::vector<int>& changed);

/// Observes some worlds again, or for the first time in an episode; returns faults.
unsigned observe_worlds(const EnvironmentWorlds& all,
                        const int* chosen,
                        std::ptrdiff_t count,
                        const double* readings,
                        bool begins,
                        int threads);

}  // namespace pysim::engine
