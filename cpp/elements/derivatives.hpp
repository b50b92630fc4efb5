// Derivatives of the forces that traced programs compute, see forces.hpp.
//
//     frames        ∂τ_i/∂q_k = H_ik·F + J_i·(P J_k + W ∂V_AB/∂q_k)       ∂V_AB/∂q_k = Σ_i H_ik v_i
//                   ∂τ_i/∂v_k = J_i·(W J_k)
//     path          ∂τ_i/∂q_k = −J_i (T_L J_k + T_L̇ ∂L̇/∂q_k) − T ∂J_i/∂q_k      J = ∂L/∂q
//                   ∂τ_i/∂v_k = −T_L̇ J_i J_k
//
// P and W are the derivatives of F along body motions of B and by V_AB, T_L and T_L̇ those of T. Let s_i be
// column i of the motion subspace in frame B, σ_i = 1 where it moves B alone, −1 where it moves A alone, and
// β_k = 1 where k moves B. Then J_i = σ_i s_i, and coordinates that move both or neither take no part:
//
//     H_ik = ∂J_i/∂q_k = σ_i ([k at or above i] − β_k) s_k × s_i
//
// and within a joint whose S depends on q, what ∂S_i/∂q_k gives.
#pragma once

#include "elements/forces.hpp"
#include "elements/segment_derivatives.hpp"

