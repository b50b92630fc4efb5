// Copies of a model whose numbers are of another type: packs, or the numbers of one world.
//
// The copy visits every number in one order, in which each has a place: a world's own number is given by its
// place. Fields that belong to the structure are those of the model.
#pragma once

#include "tree/aligned_take.hpp"
#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::tree {

/// Copies the fields of a record; numbers(to, from) copies each number.
template <class To, class From, class Numbers>
struct CopyFields {
  Numbers& numbers;

  void operator()(To& to, const From& from) const { numbers(to, from); }
  template <std::size_t n>
  void operator()(To (&to)[n], const From (&from)[n]) const {
    for (std::size_t i = 0; i < n; ++i) numbers(to[i], from[i]);
  }
  template <class Same>
  void operator()(Same& to, const Same& from) const {
    to = from;
  }
};

/// Makes copies whose numbers are of type To, in the workspace. Of every table of numbers,
/// numbers.begin(name, records) is called first.
template <class To, class S, class Numbers>
class ModelCopy {
 public:
  ModelCopy(Workspace<S>& w, Numbers& numbers) : w_(w), numbers_(numbers) {}

  template <class From>
  ModelView<To> of(const ModelView<From>& from) {
    ModelView<To> model;
    static_cast<Structure&>(model) = from;
    numbers_.begin("gravity", 1);
    for (int i = 0; i < 3; ++i) numbers_(model.gravity[i], from.gravity[i]);
    model.constants = records<Constants>("bodies", from.constants, from.bodies);
    model.plane = records<PlaneBody>("plane_bodies", from.plane, from.planar_tree ? from.bodies : 0);
    model.plane_loop = records<PlaneLoop>("plane_loops", from.plane_loop, from.planar_loops ? from.loops : 0);
    model.plane_point =
        records<PlanePoint>("plane_points", from.plane_point, from.planar_loops ? from.path_points : 0);
    model.armature = numbers("armature", from.armature, from.nv);
    model.passive = records<Passive>("passive", from.passive, from.nv);
    model.mimic_q = records<Mimic>("mimic_q", from.mimic_q, from.nq);
    model.mimic_v = records<Mimic>("mimic_v", from.mimic_v, from.nv);
    model.loop_constants = records<LoopConstants>("loops", from.loop_constants, from.loops);
    model.coupling = records<Coupling>("couplings", from.coupling, from.couplings);
    model.term = records<Term>("terms", from.term, from.terms);
    model.element = records<Element>("elements", from.element, from.elements);
    model.path_point = records<PathPoint>("path_points", from.path_point, from.path_points);
    model.port = records<Element>("ports", from.port, from.ports);
    model.program = programs(from);
    model.closure = nullptr;
    if (from.closure != nullptr) {
      auto* const closure = take_aligned<ModelView<To>>(w_, 1);
      numbers_.begin("closure", 1);
      *closure = of(*from.closure);
      model.closure = closure;
    }
    return model;
  }

  /// A copy of numbers.
  template <class From>
  const To* numbers(const char* name, const From* from, int count) {
    numbers_.begin(name, count);
    To* const to = take<To>(w_, count);
    for (int i = 0; i < count; ++i) numbers_(to[i], from[i]);
    return to;
  }

  /// A copy of records.
  template <template <class> class Record, class From>
  const Record<To>* records(const char* name, const Record<From>* from, int count) {
    numbers_.begin(name, count);
    auto* const to = take<Record<To>>(w_, count);
    for (int i = 0; i < count; ++i)
      Record<To>::visit(CopyFields<To, From, Numbers>{numbers_}, to[i], from[i]);
    return to;
  }

 private:
  template <class From>
  const ProgramView<To>* programs(const ModelView<From>& from) {
    auto* const views = take_aligned<ProgramView<To>>(w_, from.programs);
    for (int i = 0; i < from.programs; ++i) {
      const auto& own = from.program[i];
      views[i] = {own.code,
                  own.pose_end,
                  own.end,
                  own.registers,
                  own.constant_count,
                  own.table_count,
                  numbers("constants", own.constants, own.constant_count),
                  numbers("tables", own.tables, own.table_count),
                  own.outputs};
    }
    return views;
  }

  Workspace<S>& w_;
  Numbers& numbers_;
};

}  // namespace pysim::tree
