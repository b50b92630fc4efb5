// Integrators and their names.
#pragma once

#include <stdexcept>
#include <string>

#include "engine/batch.hpp"

namespace pysim::engine {

inline Integrator integrator_named(const std::string& name) {
  std::string known;
  int index = 0;
  for (const char* other : integrator_names) {
    if (name == other) return Integrator{index};
    known += (index++ > 0 ? ", " : "") + std::string(other);
  }
  throw std::invalid_argument("integrator '" + name + "' is unknown; choose one of " + known);
}

inline double checked_radius(double radius) {
  if (radius >= 0 && radius <= 1) return radius;
  throw std::invalid_argument("spectral_radius must be from 0 to 1, got " + std::to_string(radius));
}

}  // namespace pysim::engine
