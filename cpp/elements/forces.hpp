// Forces that traced programs compute, and their generalised forces.
//
//     frames        F(X_AB, V_AB)    τ = J_ABᵀ F       wrench on frame B about its origin, in B; the opposite
//                                                      wrench acts on A at the same place
//     path          T(L, L̇)          τ = −T ∂L/∂q      see path_forces.hpp
//     coordinates   f(q, v)          τ = f
//
// V_AB = V_B − X_BA V_A is the twist of B relative to A, in B.
#pragma once

#include "elements/path_forces.hpp"

namespace pysim::elements {

using tree::ElementKind;

/// A frame on a moving body: its pose in the world, and its twist in its own axes.
template <class S>
struct MovingFrame {
  Pose<S> X_W;
  Motion<S> V;
};

template <class S>
MovingFrame<S> moving_frame(const PlacedBody<S>* body, int b, const typename S::Parameter* at) {
  const Pose<S> X = {spatial::all33<S>(at), spatial::all3<S>(at + 9)};
  if (b < 0) return {X, spatial::zero_motion<S>()};
  return {body[b].X_WB * X, to_child(X, body[b].V)};
}

template <class S>
PYSIM_INLINE void put3(const Vec3<S>& x, S* to) {
  to[0] = x.x;
  to[1] = x.y;
  to[2] = x.z;
}

/// Number of inputs of a frame element's program: X_AB, rotation column-major and position, and V_AB.
constexpr int frame_inputs = 18;

/// Writes X_AB and V_AB to the first registers; returns X_AB.
template <class S>
Pose<S> load_frames(const PlacedBody<S>* body, const Element<typename S::Parameter>& element, S* registers) {
  const MovingFrame<S> A = moving_frame(body, element.a, element.at_a);
  const MovingFrame<S> B = moving_frame(body, element.b, element.at_b);
  const Pose<S> X_AB = inverse(A.X_W) * B.X_W;
  const Motion<S> V_AB = B.V - to_child(X_AB, A.V);
  put3(X_AB.R.x, registers);
  put3(X_AB.R.y, registers + 3);
  put3(X_AB.R.z, registers + 6);
  put3(X_AB.p, registers + 9);
  put3(V_AB.v, registers + 12);
  put3(V_AB.w, registers + 15);
  return X_AB;
}

/// The wrench of the first six outputs.
template <class S>
PYSIM_INLINE Force<S> output_wrench(const int* outputs, const S* registers) {
  const auto number = [&](int i) { return registers[outputs[i]]; };
  return {{number(0), number(1), number(2)}, {number(3), number(4), number(5)}};
}

/// Adds a wrench on frame B, in B, and its opposite on A.
template <class S>
void push_frames(const Element<typename S::Parameter>& element,
                 const Pose<S>& X_AB,
                 const Force<S>& F_B,
                 const BodyWrenches<S>& wrenches) {
  wrenches.at_frame(element.b, element.at_b, F_B);
  wrenches.at_frame(element.a, element.at_a, -to_parent(X_AB, F_B));
}

template <class S>
void add_frame_force(const ModelOf<S>& model,
                     const Element<typename S::Parameter>& element,
                     const BodyWrenches<S>& wrenches,
                     Workspace<S> w) {
  const auto& program = model.program[element.program];
  S* const registers = take<S>(w, program.registers);
  const Pose<S> X_AB = load_frames(wrenches.body, element, registers);
  run_program(program, frame_inputs, registers);
  push_frames<S>(element, X_AB, output_wrench(program.outputs, static_cast<const S*>(registers)), wrenches);
}

/// Writes q and v of the element's coordinates to the first registers; v may be null (zero).
template <class S>
void load_coordinates(const ModelOf<S>& model,
                      const S* q,
                      const S* v,
                      const Element<typename S::Parameter>& element,
                      S* registers) {
  const ElementCoordinate* const place = model.element_coordinate + element.first;
  for (int i = 0; i < element.count; ++i) {
    registers[i] = place[i].q < 0 ? all<S>(0) : q[place[i].q];
    registers[element.count + i] = v == nullptr ? all<S>(0) : v[place[i].v];
  }
}

template <class S>
void add_coordinate_force(const ModelOf<S>& model,
                          const S* q,
                          const S* v,
                          const Element<typename S::Parameter>& element,
                          S* tau,
                          Workspace<S> w) {
  const auto& program = model.program[element.program];
  S* const registers = take<S>(w, program.registers);
  load_coordinates(model, q, v, element, registers);
  run_program(program, 2 * element.count, registers);
  const ElementCoordinate* const place = model.element_coordinate + element.first;
  for (int i = 0; i < element.count; ++i) tau[place[i].v] += registers[program.outputs[i]];
}

/// Adds the generalised forces of all elements to τ, in tree coordinates, but not those along straight paths
/// if `straight` is false.
template <class S>
void add_element_forces(
    const ModelOf<S>& model, const S* q, const S* v, S* tau, Workspace<S> w, bool straight = true) {
  PlacedBody<S>* const body = take<PlacedBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  place_bodies(model, q, v, body, columns);
  const BodyWrenches<S> wrenches = take_wrenches<S>(model, body, w, tau);
  bool pushes = false;
  for (int k = 0; k < model.elements; ++k) {
    const auto& element = model.element[k];
    if (element.is_straight() && !straight) continue;
    pushes = pushes || element.kind != ElementKind::coordinates;
    switch (element.kind) {
      case ElementKind::frames:
        add_frame_force<S>(model, element, wrenches, w);
        break;
      case ElementKind::path:
        add_path_force<S>(model, q, v, element, wrenches, w);
        break;
      case ElementKind::coordinates:
        add_coordinate_force<S>(model, q, v, element, tau, w);
        break;
    }
  }
  for (int b = model.bodies - 1; pushes && b >= 0; --b) wrenches.project(model, columns, b, tau);
}

/// Energy stored in the elements [J].
template <class S>
S element_energy(const ModelOf<S>& model, const S* q, Workspace<S> w) {
  S energy = all<S>(0);
  PlacedBody<S>* const body = take<PlacedBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  const S* const still = nullptr;
  place_bodies(model, q, still, body, columns);
  for (int k = 0; k < model.elements; ++k) {
    const auto& element = model.element[k];
    if (element.energy < 0) continue;
    const auto& program = model.program[element.energy];
    Workspace<S> inner = w;
    S* const registers = take<S>(inner, program.registers);
    int inputs = 2;
    if (element.kind == ElementKind::frames) {
      load_frames(body, element, registers);
      inputs = frame_inputs;
    } else if (element.kind == ElementKind::path) {
      load_path(model, body, q, still, element, registers, inner);
    } else {
      load_coordinates<S>(model, q, still, element, registers);
      inputs = 2 * element.count;
    }
    run_program(program, inputs, registers);
    energy += registers[program.outputs[0]];
  }
  return energy;
}

}  // namespace pysim::elements
