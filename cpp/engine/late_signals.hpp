// Signals that read accelerations, wrenches and contacts, which exist at the end of a step.
#pragma once

#include <vector>

#include "engine/scene_file.hpp"
#include "engine/world_rates.hpp"

namespace pysim::engine {

/// Signals of the worlds of a scene that was read.
class LateSignals {
 public:
  LateSignals(const FiledScene& scene, Worlds<double>& worlds, WorldRates& rates)
      : file_(scene.file()), worlds_(worlds), rates_(rates) {}

  /// Readings of all signals at the state of a world.
  void readings(int world, double* row) const;

  /// Forces on the second link of every pair of links (pairs, 3) [N], in world axes: in the last convex step,
  /// or at the state.
  void forces(int world, double* rows) const;

 private:
  void set_contacts(int world, double* numbers) const;
  Batch<double> state(int world) const;

  const SceneFile& file_;
  Worlds<double>& worlds_;
  WorldRates& rates_;
};

}  // namespace pysim::engine