namespace pysim::elements {

// ------------------------------------------------------------------------------------------ frames

/// Coordinates of one joint between frames A and B.
template <class S>
struct RelativeJoint {
  int body;
  bool moves_b;
  Pose<S> X_BJ;  ///< the joint's body in frame B
};

/// Coordinates that move A and B against each other: their columns and derivatives.
template <class S>
struct RelativeMotion {
  int joints;
  RelativeJoint<S>* joint;
  Motion<S>* s;       ///< [nv] columns in B
  Motion<S>* V_rate;  ///< [nv] ∂V_AB/∂q_k
};

/// The joints from b and from a up to where their paths to the world meet; `X_BW` is the inverse of frame B's
/// pose.
template <class S>
RelativeMotion<S> relative_motion(const ModelOf<S>& model,
                                  const PlacedBody<S>* body,
                                  const Motion<S>* columns,
                                  int a,
                                  int b,
                                  const Pose<S>& X_BW,
                                  Workspace<S>& w) {
  RelativeMotion<S> relative = {
      0, take<RelativeJoint<S>>(w, model.bodies), take<Motion<S>>(w, model.nv), take<Motion<S>>(w, model.nv)};
  while (a != b) {
    const bool moves_b = b > a;
    const int next = moves_b ? b : a;
    const Pose<S> X_BJ = X_BW * body[next].X_WB;
    relative.joint[relative.joints++] = {next, moves_b, X_BJ};
    const Joint& joint = model.joint[next];
    for (int i = 0; i < joint.nv; ++i) {
      relative.s[joint.v + i] = to_parent(X_BJ, column(tree::axis(joint, columns, i)));
      relative.V_rate[joint.v + i] = spatial::zero_motion<S>();
    }
    (moves_b ? b : a) = joint.parent;
  }
  return relative;
}

/// The same for the frames of an element.
template <class S>
RelativeMotion<S> relative_motion(const ModelOf<S>& model,
                                  const PlacedBody<S>* body,
                                  const Motion<S>* columns,
                                  const Element<typename S::Parameter>& element,
                                  Workspace<S>& w) {
  const Pose<S> X_BW = inverse(moving_frame(body, element.b, element.at_b).X_W);
  return relative_motion(model, body, columns, element.a, element.b, X_BW, w);
}

/// visit(i, k, H_ik) for all H that are not zero.
template <class S, class Visit>
void visit_curvature(const ModelOf<S>& model,
                     const RelativeMotion<S>& relative,
                     Motion<S>* slope,
                     const Visit& visit) {
  for (int m = 0; m < relative.joints; ++m) {
    const RelativeJoint<S>& turned = relative.joint[m];
    const Joint& joint = model.joint[turned.body];
    for (int n = 0; n < relative.joints; ++n) {
      const RelativeJoint<S>& turning = relative.joint[n];
      const bool above = turned.moves_b == turning.moves_b && turning.body <= turned.body;
      const int factor = (turned.moves_b ? 1 : -1) * (int(above) - int(turning.moves_b));
      if (factor == 0) continue;
      const Joint& along = model.joint[turning.body];
      for (int i = joint.v; i < joint.v + joint.nv; ++i) {
        for (int k = along.v; k < along.v + along.nv; ++k) {
          const Motion<S> H = cross(relative.s[k], relative.s[i]);
          visit(i, k, factor > 0 ? H : -H);
        }
      }
    }
    if (joint.first_slope < 0) continue;
    const tree::SubspaceDerivative<S> D = {joint.nv, slope + joint.first_slope};
    for (int i = 0; i < joint.nv; ++i) {
      for (int k = 0; k < joint.nv; ++k) {
        const Motion<S> H = to_parent(turned.X_BJ, D.column(i, k));
        visit(joint.v + i, joint.v + k, turned.moves_b ? H : -H);
      }
    }
  }
}

/// Σ columns k of the 6×6 matrix whose entries are the outputs from `first` on, times x.
template <class S>
Force<S> matrix_times(const int* outputs, const S* registers, const Motion<S>& x) {
  const S number[6] = {x.v.x, x.v.y, x.v.z, x.w.x, x.w.y, x.w.z};
  Force<S> F = spatial::zero_force<S>();
  for (int k = 0; k < 6; ++k) F = fma(number[k], output_wrench(outputs + 6 * k, registers), F);
  return F;
}

/// Adds the derivatives of a wrench F on frame B, in B: by_motion(J) and by_twist(J) are its changes along a
/// motion of B and with V_AB.
template <class S, class ByMotion, class ByTwist>
void add_wrench_derivatives(const ModelOf<S>& model,
                            const SegmentDerivatives<S>& d,
                            const S* v,
                            const RelativeMotion<S>& relative,
                            const Force<S>& F,
                            const ByMotion& by_motion,
                            const ByTwist& by_twist) {
  visit_curvature<S>(model, relative, d.slope, [&](int i, int k, const Motion<S>& H) {
    relative.V_rate[k] = fma(v[i], H, relative.V_rate[k]);
    add_entry(model, i, k, d.sign * dot(H, F), d.by_q);
  });
  for (int n = 0; n < relative.joints; ++n) {
    const Joint& along = model.joint[relative.joint[n].body];
    for (int k = along.v; k < along.v + along.nv; ++k) {
      const Motion<S> J = relative.joint[n].moves_b ? relative.s[k] : -relative.s[k];
      const Force<S> F_q = by_motion(J) + by_twist(relative.V_rate[k]), F_v = by_twist(J);
      for (int m = 0; m < relative.joints; ++m) {
        const Joint& own = model.joint[relative.joint[m].body];
        const S sign = relative.joint[m].moves_b ? d.sign : -d.sign;
        for (int i = own.v; i < own.v + own.nv; ++i) {
          add_entry(model, i, k, sign * dot(relative.s[i], F_q), d.by_q);
          add_entry(model, i, k, sign * dot(relative.s[i], F_v), d.by_v);
        }
      }
    }
  }
}

template <class S>
void add_frame_derivatives(const ModelOf<S>& model,
                           const SegmentDerivatives<S>& d,
                           const S* v,
                           const Element<typename S::Parameter>& element,
                           Workspace<S> w) {
  const auto& program = model.program[element.derivative];
  S* const registers = take<S>(w, program.registers);
  load_frames(d.body, element, registers);
  run_program(program, frame_inputs, registers);
  const S* const entries = registers;
  const Force<S> F = output_wrench(program.outputs, entries);
  const auto slope = [&](int first) {
    return [=, &program](const Motion<S>& J) { return matrix_times(program.outputs + first, entries, J); };
  };
  const RelativeMotion<S> relative = relative_motion<S>(model, d.body, d.columns, element, w);
  add_wrench_derivatives(model, d, v, relative, F, slope(6), slope(42));
}

// ------------------------------------------------------------------------------------------ paths

/// Coordinates of the tree that move some point of a path; L does not depend on the others.
struct PathSupport {
  const int* coordinate;
  int count;

