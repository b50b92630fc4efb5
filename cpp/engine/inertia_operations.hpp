// Inertia matrices, momenta and joint reactions of the mechanism as operations on states.
#pragma once

#include "constraints/inverse_inertia.hpp"
#include "dynamics/centroidal.hpp"
#include "dynamics/coriolis.hpp"
#include "dynamics/reactions.hpp"
#include "engine/frame_operations.hpp"

namespace pysim::engine {

struct Minverse {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    const S* Minv = constraints::inverse_inertia(at.model, q, at.w);
    at.save(Minv, at.batch.out, at.model.reduced_nv * at.model.reduced_nv);
  }
};

struct FrameMobility {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    S mobility[36];
    constraints::frame_mobility(at.model, q, frame_of<S>(at.batch), at.batch.expressed, mobility, at.w);
    at.save(mobility, at.batch.out, 36);
  }
};

struct CoriolisMatrix {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.full_q(), *v = at.full_v();
    S* const C = take<S>(at.w, std::ptrdiff_t{1} * model.nv * model.nv);
    dynamics::coriolis_matrix(model, q, v, C, at.w);
    at.save(tree::reduced_inertia(model, C, at.w), at.batch.out, model.reduced_nv * model.reduced_nv);
  }
};

struct CentroidalMomentum {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v();
    const auto sum = dynamics::centroidal_momentum(at.model, q, v, static_cast<const S*>(nullptr), at.w);
    at.save_twist({sum.h.f, sum.h.t});
  }
};

struct CentroidalMomentumRate {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v(), *a = at.full_a();
    const auto sum = dynamics::centroidal_momentum(at.model, q, v, a, at.w);
    at.save_twist({sum.h_dot.f, sum.h_dot.t});
  }
};

struct CentroidalMap {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    S* const A = take<S>(at.w, 6 * at.model.reduced_nv);
    dynamics::centroidal_map(at.model, q, A, at.w);
    at.save(A, at.batch.out, 6 * at.model.reduced_nv);
  }
};

struct CentroidalMapRate {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v();
    S* const A_dot = take<S>(at.w, 6 * at.model.reduced_nv);
    dynamics::centroidal_map_rate(at.model, q, v, A_dot, at.w);
    at.save(A_dot, at.batch.out, 6 * at.model.reduced_nv);
  }
};

struct JointReactions {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v(), *a = at.full_a();
    const Force<S>* f_ext = at.f_ext();
    Force<S>* const F = take<Force<S>>(at.w, 2 * at.model.bodies);
    dynamics::joint_reactions(at.model, q, v, a, f_ext, F, F + at.model.bodies, at.w);
    at.save(&F->f.x, at.batch.out, 12 * at.model.bodies);
  }
};

}  // namespace pysim::engine
