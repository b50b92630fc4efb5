// An FMU's instance in model exchange: the world is where the integrator of a master puts it.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "fmu/instance.hpp"

namespace pysim::fmu {
void Instance::read_states() {
  known_ = 0;
  const auto& parts = worlds_->worlds->parts();
  const auto& n = parts.sizes;
  const auto elements = static_cast<std::ptrdiff_t>(worlds_->rates.state_rates().size());
  states_.assign(parts.q, parts.q + n.q);
  states_.insert(states_.end(), parts.v, parts.v + n.v);
  states_.insert(states_.end(), parts.signals, parts.signals + elements);
}

void Instance::set_states(const double* states) {
  if (!std::all_of(states, states + states_.size(), [](double x) { return std::isfinite(x); })) {
    throw std::invalid_argument("a continuous state is not finite");
  }
  known_ = 0;
  const auto& parts = worlds_->worlds->parts();
  const auto& n = parts.sizes;
  std::copy_n(states, states_.size(), states_.begin());
  std::copy_n(states, n.q, parts.q);
  std::copy_n(states + n.q, n.v, parts.v);
  std::copy(states + n.q + n.v, states + states_.size(), parts.signals);
  for (const auto& place : scene_->scene.model().quaternions()) {
    double* const q = parts.q + place.at;
    double norm = 0;
    for (int i = 0; i < quaternion_numbers; ++i) norm += q[i] * q[i];
    norm = std::sqrt(norm);
    if (!(norm > 0)) throw std::invalid_argument("a quaternion among the continuous states is zero");
    for (int i = 0; i < quaternion_numbers; ++i) q[i] /= norm;
  }
}

void Instance::set_time(double t) {
  if (!std::isfinite(t)) throw std::invalid_argument("the time must be finite [s]");
  known_ = 0;
  worlds_->worlds->parts().t[0] = t - start_;
  last_ = t;
}

void Instance::state_rates(double* rates) {
  accept_parameters();
  const auto& n = worlds_->worlds->parts().sizes;
  worlds_->rates.compute(0);
  const auto &a = worlds_->rates.accelerations(), &elements = worlds_->rates.state_rates();
  worlds_->rates.coordinate_rates(0, rates);
  std::copy(a.begin(), a.end(), rates + n.q);
  std::copy(elements.begin(), elements.end(), rates + n.q + n.v);
}

}  // namespace pysim::fmu
