// Kinematics, dynamics and energies as operations on states: read a pack, compute, write.
#pragma once

#include "constraints/acceleration.hpp"
#include "dynamics/crba.hpp"
#include "dynamics/energy.hpp"
#include "dynamics/retract.hpp"
#include "engine/batch.hpp"

namespace pysim::engine {

struct ForwardKinematics {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S* q = at.full_q();
    Pose<S>* const X_WB = take<Pose<S>>(at.w, model.bodies);
    dynamics::forward_kinematics(model, q, X_WB, at.w);
    constexpr int together = 4;  // poses that leave as one run of numbers, see store_rows
    S* const entry = take<S>(at.w, 16 * together);
    for (int b = 0; b < model.bodies; ++b) {
      Pose<S> X = X_WB[b];
      const auto& turn = model.constants[b].alignment;
      if (turn[8] < 1) X.R = X.R * transpose(spatial::all33<S>(turn));  // otherwise the two frames are equal
      const int place = b % together;
      put_matrix(X, entry + 16 * place);
      if (place + 1 < together && b + 1 < model.bodies) continue;
      at.save_part(entry, 16 * (b - place), 16 * (place + 1), std::ptrdiff_t{16} * model.bodies);
    }
  }
};

struct FramePlacement {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S* q = at.full_q();
    auto* const columns = take<spatial::Motion<S>>(at.w, model.stored_columns);
    Pose<S> X = {spatial::all33<S>(at.batch.placement), spatial::all3<S>(at.batch.placement + 9)};
    for (int b = at.batch.body; b >= 0; b = model.joint[b].parent) {
      X = tree::evaluate(model, b, q, columns) * X;
    }
    S entry[16];
    put_matrix(X, entry);
    at.save(entry, at.batch.out, 16);
  }
};

struct Rnea {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.full_q(), *v = at.full_v(), *a = at.full_a();
    const Force<S>* f_ext = at.f_ext();
    S* const tau = take<S>(at.w, model.nv);
    dynamics::rnea(model, q, v, a, f_ext, tau, at.w);
    if (at.batch.passive && has_passive(model)) {
      S* const passive = take<S>(at.w, model.nv);
      dynamics::passive_forces(model, q, v, passive, at.w);
      for (int i = 0; i < model.nv; ++i) tau[i] -= passive[i];
    }
    at.save_forces(tau);
  }
};

struct Aba {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.reduced_q(), *v = at.reduced_v(), *tau = at.reduced_x();
    const Force<S>* f_ext = at.f_ext();
    S* const a = take<S>(at.w, model.reduced_nv);
    constraints::acceleration(model, q, v, tau, f_ext, at.batch.passive, a, at.w);
    at.save(a, at.batch.out, model.reduced_nv);
  }
};

struct Crba {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S* q = at.full_q();
    S* const M = take<S>(at.w, std::ptrdiff_t{1} * model.nv * model.nv);
    dynamics::crba(model, q, M, at.w);
    const S* own = tree::reduced_inertia(model, M, at.w);
    at.save(own, at.batch.out, model.reduced_nv * model.reduced_nv);
  }
};

struct PassiveForces {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v();
    S* const tau = take<S>(at.w, at.model.nv);
    dynamics::passive_forces(at.model, q, v, tau, at.w);
    at.save_forces(tau);
  }
};

struct KineticEnergy {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v();
    at.save_number(dynamics::kinetic_energy(at.model, q, v, at.w));
  }
};

struct PotentialEnergy {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    at.save_number(dynamics::potential_energy(at.model, q, at.w));
  }
};

struct ElasticEnergy {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    S energy = dynamics::elastic_energy(at.model, q);
    if (at.model.elements > 0) energy += elements::element_energy(at.model, q, at.w);
    at.save_number(energy);
  }
};

struct CenterOfMass {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    const auto sum = dynamics::first_moment(at.model, q, at.w);
    const S com[3] = {sum.mc.x / sum.m, sum.mc.y / sum.m, sum.mc.z / sum.m};
    at.save(com, at.batch.out, 3);
  }
};

struct Integrate {
  template <class S>
  static void at(States<S> at) {
    S* const q = at.copy_q();
    const S* dq = at.reduced_x();
    dynamics::retract(at.model, q, dq, q);
    at.save(q, at.batch.out, at.model.reduced_nq);
  }
};

struct Difference {
  template <class S>
  static void at(States<S> at) {
    const S *q0 = at.reduced_q(), *q1 = at.read(at.batch.x, at.model.reduced_nq);
    S* const dq = take<S>(at.w, at.model.reduced_nv);
    dynamics::difference(at.model, q0, q1, dq);
    at.save(dq, at.batch.out, at.model.reduced_nv);
  }
};

}  // namespace pysim::engine
