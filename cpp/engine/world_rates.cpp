// Rates of a world's state, by the kernels of its algorithms.
#include "engine/world_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/dispatch.hpp"

namespace pysim::engine {
namespace {

constexpr int pose_numbers = 16;  // of a body's pose, by row

/// Adds a force at a point and a moment, in world axes, to the wrench of a body in its frame.
void add_wrench(const double* X,
                const double* force,
                const double* point,
                const double* moment,
                double sign,
                double* wrench) {
  const double r[3] = {point[0] - X[3], point[1] - X[7], point[2] - X[11]};
  const double torque[3] = {r[1] * force[2] - r[2] * force[1] + moment[0],
                            r[2] * force[0] - r[0] * force[2] + moment[1],
                            r[0] * force[1] - r[1] * force[0] + moment[2]};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      wrench[i] += sign * X[4 * j + i] * force[j];
      wrench[3 + i] += sign * X[4 * j + i] * torque[j];
    }
  }
}

/// ½ q (0, ω) of a quaternion x, y, z, w.
void quaternion_rate(const double* q, const double* w, double* rate) {
  rate[0] = 0.5 * (q[3] * w[0] + q[1] * w[2] - q[2] * w[1]);
  rate[1] = 0.5 * (q[3] * w[1] + q[2] * w[0] - q[0] * w[2]);
  rate[2] = 0.5 * (q[3] * w[2] + q[0] * w[1] - q[1] * w[0]);
  rate[3] = -0.5 * (q[0] * w[0] + q[1] * w[1] + q[2] * w[2]);
}

/// R v of the rotation of a quaternion.
void turn(const double* q, const double* v, double* turned) {
  const double c[3] = {q[1] * v[2] - q[2] * v[1], q[2] * v[0] - q[0] * v[2], q[0] * v[1] - q[1] * v[0]};
  const double d[3] = {q[1] * c[2] - q[2] * c[1], q[2] * c[0] - q[0] * c[2], q[0] * c[1] - q[1] * c[0]};
  for (int i = 0; i < 3; ++i) turned[i] = v[i] + 2 * (q[3] * c[i] + d[i]);
}

}  // namespace

WorldRates::WorldRates(const Worlds<double>& worlds)
    : worlds_(worlds), law_(worlds.is_convex() ? nullptr : worlds.model_contacts()) {
  const auto& model = worlds.model();
  const auto view = model.view<double>();
  const auto nv = static_cast<std::size_t>(model.nv());
  tau_.resize(nv), a_.resize(nv);
  rates_.resize(static_cast<std::size_t>(model.signals() == nullptr ? 0 : model.signals()->states));
  lambda_.resize(static_cast<std::size_t>(model.rows()));
  loop_q_.resize(static_cast<std::size_t>(model.loop_nq()));
  poses_.resize(static_cast<std::size_t>(pose_numbers * model.nbodies()));
  wrenches_.resize(static_cast<std::size_t>(6 * model.nbodies()));
  for (int k = 0; k < view.runs && !view.mimic; ++k) {
    const auto& block = view.run[k];
    for (int i = 0; block.group == tree::Group::real && i < block.nv; ++i) {
      const auto& passive = view.passive[block.v + i];
      if (!(passive.stop_stiffness > 0)) continue;
      if (std::isfinite(passive.lower)) limits_.push_back({block.q + i, passive.lower, 1});
      if (std::isfinite(passive.upper)) limits_.push_back({block.q + i, passive.upper, -1});
    }
  }
  if (law_.forces() != nullptr) pairs_ = static_cast<std::size_t>(worlds.model_contacts()->pairs());
}

void WorldRates::compute_poses(std::ptrdiff_t world) {
  const auto& model = worlds_.model();
  Batch<double> batch = {};
  batch.states = 1;
  batch.q = worlds_.parts().q + world * model.nq();
  batch.out = poses_.data();
  run_batch<double>(&StateKernels<double>::forward_kinematics, model, batch, 1);
}

