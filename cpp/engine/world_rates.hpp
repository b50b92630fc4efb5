// A world as an ordinary differential equation: rates of its state, and gaps of its limits and contacts.
//
//     q̇ = q' of the velocity v      real v, rotation ½ q (0, ω), pose R v and ½ q (0, ω)
//     v̇ = M⁻¹ (τ + passive and contact forces − h), constraints included
//     ẋ of the states of elements
#pragma once

#include <vector>

#include "engine/contact_dispatch.hpp"
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

/// Slopes of q̇ (nq) along a direction of q and v.
void coordinate_rate_slopes(const tree::Model& model,
                            const double* q,
                            const double* v,
                            const double* dq,
                            const double* dv,
                            double* slopes);

class WorldRates {
 public:
  explicit WorldRates(const Worlds<double>& worlds);

  /// Computes v̇ and the rates of elements' states, under the forces of the last step's contacts if it was
  /// convex.
  void compute(std::ptrdiff_t world);
  const std::vector<double>& accelerations() const { return a_; }
  const std::vector<double>& state_rates() const { return rates_; }

  /// Wrenches (bodies, 6) of loops and of convex contacts on bodies, in their frames, at the acceleration
  /// that was computed last.
  const double* wrenches(std::ptrdiff_t world);

  /// Poses (bodies, 4, 4) of the bodies in the world.
  const double* poses(std::ptrdiff_t world);

  /// Calls visit(pair of shapes, numbers of the report) for the points that touch: in the last step of convex
  /// contacts, at the state of smooth ones.
  template <class Visit>
  void each_point(std::ptrdiff_t world, const Visit& visit) {
    if (law_.forces() == nullptr) return each_touching_point(worlds_, world, visit);
    report_points(world);
    const ModelContacts& contacts = *worlds_.model_contacts();
    const double* report = report_.data();
    for (int k = 0; k < contacts.pairs(); ++k) {
      for (int i = 0; i < contacts.points_of_pair(k); ++i) {
        if (report[0] != 0 || report[1] != 0 || report[2] != 0) visit(k, report);
        report += contact::ContactReport::numbers;
      }
    }
  }

  const SmoothLaw& law() const { return law_; }

  /// q̇ (nq), whose quaternions are unit.
  void coordinate_rates(std::ptrdiff_t world, double* rates) const;

  /// Gaps (gap_count) that change their sign where a law does: of limits with a spring, then of the pairs of
  /// shapes of smooth contacts, each that of its nearest point.
  void gaps(std::ptrdiff_t world, double* gaps);
  std::size_t gap_count() const { return limits_.size() + pairs_; }

  /// Slopes of the gaps of limits along a direction of q; those of contacts follow, and are left as they are.
  void limit_slopes(const double* dq, double* slopes) const;

 private:
  struct Limit {
    int q;
    double bound, sign;
  };

  void report_points(std::ptrdiff_t world);
  void add_loops(std::ptrdiff_t world);

  const Worlds<double>& worlds_;
  SmoothLaw law_;
  std::vector<Limit> limits_;
  std::size_t pairs_ = 0;
  std::vector<double> tau_, a_, rates_, lambda_, loop_q_, poses_, wrenches_, report_;
  bool has_wrenches_ = false;  ///< of contacts, at the last acceleration
};

}  // namespace pysim::engine
