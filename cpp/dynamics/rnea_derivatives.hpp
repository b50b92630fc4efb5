// Derivatives of inverse dynamics [Carpentier & Mansard 2018; Singh, Russell & Wensing 2022, table I].
//
// Everything is expressed in the frame R of the tree's root body: sums over subtrees and products of two
// joints then need no transformation, and the distance to the world's origin costs no precision.
//
//   1. root to leaves    of every column S_k, with P the parent, u = ∂S/∂q_k v, w = ∂(S v̇ + c)/∂q_k:
//                            Ψ = V_P × S_k + u           A = a_P × S_k + V_P × Ψ + V × u + w
//                                                        A' = (V_P + V) × S_k + ∂c/∂v_k
//   2. leaves to root    M, B, F of everything the joint carries, then
//                            Fa = M S_k     Fq = 2 B Ψ + M A + S_k ×* F     Fv = 2 B S_k + M A'
//                            G = 2 Bᵀ S_k
//   3. row by row        see torque_rows.hpp
//
// ∂/∂q_k is along q ⊕ e_k. A joint whose S depends on q adds (∂S_i/∂q_k)·F to its own rows.
#pragma once

#include "dynamics/kinematics.hpp"
#include "spatial/gyroscopic.hpp"
#include "tree/subspace_derivative.hpp"

namespace pysim::dynamics {

using spatial::Gyroscopic;
using tree::SubspaceDerivative;

/// Quantities of one coordinate that pass 3 reads; G is a pure moment.
template <class S>
struct CoordinateDerivatives {
  Motion<S> Sj, Psi, A, A_v;
  Force<S> F_a, F_q, F_v;
  Vec3<S> G;
};

/// A single body after pass 1, a composite body after pass 2.
template <class S>
struct DerivativeBody {
  Pose<S> X_RB;
  Motion<S> V, a;
  Inertia<S> M;
  Gyroscopic<S> B;
  Force<S> F;
};

/// The state of the three passes.
template <class S>
struct RneaDerivatives {
  DerivativeBody<S>* body;
  CoordinateDerivatives<S>* coordinate;
  Motion<S>* slope;  ///< ∂S_i/∂q_k in R of joints whose S depends on q, see tree/subspace_derivative.hpp
};

/// Pass 1, one body whose S depends on q: u, w and ∂c/∂v.
template <class S>
void add_slopes(const ModelOf<S>& model,
                int b,
                const Motion<S>& V_P,
                const Motion<S>& V,
                const S* q,
                const S* v,
                const S* a,
                const Motion<S>* columns,
                const RneaDerivatives<S>& d) {
  const Joint& joint = model.joint[b];
  const Pose<S>& X_RB = d.body[b].X_RB;
  const SubspaceDerivative<S> D = {joint.nv, d.slope + joint.first_slope};
  tree::subspace_derivative(model, b, q, v, columns, D);
  for (int k = 0; k < joint.nv; ++k) {
    CoordinateDerivatives<S>& C = d.coordinate[joint.v + k];
    Motion<S> u = spatial::zero_motion<S>();
    Motion<S> w = to_parent(X_RB, D.bias(k));
    for (int i = 0; i < joint.nv; ++i) {
      D.column(i, k) = to_parent(X_RB, D.column(i, k));
      u = fma(v[joint.v + i], D.column(i, k), u);
      if (a != nullptr) w = fma(a[joint.v + i], D.column(i, k), w);
    }
    C.Psi += u;
    C.A += cross(V_P, u) + cross(V, u) + w;
    C.A_v += u;
  }
  for (int k = 0; k < joint.nv; ++k) {  // ∂c/∂v_k = u_k + Ṡ_k
    for (int i = 0; i < joint.nv; ++i) {
      Motion<S>& A_v = d.coordinate[joint.v + i].A_v;
      A_v = fma(v[joint.v + k], D.column(i, k), A_v);
    }
  }
}

/// Pass 1, one body: its columns and their motion.
template <class S>
void spread_columns(const ModelOf<S>& model,
                    int b,
                    const Motion<S>& V_P,
                    const Motion<S>& a_P,
                    const S* q,
                    const S* v,
                    const S* a,
                    Motion<S>* columns,
                    const RneaDerivatives<S>& d) {
  const Joint& joint = model.joint[b];
  DerivativeBody<S>& B = d.body[b];
  CoordinateDerivatives<S>* const coordinate = d.coordinate + joint.v;
  Motion<S> V = V_P, acc = a_P;
  for (int i = 0; i < joint.nv; ++i) {
    coordinate[i].Sj = to_parent(B.X_RB, tree::axis(joint, columns, i));
    V = fma(v[joint.v + i], coordinate[i].Sj, V);
    if (a != nullptr) acc = fma(a[joint.v + i], coordinate[i].Sj, acc);
  }
  acc += cross(V, V - V_P);
  for (int i = 0; i < joint.nv; ++i) {
    CoordinateDerivatives<S>& C = coordinate[i];
    C.Psi = cross(V_P, C.Sj);
    C.A = cross(a_P, C.Sj) + cross(V_P, C.Psi);
    C.A_v = C.Psi + (joint.nv == 1 ? C.Psi : cross(V, C.Sj));
  }
  if (joint.first_slope >= 0) {
    acc += to_parent(B.X_RB, tree::bias(model, b, columns, v));
    add_slopes(model, b, V_P, V, q, v, a, columns, d);
  }
  B.V = V;
  B.a = acc;
}

/// Pass 1: velocities, accelerations and single bodies. `a` and `f_ext` may be null.
template <class S>
void spread_derivatives(const ModelOf<S>& model,
                        const S* q,
                        const S* v,
                        const S* a,
                        const Force<S>* f_ext,
                        Motion<S>* columns,
                        const tree::SincosTable<S>& sincos,
                        const RneaDerivatives<S>& d) {
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    DerivativeBody<S>& B = d.body[b];
    const Pose<S> X_PB = tree::evaluate(model, b, q, sincos, columns);
    if (joint.parent < 0) {
      B.X_RB = spatial::identity_pose<S>();
      const Motion<S> a_P = to_child(X_PB, minus_gravity<S>(model));
      spread_columns(model, b, spatial::zero_motion<S>(), a_P, q, v, a, columns, d);
    } else {
      const DerivativeBody<S>& P = d.body[joint.parent];
      B.X_RB = P.X_RB * X_PB;
      spread_columns(model, b, P.V, P.a, q, v, a, columns, d);
    }
    B.M = to_parent(B.X_RB, spatial::all_inertia<S>(model.constants[b].inertia));
    B.B = spatial::gyroscopic(B.M, B.V);
    B.F = B.M * B.a + B.B * B.V;
    if (f_ext != nullptr) B.F = B.F - to_parent(B.X_RB, f_ext[b]);
  }
}