void WorldRates::compute(std::ptrdiff_t world) {
  const auto& model = worlds_.model();
  const auto& parts = worlds_.parts();
  const auto& n = parts.sizes;
  const double t = parts.t[world];
  Batch<double> batch = {};
  batch.states = 1;
  batch.q = parts.q + world * n.q;
  batch.v = parts.v + world * n.v;
  batch.times = parts.t + world;
  std::fill(tau_.begin(), tau_.end(), 0.0);
  if (model.signals() != nullptr) {
    batch.signals = worlds_.signals(world);
    batch.out = tau_.data();
    batch.out_v = rates_.data();
    run_varied(&StateKernels<double>::signal_forces, model, batch, worlds_.varied(world));
  }
  const auto& drive = worlds_.actuation();
  for (std::size_t i = 0; i < tau_.size(); ++i) {
    tau_[i] += drive.offset[i];
    if (drive.amplitude[i] != 0) {
      tau_[i] += drive.amplitude[i] * std::sin(drive.frequency[i] * t + drive.phase[i]);
    }
  }
  std::copy_n(parts.loop_q + world * n.loop_q, loop_q_.size(), loop_q_.begin());
  batch.x = tau_.data();
  batch.passive = true;
  batch.contact_forces = law_.forces();
  batch.loop_q = loop_q_.data();
  batch.constraint.forces = lambda_.data();
  batch.out = a_.data();
  if (worlds_.is_convex() && parts.touching[world] > 0) {
    std::fill(wrenches_.begin(), wrenches_.end(), 0.0);
    compute_poses(world);
    each_touching_point(worlds_, world, [&](int shapes, const double* report) {
      using Report = contact::ContactReport;
      const auto pair = worlds_.model_contacts()->pair(shapes);
      for (const auto& [body, sign] : {std::pair{pair.a, -1.0}, std::pair{pair.b, 1.0}}) {
        if (body < 0) continue;
        add_wrench(poses_.data() + pose_numbers * body,
                   report + Report::force,
                   report + Report::position,
                   report + Report::moment,
                   sign,
                   wrenches_.data() + 6 * body);
      }
    });
    batch.f_ext = wrenches_.data();
  }
  Kernel<double> StateKernels<double>::* kernel = &StateKernels<double>::aba;
  if (model.rows() > 0) kernel = &StateKernels<double>::constrained_aba;
  if (model.nv() > 0) run_varied(kernel, model, batch, worlds_.varied(world));
}

void WorldRates::coordinate_rates(std::ptrdiff_t world, double* rates) const {
  const auto view = worlds_.model().view<double>();
  const auto& parts = worlds_.parts();
  const double *const q = parts.q + world * parts.sizes.q, *const v = parts.v + world * parts.sizes.v;
  for (int k = 0; k < view.runs; ++k) {
    const auto& block = view.run[k];
    const double *const p = q + block.q, *const u = v + block.v;
    double* const rate = rates + block.q;
    switch (block.group) {
      case tree::Group::real:
        std::copy_n(u, block.nv, rate);
        break;
      case tree::Group::rotation:
        quaternion_rate(p, u, rate);
        break;
      case tree::Group::pose:
        turn(p + 3, u, rate);
        quaternion_rate(p + 3, u + 3, rate + 3);
        break;
    }
  }
}

void WorldRates::gaps(std::ptrdiff_t world, double* gaps) {
  const auto& parts = worlds_.parts();
  for (const auto& limit : limits_) {
    *gaps++ = limit.sign * (parts.q[world * parts.sizes.q + limit.q] - limit.bound);
  }
  if (pairs_ == 0) return;
  compute_poses(world);
  const auto view = worlds_.model().view<double>();
  /// Pose of a body in its frame of the engine, rotation column-major and position; the world's of −1.
  const auto pose_of = [&](int body, double* pose) {
    std::fill_n(pose, 12, 0.0);
    if (body < 0) {
      pose[0] = pose[4] = pose[8] = 1;
      return;
    }
    const double* const X = poses_.data() + pose_numbers * body;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        for (int m = 0; m < 3; ++m) {
          const double axis = view.aligned ? view.constants[body].alignment[3 * j + m] : (j == m ? 1.0 : 0.0);
          pose[3 * j + i] += X[4 * i + m] * axis;
        }
      }
      pose[9 + i] = X[4 * i + 3];
    }
  };
  const stepping::PairGaps gap = law_.gaps();
  for (std::size_t k = 0; k < pairs_; ++k) {
    const auto pair = static_cast<int>(k);
    double A[12], B[12], X[12];
    pose_of(gap.pair[k].a, A), pose_of(gap.pair[k].b, B);
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < 3; ++i) {
        double sum = 0;
        for (int m = 0; m < 3; ++m) sum += A[3 * i + m] * (B[3 * j + m] - (j == 3 ? A[9 + m] : 0));
        X[3 * j + i] = sum;
      }
    }
    double nearest = std::numeric_limits<double>::max();
    for (int point = 0; point < worlds_.model_contacts()->gaps(pair); ++point) {
      double distance = 0;
      gap.single(gap.contacts, pair, point, X, &distance);
      nearest = std::min(nearest, distance);
    }
    *gaps++ = nearest;
  }
}

}  // namespace pysim::engine
