// Slopes of a world's rates and outputs along one direction of its state, inputs and time.
//
//     q̈ = ∂q̇/∂z ż,  …        z = (q, v, numbers of signals, t) along a direction ż
//
// A quaternion of q moves along a direction on the sphere: perpendicular to itself.
#pragma once

#include <vector>

#include "engine/smooth_law.hpp"
#include "engine/worlds.hpp"

namespace pysim::engine {

/// A direction, and the slopes along it of a world without constraints and convex contacts.
class WorldSlopes {
 public:
  explicit WorldSlopes(const Worlds<double>& worlds);

  std::vector<double> q, v, signals;  ///< the direction: (nq), (nv), (numbers of signals)
  double t = 0;

  void clear();
  void compute(std::ptrdiff_t world);

  /// Slopes of q̇ (nq), v̇ (nv), ẋ of the states of elements, readings of signals but for those of contact
  /// sensors, poses (bodies, 4, 4), and forces (pairs of shapes, 3) on the second shape.
  const std::vector<double>& coordinate_rates() const { return coordinate_rates_; }
  const std::vector<double>& accelerations() const { return a_; }
  const std::vector<double>& state_rates() const { return rates_; }
  const std::vector<double>& readings() const { return readings_; }
  const std::vector<double>& poses() const { return poses_; }
  const std::vector<double>& forces() const { return forces_; }

 private:
  const Worlds<double>& worlds_;
  SmoothLaw law_;
  std::vector<double> coordinate_rates_, a_, rates_, readings_, poses_, forces_;
};

}  // namespace pysim::engine
