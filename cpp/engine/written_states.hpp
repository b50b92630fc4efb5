// States of worlds that their owner has written between two calls, seen by comparing them with those that the
// last call left.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "stepping/world_record.hpp"
#include "tree/model.hpp"

namespace pysim::engine {

/// q, v and t of worlds after the last call.
template <class Real>
class WrittenStates {
 public:
  WrittenStates(const stepping::WorldArrays<Real>& parts, std::ptrdiff_t count)
      : parts_(&parts),
        q_(static_cast<std::size_t>(count * parts.sizes.q)),
        v_(static_cast<std::size_t>(count * parts.sizes.v)),
        t_(static_cast<std::size_t>(count)) {}

  /// Notes the state of a world.
  void see(std::ptrdiff_t world) {
    const auto& n = parts_->sizes;
    std::copy_n(parts_->q + world * n.q, n.q, q_.data() + world * n.q);
    std::copy_n(parts_->v + world * n.v, n.v, v_.data() + world * n.v);
    t_[static_cast<std::size_t>(world)] = parts_->t[world];
  }

  /// Puts a world back to the state that was noted.
  void restore(std::ptrdiff_t world) const {
    const auto& n = parts_->sizes;
    std::copy_n(q_.data() + world * n.q, n.q, parts_->q + world * n.q);
    std::copy_n(v_.data() + world * n.v, n.v, parts_->v + world * n.v);
    parts_->t[world] = t_[static_cast<std::size_t>(world)];
  }

  bool has_other_time(std::ptrdiff_t world) const {
    return parts_->t[world] != t_[static_cast<std::size_t>(world)];
  }

  bool is_written(std::ptrdiff_t world) const {
    const auto& n = parts_->sizes;
    const auto differs = [](const Real* a, const Real* b, int count) {
      return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(Real)) != 0;
    };
    return differs(parts_->q + world * n.q, q_.data() + world * n.q, n.q) ||
           differs(parts_->v + world * n.v, v_.data() + world * n.v, n.v) || has_other_time(world);
  }

 private:
  const stepping::WorldArrays<Real>* parts_;
  std::vector<Real> q_, v_;
  std::vector<double> t_;
};

/// Whether q and v are finite and quaternions of unit length, after those that are nearly so are normalised.
template <class Real>
bool is_state(const stepping::WorldArrays<Real>& parts, const tree::Model& model, std::ptrdiff_t world) {
  const auto& n = parts.sizes;
  Real* const q = parts.q + world * n.q;
  const Real* const v = parts.v + world * n.v;
  const auto finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(q, q + n.q, finite) || !std::all_of(v, v + n.v, finite) || !finite(parts.t[world])) {
    return false;
  }
  for (const auto& place : model.quaternions()) {
    Real* const x = q + place.at;
    double square = 0;
    for (int i = 0; i < 4; ++i) square += double{x[i]} * x[i];
    const double length = std::sqrt(square);
    if (std::abs(length - 1) > 1e-6) return false;
    if (std::abs(length - 1) <= 4 * std::numeric_limits<Real>::epsilon()) continue;  // rounding alone
    for (int i = 0; i < 4; ++i) x[i] = static_cast<Real>(x[i] / length);
  }
  return true;
}

}  // namespace pysim::engine
