// Rates of a world's state, by the kernels of its algorithms.
#include "engine/world_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "constraints/loop_motion.hpp"
#include "engine/dispatch.hpp"

namespace pysim::engine {
namespace {

constexpr std::size_t pose_numbers = 16;  // of a body's pose, by row

struct Portable;  // the tag of what is compiled for any processor
using One = simd::Pack<double, 1, Portable>;

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

void cross(const double* a, const double* b, double* c) {
  c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

/// The slope of R v along dq and dv.
void turn_slope(const double* q, const double* v, const double* dq, const double* dv, double* slope) {
  double c[3], by_q[3], by_v[3], dc[3], d[3], e[3];
  cross(q, v, c), cross(dq, v, by_q), cross(q, dv, by_v);
  for (int i = 0; i < 3; ++i) dc[i] = by_q[i] + by_v[i];
  cross(dq, c, d), cross(q, dc, e);
  for (int i = 0; i < 3; ++i) slope[i] = dv[i] + 2 * (dq[3] * c[i] + q[3] * dc[i] + d[i] + e[i]);
}

/// The slope of ½ q (0, ω) along dq and dω.
void quaternion_rate_slope(
    const double* q, const double* w, const double* dq, const double* dw, double* slope) {
  double by_q[4];
  quaternion_rate(dq, w, by_q), quaternion_rate(q, dw, slope);
  for (int i = 0; i < 4; ++i) slope[i] += by_q[i];
}

}  // namespace

void coordinate_rate_slopes(const tree::Model& model,
                            const double* q,
                            const double* v,
                            const double* dq,
                            const double* dv,
                            double* slopes) {
  const auto view = model.view<double>();
  for (int k = 0; k < view.runs; ++k) {
    const auto& block = view.run[k];
    const double *const p = q + block.q, *const u = v + block.v, *const dp = dq + block.q,
                        *const du = dv + block.v;
    double* const slope = slopes + block.q;
    switch (block.group) {
      case tree::Group::real:
        std::copy_n(du, block.nv, slope);
        break;
      case tree::Group::rotation:
        quaternion_rate_slope(p, u, dp, du, slope);
        break;
      case tree::Group::pose:
        turn_slope(p + 3, u, dp + 3, du, slope);
        quaternion_rate_slope(p + 3, u + 3, dp + 3, du + 3, slope + 3);
        break;
    }
  }
}

WorldRates::WorldRates(const Worlds<double>& worlds)
    : worlds_(worlds), law_(worlds.is_convex() ? nullptr : worlds.model_contacts()) {
  const auto& model = worlds.model();
  const auto view = model.view<double>();
  const auto nv = static_cast<std::size_t>(model.nv());
  tau_.resize(nv), a_.resize(nv);
  rates_.resize(static_cast<std::size_t>(model.signals() == nullptr ? 0 : model.signals()->states));
  lambda_.resize(static_cast<std::size_t>(model.rows()));
  loop_q_.resize(static_cast<std::size_t>(model.loop_nq()));
  poses_.resize(pose_numbers * static_cast<std::size_t>(model.nbodies()));
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

const double* WorldRates::poses(std::ptrdiff_t world) {
  const auto& model = worlds_.model();
  if (poses_.empty()) return poses_.data();
  Batch<double> batch = {};
  batch.states = 1;
  batch.q = worlds_.parts().q + world * model.nq();
  batch.out = poses_.data();
  run_varied(&StateKernels<double>::forward_kinematics, model, batch, worlds_.varied(world));
  return poses_.data();
}

void WorldRates::report_points(std::ptrdiff_t world) {
  const auto& parts = worlds_.parts();
  const ModelContacts& contacts = *worlds_.model_contacts();
  report_.resize(static_cast<std::size_t>(contact::ContactReport::numbers) *
                 static_cast<std::size_t>(contacts.points()));
  ContactBatch batch = {};
  batch.states = 1;
  batch.q = parts.q + world * parts.sizes.q;
  batch.v = parts.v + world * parts.sizes.v;
  batch.smooth = &law_.law();
  batch.contacts.report = report_.data();
  run_contacts(&ContactKernels::report, worlds_.model(), batch, 1);
}

void WorldRates::add_loops(std::ptrdiff_t world) {
  const auto& model = worlds_.model();
  const auto& parts = worlds_.parts();
  const auto rows = static_cast<std::size_t>(model.rows()), nv = static_cast<std::size_t>(model.nv());
  std::vector<double> numbers(rows * (9 + nv)), phi = loop_q_;
  Batch<double> batch = {};
  batch.states = 1;
  batch.q = parts.q + world * parts.sizes.q;
  batch.v = parts.v + world * parts.sizes.v;
  batch.times = parts.t + world;
  batch.loop_q = loop_q_.data(), batch.out_loop_q = phi.data();
  double* const unit = numbers.data();  // wrenches
  batch.constraint.wrenches = unit;
  batch.out = unit + 6 * rows, batch.constraint.bias = unit + 7 * rows,
  batch.constraint.rates = unit + 8 * rows;
  batch.constraint.jacobian = unit + 9 * rows;
  run_varied(&StateKernels<double>::constraint_rows, model, batch, worlds_.varied(world));
  const auto view = model.view<double>();
  const auto bodies = static_cast<std::size_t>(view.bodies);
  std::vector<spatial::Pose<One>> X(bodies);
  std::vector<spatial::Force<One>> sum(bodies, spatial::zero_force<One>()), W(rows);
  std::vector<One> lambda(rows);
  const auto turned = [&](std::size_t b) { return spatial::all33<One>(view.constants[b].alignment); };
  for (std::size_t b = 0; b < bodies; ++b) {
    const double* const pose = poses_.data() + pose_numbers * b;
    const auto column = [&](int j) { return spatial::Vec3<One>{{pose[j]}, {pose[4 + j]}, {pose[8 + j]}}; };
    X[b] = {spatial::Mat3<One>{column(0), column(1), column(2)} * turned(b), column(3)};
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const double* const w = unit + 6 * i;
    W[i] = {{{w[0]}, {w[1]}, {w[2]}}, {{w[3]}, {w[4]}, {w[5]}}};
    lambda[i] = {lambda_[i]};
  }
  for (int k = 0; k < view.loops; ++k) {  // on the axes of the user until here
    const auto turn = spatial::all33<One>(view.closure->constants[k].alignment);
    for (int i = view.loop[k].row; i < view.loop[k].row + view.loop[k].rows; ++i) {
      auto& own = W[static_cast<std::size_t>(i)];
      own = {transpose_times(turn, own.f), transpose_times(turn, own.t)};
    }
  }
  constraints::add_loop_wrenches<One>(view, X.data(), W.data(), lambda.data(), sum.data());
  for (std::size_t b = 0; b < bodies; ++b) {
    const auto f = turned(b) * sum[b].f, t = turned(b) * sum[b].t;
    const One own[6] = {f.x, f.y, f.z, t.x, t.y, t.z};
    for (std::size_t i = 0; i < 6; ++i) wrenches_[6 * b + i] += own[i].lanes;
  }
}

const double* WorldRates::wrenches(std::ptrdiff_t world) {
  if (!has_wrenches_) std::fill(wrenches_.begin(), wrenches_.end(), 0.0);
  if (worlds_.model().view<double>().loops > 0) {
    poses(world);
    add_loops(world);
    has_wrenches_ = false;  // without those of loops
  }
  return wrenches_.data();
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
  has_wrenches_ = worlds_.is_convex() && parts.touching[world] > 0;
  if (has_wrenches_) {
    std::fill(wrenches_.begin(), wrenches_.end(), 0.0);
    poses(world);
    each_touching_point(worlds_, world, [&](int shapes, const double* report) {
      using Report = contact::ContactReport;
      const auto pair = worlds_.model_contacts()->pair(shapes);
      for (const auto& [body, sign] : {std::pair{pair.a, -1.0}, std::pair{pair.b, 1.0}}) {
        if (body < 0) continue;
        add_wrench(poses_.data() + pose_numbers * static_cast<std::size_t>(body),
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

void WorldRates::limit_slopes(const double* dq, double* slopes) const {
  for (const auto& limit : limits_) *slopes++ = limit.sign * dq[limit.q];
}

void WorldRates::gaps(std::ptrdiff_t world, double* gaps) {
  const auto& parts = worlds_.parts();
  for (const auto& limit : limits_) {
    *gaps++ = limit.sign * (parts.q[world * parts.sizes.q + limit.q] - limit.bound);
  }
  if (pairs_ == 0) return;
  poses(world);
  const auto view = worlds_.model().view<double>();
  /// Pose of a body in its frame of the engine, rotation column-major and position; the world's of −1.
  const auto pose_of = [&](int body, double* pose) {
    std::fill_n(pose, 12, 0.0);
    if (body < 0) {
      pose[0] = pose[4] = pose[8] = 1;
      return;
    }
    const double* const X = poses_.data() + pose_numbers * static_cast<std::size_t>(body);
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
