// Models of W worlds combined into one model whose numbers are packs: lane k is world k's.
//
// The models are alike: their structure (joints, loops, programs' instructions) is that of the first one, and
// all or none are planar. If
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
      model.plane_point = records<PlanePoint>(&World::plane_point, first.path_points);
    }
    model.armature = numbers([](const World& m) { return m.armature; }, first.nv);
    model.passive = records<Passive>(&World::passive, first.nv);
    model.mimic_q = records<Mimic>(&World::mimic_q, first.nq);
    model.mimic_v = records<Mimic>(&World::mimic_v, first.nv);
    model.program = programs();
    model.loop_constants = records<LoopConstants>(&World::loop_constants, first.loops);
    model.coupling = records<Coupling>(&World::coupling, first.couplings);
    model.term = records<Term>(&World::term, first.terms);
    model.element = records<Element>(&World::element, first.elements);
    model.path_point = records<PathPoint>(&World::path_point, first.path_points);
    model.port = records<Element>(&World::port, first.ports);
    model.closure = first.closure == nullptr ? nullptr : closure();
    return model;
  }

 private:
  /// Sets lane k of numbers; what belongs to the structure is the same in all worlds.
  struct SetLane {
    using Real = typename S::Real;
    int k;

    void operator()(S& to, const Real& from) const { simd::set_lane(to, k, from); }
    template <std::size_t n>
    void operator()(S (&to)[n], const Real (&from)[n]) const {
      for (std::size_t i = 0; i < n; ++i) simd::set_lane(to[i], k, from[i]);
    }
    template <class Same>
    void operator()(Same& to, const Same& from) const {
      to = from;
    }
  };

  struct CountNumbers {
    using Real = typename S::Real;
    std::size_t count = 0;

    constexpr void operator()(const Real&) { ++count; }
    template <std::size_t n>
    constexpr void operator()(const Real (&)[n]) {
      count += n;
    }
    template <class Other>
    constexpr void operator()(const Other&) {}
  };

  template <class Record>
  static constexpr std::size_t number_count() {
    const Record record = {};
    CountNumbers numbers;
    Record::visit(numbers, record);
    return numbers.count;
  }

  /// Lane k is number(world k).
  template <class Number>
  S each(Number number) const {
    S lanes;
    for (int k = 0; k < S::width; ++k) simd::set_lane(lanes, k, number(*worlds[k]));
    return lanes;
  }

  /// `count` packs of the numbers at at(world).
  template <class At>
  S* numbers(At at, std::ptrdiff_t count) const {
    S* const packs = take<S>(w, count);
    simd::load_lanes([&](int k) { return at(*worlds[k]); }, count, packs);
    return packs;
  }

  /// One pack for each of the worlds' records. Records of numbers only are loaded as one run.
  template <template <class> class Record, class Real>
  const Record<S>* records(const Record<Real>* World::* member, int count) const {
    if constexpr (number_count<Record<Real>>() * sizeof(Real) == sizeof(Record<Real>)) {
      const auto at = [member](const World& m) { return reinterpret_cast<const Real*>(m.*member); };
      return reinterpret_cast<const Record<S>*>(
          numbers(at, static_cast<std::ptrdiff_t>(number_count<Record<Real>>()) * count));
    } else {
      auto* const packs = take<Record<S>>(w, count);
      for (int i = 0; i < count; ++i) {
        for (int k = 0; k < S::width; ++k) Record<S>::visit(SetLane{k}, packs[i], (worlds[k]->*member)[i]);
      }
      return packs;
    }
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

  const ModelView<S>* closure() const {
    auto* const view = take<ModelView<S>>(w, 1);
    const World* closures[S::width];
    for (int k = 0; k < S::width; ++k) closures[k] = worlds[k]->closure;
    *view = SideBySide{closures, w}.model();
    return view;
  }
};

}  // namespace pysim::tree
