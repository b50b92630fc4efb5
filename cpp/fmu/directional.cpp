// Directional derivatives of an FMU's instance in model exchange.
//
//     Δunknown = ∂unknown/∂known Δknown
//
// States are those of the master. The quaternions of the world are n = q/|q|, so dn = (1 − n nᵀ) dq/|q|.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "fmu/instance.hpp"

namespace pysim::fmu {
namespace {

/// Slope of the quaternion x, y, z, w with w ≥ 0 of a rotation, ½ (0, ω) q with ω of Ṙ Rᵀ; both matrices are
/// 4×4.
void quaternion_slope(const double* X, const double* dX, const double* q, double* slope) {
  double W[3][3] = {};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) W[i][j] += dX[4 * i + k] * X[4 * j + k];
    }
  }
  const double w[3] = {(W[2][1] - W[1][2]) / 2, (W[0][2] - W[2][0]) / 2, (W[1][0] - W[0][1]) / 2};
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    slope[i] = 0.5 * (w[i] * q[3] + w[j] * q[k] - w[k] * q[j]);
  }
  slope[3] = -0.5 * (w[0] * q[0] + w[1] * q[1] + w[2] * q[2]);
}

[[noreturn]] void refuse(std::uint32_t reference, const std::string& problem) {
  throw std::invalid_argument("directional derivatives: the variable of reference " +
                              std::to_string(reference) + " " + problem);
}

}  // namespace

void Instance::refuse_contacts(std::uint32_t reference, bool arrays) const {
  const auto at = first(reference, arrays);
  std::size_t end = 0;
  for (const auto& output : scene_->scene.file().outputs) {
    end += static_cast<std::size_t>(output.size);
    if (at >= end) continue;
    if (!output.is_touching) return;
    refuse(reference,
           "is the signal '" + output.name +
               "', which depends on a contact sensor and has none; leave the sensor out with --outputs");
  }
}

void Instance::move(std::uint32_t reference, bool arrays, const double* seed) {
  const std::size_t at = first(reference, arrays), count = size(reference, arrays);
  const auto add = [&](std::vector<double>& to) {
    for (std::size_t k = 0; k < count; ++k) to[at + k] += seed[k];
  };
  switch (kind_of(reference)) {
    case Kind::time:
      slopes_->t += *seed;
      return;
    case Kind::q:
      return add(slopes_->q);
    case Kind::v:
      return add(slopes_->v);
    case Kind::element:
      return add(slopes_->signals);
    case Kind::input: {
      std::size_t number = 0;
      for (const auto& input : scene_->scene.file().inputs) {
        for (const int place : input.places) {
          if (number >= at && number < at + count)
            slopes_->signals[static_cast<std::size_t>(place)] += seed[number - at];
          ++number;
        }
      }
      return;
    }
    default:
      refuse(reference, "is no state, input or time; choose known variables among these");
  }
}

const std::vector<double>& Instance::slopes_of(Kind kind) {
  const auto& world_slopes = *slopes_;
  const auto& file = scene_->scene.file();
  switch (kind) {
    case Kind::time:
      row_.assign(1, world_slopes.t);
      break;
    case Kind::q:
      return world_slopes.q;
    case Kind::v:
      return world_slopes.v;
    case Kind::acceleration:
      return world_slopes.accelerations();
    case Kind::rate:
      row_ = world_slopes.coordinate_rates();
      for (const auto* const part : {&world_slopes.accelerations(), &world_slopes.state_rates()}) {
        row_.insert(row_.end(), part->begin(), part->end());
      }
      break;
    case Kind::signal:
      row_.clear();
      for (const int column : scene_->columns)
        row_.push_back(world_slopes.readings()[static_cast<std::size_t>(column)]);
      break;
    case Kind::pose: {
      const auto poses = numbers(Kind::pose);  // and the matrices
      row_.resize(poses.size());
      for (std::size_t b = 0; 16 * b < poses_.size(); ++b) {
        const double *const X = poses_.data() + 16 * b, *const dX = world_slopes.poses().data() + 16 * b;
        double* const to = row_.data() + pose_numbers * b;
        to[0] = dX[3], to[1] = dX[7], to[2] = dX[11];
        quaternion_slope(X, dX, poses.data() + pose_numbers * b + 3, to + 3);
      }
      break;
    }
    case Kind::force:
      row_.assign(force_numbers * file.names[engine::SceneFile::pairs].size(), 0.0);
      for (std::size_t k = 0; k < file.pair_of_shapes.size(); ++k) {
        const auto pair = static_cast<std::size_t>(file.pair_of_shapes[k]);
        for (std::size_t i = 0; i < force_numbers; ++i) {
          row_[force_numbers * pair + i] += file.signs[k] * world_slopes.forces()[force_numbers * k + i];
        }
      }
      break;
    case Kind::element:
      row_.assign(
          world_slopes.signals.begin(),
          world_slopes.signals.begin() + static_cast<std::ptrdiff_t>(world_slopes.state_rates().size()));
      break;
    default:
      throw std::invalid_argument(
          "directional derivatives: inputs, parameters and event indicators have none");
  }
  return row_;
}

void Instance::slopes(const std::vector<std::uint32_t>& unknown,
                      const std::vector<std::uint32_t>& known,
                      bool arrays,
                      const double* seed,
                      double* sensitivity) {
  const auto& worlds = *worlds_->worlds;
  if (worlds.is_convex() || worlds.model().rows() > 0) {
    throw std::invalid_argument("directional derivatives: are those of model exchange alone");
  }
  accept_parameters();
  if (slopes_ == nullptr) slopes_ = std::make_unique<engine::WorldSlopes>(worlds);
  slopes_->clear();
  for (const auto reference : known) {
    const std::size_t count = size(reference, arrays);
    if (count == 0) refuse(reference, "does not exist");
    move(reference, arrays, seed);
    seed += count;
  }
  for (const auto& place : worlds.model().quaternions()) {
    const double *const n = worlds.parts().q + place.at, *const q = states_.data() + place.at;
    double* const dq = slopes_->q.data() + place.at;
    double norm = 0, along = 0;
    for (int i = 0; i < quaternion_numbers; ++i) norm += q[i] * q[i], along += n[i] * dq[i];
    norm = std::sqrt(norm);
    for (int i = 0; i < quaternion_numbers; ++i) dq[i] = (dq[i] - along * n[i]) / norm;
  }
  slopes_->compute(0);
  for (const auto reference : unknown) {
    const std::size_t count = size(reference, arrays);
    if (count == 0) refuse(reference, "does not exist");
    if (kind_of(reference) == Kind::signal) refuse_contacts(reference, arrays);
    const auto& of_kind = slopes_of(kind_of(reference));
    std::copy_n(of_kind.begin() + static_cast<std::ptrdiff_t>(first(reference, arrays)), count, sensitivity);
    sensitivity += count;
  }
}

}  // namespace pysim::fmu
