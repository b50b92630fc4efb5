// Forward dynamics of a mechanism whose loops are closed and whose couplings hold.
//
//     M v̇ = τ − h + Jᵀ λ,  g̈ = J v̇ + bias = 0      ⟹      (J M⁻¹ Jᵀ) λ = −g̈₀,   v̇ = v̇₀ + M⁻¹ Jᵀ λ
//
// where v̇₀ and g̈₀ are those of the tree alone [Featherstone 2008, section 8.5]. J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ comes
// from one sweep to the root for each row; it is solved with its rank, so redundant rows are welcome.
#pragma once

#include "constraints/relations.hpp"
#include "constraints/semidefinite.hpp"

namespace pysim::constraints {

/// Λ = J M⁻¹ Jᵀ, factored, and the rows of Y = L⁻¹ Jᵀ.
template <class S>
struct ConstraintInertia {
  int rows, nv;
  S* Y;       ///< (rows, nv), of each row the coordinates of its way
  S* scaled;  ///< Y D⁻¹, likewise
  Semidefinite<S> Lambda;

  ConstraintInertia(const ModelOf<S>& model, Workspace<S>& w) : rows(model.rows), nv(model.own_nv) {
    Y = w.template take<S>(std::ptrdiff_t{1} * rows * nv);
    scaled = w.template take<S>(std::ptrdiff_t{1} * rows * nv);
    Lambda.n = rows;
    Lambda.A = w.template take<S>(std::ptrdiff_t{1} * rows * rows);
    Lambda.inv_D = w.template take<S>(rows);
    Lambda.scale = w.template take<S>(rows);
    Lambda.pass = w.template take<S>(rows);
    Lambda.column = w.template take<S>(rows);
    Lambda.E = w.template take<S>(rows);
    Lambda.right = w.template take<S>(rows);
    Lambda.met = w.take_indices(rows);
    Lambda.first = w.take_indices(rows);
    Lambda.last = w.take_indices(rows);
  }

  void factorise(FactoredMechanism<S>& factor, const Rows<S>& r) {
    const auto& model = factor.model;
    for (int i = 0; i < rows; ++i) {
      const tree::Way& way = model.row_way[i];
      const int* const coordinate = model.way + way.first_v;
      S *const y = Y + i * nv, *const by_D = scaled + i * nv;
      for (int m = 0; m < way.nv; ++m) y[m] = r.J[i * nv + m];
      factor.forward(way, y);
      for (int m = 0; m < way.nv; ++m) by_D[m] = y[m] * factor.inv_D[coordinate[m]];
    }
    for (int n = 0; n < model.meetings; ++n) {
      if (n == 0 || model.meeting[n - 1].row != model.meeting[n].row) begin_rows(model.meeting[n]);
      multiply(model, model.meeting[n]);
    }
    scale(model, r);
    Lambda.factorise();
  }

  /// Rows begin with the first that they meet.
  void begin_rows(const tree::Meeting& meeting) {
    for (int i = meeting.row; i < meeting.end; ++i) {
      Lambda.first[i] = meeting.other;
      for (int j = meeting.other; j < meeting.row; ++j) Lambda.A[i * rows + j] = all<S>(0);
    }
  }

  /// Y D⁻¹ Yᵀ of rows that meet.
  void multiply(const ModelOf<S>& model, const tree::Meeting& meeting) {
    const tree::Shared* const shared = model.shared + meeting.first;
    for (int i = meeting.row; i < meeting.end; ++i) {
      for (int j = meeting.other; j < meeting.other_end && j <= i; ++j) {
        S sum = all<S>(0);
        for (int n = 0; n < meeting.runs; ++n) {
          const S *const y = scaled + i * nv + shared[n].own, *const z = Y + j * nv + shared[n].other;
          for (int m = 0; m < shared[n].count; ++m) sum = fma(y[m], z[m], sum);
        }
        Lambda.A[i * rows + j] = sum;
      }
    }
  }

