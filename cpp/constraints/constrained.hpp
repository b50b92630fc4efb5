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
  S* Y;               ///< (rows, nv), of each row the coordinates of its way
  S* scaled;          ///< [nv] of a row of Y D⁻¹
  int *own, *others;  ///< [nv] where the coordinates that two rows share stand on their ways
  Semidefinite<S> Lambda;

  ConstraintInertia(const ModelOf<S>& model, Workspace<S>& w) : rows(model.rows), nv(model.own_nv) {
    Y = w.template take<S>(std::ptrdiff_t{1} * rows * nv);
    scaled = w.template take<S>(nv);
    Lambda.n = rows;
    Lambda.A = w.template take<S>(std::ptrdiff_t{1} * rows * rows);
    Lambda.inv_D = w.template take<S>(rows);
    Lambda.scale = w.template take<S>(rows);
    Lambda.pass = w.template take<S>(rows);
    Lambda.column = w.template take<S>(rows);
    Lambda.met = w.take_indices(rows);
    Lambda.first = w.take_indices(rows);
    own = w.take_indices(nv);
    others = w.take_indices(nv);
  }

  void factorise(FactoredMechanism<S>& factor, const Rows<S>& r) {
    for (int i = 0; i < rows; ++i) {
      const tree::Way& way = factor.model.row_way[i];
      for (int m = 0; m < way.nv; ++m) Y[i * nv + m] = r.J[i * nv + m];
      factor.forward(way, Y + i * nv);
    }
    multiply(factor);
    scale(factor.model, r);
    Lambda.factorise();
  }

  /// Λ = Y D⁻¹ Yᵀ, block by block: the rows of one loop with those of each before it that shares a body.
  void multiply(const FactoredMechanism<S>& factor) {
    const auto& model = factor.model;
    for (int i = 0, end; i < rows; i = end) {
      end = end_of_kin(model, i);
      const tree::Meeting& meeting = model.row_meeting[i];
      const int* const met = model.met + meeting.first;
      for (int r = i; r < end; ++r) {
        Lambda.first[r] = met[0];
        for (int j = met[0]; j < i; ++j) Lambda.A[r * rows + j] = all<S>(0);
      }
      for (int n = 0; n < meeting.count; n += end_of_kin(model, met[n]) - met[n]) {
        multiply_block(factor, i, end, met[n]);
      }
    }
  }

  /// Where the rows end whose forces reach the same bodies as those of row i.
  int end_of_kin(const ModelOf<S>& model, int i) const {
    int end = i + 1;
    while (end < rows && model.row_way[end].first == model.row_way[i].first) ++end;
    return end;
  }

  /// Rows [i, end) with row j and its kin.
  void multiply_block(const FactoredMechanism<S>& factor, int i, int end, int j) {
    const auto& model = factor.model;
    const int j_end = end_of_kin(model, j), count = share(model, model.row_way[i], model.row_way[j]);
    const int* const coordinate = model.way + model.row_way[i].first_v;
    for (int r = i; r < end; ++r) {
      for (int m = 0; m < count; ++m) scaled[m] = Y[r * nv + own[m]] * factor.inv_D[coordinate[own[m]]];
      for (int s = j; s < j_end && s <= r; ++s) {
        S sum = all<S>(0);
        for (int m = 0; m < count; ++m) sum = fma(scaled[m], Y[s * nv + others[m]], sum);
        Lambda.A[r * rows + s] = sum;
      }
    }
  }

  /// Finds the coordinates that lie on both ways, and counts them; both descend, or are all there are.
  int share(const ModelOf<S>& model, const tree::Way& way, const tree::Way& other) {
    const int *const a = model.way + way.first_v, *const b = model.way + other.first_v;
    int count = 0;
    for (int m = 0, n = 0; m < way.nv && n < other.nv;) {
      const int here = a[m], there = b[n];
      if (here == there) {
        own[count] = m;
        others[count++] = n;
      }
      m += there <= here;
      n += here <= there;
    }
    return count;
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