  const int* begin() const { return coordinate; }
  const int* end() const { return coordinate + count; }
};

template <class S>
PathSupport path_support(const ModelOf<S>& model,
                         const Element<typename S::Parameter>& element,
                         Workspace<S>& w) {
  bool *const moved = take<bool>(w, model.bodies), *const is_listed = take<bool>(w, model.nv);
  int* const coordinate = take<int>(w, model.nv);
  for (int b = 0; b < model.bodies; ++b) moved[b] = false;
  for (int k = 0; k < model.nv; ++k) is_listed[k] = false;
  for (int k = element.first; k < element.first + element.count; ++k) {
    if (model.path_point[k].body >= 0) moved[model.path_point[k].body] = true;
  }
  int count = 0;
  const auto list = [&](int k) {
    if (!is_listed[k]) coordinate[count++] = k;
    is_listed[k] = true;
  };
  for (int b = model.bodies - 1; b >= 0; --b) {
    if (!moved[b]) continue;
    const Joint& joint = model.joint[b];
    if (joint.parent >= 0) moved[joint.parent] = true;
    for (int i = 0; i < joint.nv; ++i) list(joint.v + i);
  }
  for (int k = element.first; k < element.first + element.count; ++k) {
    const auto& point = model.path_point[k];
    for (int i = 0; i < point.count; ++i) list(model.element_coordinate[point.first + i].v);
  }
  return {coordinate, count};
}

/// f_k·∂x/∂q of the motion x of an end of a path against an obstacle.
template <class S>
void relative_levers(const ModelOf<S>& model,
                     const SegmentDerivatives<S>& d,
                     const PathSupport& support,
                     const PathEnd<S>& end,
                     int obstacle,
                     const Vec3<S>& f,
                     S* levers) {
  const S one = all<S>(1);
  for (const int k : support) d.D[k] = zero3<S>();
  spread_levers(model, d, end, one);
  if (obstacle >= 0) {
    const Vec3<S> p = point_motion(d.body, end.body, end.at).p;
    spread_levers(model, d, fixed_on(d.body, obstacle, p), -one);
  }
  for (const int k : support) levers[k] = dot(f, d.D[k]);
}

/// Adds what obstacles and conditional points change of −T ∂²L/∂q²; visit(k, 0, x) for what they add to
/// ∂L̇/∂q_k.
template <class S, class Visit>
void add_path_curvature(const ModelOf<S>& model,
                        const SegmentDerivatives<S>& d,
                        const S* v,
                        const Element<typename S::Parameter>& element,
                        const PathSupport& support,
                        S tension,
                        const Visit& visit,
                        Workspace<S> w) {
  S *const by_a = take<S>(w, model.nv), *const by_b = take<S>(w, model.nv);
  visit_curvature_terms(
      model,
      d.body,
      d.q,
      element,
      [&](const auto& from, int obstacle, const auto& to, const auto& term) {
        relative_levers<S>(model, d, support, from, obstacle, term.f, by_a);
        relative_levers<S>(model, d, support, to, obstacle, term.g, by_b);
        for (const int k : support) {
          const S a = fma(term.p, by_a[k], term.q * by_b[k]), b = fma(term.q, by_a[k], term.s * by_b[k]);
          S rate = all<S>(0);
          for (const int i : support) {
            const S both = fma(a, by_a[i], b * by_b[i]);
            rate = fma(both, v[i], rate);
            add_entry(model, i, k, -(d.sign * tension) * both, d.by_q);
          }
          visit(k, all<S>(0), rate);
        }
      },
      [&](S weight, const RelativeMotionTerm<S>* motion, int n) {
        for (const int k : support) by_a[k] = all<S>(0);
        for (int i = 0; i < n; ++i) {
          relative_levers<S>(model, d, support, motion[i].end, motion[i].obstacle, motion[i].direction, by_b);
          for (const int k : support) by_a[k] += by_b[k];
        }
        for (const int k : support) {
          S rate = all<S>(0);
          for (const int i : support) {
            const S both = weight * by_a[k] * by_a[i];
            rate = fma(both, v[i], rate);
            add_entry(model, i, k, -(d.sign * tension) * both, d.by_q);
          }
          visit(k, all<S>(0), rate);
        }
      },
      w);
}

/// visit(k, ∂L/∂q_k, ∂L̇/∂q_k) for every segment of a path and coordinate k of its support; adds −T ∂²L/∂q² to
/// ∂τ/∂q.
template <class S, class Visit>
void visit_path_slopes(const ModelOf<S>& model,
                       const SegmentDerivatives<S>& d,
                       const S* v,
                       const Element<typename S::Parameter>& element,
                       const PathSupport& support,
                       S tension,
                       const Visit& visit,
                       Workspace<S> w) {
  const S one = all<S>(1);
  visit_segments<S, true>(
      model,
      d.body,
      d.q,
      v,
      element,
      [&](const PathEnd<S>& from, const PathEnd<S>& to, const Segment<S>& s) {
        if (from.body == to.body && !from.moves() && !to.moves()) return;
        for (const int k : support) d.D[k] = d.rate[k] = zero3<S>();
        spread_levers(model, d, from, -one);
        const S pull = tension * s.multiplicity;
        spread_curvature(model, d, v, from, -one, pull * s.n);
        spread_levers(model, d, to, one);
        spread_curvature(model, d, v, to, one, pull * s.n);
        for (const int k : support) {
          const S stretch = dot(s.n, d.D[k]);
          const Vec3<S> dn = s.inverse_length * (d.D[k] - stretch * s.n);
          const S stretch_rate = dot(dn, s.d_rate) + dot(s.n, d.rate[k]);
          visit(k, s.multiplicity * stretch, s.multiplicity * stretch_rate);
          const Vec3<S> df = (d.sign * pull) * dn;
          for (const int i : support) add_entry(model, i, k, -dot(d.D[i], df), d.by_q);
        }
      },
      w);
  if (!element.is_straight()) add_path_curvature<S>(model, d, v, element, support, tension, visit, w);
}

template <class S>
void add_path_derivatives(const ModelOf<S>& model,
                          const SegmentDerivatives<S>& d,
                          const S* v,
                          const Element<typename S::Parameter>& element,
                          Workspace<S> w) {
  const auto& program = model.program[element.derivative];
  S* const registers = take<S>(w, program.registers);
  load_path(model, d.body, d.q, v, element, registers, w);
  run_program(program, 2, registers);
  const S tension = registers[program.outputs[0]], by_length = registers[program.outputs[1]],
          by_rate = registers[program.outputs[2]];
  S *const J = take<S>(w, model.nv), *const J_rate = take<S>(w, model.nv);  // ∂L/∂q and ∂L̇/∂q
  const PathSupport support = path_support<S>(model, element, w);
  for (const int k : support) J[k] = J_rate[k] = all<S>(0);
  const auto add = [&](int k, S stretch, S stretch_rate) {
    J[k] += stretch;
    J_rate[k] += stretch_rate;
  };
  visit_path_slopes<S>(model, d, v, element, support, tension, add, w);
  for (const int k : support) {
    const S by_q = d.sign * fma(by_length, J[k], by_rate * J_rate[k]), by_v = d.sign * by_rate * J[k];
    for (const int i : support) {
      add_entry(model, i, k, -J[i] * by_q, d.by_q);
      add_entry(model, i, k, -J[i] * by_v, d.by_v);
    }
  }
}

// ------------------------------------------------------------------------------------------ coordinates

template <class S>
void add_coordinate_derivatives(const ModelOf<S>& model,
                                const SegmentDerivatives<S>& d,
                                const S* q,
                                const S* v,
                                const Element<typename S::Parameter>& element,
                                Workspace<S> w) {
  const auto& program = model.program[element.derivative];
  S* const registers = take<S>(w, program.registers);
  load_coordinates(model, q, v, element, registers);
  run_program(program, 2 * element.count, registers);
  const ElementCoordinate* const place = model.element_coordinate + element.first;
  const int n = element.count;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < n; ++k) {
      const S by_q = registers[program.outputs[i * n + k]];
      const S by_v = registers[program.outputs[n * n + i * n + k]];
      add_entry(model, place[i].v, place[k].v, d.sign * by_q, d.by_q);
      add_entry(model, place[i].v, place[k].v, d.sign * by_v, d.by_v);
    }
  }
}

/// Adds `sign` ∂τ/∂q and ∂τ/∂v of all elements to matrices of the user's coordinates (reduced_nv,
/// reduced_nv).
template <class S>
void add_element_derivatives(
    const ModelOf<S>& model, const S* q, const S* v, S sign, S* by_q, S* by_v, Workspace<S> w) {
  const SegmentDerivatives<S> d = take_segment_derivatives(model, q, v, sign, by_q, by_v, w);
  for (int k = 0; k < model.elements; ++k) {
    const auto& element = model.element[k];
    switch (element.kind) {
      case ElementKind::frames:
        add_frame_derivatives<S>(model, d, v, element, w);
        break;
      case ElementKind::path:
        add_path_derivatives<S>(model, d, v, element, w);
        break;
      case ElementKind::coordinates:
        add_coordinate_derivatives<S>(model, d, q, v, element, w);
        break;
    }
  }
}

}  // namespace pysim::elements
