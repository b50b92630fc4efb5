// Readings after the dynamics, one world at a time.
#include "engine/late_signals.hpp"

#include <algorithm>

#include "engine/dispatch.hpp"

namespace pysim::engine {
namespace {

using Report = contact::ContactReport;

/// The frame of a sensor in the world, a 4×4 matrix by rows.
std::array<double, 16> placed(const double* poses, int body, const std::array<double, 16>& frame) {
  if (body < 0) return frame;
  const double* const X = poses + 16 * body;
  std::array<double, 16> found = {};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t k = 0; k < 4; ++k) found[4 * i + j] += X[4 * i + k] * frame[4 * k + j];
    }
  }
  return found;
}

}  // namespace

void LateSignals::set_contacts(int world, double* numbers) const {
  if (file_.sensors.empty()) return;
  const double* const poses = rates_.poses(world);
  for (const auto& own : file_.sensors) {
    const auto frame = placed(poses, own.body, own.frame), axes = placed(poses, own.axes_body, own.axes);
    double touching = 0, normal = 0, sum[6] = {};
    rates_.each_point(world, [&](int shapes, const double* report) {
      const auto at = std::lower_bound(own.shapes.begin(), own.shapes.end(), shapes);
      if (at == own.shapes.end() || *at != shapes) return;
      const double sign = own.signs[static_cast<std::size_t>(at - own.shapes.begin())];
      const double *const f = report + Report::force, *const n = report + Report::normal;
      if (f[0] == 0 && f[1] == 0 && f[2] == 0) return;
      double lever[3];
      for (int i = 0; i < 3; ++i)
        lever[i] = report[Report::position + i] - frame[static_cast<std::size_t>(4 * i + 3)];
      touching = 1;
      normal += f[0] * n[0] + f[1] * n[1] + f[2] * n[2];
      for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        sum[i] += sign * f[i];
        sum[3 + i] += sign * (lever[j] * f[k] - lever[k] * f[j] + report[Report::moment + i]);
      }
    });
    const auto put = [&](std::size_t k, double x) { numbers[own.places[k]] = x; };
    put(0, touching), put(1, normal);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t part = 0; part < 2; ++part) {
        double x = 0;
        for (std::size_t j = 0; j < 3; ++j) x += axes[4 * j + i] * sum[3 * part + j];
        put(2 + 3 * part + i, x);
      }
    }
  }
}

Batch<double> LateSignals::state(int world) const {
  const auto& parts = worlds_.parts();
  const std::ptrdiff_t k = world;
  Batch<double> batch = {};
  batch.states = 1;
  batch.q = parts.q + k * parts.sizes.q;
  batch.v = parts.v + k * parts.sizes.v;
  batch.times = parts.t + k;
  batch.actuation = &worlds_.actuation();
  batch.contact_forces = rates_.law().forces();
  return batch;
}

void LateSignals::readings(int world, double* row) const {
  const auto& parts = worlds_.parts();
  std::vector<double> numbers(worlds_.signals(world), worlds_.signals(world) + parts.sizes.signals);
  Batch<double> batch = state(world);
  rates_.compute(world);
  batch.x = rates_.accelerations().data();
  batch.f_ext = rates_.wrenches(world);
  set_contacts(world, numbers.data());
  batch.signals = numbers.data();
  batch.out = row;
  run_varied(&StateKernels<double>::read_signals, worlds_.model(), batch, worlds_.varied(world));
}

void LateSignals::forces(int world, double* rows) const {
  std::fill_n(rows, 3 * file_.names[SceneFile::pairs].size(), 0.0);
  rates_.each_point(world, [&](int shapes, const double* report) {
    const auto at = static_cast<std::size_t>(shapes);
    for (int i = 0; i < 3; ++i) rows[3 * file_.pair_of_shapes[at] + i] += file_.signs[at] * report[i];
  });
}

}  // namespace pysim::engine
