// Events of one model, stored for the kernels.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/smooth_law.hpp"
#include "stepping/events.hpp"
#include "tree/model.hpp"

namespace pysim::engine {

/// Sign changes of an event's function that trigger it.
enum class Direction : int { falling = -1, both = 0, rising = 1 };

/// An event, see stepping::Event, in the user's frames.
struct EventDescription {
  stepping::Event event;
  tree::ProgramDescription program;  ///< of kind "program": inputs q, then v; one output
};

class Events {
 public:
  Events(const tree::Model& model,
         const std::vector<EventDescription>& descriptions,
         const ModelContacts* contacts)
      : law_(std::make_unique<SmoothLaw>(contacts)), contacts_(contacts) {
    programs_.reserve(descriptions.size());  // views point into them
    for (const auto& d : descriptions) add(model, d);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  Events(Events&&) = default;
  Events& operator=(Events&&) = default;
  ~Events() = default;

  int size() const { return static_cast<int>(events_.size()); }
  stepping::Events view() const {
    return {
        size(), events_.data(), views_.data(), contacts_ == nullptr ? stepping::PairGaps{} : law_->gaps()};
  }

 private:
  void add(const tree::Model& model, const EventDescription& d) {
    stepping::Event event = d.event;
    if (event.kind == stepping::EventKind::coordinate) {
      check_index(event.index, 0, model.nq());
    } else if (event.kind == stepping::EventKind::plane) {
      check_index(event.index, -1, model.nbodies());
      double pose[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, event.position[0], event.position[1], event.position[2]};
      if (event.index >= 0) model.to_engine_frame(event.index, pose);
      std::copy(pose + 9, pose + 12, event.position);
    } else if (event.kind == stepping::EventKind::gap) {
      check_index(event.index, 0, contacts_ == nullptr ? 0 : contacts_->pairs());
      check_index(event.point, 0, contacts_->gaps(event.index));
    } else {
      event.index = static_cast<int>(programs_.size());
      programs_.push_back(d.program);
      view(programs_.back());
    }
    events_.push_back(event);
  }

  static void check_index(int index, int first, int end) {
    if (index < first || index >= end) {
      throw std::invalid_argument("an event has index " + std::to_string(index) + ", which does not exist");
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

  std::unique_ptr<SmoothLaw> law_;
  const ModelContacts* contacts_;
  std::vector<stepping::Event> events_;
  std::vector<tree::ProgramDescription> programs_;
  std::vector<tree::ProgramView<double>> views_;
};

}  // namespace pysim::engine
