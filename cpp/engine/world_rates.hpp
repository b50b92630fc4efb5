// A world as an ordinary differential equation: rates of its state, and gaps of its limits and contacts.
//
//     q̇ = q' of the velocity v      real v, rotation ½ q (0, ω), pose R v and ½ q (0, ω)
//     v̇ = M⁻¹ (τ + passive and contact forces − h), constraints included
//     ẋ of the states of elements
#pragma once

#include <vector>

#include "engine/smooth_law.hpp"
#include "engine/worlds.hpp"

namespace pysim::engine {

/// Calls visit(pair of shapes, numbers of the report) for the points of convex contacts that touch, by
/// ascending number of the point.
template <class Visit>
void each_touching_point(const Worlds<double>& worlds, std::ptrdiff_t world, const Visit& visit) {
  const ModelContacts* const contacts = worlds.model_contacts();
  if (!worlds.is_convex() || contacts == nullptr) return;
  const auto& parts = worlds.parts();
  const auto& n = parts.sizes;
  constexpr int listed = stepping::TouchingPoint::numbers, reported = contact::ContactReport::numbers;
  int shapes = -1, end = 0;
  for (std::ptrdiff_t k = 0; k < parts.touching[world]; ++k) {
    const std::ptrdiff_t row = world * n.points + k;
    const auto point = static_cast<int>(parts.contacts[row * listed + stepping::TouchingPoint::number]);
    while (point >= end) end += contacts->points_of_pair(++shapes);
    visit(shapes, parts.report + row * reported);
  }
}

class WorldRates {
 public:
  explicit WorldRates(const Worlds<double>& worlds);

  /// Computes v̇ and the rates of elements' states, under the forces of the last step's contacts if it was
  /// convex.
  void compute(std::ptrdiff_t world);
  const std::vector<double>& accelerations() const { return a_; }
  const std::vector<double>& state_rates() const { return rates_; }

  /// q̇ (nq), whose quaternions are unit.
  void coordinate_rates(std::ptrdiff_t world, double* rates) const;

  /// Gaps (gap_count) that change their sign where a law does: of limits with a spring, then of the pairs of
  /// shapes of smooth contacts, each that of its nearest point.
  void gaps(std::ptrdiff_t world, double* gaps);
  std::size_t gap_count() const { return limits_.size() + pairs_; }

 private:
  struct Limit {
    int q;
    double bound, sign;
  };

  void add_contacts(std::ptrdiff_t world, const double* poses);
  void compute_poses(std::ptrdiff_t world);

  const Worlds<double>& worlds_;
  SmoothLaw law_;
  std::vector<Limit> limits_;
  std::size_t pairs_ = 0;
  std::vector<double> tau_, a_, rates_, lambda_, loop_q_, poses_, wrenches_;
};

}  // namespace pysim::engine
