// Integrators by their names in Python.
#pragma once

#include <stdexcept>
#include <string>

#include "engine/batch.hpp"

namespace pysim::bindings {

inline engine::Integrator integrator_named(const std::string& name) {
  std::string known;
  int index = 0;
  for (const char* other : engine::integrator_names) {
    if (name == other) return engine::Integrator{index};
    known += (index++ > 0 ? ", " : "") + std::string(other);
  }
  throw std::invalid_argument("integrator '" + name + "' is unknown; choose one of " + known);
}

/// Refuses schemes that know no constraints where the model has some.
inline void check_constraints(const tree::Model& model, engine::Integrator integrator) {
  if (model.rows() == 0 || integrator < engine::Integrator::variational) return;
  throw std::invalid_argument("integrator '" + std::string(engine::integrator_names[int(integrator)]) +
                              "' closes no loops and holds no couplings; choose another, such as rk4");
}

}  // namespace pysim::bindings
