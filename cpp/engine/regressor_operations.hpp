// Regressors as operations on states.
#pragma once

#include "dynamics/energy_regressors.hpp"
#include "dynamics/regressor.hpp"
#include "engine/batch.hpp"

namespace pysim::engine {

/// Row after row, each written whole: Y is large, and most of it is read by nobody here.
struct JointTorqueRegressor {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.tree_q(), *v = at.tree_v(), *a = at.tree_a();
    auto* const body = at.w.template take<dynamics::RegressorBody<S>>(model.bodies);
    auto* const S_B = at.w.template take<spatial::Motion<S>>(model.nv);
    dynamics::regressor_bodies(model, q, v, a, body, S_B, at.w);

    auto* const J = at.w.template take<spatial::Motion<S>>(model.bodies);
    const std::ptrdiff_t width = std::ptrdiff_t{10} * model.bodies, size = width * model.own_nv;
    S* const row = at.w.template take<S>(width);
    for (int k = 0; k < model.own_nv; ++k) {
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
    const S *q = at.tree_q(), *v = at.tree_v();
    S* const row = at.w.template take<S>(10 * at.model.bodies);
    dynamics::kinetic_energy_regressor(at.model, q, v, row, at.w);
    at.save(row, at.batch.out, 10 * at.model.bodies);
  }
};

struct PotentialEnergyRegressor {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.tree_q();
    S* const row = at.w.template take<S>(10 * at.model.bodies);
    dynamics::potential_energy_regressor(at.model, q, row, at.w);
    at.save(row, at.batch.out, 10 * at.model.bodies);
  }
};

struct MomentumRegressor {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.tree_q(), *v = at.tree_v();
    S* const Y = at.w.template take<S>(60 * at.model.bodies);
    dynamics::momentum_regressor(at.model, q, v, Y, at.w);
    at.save(Y, at.batch.out, 60 * at.model.bodies);
  }
};

}  // namespace pysim::engine