/// Pass 2: composite bodies, and the wrenches due to a change of each coordinate.
template <class S>
void gather_derivatives(const ModelOf<S>& model, const RneaDerivatives<S>& d) {
  const S two = all<S>(2);
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    const DerivativeBody<S>& B = d.body[b];
    for (int k = joint.v; k < joint.v + joint.nv; ++k) {
      CoordinateDerivatives<S>& C = d.coordinate[k];
      C.F_a = B.M * C.Sj;
      C.F_q = fma(two, B.B * C.Psi, B.M * C.A) + cross(C.Sj, B.F);
      C.F_v = fma(two, B.B * C.Sj, B.M * C.A_v);
      C.G = two * transpose_times(B.B, C.Sj);
    }
    if (joint.parent < 0) continue;
    DerivativeBody<S>& P = d.body[joint.parent];
    P.M = P.M + B.M;
    P.B = P.B + B.B;
    P.F += B.F;
  }
}

/// Passes 1 and 2.
template <class S>
RneaDerivatives<S> prepare_rnea_derivatives(
    const ModelOf<S>& model, const S* q, const S* v, const S* a, const Force<S>* f_ext, Workspace<S>& w) {
  const RneaDerivatives<S> d = {take<DerivativeBody<S>>(w, model.bodies),
                                take<CoordinateDerivatives<S>>(w, model.nv),
                                take<Motion<S>>(w, model.slopes)};
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  spread_derivatives(model, q, v, a, f_ext, columns, tree::sincos_table(model, q, w), d);
  gather_derivatives(model, d);
  return d;
}

}  // namespace pysim::dynamics
