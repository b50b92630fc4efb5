// Arguments of stepping: forces, and what a run carries along from call to call.
#pragma once

#include <pybind11/stl.h>

#include "bindings/calls.hpp"
#include "engine/batch.hpp"

namespace pysim::bindings {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Prescribed forces, kept with the model they belong to: each array (nv,).
struct Actuation {
  Numbers offset, amplitude, frequency, phase;

  stepping::Actuation view(const Model& model) const {
    for (const auto* a : {&offset, &amplitude, &frequency, &phase}) {
      if (a->ndim() != 1 || a->shape(0) != model.nv()) {
        throw std::invalid_argument("actuation must have shape (" + std::to_string(model.nv()) + ",)");
      }
    }
    return {offset.data(), amplitude.data(), frequency.data(), phase.data()};
  }
};

/// Coordinates of the loops' joints, moved along in place; where the caller gives none, nobody sees them.
class LoopCoordinates {
 public:
  using Array = py::array_t<double, py::array::c_style>;

  LoopCoordinates(const Model& model, std::optional<Array>& given, const Call<double>& call) : given_(given) {
    const py::ssize_t count = call.leading().states * model.loop_nq();
    if (!given_) {
      own_ = call.loop_start();
    } else if (given_->size() != count || !given_->writeable()) {
      throw std::invalid_argument("loop_q must be writeable and have " + std::to_string(model.loop_nq()) +
                                  " numbers a state");
    }
  }

  double* data() { return given_ ? given_->mutable_data() : own_.data(); }

 private:
  std::optional<Array>& given_;
  std::vector<double> own_;
};

/// What an implicit scheme remembers, moved along in place; where the caller gives none, every run begins
/// anew.
class SchemeMemory {
 public:
  using Array = py::array_t<double, py::array::c_style>;

  SchemeMemory(std::optional<Array>& given, py::ssize_t numbers) : given_(given) {
    if (!given_) {
      own_.resize(static_cast<std::size_t>(numbers));
    } else if (given_->size() != numbers || !given_->writeable()) {
      throw std::invalid_argument("memory must be writeable and have " + std::to_string(numbers) +
                                  " numbers in all");
    }
  }

  /// Null where there is nothing to remember.
  double* data() {
    if (given_) return given_->size() == 0 ? nullptr : given_->mutable_data();
    return own_.empty() ? nullptr : own_.data();
  }

 private:
  std::optional<Array>& given_;
  std::vector<double> own_;
};

}  // namespace pysim::bindings
