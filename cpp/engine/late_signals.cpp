// Readings after the dynamics, one world at a time.
#include "engine/late_signals.hpp"

#include <algorithm>

#include "engine/dispatch.hpp"

namespace pysim::engine {

void LateSignals::set_contacts(int world, double* numbers) const {
  const contact::SensorList& sensors = worlds_.sensor_list();
  if (sensors.count == 0) return;
  std::vector<int> shapes;
  std::vector<double> reports;
  rates_.each_point(world, [&](int pair, const double* report) {
    shapes.push_back(pair);
    reports.insert(reports.end(), report, report + contact::ContactReport::numbers);
  });
  const contact::MeasuredPoints points = {static_cast<int>(shapes.size()), shapes.data(), sensors};
  Batch<double> batch = state(world);
  batch.x = reports.data();
  batch.measured = &points;
  batch.signals = numbers;
  run_varied(&StateKernels<double>::measure_contacts, worlds_.model(), batch, worlds_.varied(world));
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
