// Scenes and worlds behind the pointers of pysim.h.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/scene_file.hpp"
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
  static constexpr int kinds = PYSIM_PAIRS + 1;

  pysim::engine::FiledScene scene;
  std::vector<pysim::library::Number> numbers[kinds];
  std::vector<int> columns;  ///< of the signals' numbers among the readings

  explicit pysim_scene(pysim::engine::SceneFile read) : scene(std::move(read)) {
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
  }

  bool adapts() const { return scene.file().scheme.integrator == "dopri5"; }
};

struct pysim_worlds {
  const pysim_scene* scene;
  pysim::engine::OwnedMemory memory;
  std::unique_ptr<pysim::engine::Worlds<double>> worlds;

  pysim_worlds(const pysim_scene* own, int count) : scene(own), worlds(own->scene.worlds(count, memory)) {}

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

  /// Makes steps, as many as a call of the engine may, until all are made.
  int step(std::int64_t steps, int threads, std::optional<double> length) {
    constexpr std::ptrdiff_t most = std::ptrdiff_t{1} << 40;
    if (steps < 0 || threads < 0) pysim::library::fail("steps and threads must be 0 or more");
    worlds->accept(worlds->all());
    if (steps > 0) worlds->step(steps, worlds->all(), most, threads, length);
    const std::int64_t* const status = worlds->status();
    return static_cast<int>(std::count_if(status, status + worlds->count(), [](auto s) { return s != 0; }));
  }
};
