// Events of one model, described in Python, kept for the kernels.
#pragma once

#include <algorithm>
#include <array>
#include <stdexcept>

#include "bindings/programs.hpp"
#include "stepping/events.hpp"

namespace pysim::bindings {

class Events {
 public:
  /// Each description has kind ("coordinate", "plane", "program"), direction, index, point, normal, offset
  /// and, of kind program, program.
  Events(const tree::Model& model, const std::vector<pybind11::dict>& descriptions) {
    programs_.reserve(descriptions.size());  // views point into them
    for (const auto& d : descriptions) add(model, d);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  Events(Events&&) = default;
  Events& operator=(Events&&) = default;
  ~Events() = default;

  int size() const { return static_cast<int>(events_.size()); }
  stepping::Events view() const { return {size(), events_.data(), views_.data()}; }

  /// Packs of scratch that looking for them takes beside a step: signs, points, a state, registers.
  std::size_t scratch(const tree::Model& model) const {
    int registers = 0;
    for (const auto& p : programs_) registers = std::max(registers, p.registers);
    return static_cast<std::size_t>(6 + 8 * size() + 2 * (model.nq() + model.nv()) + registers);
  }

 private:
  using Point = std::array<double, 3>;

  void add(const tree::Model& model, const pybind11::dict& d) {
    stepping::Event event = {};
    const auto kind = d["kind"].cast<std::string>();
    const auto normal = d["normal"].cast<Point>(), point = d["point"].cast<Point>();
    event.direction = d["direction"].cast<int>();
    event.index = d["index"].cast<int>();
    event.offset = d["offset"].cast<double>();
    std::copy(normal.begin(), normal.end(), event.normal);
    if (kind == "coordinate") {
      event.kind = stepping::EventKind::coordinate;
      check_index(event.index, 0, model.nq());
    } else if (kind == "plane") {
      event.kind = stepping::EventKind::plane;
      check_index(event.index, -1, model.nbodies());
      double pose[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, point[0], point[1], point[2]};
      if (event.index >= 0) model.to_engine_frame(event.index, pose);
      std::copy(pose + 9, pose + 12, event.point);
    } else {
      event.kind = stepping::EventKind::program;
      event.index = static_cast<int>(programs_.size());
      programs_.push_back(describe_program(d["program"]));
      view(programs_.back());
    }
    events_.push_back(event);
  }

  static void check_index(int index, int first, int end) {
    if (index < first || index >= end) {
      throw std::invalid_argument("an event has index " + std::to_string(index) + ", which is not there");
    }
  }

  void view(const tree::ProgramDescription& p) {
    views_.push_back({p.code.data(),
                      p.pose_end,
                      static_cast<int>(p.code.size()),
                      p.registers,
                      static_cast<int>(p.constants.size()),
                      static_cast<int>(p.tables.size()),
                      p.constants.data(),
                      p.tables.data(),
                      p.outputs.data()});
  }

  std::vector<stepping::Event> events_;
  std::vector<tree::ProgramDescription> programs_;
  std::vector<tree::ProgramView<double>> views_;
};

}  // namespace pysim::bindings
