// Arguments of stepping functions: forces, and the state that a run carries from call to call.
#pragma once

#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/fixed_shape_arrays.hpp"
#include "bindings/model_functions.hpp"
#include "engine/batch.hpp"

namespace pysim::bindings {

/// Prescribed forces, stored with their model: each array (nv,).
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

/// Coordinates of the loops' joints, updated in place; discarded if the caller passes none.
template <class Real>
class LoopCoordinates {
 public:
  using Array = py::array_t<Real, py::array::c_style>;

  /// `start` holds those of every state, one after the other.
  LoopCoordinates(py::handle array, std::vector<Real> start)
      : start_(std::move(start)), numbers_(start_.data()) {
    if (!is_given(array)) return;
    if (!py::isinstance<Array>(array)) {
      throw std::invalid_argument("loop_q must be a C-contiguous array of the precision of q");
    }
    array_ = py::reinterpret_borrow<Array>(array);
    if (array_.size() != static_cast<py::ssize_t>(start_.size()) || !array_.writeable()) {
      throw std::invalid_argument("loop_q must be writeable and have " + std::to_string(start_.size()) +
                                  " numbers, for all states together");
    }
    numbers_ = array_.mutable_data();
    if (!std::all_of(numbers_, numbers_ + start_.size(), [](Real x) { return std::isfinite(x); })) {
      throw std::invalid_argument("loop_q must be finite, got nan or inf");
    }
  }

  Real* data() { return numbers_; }

 private:
  std::vector<Real> start_;
  Array array_;
  Real* numbers_;
};

/// State of the signals of every world, updated in place; null if the caller passes none: they do not act.
class SignalNumbers {
 public:
  using Array = py::array_t<double, py::array::c_style>;

  SignalNumbers(const std::optional<Array>& array, const Model& model, py::ssize_t worlds) : array_(array) {
    if (!array_) return;
    const py::ssize_t numbers = model.signals() == nullptr ? 0 : model.signals()->numbers();
    if (model.signals() == nullptr || array_->size() != worlds * numbers || !array_->writeable()) {
      throw std::invalid_argument("signals must be writeable and have " + std::to_string(worlds * numbers) +
                                  " numbers of a model with signals");
    }
  }

  double* data() { return array_ ? pointer() : nullptr; }

 private:
  /// Of signals without numbers, too: they act.
  double* pointer() { return array_->size() > 0 ? array_->mutable_data() : &none_; }

  std::optional<Array> array_;
  double none_ = 0;
};

}  // namespace pysim::bindings
