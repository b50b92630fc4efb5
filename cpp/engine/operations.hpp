// Every algorithm as an operation on states: read a pack of them, run, write. One struct an algorithm.
#pragma once

#include "dynamics/energy.hpp"
#include "engine/constraint_operations.hpp"
#include "stepping/adaptive.hpp"
#include "stepping/advance.hpp"
#include "stepping/composition.hpp"
#include "stepping/generalized_alpha.hpp"
#include "stepping/halving.hpp"
#include "stepping/implicit_midpoint.hpp"
#include "stepping/rattle.hpp"
#include "stepping/runge_kutta.hpp"
#include "stepping/semi_implicit.hpp"
#include "stepping/variational.hpp"

namespace pysim::engine {

struct ForwardKinematics {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S* q = at.tree_q();
    Pose<S>* const X_WB = take<Pose<S>>(at.w, model.bodies);
    dynamics::forward_kinematics(model, q, X_WB, at.w);
    constexpr int together = 4;  // poses that leave as one run of numbers, see store_rows
    S* const entry = take<S>(at.w, 16 * together);
    for (int b = 0; b < model.bodies; ++b) {
      Pose<S> X = X_WB[b];
      const auto& turn = model.constants[b].turn;
      if (turn[8] < 1) X.R = X.R * transpose(spatial::all33<S>(turn));  // else the two frames are one
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
    const S* q = at.tree_q();
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
    const S *q = at.tree_q(), *v = at.tree_v(), *a = at.tree_a();
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
    const S *q = at.own_q(), *v = at.own_v(), *tau = at.own_x();
    const Force<S>* f_ext = at.f_ext();
    S* const a = take<S>(at.w, model.own_nv);
    constraints::acceleration(model, q, v, tau, f_ext, at.batch.passive, a, at.w);
    at.save(a, at.batch.out, model.own_nv);
  }
};

struct Crba {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S* q = at.tree_q();
    S* const M = take<S>(at.w, std::ptrdiff_t{1} * model.nv * model.nv);
    dynamics::crba(model, q, M, at.w);
    const S* own = tree::own_inertia(model, M, at.w);
    at.save(own, at.batch.out, model.own_nv * model.own_nv);
  }
};

struct PassiveForces {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.tree_q(), *v = at.tree_v();
    S* const tau = take<S>(at.w, at.model.nv);
    dynamics::passive_forces(at.model, q, v, tau, at.w);
    at.save_forces(tau);
  }
};

struct KineticEnergy {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.tree_q(), *v = at.tree_v();
    at.save_number(dynamics::kinetic_energy(at.model, q, v, at.w));
  }
};

struct PotentialEnergy {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.tree_q();
    at.save_number(dynamics::potential_energy(at.model, q, at.w));
  }
};

struct ElasticEnergy {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.tree_q();
    at.save_number(dynamics::elastic_energy(at.model, q) + dynamics::spring_energy(at.model, q, at.w));
  }
};

struct CenterOfMass {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.tree_q();
    const auto sum = dynamics::first_moment(at.model, q, at.w);
    const S com[3] = {sum.mc.x / sum.m, sum.mc.y / sum.m, sum.mc.z / sum.m};
    at.save(com, at.batch.out, 3);
  }
};

struct Integrate {
  template <class S>
  static void at(States<S> at) {
    S* const q = at.copy_q();
    const S* dq = at.own_x();
    dynamics::retract(at.model, q, dq, q);
    at.save(q, at.batch.out, at.model.own_nq);
  }
};

struct Difference {
  template <class S>
  static void at(States<S> at) {
    const S *q0 = at.own_q(), *q1 = at.read(at.batch.x, at.model.own_nq);
    S* const dq = take<S>(at.w, at.model.own_nv);
    dynamics::difference(at.model, q0, q1, dq);
    at.save(dq, at.batch.out, at.model.own_nv);
  }
};

