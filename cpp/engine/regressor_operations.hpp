// Regressors as operations on states.
#pragma once

#include "dynamics/energy_regressors.hpp"
#include "dynamics/regressor.hpp"
#include "engine/batch.hpp"

namespace pysim::engine {

/// Row after row, each written whole: Y is large and is not read again here.
struct JointTorqueRegressor {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.full_q(), *v = at.full_v(), *a = at.full_a();
    auto* const body = take<dynamics::RegressorBody<S>>(at.w, model.bodies);
    auto* const S_B = take<spatial::Motion<S>>(at.w, model.nv);
    dynamics::regressor_bodies(model, q, v, a, body, S_B, at.w);

    auto* const J = take<spatial::Motion<S>>(at.w, model.bodies);
    const std::ptrdiff_t width = std::ptrdiff_t{10} * model.bodies, size = width * model.reduced_nv;
    S* const row = take<S>(at.w, width);
    for (int k = 0; k < model.reduced_nv; ++k) {
      const auto range = dynamics::moved_by<S>(model, k);
      dynamics::regressor_row(model, body, S_B, k, range, J, row);
      const std::ptrdiff_t begin = k * width + 10 * range.first, end = k * width + 10 * range.end;
      at.clear_part(k * width, begin, size);
      at.save_part(row, begin, end - begin, size);
      at.clear_part(end, (k + 1) * width, size);
    }
  }
};

struct KineticEnergyRegressor {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v();
    S* const row = take<S>(at.w, 10 * at.model.bodies);
    dynamics::kinetic_energy_regressor(at.model, q, v, row, at.w);
    at.save(row, at.batch.out, 10 * at.model.bodies);
  }
};

struct PotentialEnergyRegressor {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    S* const row = take<S>(at.w, 10 * at.model.bodies);
    dynamics::potential_energy_regressor(at.model, q, row, at.w);
    at.save(row, at.batch.out, 10 * at.model.bodies);
  }
};

struct MomentumRegressor {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v();
    S* const Y = take<S>(at.w, 60 * at.model.bodies);
    dynamics::momentum_regressor(at.model, q, v, Y, at.w);
    at.save(Y, at.batch.out, 60 * at.model.bodies);
  }
};

}  // namespace pysim::engine
