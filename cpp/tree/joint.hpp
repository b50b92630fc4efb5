// Joint kinematics: pose, motion subspace and bias of a joint.
//
//   X_PB(q)     pose of the body in its parent
//   S(q)        motion subspace, columns in the body frame:  V_joint = S v
//   c(q, v)     bias  Ṡ v
//
// A shape is a case of `evaluate` and, if its columns change in the body frame, of `bias`, subspace_rate.hpp
// and subspace_derivative.hpp. Further cases are in dynamics/body_displacements.hpp (universal, planar: exact
// small steps) and constraints/loop_fit.hpp (hinges fit a loop in closed form, screws count their turns).
#pragma once

#include "simd/math.hpp"
#include "spatial/so3.hpp"
#include "tree/program.hpp"
#include "tree/sincos_table.hpp"
#include "tree/subspace.hpp"

namespace pysim::tree {

using spatial::Mat3;

template <class S>
PYSIM_INLINE Pose<S> placement(const Constants<typename S::Parameter>& c) {
  return {spatial::all33<S>(c.placement), spatial::all3<S>(c.placement + 9)};
}

/// R Rz(angle), given its sine and cosine.
template <class S>
PYSIM_INLINE Mat3<S> turn_about_z(const Mat3<S>& R, S sin, S cos) {
  return {fma(sin, R.y, cos * R.x), fma(-sin, R.x, cos * R.y), R.z};
}

/// Registers of a joint program, stored after the joint's columns.
template <class S>
PYSIM_INLINE S* registers(const Joint& joint, Motion<S>* stored_columns) {
  return &stored_columns[joint.first_stored + joint.stored_count].v.x;
}

/// Six registers as a twist.
template <class S>
PYSIM_INLINE Motion<S> twist_of(const S* r, const int* output) {
  return {{r[output[0]], r[output[1]], r[output[2]]}, {r[output[3]], r[output[4]], r[output[5]]}};
}

/// Pose and stored columns of a traced joint.
template <class S>
Pose<S> evaluate_program(const Joint& joint,
                         const ProgramView<typename S::Parameter>& program,
                         const S* q,
                         Motion<S>* stored_columns) {
  S* const r = registers(joint, stored_columns);
  const int inputs = joint.nq + joint.nv;
  for (int i = 0; i < joint.nq; ++i) r[i] = q[i];
  load_constants(program, r + inputs);
  run(program, 0, program.pose_end, r);
  const int* o = program.outputs;
  for (int i = 0; i < joint.stored_count; ++i) {
    stored_columns[joint.first_stored + i] = twist_of(r, o + 12 + 6 * i);
  }
  return {{{r[o[0]], r[o[1]], r[o[2]]}, {r[o[3]], r[o[4]], r[o[5]]}, {r[o[6]], r[o[7]], r[o[8]]}},
          {r[o[9]], r[o[10]], r[o[11]]}};
}

/// Pose, columns, bias and columns' rates that Python computed for this state.
template <class S>
Pose<S> evaluate_callback(const Joint& joint, const S* numbers, Motion<S>* stored_columns) {
  const S* n = numbers + 12;
  for (int i = 0; i < joint.stored_count; ++i, n += 6) {
    stored_columns[joint.first_stored + i] = {{n[0], n[1], n[2]}, {n[3], n[4], n[5]}};
  }
  n = numbers;
  return {{{n[0], n[1], n[2]}, {n[3], n[4], n[5]}, {n[6], n[7], n[8]}}, {n[9], n[10], n[11]}};
}

/// The twelve numbers of a pose in memory, one by one: copied as a block just after scalar stores,
/// they would wait for the stores (RNEA of one state would take twice as long).
template <class S>
PYSIM_INLINE Pose<S> number_by_number(const Pose<S>& X) {
  const auto each = [](const Vec3<S>& a) { return Vec3<S>{a.x, a.y, a.z}; };
  return {{each(X.R.x), each(X.R.y), each(X.R.z)}, each(X.p)};
}

/// X_PB of the shapes other than revolute, prismatic and fixed. Out of line: inlined into every
/// recursion, its switch and five sincos were a tenth of the engine's code.
template <class S>
PYSIM_NOINLINE void evaluate_other(
    const ModelOf<S>& model, int b, const S* full_q, Motion<S>* stored_columns, Pose<S>& X_PB) {
  const Joint& joint = model.joint[b];
  const auto& constants = model.constants[b];
  const Pose<S> X = placement<S>(constants);
  const S* q = full_q + joint.q;
  const S o = all<S>(0), e = all<S>(1);
  S s, c;
  switch (joint.shape) {
    case Shape::helical: {
      simd::sincos(q[0], s, c);
      const S pitch = all<S>(constants.pitch);
      stored_columns[joint.first_stored] = {{o, o, pitch}, {o, o, e}};
      X_PB = {turn_about_z(X.R, s, c), fma(pitch * q[0], X.R.z, X.p)};
      return;
    }
    case Shape::cylindrical: {
      simd::sincos(q[1], s, c);
      X_PB = {turn_about_z(X.R, s, c), fma(q[0], X.R.z, X.p)};
      return;
    }
    case Shape::universal: {
      S s1, c1;
      simd::sincos(q[0], s, c);
      simd::sincos(q[1], s1, c1);
      stored_columns[joint.first_stored] = {zero3<S>(), {c1, o, s1}};
      // R Rx(q₀), then Ry(q₁)
      const Vec3<S> y = fma(s, X.R.z, c * X.R.y), z = fma(-s, X.R.y, c * X.R.z);
      X_PB = {{fma(-s1, z, c1 * X.R.x), y, fma(s1, X.R.x, c1 * z)}, X.p};
      return;
    }
    case Shape::ball: {
      X_PB = {X.R * spatial::rotation(spatial::Quaternion<S>{q[0], q[1], q[2], q[3]}), X.p};
      return;
    }
    case Shape::planar: {
      simd::sincos(q[2], s, c);
      stored_columns[joint.first_stored] = {{c, -s, o}, zero3<S>()};
      stored_columns[joint.first_stored + 1] = {{s, c, o}, zero3<S>()};
      X_PB = {turn_about_z(X.R, s, c), fma(q[1], X.R.y, fma(q[0], X.R.x, X.p))};
      return;
    }
    case Shape::translation: {
      X_PB = {X.R, X.R * Vec3<S>{q[0], q[1], q[2]} + X.p};
      return;
    }
    case Shape::free: {
      X_PB = {X.R * spatial::rotation(spatial::Quaternion<S>{q[3], q[4], q[5], q[6]}),
              X.R * Vec3<S>{q[0], q[1], q[2]} + X.p};
      return;
    }
    case Shape::program: {
      X_PB = X * evaluate_program(joint, model.program[joint.program], q, stored_columns);
      return;
    }
    case Shape::callback: {
      X_PB = X * evaluate_callback(joint, full_q + model.nq + joint.callback, stored_columns);
      return;
    }
    case Shape::revolute:
    case Shape::prismatic:
    case Shape::fixed:
      break;
  }
}

/// X_PB of a joint that is not revolute.
template <class S>
PYSIM_INLINE void evaluate_not_revolute(
    const ModelOf<S>& model, int b, const S* full_q, Motion<S>* stored_columns, Pose<S>& X_PB) {
  const Joint& joint = model.joint[b];
  if (PYSIM_LIKELY(joint.shape == Shape::prismatic || joint.shape == Shape::fixed)) {
    const Pose<S> X = placement<S>(model.constants[b]);
    X_PB = X;
    if (joint.shape == Shape::prismatic) X_PB.p = fma(full_q[joint.q], X.R.z, X.p);
    return;
  }
  evaluate_other(model, b, full_q, stored_columns, X_PB);
}

/// Sets X_PB of joint b, and its stored columns if S depends on q or is not a set of unit vectors.
template <class S>
PYSIM_INLINE void evaluate(
    const ModelOf<S>& model, int b, const S* full_q, Motion<S>* stored_columns, Pose<S>& X_PB) {
  const Joint& joint = model.joint[b];
  if (PYSIM_LIKELY(joint.shape == Shape::revolute)) {
    const Pose<S> X = placement<S>(model.constants[b]);
    S s, c;
    simd::sincos(full_q[joint.q], s, c);
    X_PB = {turn_about_z(X.R, s, c), X.p};
    return;
  }
  evaluate_not_revolute(model, b, full_q, stored_columns, X_PB);
}

/// The same, given the sines and cosines of hinges.
template <class S>
PYSIM_INLINE void evaluate(const ModelOf<S>& model,
                           int b,
                           const S* full_q,
                           const SincosTable<S>& sincos,
                           Motion<S>* stored_columns,
                           Pose<S>& X_PB) {
  const Joint& joint = model.joint[b];
  if (PYSIM_LIKELY(joint.shape == Shape::revolute)) {
    const Pose<S> X = placement<S>(model.constants[b]);
    X_PB = {turn_about_z(X.R, sincos.sin[joint.q], sincos.cos[joint.q]), X.p};
    return;
  }
  evaluate_not_revolute(model, b, full_q, stored_columns, X_PB);
}

/// Returns X_PB of joint b, for callers that use it once.
template <class S>
PYSIM_INLINE Pose<S> evaluate(const ModelOf<S>& model, int b, const S* full_q, Motion<S>* stored_columns) {
  if (PYSIM_LIKELY(model.joint[b].shape == Shape::revolute)) {
    const Pose<S> X = placement<S>(model.constants[b]);
    S s, c;
    simd::sincos(full_q[model.joint[b].q], s, c);
    return {turn_about_z(X.R, s, c), X.p};
  }
  Pose<S> X;
  evaluate_not_revolute(model, b, full_q, stored_columns, X);
  return number_by_number(X);
}

template <class S>
PYSIM_INLINE Pose<S> evaluate(const ModelOf<S>& model,
                              int b,
                              const S* full_q,
                              const SincosTable<S>& sincos,
                              Motion<S>* stored_columns) {
  if (PYSIM_LIKELY(model.joint[b].shape == Shape::revolute)) {
    const Pose<S> X = placement<S>(model.constants[b]);
    const int k = model.joint[b].q;
    return {turn_about_z(X.R, sincos.sin[k], sincos.cos[k]), X.p};
  }
  Pose<S> X;
  evaluate_not_revolute(model, b, full_q, stored_columns, X);
  return number_by_number(X);
}

/// c = Ṡ v of a joint whose columns change in the body frame.
template <class S>
PYSIM_NOINLINE Motion<S> bias_of_moving_columns(const ModelOf<S>& model,
                                                int b,
                                                Motion<S>* stored_columns,
                                                const S* full_v) {
  const Joint& joint = model.joint[b];
  const S o = all<S>(0);
  const S* v = full_v + joint.v;
  const Motion<S>* Sj = stored_columns + joint.first_stored;
  switch (joint.shape) {
    case Shape::universal: {
      // Ṡ₀ = (−sin q₁, 0, cos q₁) v₁
      const S rate = v[0] * v[1];
      return {zero3<S>(), {-(Sj[0].w.z * rate), o, Sj[0].w.x * rate}};
    }
    case Shape::planar: {
      // a vector fixed in the parent turns backwards in the child:  −ω × u
      const Vec3<S> u = fma(v[1], Sj[1].v, v[0] * Sj[0].v);
      return {{u.y * v[2], -(u.x * v[2]), o}, zero3<S>()};
    }
    case Shape::callback: {
      return Sj[joint.nv];
    }
    case Shape::program: {
      const auto& program = model.program[joint.program];
      S* const r = registers(joint, stored_columns);
      for (int i = 0; i < joint.nv; ++i) r[joint.nq + i] = v[i];
      run(program, program.pose_end, program.end, r);
      return twist_of(r, program.outputs + 12 + 6 * joint.stored_count);
    }
    default:
      return spatial::zero_motion<S>();
  }
}

/// c = Ṡ v of joint b after `evaluate`; zero for every shape whose columns are constant in the body frame.
template <class S>
PYSIM_INLINE Motion<S> bias(const ModelOf<S>& model, int b, Motion<S>* stored_columns, const S* full_v) {
  const Joint& joint = model.joint[b];
  if (PYSIM_LIKELY(!joint.biased)) return spatial::zero_motion<S>();
  const Motion<S> c = bias_of_moving_columns(model, b, stored_columns, full_v);
  return {{c.v.x, c.v.y, c.v.z}, {c.w.x, c.w.y, c.w.z}};
}

}  // namespace pysim::tree