  /// 1/√ of the largest diagonal among a row's kin: rows of its loop that hold positions, or that hold turns.
  void scale(const ModelOf<S>& model, const Rows<S>& r) {
    const S half = all<S>(typename S::Real(0.5)), o = all<S>(0), one = all<S>(1);
    for (int i = 0; i < model.relations; ++i) {
      const int row = model.relation[i].row;
      Lambda.scale[row] = one / sqrt(Lambda.A[row * rows + row]);
    }
    for (int k = 0; k < model.loops; ++k) {
      const Loop& loop = model.loop[k];
      S of_positions = o, of_turns = o;
      for (int i = loop.row; i < loop.row + loop.rows; ++i) {
        const S size = Lambda.A[i * rows + i];
        const auto holds_position = dot(r.W[i].f, r.W[i].f) > half;
        of_positions = max(of_positions, select(holds_position, size, o));
        of_turns = max(of_turns, select(holds_position, o, size));
      }
      const S position = one / sqrt(of_positions);
      const S turn = simd::any<S>(of_turns > o) ? one / sqrt(of_turns) : o;
      for (int i = loop.row; i < loop.row + loop.rows; ++i) {
        Lambda.scale[i] = select(dot(r.W[i].f, r.W[i].f) > half, position, turn);
      }
    }
  }

  /// x = M⁻¹ Jᵀ λ.
  void push(FactoredMechanism<S>& factor, const S* lambda, S* x) const {
    for (int k = 0; k < nv; ++k) x[k] = all<S>(0);
    for (int i = 0; i < rows; ++i) {
      const tree::Way& way = factor.model.row_way[i];
      const int* const k = factor.model.way + way.first_v;
      for (int m = 0; m < way.nv; ++m) x[k[m]] = fma(lambda[i], Y[i * nv + m], x[k[m]]);
    }
    factor.backward(x);
  }
};

/// The external wrenches, `f_ext` (may be null) and those of springs, which hang where the bodies were
/// placed.
template <class S>
const Force<S>* with_springs(const FactoredMechanism<S>& factor, const Force<S>* f_ext, Workspace<S>& w) {
  const auto& model = factor.model;
  if (model.springs == 0) return f_ext;
  Force<S>* const F = w.template take<Force<S>>(model.bodies);
  for (int b = 0; b < model.bodies; ++b) F[b] = f_ext == nullptr ? spatial::zero_force<S>() : f_ext[b];
  const auto end = [&](int b, const Vec3<S>& at) -> dynamics::SpringEnd<S> {
    if (b < 0) return {at, spatial::zero3<S>()};
    return dynamics::spring_end(factor.X_WB[b], factor.body[b].V, at);
  };
  const auto hang = [&](int b, const Vec3<S>& at, const Vec3<S>& f) {
    if (b < 0) return;
    const Vec3<S> f_B = transpose_times(factor.X_WB[b].R, f);
    F[b] += {f_B, cross(at, f_B)};
  };
  for (int k = 0; k < model.springs; ++k) {
    const auto& spring = model.spring[k];
    const Vec3<S> at_a = spatial::all3<S>(spring.at_a), at_b = spatial::all3<S>(spring.at_b);
    const Vec3<S> f = dynamics::spring_pull(spring, end(spring.a, at_a), end(spring.b, at_b));
    hang(spring.a, at_a, f);
    hang(spring.b, at_b, -f);
  }
  return F;
}

/// v̇ of the user's coordinates, constraints and couplings included, and the constraints' forces λ [rows].
/// φ of the loops follows q, but for that of hinges.
template <class S>
void constrained_acceleration(const ModelOf<S>& model,
                              const S* own_q,
                              const S* own_v,
                              const S* tau,
                              const Force<S>* f_ext,
                              bool passive,
                              S* phi,
                              S* a,
                              S* lambda,
                              Workspace<S> w) {
  const S* q = tree::tree_q(model, own_q, w);
  const S* v = tree::tree_v(model, own_v, w);
  FactoredMechanism<S> factor(model, w);
  factor.move(q, v, w);
  S* force = nullptr;
  if (passive && model.has_passive) {
    force = w.template take<S>(model.nv);
    dynamics::passive_joint_forces(model, q, v, force, w);
    f_ext = with_springs(factor, f_ext, w);
  }
  factor.accelerate(q, v, tau, force, f_ext, a, w);
  const Rows<S> rows = take_rows(model, true, w);
  evaluate_rows(model, factor, phi, rows, true, w);
  evaluate_relations(model, own_q, own_v, static_cast<const S*>(a), rows, w);

  ConstraintInertia<S> inertia(model, w);
  inertia.factorise(factor, rows);
  for (int i = 0; i < model.rows; ++i) lambda[i] = -rows.gdd[i];
  inertia.Lambda.solve(lambda);
  S* const push = w.template take<S>(model.own_nv);
  inertia.push(factor, lambda, push);
  for (int i = 0; i < model.own_nv; ++i) a[i] += push[i];
}

}  // namespace pysim::constraints
