// Pass 3 of the derivatives of inverse dynamics (rnea_derivatives.hpp): rows of consecutive coordinates.
//
//     k at or above i:   ∂τ_i/∂q_k = Ψ_k·G_i + A_k·Fa_i      ∂τ_i/∂v_k = S_k·G_i + A'_k·Fa_i
//     k below i:         ∂τ_i/∂q_k = S_i·Fq_k                ∂τ_i/∂v_k = S_i·Fv_k
//
// Consecutive coordinates of one branch have the same coordinates above the first and the same ones
// below the last. Each of these is then read once for all of the rows: the results of pass 2 for 50 joints
// are three times as large as the first-level cache.
#pragma once

#include "dynamics/rnea_derivatives.hpp"

namespace pysim::dynamics {

/// Largest number of rows computed together.
constexpr int max_rows = 4;

/// Derivatives of one τ_i with respect to q, v and v̇, nv numbers each.
template <class S>
struct TorqueRow {
  S *q, *v, *a;
};

/// Rows first … first + count; `body` is that of the first, `last` that of the last.
struct RowRun {
  int first, count, body, last;
};

/// Number of rows that can be computed together from coordinate i of joint b on: 4, 2 or 1.
template <class Real>
PYSIM_INLINE RowRun row_run(const tree::ModelView<Real>& model, int b, int i) {
  RowRun longest = {i, 1, b, b}, run = longest;
  const int end = velocities_end(model, b);
  while (run.count < max_rows) {
    const Joint& joint = model.joint[run.last];
    if (i + run.count == joint.v + joint.nv) {
      const int next = run.last + 1;
      if (next >= joint.end || velocities_end(model, next) != end) break;
      run.last = next;
    }
    run.count += 1;
    if (run.count != 3) longest = run;
  }
  return longest;
}

/// The rows from coordinate i of joint b on; empty after the last joint.
template <class Real>
PYSIM_INLINE RowRun run_from(const tree::ModelView<Real>& model, int b, int i) {
  if (b == model.bodies) return {i, 0, b, b};
  return row_run(model, b, i);
}

template <class Real>
PYSIM_INLINE RowRun first_run(const tree::ModelView<Real>& model) {
  return run_from(model, 0, 0);
}

template <class Real>
PYSIM_INLINE RowRun next_run(const tree::ModelView<Real>& model, const RowRun& run) {
  const int i = run.first + run.count;
  const Joint& last = model.joint[run.last];
  return run_from(model, i == last.v + last.nv ? run.last + 1 : run.last, i);
}

/// Entries of column k, at or above each of R rows, whose own numbers are I.
template <int R, class S>
PYSIM_INLINE void put_above(const CoordinateDerivatives<S>& K,
                            const CoordinateDerivatives<S>* I,
                            const TorqueRow<S>* row,
                            int k) {
  const Motion<S> Sj = K.Sj, A = K.A, A_v = K.A_v;
  const Vec3<S> Psi = K.Psi.w;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    row[r].q[k] = dot(Psi, I[r].G) + dot(A, I[r].F_a);
    row[r].v[k] = dot(Sj.w, I[r].G) + dot(A_v, I[r].F_a);
    row[r].a[k] = dot(Sj, I[r].F_a);
  }
}

/// Entries of column k, below each of R rows.
template <int R, class S>
PYSIM_INLINE void put_below(const CoordinateDerivatives<S>& K,
                            const CoordinateDerivatives<S>* I,
                            const TorqueRow<S>* row,
                            int k) {
  const Force<S> F_q = K.F_q, F_v = K.F_v, F_a = K.F_a;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    const Motion<S> Sj = I[r].Sj;
    row[r].q[k] = dot(Sj, F_q);
    row[r].v[k] = dot(Sj, F_v);
    row[r].a[k] = dot(Sj, F_a);
  }
}

/// Zeros in columns begin … end, of coordinates on other branches.
template <int R, class S>
void put_zeros(int begin, int end, const TorqueRow<S>* row) {
  for (int r = 0; r < R; ++r) {
    for (int k = begin; k < end; ++k) row[r].q[k] = row[r].v[k] = row[r].a[k] = all<S>(0);
  }
}

/// Columns of the rows' own joints, row by row.
template <class S>
void put_joint_columns(const ModelOf<S>& model,
                       const RneaDerivatives<S>& d,
                       const RowRun& run,
                       const TorqueRow<S>* row) {
  const Joint& last = model.joint[run.last];
  int b = run.body;
  for (int r = 0; r < run.count; ++r) {
    const int i = run.first + r;
    while (i >= model.joint[b].v + model.joint[b].nv) ++b;
    const Joint& joint = model.joint[b];
    const CoordinateDerivatives<S>* const I = d.coordinate + i;
    for (int k = run.first; k < last.v + last.nv; ++k) {
      const CoordinateDerivatives<S>& K = d.coordinate[k];
      if (k < joint.v + joint.nv) {
        put_above<1>(K, I, row + r, k);
        if (k > i) row[r].a[k] = dot(I->Sj, K.F_a);  // the same bits as its mirror image
      } else {
        put_below<1>(K, I, row + r, k);
      }
    }
    row[r].a[i] += all<S>(model.armature[i]);
    if (joint.first_slope < 0) continue;
    const SubspaceDerivative<S> D = {joint.nv, d.slope + joint.first_slope};
    for (int k = 0; k < joint.nv; ++k) row[r].q[joint.v + k] += dot(D.column(i - joint.v, k), d.body[b].F);
  }
}

/// R rows; their initial contents are overwritten.
template <int R, class S>
void torque_rows(const ModelOf<S>& model,
                 const RneaDerivatives<S>& d,
                 const RowRun& run,
                 const TorqueRow<S>* row) {
  const CoordinateDerivatives<S>* const I = d.coordinate + run.first;
  int done = run.first;  // columns from here on have their entries
  for (int b = run.body; b >= 0; b = model.joint[b].parent) {
    const Joint& joint = model.joint[b];
    const int end = joint.v + joint.nv < run.first ? joint.v + joint.nv : run.first;
    put_zeros<R>(end, done, row);
    for (int k = joint.v; k < end; ++k) put_above<R>(d.coordinate[k], I, row, k);
    done = joint.v;
  }
  put_zeros<R>(0, done, row);

  const Joint& last = model.joint[run.last];
  const int end = velocities_end(model, run.last);
  for (int k = last.v + last.nv; k < end; ++k) put_below<R>(d.coordinate[k], I, row, k);
  put_zeros<R>(end, model.nv, row);
  put_joint_columns(model, d, run, row);
}

/// The same for a run of any length.
template <class S>
void torque_rows(const ModelOf<S>& model,
                 const RneaDerivatives<S>& d,
                 const RowRun& run,
                 const TorqueRow<S>* row) {
  switch (run.count) {
    case 4:
      return torque_rows<4>(model, d, run, row);
    case 2:
      return torque_rows<2>(model, d, run, row);
    default:
      return torque_rows<1>(model, d, run, row);
  }
}

}  // namespace pysim::dynamics