/// Calls f(scheme) with the scheme of fixed step that is asked for.
template <class F>
PYSIM_INLINE void with_scheme(Integrator integrator, F f) {
  switch (integrator) {
    case Integrator::semi_implicit:
      return f(stepping::SemiImplicit{});
    case Integrator::rk2:
      return f(stepping::Rk2{});
    case Integrator::rk4:
      return f(stepping::Rk4{});
    case Integrator::variational:
      return f(stepping::Rattle<stepping::Variational>{});
    case Integrator::variational4:
      return f(stepping::Fourth<stepping::Rattle<stepping::Variational>>{});
    case Integrator::implicit_midpoint:
      return f(stepping::Halving<stepping::Rattle<stepping::ImplicitMidpoint>>{});
    case Integrator::generalized_alpha:
      return f(stepping::Halving<stepping::GeneralizedAlpha>{});
  }
}

struct Advance {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    S *const q = at.copy_q(), *const v = at.copy_v(), *const loop_q = at.loop_q();
    S* const memory = at.memory();
    S done;
    const stepping::System<S> system = {
        at.model, *batch.actuation, at.w, loop_q, nullptr, memory, batch.spectral_radius};
    with_scheme(batch.integrator, [&](auto scheme) {
      stepping::advance<decltype(scheme)>(system, batch.time, batch.step, batch.steps, q, v, &done);
    });
    at.save(q, batch.out, at.model.own_nq);
    at.save(v, batch.out_v, at.model.own_nv);
    at.save(loop_q, batch.out_loop_q, at.model.loop_nq());
    at.save_memory(memory);
    for (int i = 0; i < S::width; ++i) {
      batch.done[at.first + i] = static_cast<std::ptrdiff_t>(simd::lane(done, i));
    }
  }
};

/// Puts the states a world passes at the call's times into its rows of `out` (count, nq) and `out_v`.
template <class S>
struct RowsOfTime {
  const States<S>& at;

  void operator()(int k, std::ptrdiff_t index, const S* q, const S* v) const {
    const std::ptrdiff_t row = (at.first + k) * at.batch.adaptive->count + index;
    const int nq = at.model.own_nq, nv = at.model.own_nv;
    for (int i = 0; i < nq; ++i) at.batch.out[row * nq + i] = simd::lane(q[i], k);
    for (int i = 0; i < nv; ++i) at.batch.out_v[row * nv + i] = simd::lane(v[i], k);
  }

  void event(int k, const S* q, const S* v) const {
    const auto& call = *at.batch.adaptive;
    const int nq = at.model.own_nq, nv = at.model.own_nv;
    for (int i = 0; i < nq; ++i) call.event_q[(at.first + k) * nq + i] = simd::lane(q[i], k);
    for (int i = 0; i < nv; ++i) call.event_v[(at.first + k) * nv + i] = simd::lane(v[i], k);
  }
};

struct AdvanceAdaptive {
  template <class S>
  static void at(States<S> at) {
    const auto& call = *at.batch.adaptive;
    const int numbers = call.flight_numbers();
    S* const carried = at.load(call.flight, numbers);
    S *const q = at.copy_q(), *const v = at.copy_v(), *const loop_q = at.loop_q();
    const stepping::Watch<S> watch = {call.events.count > 0 ? carried[4] : all<S>(0), carried + 5};
    stepping::Flight<S> flight = {q, v, carried[0], carried[1], carried[2], carried[3], watch};
    const stepping::System<S> system = {at.model, *at.batch.actuation, at.w, loop_q};
    const auto record = stepping::advance_adaptive(system,
                                                   call.tolerances,
                                                   call.events,
                                                   call.times,
                                                   call.count,
                                                   call.longest,
                                                   call.attempts,
                                                   flight,
                                                   RowsOfTime<S>{at});
    at.save(flight.q, call.q, at.model.own_nq);
    at.save(flight.v, call.v, at.model.own_nv);
    at.save(loop_q, at.batch.out_loop_q, at.model.loop_nq());
    const S first[] = {flight.time, flight.h, flight.last_error, flight.growth};
    for (int i = 0; i < 4; ++i) carried[i] = first[i];
    if (call.events.count > 0) carried[4] = flight.watch.seen;
    at.save(carried, call.flight, numbers);
    const S counts[] = {
        record.reached, record.accepted, record.rejected, record.worst, record.status, record.event};
    for (int k = 0; k < S::width; ++k) {
      for (int i = 0; i < 6; ++i) {
        call.record[6 * (at.first + k) + i] = static_cast<std::ptrdiff_t>(simd::lane(counts[i], k));
      }
    }
  }
};

}  // namespace pysim::engine
