// Worlds of the engine with what Python lends them: arrays, forces, steps.
#pragma once

#include <pybind11/stl.h>

#include <optional>
#include <vector>

#include "bindings/released_gil.hpp"
#include "bindings/sensor_numbers.hpp"
#include "bindings/stepping_arguments.hpp"
#include "engine/worlds.hpp"

namespace pysim::bindings {

using Indices = py::array_t<int, py::array::c_style | py::array::forcecast>;
using Integers = py::array_t<std::int64_t, py::array::c_style>;
using Places = py::array_t<std::ptrdiff_t, py::array::c_style>;
using Reals = py::array_t<double, py::array::c_style>;

/// Lends NumPy's arrays of zeros to worlds; memory is taken where it is written.
inline engine::Allocate numpy_zeros(py::dict arrays) {
  return [arrays](const engine::PartOfRecords& part) -> void* {
    const auto type = part.type == engine::NumberType::float32   ? py::dtype::of<float>()
                      : part.type == engine::NumberType::float64 ? py::dtype::of<double>()
                                                                 : py::dtype::of<std::int64_t>();
    const py::object zeros = py::module_::import("numpy").attr("zeros");
    py::array array = zeros(py::make_tuple(part.worlds, part.numbers), type);
    arrays[part.name] = array;
    return array.mutable_data();
  };
}

inline std::vector<double> list_of(const Numbers& x) {
  return {x.data(), x.data() + x.size()};
}

/// Worlds of the engine with what Python lends them.
template <class Real>
class LentWorlds : public engine::Worlds<Real> {
 public:
  using Own = engine::Worlds<Real>;
  using RealRows = py::array_t<Real, py::array::c_style>;

  LentWorlds(const Model& model,
             Actuation actuation,
             const engine::ModelContacts* contacts,
             py::ssize_t count,
             engine::WorldScheme scheme,
             engine::WorldBlocks blocks,
             const py::object& step,
             const py::dict& arrays,
             int caller_numbers = 0)
      : Own(model,
            contacts,
            count,
            std::move(scheme),
            std::move(blocks),
            caller_step(step),
            numpy_zeros(arrays),
            caller_numbers),
        arrays_(arrays) {
    set_actuation(std::move(actuation));
  }

  const py::dict& arrays() const { return arrays_; }

  void set_actuation(Actuation actuation) {
    actuation_ = std::move(actuation);
    Own::set_actuation(actuation_.view(this->model()));
  }

  void set_varied(const Places& places, const Reals& values, bool joint_forces, double reach) {
    if (values.ndim() != 2 || values.shape(0) != this->count() || values.shape(1) != places.size()) {
      throw std::invalid_argument("values must have shape (" + std::to_string(this->count()) + ", " +
                                  std::to_string(places.size()) + "), got " + describe(values));
    }
    Own::set_varied({places.data(), places.data() + places.size()}, values.data(), joint_forces, reach);
    values_ = values;
  }

  void set_contact_sensors(const std::vector<SensorNumbers>& sensors) {
    Own::set_sensors(sensor_records(sensors));
  }

  void set_smooth_contacts(const py::object& contacts) {
    Own::set_smooth_contacts(contacts.is_none() ? nullptr
                                                : &py::cast<const engine::ModelContacts&>(contacts));
    smooth_contacts_ = contacts;
  }

  engine::Selection chosen(const std::optional<Indices>& worlds) const {
    return worlds ? chosen(*worlds) : this->all();
  }
  static engine::Selection chosen(const Indices& worlds) { return {worlds.data(), worlds.size()}; }

  Reals readings(const std::optional<Indices>& index, int threads) const {
    const engine::Selection worlds = chosen(index);
    this->check(worlds, "worlds");
    check_threads(threads);
    Reals found({static_cast<py::ssize_t>(worlds.count), static_cast<py::ssize_t>(this->reading_count())});
    double* const rows = found.mutable_data();
    const ReleasedGil nogil;
    Own::readings(worlds, threads, rows);
    return found;
  }

  py::bytes save(const Indices& index) {
    const engine::Selection worlds = chosen(index);
    const auto size = static_cast<Py_ssize_t>(this->saved_size(worlds));
    const auto bytes = py::reinterpret_steal<py::bytes>(PyBytes_FromStringAndSize(nullptr, size));
    if (!bytes) throw py::error_already_set();
    Own::save(worlds, PyBytes_AS_STRING(bytes.ptr()));
    return bytes;
  }

  void load(const py::bytes& bytes, const Indices& worlds) {
    const std::string_view view = bytes;
    Own::load(view.data(), view.size(), chosen(worlds));
  }

