// Constrained dynamics, constraint rows and projection as operations on states.
#pragma once

#include "constraints/constrained_derivatives.hpp"
#include "constraints/pose_search.hpp"
#include "constraints/singular/infinitesimal_motion.hpp"
#include "engine/saved_matrices.hpp"
#include "stepping/system.hpp"

namespace pysim::engine {

/// Rows that the caller knows to be redundant, for the operations that would find them otherwise.
template <class S>
class KnownRedundancy {
 public:
  explicit KnownRedundancy(States<S>& at)
      : known_(at.batch.constraint.known_redundant != nullptr),
        dependence_(constraints::take_dependence<S>(known_ ? at.model.rows : 0, at.w)) {
    if (!known_) return;
    const S* const redundant = at.read(at.batch.constraint.known_redundant, at.model.rows);
    for (int i = 0; i < at.model.rows; ++i) dependence_.row[i] = redundant[i] > all<S>(0);
    dependence_.known = simd::everywhere<S>();
  }

  /// Null if nothing is known.
  constraints::Dependence<S>* dependence() { return known_ ? &dependence_ : nullptr; }

 private:
  bool known_;
  constraints::Dependence<S> dependence_;
};

/// v̇ (nv) and the force λ of every row (rows).
struct ConstrainedAba {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.reduced_q(), *v = at.reduced_v(), *tau = at.reduced_x();
    S* const loop_q = at.loop_q();
    const Force<S>* f_ext = at.f_ext();
    S *const a = take<S>(at.w, model.reduced_nv), *const forces = take<S>(at.w, model.rows);
    KnownRedundancy<S> known(at);
    constraints::ConstrainedMechanism<S> mechanism(model, at.clock(), at.w);
    mechanism.accelerate(q, v, tau, f_ext, at.batch.passive, loop_q, a, forces, at.w, known.dependence());
    at.save(a, at.batch.out, model.reduced_nv);
    at.save(forces, at.batch.constraint.forces, model.rows);
  }
};

/// ∂v̇ (nv, nv) or ∂λ (rows, nv) by q, v and τ; and the measure of a singular position.
struct ConstrainedAbaDerivatives {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *q = at.reduced_q(), *v = at.reduced_v(), *tau = at.reduced_x();
    S* const loop_q = at.loop_q();
    const Force<S>* f_ext = at.f_ext();
    constraints::ConstrainedMechanism<S> mechanism(model, at.clock(), at.w);
    const auto D = constraints::kkt_slopes(mechanism, q, v, tau, f_ext, at.batch.passive, loop_q, at.w);
    const auto inverse = constraints::kkt_inverse(mechanism, q, at.batch.forces, at.w);
    const int first = at.batch.forces ? model.reduced_nv : 0;
    const int count = at.batch.forces ? model.rows : model.reduced_nv;
    const auto out = constraints::take_matrices(count, model.reduced_nv, at.w);
    constraints::solve_slopes(inverse, D, first, count, out);
    save_matrices(at, count, out);
    at.save_number(constraints::infinitesimal_motion(mechanism, inverse, q, loop_q, at.w));
  }
};

/// The constraints at a state: g (rows), g̈ at v̇ = 0 (rows), ∂g/∂t (rows), J (rows, nv), the wrench of every
/// row (rows, 6), and φ.
struct ConstraintRows {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    const S *reduced_q = at.reduced_q(), *reduced_v = at.reduced_v();
    const S *q = tree::full_q(model, reduced_q, at.w), *v = tree::full_v(model, reduced_v, at.w);
    S* const loop_q = at.loop_q();
    const auto r = constraints::take_rows(model, true, at.w);
    constraints::MechanismFactor<S> factor(model, at.w);
    factor.move_freely(q, v, at.w);
    constraints::evaluate_rows(model, factor, at.clock(), loop_q, r, true, at.w);
    constraints::evaluate_couplings<S>(model, at.clock(), reduced_q, reduced_v, nullptr, r, at.w);
    constraints::follow_hinges(model, factor, loop_q);
    constraints::name_wrenches(model, r);
    const auto& out = at.batch.constraint;
    S* const J = take<S>(at.w, std::ptrdiff_t{1} * model.rows * model.reduced_nv);
    constraints::spread_jacobian(r, J);
    at.save(r.g, at.batch.out, model.rows);
    at.save(r.gdd, out.bias, model.rows);
    S* const rates = take<S>(at.w, model.rows);
    for (int i = 0; i < model.rows; ++i) rates[i] = all<S>(0);
    constraints::visit_motions<S>(model, [&](int row, int count, int) {
      for (int i = row; i < row + count; ++i) rates[i] = r.gd[i] - r.times(i, reduced_v);
    });
    at.save(rates, out.rates, model.rows);
    at.save(J, out.jacobian, model.rows * model.reduced_nv);
    at.save(&r.W->f.x, out.wrenches, model.rows * 6);
    at.save(loop_q, at.batch.out_loop_q, model.loop_nq());
  }
};

/// Rows that the factorisation of G leaves out, as they depend on others (rows), and the largest |g| at which
/// each row counts as closed (rows): the judgement of a step's end at a configuration.
struct ClassifyRows {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    S *const q = at.copy_q(), *const v = at.copy_v(), *const loop_q = at.loop_q();
    S *const redundant = take<S>(at.w, model.rows), *const tolerance = take<S>(at.w, model.rows);
    constraints::Projection<S> projection(model, q, v, loop_q, nullptr, at.w);
    projection.begin(at.clock().time, at.w);
    for (int i = 0; i < model.rows; ++i) {
      redundant[i] = simd::number(!projection.factor().is_taken(i));
      tolerance[i] = all<S>(0);
    }
    projection.visit_tolerances([&](int row, S allowed) { tolerance[row] = allowed; });
    at.save(redundant, at.batch.constraint.redundant, model.rows);
    at.save(tolerance, at.batch.out, model.rows);
  }
};

/// The state moved onto the constraints: q (nq), v (nv), φ, the remaining residual, the rank of J, and
/// whether every row is within its tolerance.
struct Project {
  template <class S>
  static void at(States<S> at) {
    const auto& model = at.model;
    S *const q = at.copy_q(), *const v = at.copy_v(), *const loop_q = at.loop_q();
    KnownRedundancy<S> known(at);
    const auto move = [&] {
      return constraints::project(model, at.clock().time, q, v, loop_q, at.w, known.dependence());
    };
    move();  // from far away the velocity needs the end's factors
    const auto projected = move();
    at.save(q, at.batch.out, model.reduced_nq);
    at.save(v, at.batch.out_v, model.reduced_nv);
    at.save(loop_q, at.batch.out_loop_q, model.loop_nq());
    at.save_number(projected.residual, at.batch.constraint.residual);
    at.save_number(projected.rank, at.batch.constraint.rank);
    at.save_number(simd::number(projected.is_closed), at.batch.constraint.closed);
  }
};

/// The best q (nq) and φ that a search for the poses of frames meets, its cost and its largest error.
struct SearchPoses {
  template <class S>
  static void at(States<S> at) {
    const auto& search = *at.batch.search;
    S *const q = at.copy_q(), *const loop_q = at.loop_q();
    const S* const goals = at.read(search.goals, 12 * search.frames);
    constraints::PoseDescent<S> descent(at.model, search, goals, q, loop_q, at.w);
    descent.run();
    at.save(descent.best_q, at.batch.out, at.model.reduced_nq);
    at.save(descent.best_loop_q, at.batch.out_loop_q, at.model.loop_nq());
    at.save_number(descent.cost, search.cost);
    at.save_number(descent.error, search.error);
  }
};

}  // namespace pysim::engine
