// Regressors of the energies and of the momentum, in θ = [m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] of each body.
//
//     K = Σ ½ m v·v + mc·(v × ω) + ½ ω·I ω        U = Σ −m g·p_WB − mc·(R_WBᵀ g)
//     h = Σ X_WB* [m v + ω × mc; mc × v + I ω],   about the world's origin, in world axes
//
// Rotors (armature) are not part of θ. A momentum about the centre of mass would not be linear in θ.
#pragma once

#include "dynamics/user_frame_motion.hpp"

namespace pysim::dynamics {

/// ½ Vᵀ M V in the ten parameters.
template <class S>
PYSIM_INLINE void kinetic_entries(const Motion<S>& V, S* row) {
  const S half = all<S>(typename S::Real(0.5));
  const Vec3<S>& w = V.w;
  const Vec3<S> mc = cross(V.v, w);
  row[0] = half * dot(V.v, V.v);
  row[1] = mc.x;
  row[2] = mc.y;
  row[3] = mc.z;
  row[4] = half * (w.x * w.x);
  row[5] = w.x * w.y;
  row[6] = half * (w.y * w.y);
  row[7] = w.x * w.z;
  row[8] = w.y * w.z;
  row[9] = half * (w.z * w.z);
}

/// Ten entries a body.
template <class S>
void kinetic_energy_regressor(const ModelOf<S>& model, const S* q, const S* v, S* row, Workspace<S> w) {
  MovingBody<S>* const body = take<MovingBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  spread_motion(model, q, v, static_cast<const S*>(nullptr), spatial::zero_motion<S>(), body, columns);
  for (int b = 0; b < model.bodies; ++b) {
    kinetic_entries(model.aligned ? rotate(turn<S>(model, b), body[b].V) : body[b].V, row + 10 * b);
  }
}

/// Ten entries a body.
template <class S>
void potential_energy_regressor(const ModelOf<S>& model, const S* q, S* row, Workspace<S> w) {
  Pose<S>* const X_WB = take<Pose<S>>(w, model.bodies);
  forward_kinematics(model, q, X_WB, w);
  const Vec3<S> minus_g = minus_gravity<S>(model).v;
  for (int b = 0; b < model.bodies; ++b, row += 10) {
    Vec3<S> mc = transpose_times(X_WB[b].R, minus_g);
    if (model.aligned) mc = turn<S>(model, b) * mc;
    row[0] = dot(minus_g, X_WB[b].p);
    row[1] = mc.x;
    row[2] = mc.y;
    row[3] = mc.z;
    for (int i = 4; i < 10; ++i) row[i] = all<S>(0);
  }
}

/// M V for each unit parameter in turn.
template <class S>
PYSIM_INLINE void momentum_columns(const Motion<S>& V, Force<S>* column) {
  const S o = all<S>(0);
  const Vec3<S>&v = V.v, &w = V.w, zero = zero3<S>();
  column[0] = {v, zero};
  column[1] = {{o, w.z, -w.y}, {o, -v.z, v.y}};  // ω × e, e × v
  column[2] = {{-w.z, o, w.x}, {v.z, o, -v.x}};
  column[3] = {{w.y, -w.x, o}, {-v.y, v.x, o}};
  column[4] = {zero, {w.x, o, o}};
  column[5] = {zero, {w.y, w.x, o}};
  column[6] = {zero, {o, w.y, o}};
  column[7] = {zero, {w.z, o, w.x}};
  column[8] = {zero, {o, w.z, w.y}};
  column[9] = {zero, {o, o, w.z}};
}

/// Row-major (6, 10 bodies).
template <class S>
void momentum_regressor(const ModelOf<S>& model, const S* q, const S* v, S* Y, Workspace<S> w) {
  MovingBody<S>* const body = take<MovingBody<S>>(w, model.bodies);
  Pose<S>* const X_WB = take<Pose<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  spread_motion(model, q, v, static_cast<const S*>(nullptr), spatial::zero_motion<S>(), body, columns);
  const int width = 10 * model.bodies;
  for (int b = 0; b < model.bodies; ++b) {
    const int parent = model.joint[b].parent;
    X_WB[b] = parent < 0 ? body[b].X_PB : X_WB[parent] * body[b].X_PB;
    Pose<S> X = X_WB[b];
    Motion<S> V = body[b].V;
    if (model.aligned) {
      const auto T = turn<S>(model, b);
      X.R = X.R * transpose(T);
      V = rotate(T, V);
    }
    Force<S> column[10];
    momentum_columns(V, column);
    for (int i = 0; i < 10; ++i) {
      const Force<S> h = to_parent(X, column[i]);
      const S entry[6] = {h.f.x, h.f.y, h.f.z, h.t.x, h.t.y, h.t.z};
      for (int r = 0; r < 6; ++r) Y[r * width + 10 * b + i] = entry[r];
    }
  }
}

}  // namespace pysim::dynamics
