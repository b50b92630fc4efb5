// Rows of the hinges that close loops in a plane. For a loop from point A of body a to point B of body b,
// D = p_B − p_A:
//
//     u = v_B − v_A − ω_a n × D     u̇ = a_B − a_A − α_a n × D − ω_a n × Ḋ
//     g = e·D      ġ = e·u      g̈ = e·(u̇ − ω_b n × u)       e = x and y of frame B
#pragma once

#include "constraints/loop_fit.hpp"
#include "constraints/mechanism_factor.hpp"
#include "constraints/row_list.hpp"

namespace pysim::constraints {

using dynamics::PlanarPoint;
using spatial::all2;
using spatial::quarter_turn;
using spatial::Vec2;
using tree::Loop;

/// J of a loop's rows, row n along e[n], of a force at the point r.
template <class S>
void planar_jacobian(
    const PlanarFactor<S>& factor, const Loop& loop, const Vec2<S>& r, const Vec2<S>* e, S* J, S* reach) {
  const auto& model = factor.model;
  S* const end = J + model.row_path[loop.row].nv;
  for (int a = loop.a, b = loop.b; a != b;) {
    const bool along_b = b > a;
    int& body = along_b ? b : a;
    const Joint& joint = model.joint[body];
    const int slides = tree::slides(joint);
    for (int i = joint.nv - 1; i >= 0; --i, ++J, ++reach) {
      const Vec2<S> rate = i < slides
                               ? factor.elimination[joint.v + i].slide
                               : all<S>(model.plane[body].sense) * quarter_turn(r - factor.place_of[body].r);
      for (int n = 0; n < loop.rows; ++n) {
        const S entry = dot(rate, e[n]);
        J[n * model.reduced_nv] = along_b ? entry : -entry;
        reach[n * model.reduced_nv] = dot(rate, rate);
      }
    }
    body = joint.parent;
  }
  for (; J != end; ++J, ++reach) {  // joints that carry both bodies
    for (int n = 0; n < loop.rows; ++n) J[n * model.reduced_nv] = reach[n * model.reduced_nv] = all<S>(0);
  }
}

/// Angle between the frames of loop k in the plane, for its hinge.
template <class S>
HingeFit<S> hinge_fit(const ModelOf<S>& model, int k, const PlanarFactor<S>& factor) {
  const Loop& loop = model.loop[k];
  const auto& ends = model.plane_loop[k];
  const auto turned = [&](int body, const auto* axis) { return factor.to_plane(body, all2<S>(axis)); };
  const Vec2<S> xA = turned(loop.a, ends.axes_a), yA = turned(loop.a, ends.axes_a + 2);
  const Vec2<S> xB = turned(loop.b, ends.axes_b), yB = turned(loop.b, ends.axes_b + 2);
  return {dot(xA, xB) + dot(yA, yB), dot(yA, xB) - dot(xA, yB)};
}

/// Rows of loop k in the plane: those that are independent.
template <class S>
void planar_rows(
    const ModelOf<S>& model, int k, const PlanarFactor<S>& factor, const Rows<S>& r, bool with_jacobian) {
  const Loop& loop = model.loop[k];
  const auto& ends = model.plane_loop[k];
  const bool accelerated = r.gdd != nullptr;
  const PlanarPoint<S> A = factor.point(loop.a, all2<S>(ends.at_a), accelerated);
  const PlanarPoint<S> B = factor.point(loop.b, all2<S>(ends.at_b), accelerated);
  const Vec2<S> D = B.r - A.r, across = quarter_turn(D), D_rate = B.v - A.v;
  const Vec2<S> u = fnma(A.w, across, D_rate);
  const Vec2<S> u_rate = fnma(A.w, quarter_turn(D_rate), fnma(A.alpha, across, B.a - A.a));
  const Vec2<S> seen = fnma(B.w, quarter_turn(u), u_rate);
  Vec2<S> e[2];
  for (int n = 0; n < loop.rows; ++n) {
    const int at = loop.row + n, closure_row = loop.independent[n];
    e[n] = factor.to_plane(loop.b, all2<S>(ends.axes_b + 2 * closure_row));
    r.W[at] = unit_force<S>(closure_row);
    r.g[at] = dot(e[n], D);
    r.gd[at] = dot(e[n], u);
    if (accelerated) r.gdd[at] = dot(e[n], seen);
  }
  const int first = loop.row * model.reduced_nv;
  if (with_jacobian) planar_jacobian<S>(factor, loop, B.r, e, r.J + first, r.reach + first);
}

}  // namespace pysim::constraints
