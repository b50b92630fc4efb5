// Scenes and worlds behind the pointers of pysim.h.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/late_signals.hpp"
#include "library/pysim.h"

namespace pysim::library {

struct Number {
  std::string name, unit;
};

/// Names of the numbers of a signal: its own, or with the number's label or index.
inline void add_numbers(const std::string& name,
                        const std::string& unit,
                        std::size_t count,
                        const std::vector<std::string>& labels,
                        std::vector<Number>& numbers) {
  bool has_names = labels.size() == count;  // that differ
  for (std::size_t k = 0; k < labels.size(); ++k) {
    has_names = has_names && !labels[k].empty() && std::count(labels.begin(), labels.end(), labels[k]) == 1;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const std::string own = has_names                      ? "." + labels[k]
                            : count == 1 && labels.empty() ? ""
                                                           : "[" + std::to_string(k) + "]";
    numbers.push_back({name + own, unit});
  }
}

[[noreturn]] inline void fail(const std::string& text) {
  throw std::invalid_argument(text);
}

}  // namespace pysim::library

struct pysim_scene {
  static constexpr int kinds = PYSIM_PARAMETERS + 1;

  pysim::engine::FiledScene scene;
  std::vector<pysim::library::Number> numbers[kinds];
  std::vector<int> columns;  ///< of the signals' numbers among the readings

  std::uint64_t checksum;  ///< of the file

  pysim_scene(pysim::engine::SceneFile read, std::uint64_t sum) : scene(std::move(read)), checksum(sum) {
    const auto& file = scene.file();
    using Names = pysim::engine::SceneFile::Names;
    const auto add = [&](pysim_what what, Names name, Names unit) {
      const auto &names = file.names[name], &units = file.names[unit];
      for (std::size_t k = 0; k < names.size(); ++k) numbers[what].push_back({names[k], units[k]});
    };
    add(PYSIM_Q, Names::q, Names::q_units);
    add(PYSIM_V, Names::v, Names::v_units);
    for (const auto& x : file.inputs)
      pysim::library::add_numbers(x.name, x.unit, x.places.size(), {}, numbers[PYSIM_INPUTS]);
    for (const auto& x : file.outputs) {
      const auto count = static_cast<std::size_t>(x.size);
      pysim::library::add_numbers(x.name, x.unit, count, x.labels, numbers[PYSIM_SIGNALS]);
      for (int k = 0; k < x.size; ++k) columns.push_back(x.first + k);
    }
    for (const auto& name : file.names[Names::bodies]) numbers[PYSIM_BODIES].push_back({name, ""});
    for (const auto& name : file.names[Names::pairs]) numbers[PYSIM_PAIRS].push_back({name, "N"});
    for (const auto& x : file.parameters) {
      for (std::size_t k = 0; k < x.start.size(); ++k) {
        numbers[PYSIM_PARAMETERS].push_back({x.name + (x.labels.empty() ? "" : x.labels[k]), x.unit});
      }
    }
  }

  bool adapts() const { return scene.file().scheme.integrator == "dopri5"; }
};

struct pysim_worlds {
  const pysim_scene* scene;
  pysim::engine::OwnedMemory memory;
  std::unique_ptr<pysim::engine::Worlds<double>> worlds;

  std::vector<double> parameters, numbers;  ///< (worlds, of each), numbers that follow from parameters
  double reach = 0;                         ///< by which centres of mass may be farther from joints [m]

  pysim::engine::WorldRates rates;
  pysim::engine::LateSignals late;

  pysim_worlds(const pysim_scene* handle, int count)
      : scene(handle),
        worlds(handle->scene.worlds(count, memory)),
        rates(*worlds),
        late(handle->scene, *worlds, rates) {
    const auto& start = handle->scene.parameters();
    const auto& places = handle->scene.file().follow.places;
    if (start.empty()) return;
    numbers.resize(static_cast<std::size_t>(count) * places.size());
    vary();
    for (int k = 0; k < count; ++k) {
      parameters.insert(parameters.end(), start.begin(), start.end());
      set_parameters(k, start.data());
      begin(k, nullptr);
    }
  }

  /// Lets worlds step by the numbers that follow from their parameters.
  void vary() {
    const auto& places = scene->scene.file().follow.places;
    worlds->set_varied(
        {places.begin(), places.end()}, numbers.data(), scene->scene.varies_joint_forces(), reach);
  }

  void set_parameters(int world, const double* values) {
    one(world);
    const auto count = scene->scene.parameters().size(), places = scene->scene.file().follow.places.size(),
               at = static_cast<std::size_t>(world);
    if (count == 0) return;
    const double farther = scene->scene.numbers_of(values, numbers.data() + at * places);
    std::copy_n(values, count, parameters.begin() + static_cast<std::ptrdiff_t>(at * count));
    if (farther > reach) {
      reach = farther;
      vary();
    }
    if (scene->adapts()) worlds->parts().jumped[world] = 1;  // not from the start of a step before
  }

  /// Lets a world begin again under these inputs, null for the scene's, and its parameters.
  void begin(int world, const double* inputs) {
    one(world);
    const auto& start = scene->scene.parameters();
    const auto own = parameters.begin() + static_cast<std::ptrdiff_t>(start.size()) * world;
    scene->scene.begin(*worlds, world, inputs, !std::equal(start.begin(), start.end(), own));
  }

  pysim::engine::Selection one(const int& world) const {
    if (world < 0 || world >= worlds->count()) {
      pysim::library::fail("world must be from 0 to " + std::to_string(worlds->count() - 1) + ", got " +
                           std::to_string(world));
    }
    return {&world, 1};
  }

  double* signals(int world) const {
    one(world);
    return worlds->signals(world);
  }

  /// Readings of all signals of a world.
  void readings(int world, double* row) {
    const auto* const signals = worlds->model().signals();
    if (signals == nullptr) return;
    if (signals->readings.after_dynamics || !scene->scene.file().sensors.empty()) {
      late.readings(world, row);
    } else {
      worlds->readings(one(world), 1, row);
    }
  }

  /// Makes steps.
  int step(std::int64_t steps, int threads, std::optional<double> length) {
    if (steps < 0 || threads < 0) pysim::library::fail("steps and threads must be 0 or more");
    worlds->accept(worlds->all());
    if (steps > 0) worlds->step(steps, worlds->all(), {}, threads, length);
    const std::int64_t* const status = worlds->status();
    return static_cast<int>(std::count_if(status, status + worlds->count(), [](auto s) { return s != 0; }));
  }
};
