// The models of W worlds as one model whose numbers are packs: lane k is world k's.
//
// The models are alike: what is no number (joints, loops, programs' instructions) is the first one's, and all
// stay in planes or none. Where
// one has passive forces, those without add zeros.
#pragma once

#include "simd/load_rows.hpp"
#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::tree {

template <class S>
struct SideBySide {
  using World = ModelView<typename S::Real>;

  const World* const* worlds;  ///< [width]
  Workspace<S>& w;

  ModelView<S> model() const {
    const World& first = *worlds[0];
    ModelView<S> model;
    static_cast<Structure&>(model) = first;
    for (int k = 0; k < S::width; ++k) {
      model.joint_forces = model.joint_forces || worlds[k]->joint_forces;
      model.aligned = model.aligned || worlds[k]->aligned;
    }
    for (int i = 0; i < 3; ++i) model.gravity[i] = each([i](const World& m) { return m.gravity[i]; });
    model.constants = records<Constants>(&World::constants, first.bodies);
    if (model.planar_tree) model.plane = records<PlaneBody>(&World::plane, first.bodies);
    if (model.planar_loops) {
      model.plane_loop = records<PlaneLoop>(&World::plane_loop, first.loops);
      model.plane_spring = records<PlaneSpring>(&World::plane_spring, first.springs);
    }
    model.armature = numbers([](const World& m) { return m.armature; }, first.nv);
    model.passive = records<Passive>(&World::passive, first.nv);
    model.mimic_q = couplings(&World::mimic_q, first.nq);
    model.mimic_v = couplings(&World::mimic_v, first.nv);
    model.program = programs();
    model.loop_constants = records<LoopConstants>(&World::loop_constants, first.loops);
    model.coupling = couplings();
    model.term = terms();
    model.spring = springs();
    model.closure = first.closure == nullptr ? nullptr : closure();
    return model;
  }

 private:
  /// Lane k is number(world k).
  template <class Number>
  S each(Number number) const {
    S lanes;
    for (int k = 0; k < S::width; ++k) simd::set_lane(lanes, k, number(*worlds[k]));
    return lanes;
  }

  /// `count` packs of the numbers that stand where at(world) points.
  template <class At>
  S* numbers(At at, std::ptrdiff_t count) const {
    S* const packs = take<S>(w, count);
    simd::load_lanes([&](int k) { return at(*worlds[k]); }, count, packs);
    return packs;
  }

  /// Records that hold nothing but numbers.
  template <template <class> class Record, class Real>
  const Record<S>* records(const Record<Real>* World::* member, int count) const {
    constexpr std::ptrdiff_t size = sizeof(Record<Real>) / sizeof(Real);
    static_assert(sizeof(Record<S>) == size * sizeof(S), "a record of numbers alone");
    const auto at = [member](const World& m) { return reinterpret_cast<const Real*>(m.*member); };
    return reinterpret_cast<const Record<S>*>(numbers(at, size * count));
  }

  template <class Real>
  const Mimic<S>* couplings(const Mimic<Real>* World::* member, int count) const {
    auto* const packs = take<Mimic<S>>(w, count);
    for (int i = 0; i < count; ++i) {
      packs[i] = {(worlds[0]->*member)[i].own,
                  each([=](const World& m) { return (m.*member)[i].ratio; }),
                  each([=](const World& m) { return (m.*member)[i].offset; })};
    }
    return packs;
  }

  const ProgramView<S>* programs() const {
    auto* const views = take<ProgramView<S>>(w, worlds[0]->programs);
    for (int i = 0; i < worlds[0]->programs; ++i) {
      const auto& first = worlds[0]->program[i];
      views[i] = {first.code,
                  first.pose_end,
                  first.end,
                  first.registers,
                  first.constant_count,
                  first.table_count,
                  numbers([i](const World& m) { return m.program[i].constants; }, first.constant_count),
                  numbers([i](const World& m) { return m.program[i].tables; }, first.table_count),
                  first.outputs};
    }
    return views;
  }

  const Coupling<S>* couplings() const {
    auto* const packs = take<Coupling<S>>(w, worlds[0]->couplings);
    for (int i = 0; i < worlds[0]->couplings; ++i) {
      const auto& first = worlds[0]->coupling[i];
      packs[i] = {first.row,
                  first.first_term,
                  first.terms,
                  first.program,
                  first.derivative,
                  first.first_input,
                  first.inputs,
                  each([i](const World& m) { return m.coupling[i].offset; })};
    }
    return packs;
  }

  const Term<S>* terms() const {
    auto* const packs = take<Term<S>>(w, worlds[0]->terms);
    for (int i = 0; i < worlds[0]->terms; ++i) {
      const auto& first = worlds[0]->term[i];
      packs[i] = {first.q, first.v, each([i](const World& m) { return m.term[i].factor; })};
    }
    return packs;
  }

  const Spring<S>* springs() const {
    auto* const packs = take<Spring<S>>(w, worlds[0]->springs);
    for (int i = 0; i < worlds[0]->springs; ++i) {
      Spring<S>& spring = packs[i];
      spring.a = worlds[0]->spring[i].a;
      spring.b = worlds[0]->spring[i].b;
      for (int x = 0; x < 3; ++x) {
        spring.at_a[x] = each([=](const World& m) { return m.spring[i].at_a[x]; });
        spring.at_b[x] = each([=](const World& m) { return m.spring[i].at_b[x]; });
      }
      spring.stiffness = each([i](const World& m) { return m.spring[i].stiffness; });
      spring.damping = each([i](const World& m) { return m.spring[i].damping; });
      spring.length = each([i](const World& m) { return m.spring[i].length; });
    }
    return packs;
  }

  const ModelView<S>* closure() const {
    auto* const view = take<ModelView<S>>(w, 1);
    const World* closures[S::width];
    for (int k = 0; k < S::width; ++k) closures[k] = worlds[k]->closure;
    *view = SideBySide{closures, w}.model();
    return view;
  }
};

}  // namespace pysim::tree