  py::ssize_t step(std::int64_t steps,
                   const std::optional<Indices>& index,
                   py::ssize_t most,
                   int threads,
                   std::optional<double> length,
                   double wall) {
    check_threads(threads);
    return released([&] { return Own::step(steps, chosen(index), {most, wall}, threads, length); });
  }

  py::ssize_t go_on(const std::optional<Indices>& index, py::ssize_t most, int threads, double wall) {
    return released([&] { return Own::go_on(chosen(index), {most, wall}, threads); });
  }

  Integers stops(py::ssize_t states) const {
    return Integers(states, reinterpret_cast<const std::int64_t*>(Own::stops()));
  }

  Integers advance(const std::optional<Indices>& index,
                   const Reals& times,
                   Integers row,
                   std::optional<RealRows> q_rows,
                   std::optional<RealRows> v_rows,
                   std::optional<Reals> loop_rows,
                   std::optional<Reals> signal_rows,
                   std::optional<Reals> report,
                   std::optional<Reals> report_rows,
                   std::optional<Reals> inputs,
                   const std::vector<int>& input_places,
                   py::ssize_t most,
                   int threads,
                   std::optional<py::ssize_t> count,
                   std::int64_t every,
                   double wall) {
    check_threads(threads);
    const engine::Selection worlds = chosen(index);
    this->check(worlds, "worlds");
    const auto& sizes = this->parts().sizes;
    const py::ssize_t states = worlds.count, rows = count.value_or(times.size());
    if (rows < 0 || rows > times.size()) {
      throw std::invalid_argument("count must be from 0 to " + std::to_string(times.size()) + ", got " +
                                  std::to_string(rows));
    }
    for (const int place : input_places) {
      if (place < 0 || place >= sizes.signals) {
        throw std::invalid_argument("input_places are no places of signals");
      }
    }
    const py::ssize_t report_numbers =
        this->is_convex() ? py::ssize_t{contact::ContactReport::numbers} * sizes.points : 0;
    Integers stop(states);
    engine::WorldBatch<Real> batch = {};
    batch.report = demand(report, "report", states * report_numbers);
    batch.report_rows = demand(report_rows, "report_rows", states * rows * report_numbers);
    auto& call = batch.call;
    call.times = every > 0 ? nullptr : times.data();
    call.every = every;
    call.rows = rows;
    call.known = times.size();
    call.row = demand(&row, "row", states);
    call.stop = reinterpret_cast<stepping::WorldStop*>(stop.mutable_data());
    call.q_rows = demand(q_rows, "q_rows", states * rows * sizes.q);
    call.v_rows = demand(v_rows, "v_rows", states * rows * sizes.v);
    call.loop_rows = demand(loop_rows, "loop_rows", states * rows * sizes.loop_q);
    call.signal_rows = demand(signal_rows, "signal_rows", states * rows * sizes.signals);
    call.input_rows = inputs && inputs->ndim() == 3 ? inputs->shape(1) : 0;
    call.inputs =
        demand(inputs, "inputs", states * call.input_rows * static_cast<py::ssize_t>(input_places.size()));
    call.input_count = static_cast<int>(input_places.size());
    call.input_place = input_places.data();
    released([&] { Own::advance(worlds, batch, {most, wall}, threads); });
    return stop;
  }

 private:
  /// A step that Python makes in the arrays of a record.
  static engine::CallerStep caller_step(const py::object& step) {
    if (step.is_none()) return {};
    return {[step](std::ptrdiff_t world, double t, double h) { return py::cast<bool>(step(world, t, h)); },
            [step](std::ptrdiff_t world) { step.attr("hold")(world); },
            [step](std::ptrdiff_t world) { step.attr("put_back")(world); }};
  }

  /// Calls without the GIL, unless Python makes the steps.
  template <class F>
  auto released(const F& call) const {
    return this->has_caller_steps() ? call() : without_gil(call);
  }

  /// The numbers of an array that may be left out.
  template <class Array>
  static auto demand(Array&& array, const char* name, py::ssize_t numbers)
      -> decltype(array->mutable_data()) {
    if (!array) return nullptr;
    if (array->size() == numbers && array->writeable()) return array->mutable_data();
    throw std::invalid_argument(std::string(name) + " must be writeable and have " + std::to_string(numbers) +
                                " numbers, got " + std::to_string(array->size()));
  }

  py::dict arrays_;
  Actuation actuation_;
  Reals values_ = Reals(0);
  py::object smooth_contacts_;  ///< if they are not those of the worlds
};

}  // namespace pysim::bindings
