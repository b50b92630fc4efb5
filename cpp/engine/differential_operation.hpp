// Differential dynamics as an operation on states: columns are written as they are computed.
#pragma once

#include "dynamics/design_derivatives.hpp"
#include "dynamics/differential_seeds.hpp"
#include "engine/batch.hpp"

namespace pysim::engine {

/// Destination of the columns of a pack of states: P, Q and R (bodies, 6, width) and S (reduced_nv, width).
template <class S>
struct DifferentialColumns {
  using Real = typename S::Real;

  const States<S>& at;
  const dynamics::DifferentialDynamics<S>& d;
  S* tau;  ///< room for one column of the tree's coordinates
  std::ptrdiff_t width;

  /// Propagates the seeds, stores the result as a column, and clears them.
  void make(std::ptrdiff_t column) const {
    const auto& model = at.model;
    dynamics::spread_seeds(model, d, tau);
    for (int b = 0; b < model.bodies; ++b) {
      const dynamics::Change<S>& C = d.change[b];
      save(at.batch.derivative[0], b, column, C.P.v, C.P.w);
      save(at.batch.derivative[1], b, column, C.Q.v, C.Q.w);
      save(at.batch.derivative[2], b, column, C.R.f, C.R.t);
      dynamics::clear_seed(d, b);
    }
    Workspace<S> w = at.w;
    const S* const own = tree::reduced_forces(model, tau, w);
    const std::ptrdiff_t size = width * model.reduced_nv;
    for (int i = 0; i < model.reduced_nv; ++i) {
      scatter(own[i], at.batch.out + at.first * size + i * width + column, size);
    }
  }

 private:
  /// Six numbers of body b, in the user's axes.
  void save(Real* rows, int b, std::ptrdiff_t column, const Vec3<S>& linear, const Vec3<S>& angular) const {
    const auto turn = spatial::all33<S>(at.model.constants[b].alignment);
    const Vec3<S> x = turn * linear, y = turn * angular;
    const S entry[6] = {x.x, x.y, x.z, y.x, y.y, y.z};
    const std::ptrdiff_t size = 6 * at.model.bodies * width;
    for (int i = 0; i < 6; ++i)
      scatter(entry[i], rows + at.first * size + (6 * b + i) * width + column, size);
  }
};

/// λ = (η of every body, q, v, v̇ of the user's coordinates).
struct DifferentialDynamics {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.full_q(), *v = at.full_v(), *a = at.full_a();
    const Force<S>* f_ext = at.f_ext();
    const auto d = dynamics::prepare_differential(model, q, v, a, f_ext, at.w);
    const int n = model.reduced_nv, first = 6 * model.bodies;
    const DifferentialColumns<S> columns = {at, d, take<S>(at.w, model.nv), first + 3 * n};

    for (int b = 0; b < model.bodies; ++b) dynamics::clear_seed(d, b);
    for (int column = 0; column < first; ++column) {
      const int b = column / 6;
      dynamics::seed_twist(model, d, b, dynamics::user_unit<S>(model, b, column % 6));
      columns.make(column);
    }
    for (int reduced = 0; reduced < n; ++reduced) {
      for (int of = 0; of < 3; ++of) {  // q, v, v̇
        for (int b = 0; b < model.bodies; ++b) {
          for (int k = 0; k < model.joint[b].nv; ++k) {
            const auto& coupling = model.mimic_v[model.joint[b].v + k];
            if (coupling.reduced != reduced) continue;
            const S ratio = all<S>(coupling.ratio);
            if (of == 0) dynamics::seed_position(model, d, b, k, v, a, ratio);
            if (of == 1) dynamics::seed_velocity(model, d, b, k, v, ratio);
            if (of == 2) dynamics::seed_acceleration(model, d, b, k, ratio);
          }
        }
        columns.make(first + of * n + reduced);
      }
    }
  }
};

}  // namespace pysim::engine
