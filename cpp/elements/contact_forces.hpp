// Contacts as forces between bodies: wrenches F(X_AB, V_AB) on body B, and their generalised forces.
//
//     τ = J_ABᵀ F        F about the origin of B and in B; the opposite wrench acts on A at the same place
//
//     P = F · V_AB       power into the mechanism
//     N = Σ f·n          of the points, which contact sensors measure
//
// X_AB is the pose of body B in body A or in the world, V_AB the twist of B relative to A, in B. The law is
// that of contact/smooth.hpp.
#pragma once

#include "elements/placed_bodies.hpp"

namespace pysim::elements {

/// Relative motion of the bodies of a pair, its wrench, and the derivatives of the wrench: 6 columns by
/// motions of B and 6 by V_AB.
template <class S>
struct ContactWrench {
  static constexpr int motion_numbers = 18, wrench_numbers = 7, slope_numbers = 72;

  S motion[motion_numbers], slope[slope_numbers];
  S wrench[wrench_numbers];  ///< F, and N
  Pose<S> X_AB;

  Force<S> force() const { return force_at(wrench); }
  const S& normal_force() const { return wrench[6]; }

  /// P J for `first` 0, W J for 36.
  Force<S> slope_times(int first, const Motion<S>& J) const {
    const S number[6] = {J.v.x, J.v.y, J.v.z, J.w.x, J.w.y, J.w.z};
    Force<S> F = spatial::zero_force<S>();
    for (int k = 0; k < 6; ++k) F = fma(number[k], force_at(slope + first + 6 * k), F);
    return F;
  }

 private:
  static Force<S> force_at(const S* x) { return {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}}; }
};

/// Pose of body b of a pair in body a, and its twist relative to a, on the axes of b.
template <class S>
struct PairMotion {
  Pose<S> X_AB;
  Motion<S> V_AB;
};

/// Of bodies a, −1 for the world, and b.
template <class S>
PairMotion<S> pair_motion(const PlacedBody<S>* body, int a, int b) {
  const PlacedBody<S>& B = body[b];
  if (a < 0) return {B.X_WB, B.V};
  const Pose<S> X_AB = inverse(body[a].X_WB) * B.X_WB;
  return {X_AB, B.V - to_child(X_AB, body[a].V)};
}

/// Evaluates a pair; false where its bodies are apart in every world.
template <class S>
bool evaluate_contact(
    const ModelOf<S>& model, const PlacedBody<S>* body, int pair, bool with_slopes, ContactWrench<S>& C) {
  const auto& contacts = *model.contacts;
  const auto& bodies = contacts.pair[pair];
  const auto [X_AB, V] = pair_motion<S>(body, bodies.a, bodies.b);
  const Vec3<S> row[] = {X_AB.R.x, X_AB.R.y, X_AB.R.z, X_AB.p, V.v, V.w};
  for (int i = 0; i < 6; ++i) {
    C.motion[3 * i] = row[i].x;
    C.motion[3 * i + 1] = row[i].y;
    C.motion[3 * i + 2] = row[i].z;
  }
  C.X_AB = X_AB;
  const auto run = S::width == 1 ? contacts.single : contacts.pack;
  return run(contacts.law, pair, C.motion, C.wrench, with_slopes ? C.slope : nullptr);
}

/// Adds the wrench of a pair to those on its bodies.
template <class S>
void add_contact_wrench(const ModelOf<S>& model,
                        int pair,
                        const ContactWrench<S>& C,
                        const BodyWrenches<S>& wrenches) {
  const auto& own = model.contacts->pair[pair];
  const Force<S> F = C.force();
  wrenches.sum[own.b] += F;
  if (own.a >= 0) wrenches.sum[own.a] += -to_parent(C.X_AB, F);
}

/// Adds the generalised forces of all contacts to τ, in tree coordinates.
template <class S>
void add_contact_forces(const ModelOf<S>& model, const S* q, const S* v, S* tau, Workspace<S> w) {
  PlacedBody<S>* const body = take<PlacedBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  ContactWrench<S>& C = *take<ContactWrench<S>>(w, 1);
  place_bodies(model, q, v, body, columns);
  const BodyWrenches<S> wrenches = take_wrenches<S>(model, body, w);
  bool touches = false;
  for (int k = 0; k < model.contacts->pairs; ++k) {
    if (!evaluate_contact<S>(model, body, k, false, C)) continue;
    touches = true;
    add_contact_wrench<S>(model, k, C, wrenches);
  }
  for (int b = model.bodies - 1; touches && b >= 0; --b) wrenches.project(model, columns, b, tau);
}

/// Adds the power of every pair to the rate of its work.
template <class S>
void add_contact_powers(const ModelOf<S>& model, const S* q, const S* v, S* rate, Workspace<S> w) {
  PlacedBody<S>* const body = take<PlacedBody<S>>(w, model.bodies);
  ContactWrench<S>& C = *take<ContactWrench<S>>(w, 1);
  place_bodies(model, q, v, body, take<Motion<S>>(w, model.stored_columns));
  for (int k = 0; k < model.contacts->pairs; ++k) {
    if (!evaluate_contact<S>(model, body, k, false, C)) continue;
    S& power = rate[model.contacts->work[k]];
    for (int i = 0; i < 6; ++i) power = fma(C.wrench[i], C.motion[12 + i], power);
  }
}

}  // namespace pysim::elements
