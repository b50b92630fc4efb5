// Contact sensors as Python has them.
#pragma once

#include <array>
#include <tuple>
#include <vector>

#include "engine/contact_sensors.hpp"

namespace pysim::bindings {

/// The members of an engine::ContactSensor.
using SensorFrame = std::array<double, 16>;
using SensorNumbers =
    std::tuple<std::vector<int>, int, int, SensorFrame, SensorFrame, std::vector<int>, std::vector<double>>;

inline std::vector<engine::ContactSensor> sensor_records(const std::vector<SensorNumbers>& sensors) {
  std::vector<engine::ContactSensor> records;
  for (const SensorNumbers& sensor : sensors) {
    std::apply([&](const auto&... x) { records.push_back({x...}); }, sensor);
  }
  return records;
}

}  // namespace pysim::bindings
