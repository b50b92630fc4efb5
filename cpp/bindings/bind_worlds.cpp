// Worlds on the Python side.
#include <memory>

#include "bindings/lent_worlds.hpp"
#include "contact/iteration_log.hpp"
#include "engine/integrators.hpp"
#include "engine/world_numbers.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

using engine::checked_radius;
using engine::Events;
using engine::list_numbers;
using engine::ModelContacts;
using engine::NumberList;

namespace {

template <class Real>
void bind_worlds_of(py::module_& m, const char* name, const char* text) {
  using Worlds = LentWorlds<Real>;
  py::class_<Worlds, engine::RecordedWorlds>(m, name, text)
      .def(py::init([](const Model& model,
                       const Actuation& actuation,
                       const ModelContacts* contacts,
                       py::ssize_t count,
                       const std::string& integrator,
                       double step,
                       const std::vector<double>& periods,
                       int first_bit,
                       std::uint64_t python,
                       int key,
                       double spectral_radius,
                       int passes,
                       double solver_tolerance,
                       double accuracy,
                       double least_step,
                       const Numbers& rtol,
                       const Numbers& atol,
                       const Events* events,
                       const py::object& python_step,
                       int caller_numbers) {
             engine::WorldScheme scheme = {integrator, step};
             scheme.spectral_radius = checked_radius(spectral_radius);
             scheme.passes = passes;
             scheme.solver_tolerance = solver_tolerance;
             scheme.accuracy = accuracy;
             scheme.least_step = least_step;
             scheme.rtol = list_of(rtol);
             scheme.atol = list_of(atol);
             scheme.events = events;
             return std::make_unique<Worlds>(model,
                                             actuation,
                                             contacts,
                                             count,
                                             std::move(scheme),
                                             engine::WorldBlocks{periods, first_bit, python, key},
                                             python_step,
                                             py::dict(),
                                             caller_numbers);
           }),
           py::keep_alive<1, 2>(),
           py::keep_alive<1, 4>(),
           py::keep_alive<1, 19>(),
           "model"_a,
           "actuation"_a,
           "contacts"_a.none(true),
           "count"_a,
           "integrator"_a,
           "step"_a,
           py::kw_only(),
           "periods"_a = std::vector<double>{},
           "first_bit"_a = 0,
           "python"_a = 0,
           "key"_a = -1,
           "spectral_radius"_a = 0.9,
           "passes"_a = 2,
           "solver_tolerance"_a = contact::solver_tolerance,
           "accuracy"_a = 0.0,
           "least_step"_a = 0.0,
           "rtol"_a = Numbers(0),
           "atol"_a = Numbers(0),
           "events"_a = nullptr,
           "python_step"_a = py::none(),
           "caller_numbers"_a = 0)
      .def("__len__", &Worlds::count)
      .def_property_readonly("parts",
                             &Worlds::arrays,
                             "Arrays of the record's parts by name, (worlds, numbers), which advance writes.")
      .def("set_varied",
           &Worlds::set_varied,
           "places"_a,
           "values"_a.noconvert(),
           "joint_forces"_a,
           "reach"_a = 0.0,
           "Lets worlds differ in numbers of `model_numbers` at ascending places; values (worlds, places) "
           "are read in every call, not copied. joint_forces: forces of joints, which the model may lack, "
           "are among them. reach [m]: how much farther from their joints centres of mass of roots are than "
           "the model's.")
      .def("readings",
           &Worlds::readings,
           "worlds"_a = py::none(),
           "threads"_a = 1,
           "Returns all signals (worlds, readings); those that depend on accelerations, wrenches and "
           "contacts are meaningless.")
      .def("set_model",
           &Worlds::set_model,
           "model"_a,
           py::keep_alive<1, 2>(),
           "Steps by another model from now on, with the same states and other numbers or programs.")
      .def("set_actuation",
           &Worlds::set_actuation,
           "actuation"_a,
           "Lets other prescribed forces act from now on.")
      .def(
          "set_contact_sensors",
          &Worlds::set_contact_sensors,
          "sensors"_a,
          "Sets the sensors of contacts: places of their numbers among those of the signals, bodies of their "
          "frame and axes, these (16,), and the pairs of shapes that count, with signs of their forces.")
      .def("set_smooth_contacts",
           &Worlds::set_smooth_contacts,
           "contacts"_a.none(true),
           "Lets the smooth forces of other contacts, or none, act from now on.")
      .def(
          "copy",
          [](Worlds& worlds, const Indices& source, const Indices& target) {
            worlds.copy(Worlds::chosen(source), Worlds::chosen(target));
          },
          "source"_a,
          "target"_a,
          "Copies records of worlds to other worlds.")
      .def("save", &Worlds::save, "worlds"_a, "Returns the records of worlds as bytes.")
      .def("load", &Worlds::load, "saved"_a, "worlds"_a, "Overwrites the records of worlds by saved ones.")
      .def(
          "written",
          [](Worlds& worlds, const std::optional<Indices>& which) {
            return worlds.written(worlds.chosen(which));
          },
          "worlds"_a = py::none(),
          "Returns the worlds whose t, q or v were written.")
      .def(
          "accept",
          [](Worlds& worlds, const std::optional<Indices>& which) {
            return worlds.accept(worlds.chosen(which));
          },
          "worlds"_a = py::none(),
          "Takes over written t, q and v; returns whether a world was lost by it.")
      .def(
          "restore",
          [](Worlds& worlds, const Indices& which) { return worlds.restore(worlds.chosen(which)); },
          "worlds"_a,
          "Puts worlds back to the t, q and v that they had before others were written.")
      .def(
          "see",
          [](Worlds& worlds, const std::optional<Indices>& which) { worlds.see(worlds.chosen(which)); },
          "worlds"_a = py::none(),
          "Notes t, q and v of worlds: what they are now was not written from outside.")
      .def(
          "begin_clock",
          [](Worlds& worlds, const Indices& which) { worlds.begin_clock(Worlds::chosen(which)); },
          "worlds"_a,
          "Begins the grid of steps at the t of worlds, and sets their next instants.")
      .def("step",
           &Worlds::step,
           "steps"_a,
           "worlds"_a = py::none(),
           "most"_a = py::ssize_t{1} << 62,
           "threads"_a = 1,
           "length"_a = py::none(),
           "wall"_a = py::float_(std::numeric_limits<double>::infinity()),
           "Makes steps on the grid, `most` at most and for about `wall` [s]; returns how many worlds did "
           "not make all of them. "
           "length [s] is that of the grid of worlds whose steps are of adapted size.")
      .def("go_on",
           &Worlds::go_on,
           "worlds"_a = py::none(),
           "most"_a = py::ssize_t{1} << 62,
           "threads"_a = 1,
           "wall"_a = py::float_(std::numeric_limits<double>::infinity()),
           "Goes on with the steps of the last call of `step`, of the same worlds.")
      .def(
          "newton_iterations",
          [](Worlds& worlds, const py::function& step) { return worlds.newton_iterations([&] { step(); }); },
          "step"_a,
          "Returns what Newton's method does while step() advances one world by one convex step.")
      .def("stops", &Worlds::stops, "count"_a, "Returns why `step` left its worlds, as `advance` does.")
      .def("advance",
           &Worlds::advance,
           "worlds"_a = py::none(),
           py::kw_only(),
           "times"_a,
           "row"_a.noconvert(),
           "q_rows"_a.noconvert() = py::none(),
           "v_rows"_a.noconvert() = py::none(),
           "loop_rows"_a.noconvert() = py::none(),
           "signal_rows"_a.noconvert() = py::none(),
           "report"_a.noconvert() = py::none(),
           "report_rows"_a.noconvert() = py::none(),
           "inputs"_a.noconvert() = py::none(),
           "input_places"_a = std::vector<int>{},
           "most"_a = py::ssize_t{1} << 62,
           "threads"_a = 1,
           "count"_a = py::none(),
           "every"_a = 0,
           "wall"_a = py::float_(std::numeric_limits<double>::infinity()),
           "Advances worlds, all or some, through times (rows,) [s], or the first `count` of them; with "
           "`every`, on the grid to the goal of the last call of `step`, with rows `every` steps apart. row "
           "(worlds,) counts the rows written into q_rows (worlds, rows, nq), v_rows, signal_rows and "
           "report_rows; report (worlds, points, 18) holds the last step's contacts and the impulses since "
           "the last row, in and out. inputs (worlds, n, inputs) are held at input_places of the signals up "
           "to each row; those up to the first are set already. A world makes `most` steps at most, for "
           "about `wall` [s]. Returns "
           "for each world why it was left: 0 it has reached the end, 1 its steps are used up, 2 Python has "
           "to run the blocks of its part 'pending', 3 it is lost, see its part 'status', 4 + k at event k.");
}

void bind_iterations(py::module_& m) {
  using Iteration = contact::NewtonIteration;
  py::class_<Iteration>(m, "NewtonIteration", "One iteration of Newton's method in a convex step.")
      .def_readonly("length", &Iteration::length, "Length of the step or stage that is solved [s].")
      .def_readonly(
          "cost", &Iteration::cost, "½ |v − v*|²_A + Σ P at the end, with the radii of friction so far [J].")
      .def_readonly("gradient",
                    &Iteration::gradient,
                    "Of the cost at the beginning, in the norm of its inverse Hessian [√J]; NaN in the first "
                    "iteration, which begins at velocities that no impulses have made.")
      .def_readonly("step_length", &Iteration::step_length, "α of the line search: 1 for the full step.")
      .def_readonly(
          "residual",
          &Iteration::residual,
          "Largest difference of an impulse and its law at the end, relative to the largest impulse "
          "of its kind.")
      .def_readonly("touching", &Iteration::touching, "Contact points that push.")
      .def_readonly("sticking", &Iteration::sticking, "Contact points that push and stick.")
      .def_readonly("stopped", &Iteration::stopped, "Coordinates at a stop.")
      .def_readonly("sticking_joints", &Iteration::sticking_joints, "Coordinates whose dry friction sticks.")
      .def_readonly("bounded", &Iteration::bounded, "Servos at a bound of their force.")
      .def_readonly("renews", &Iteration::renews, "Whether radii of friction are renewed at the end.")
      .def_readonly("converged", &Iteration::converged, "Whether this one ends the solution.")
      .def("__repr__", [](const Iteration& self) {
        return py::str(
                   "NewtonIteration(cost={:.6g}, gradient={:.3g}, step_length={:.3g}, residual={:.2g}, "
                   "touching={}, sticking={}{}{})")
            .format(self.cost,
                    self.gradient,
                    self.step_length,
                    self.residual,
                    self.touching,
                    self.sticking,
                    self.renews ? ", renews" : "",
                    self.converged ? ", converged" : "");
      });
}

}  // namespace

void bind_worlds(py::module_& m) {
  bind_iterations(m);
  m.def(
      "vary_states",
      [](Model& model, const std::optional<Places>& places, const Reals& values, bool joint_forces) {
        model.vary(places ? tree::VariedNumbers{static_cast<int>(places->size()),
                                                places->data(),
                                                values.data(),
                                                joint_forces}
                          : tree::VariedNumbers{});
      },
      "model"_a,
      "places"_a,
      "values"_a.noconvert(),
      "joint_forces"_a,
      "Lets the states of all later batches of a model differ in numbers of `model_numbers` at ascending "
      "places, with values (states, places), both read in every call, not copied; places None ends that.");
  m.def(
      "model_numbers",
      [](const Model& model, const ModelContacts* contacts) {
        const NumberList found = list_numbers(model, contacts);
        const auto size = static_cast<py::ssize_t>(found.values.size());
        return py::make_tuple(Reals(size, found.values.data()), found.tables, py::bytes(found.structure));
      },
      "model"_a,
      "contacts"_a.none(true),
      "Returns all numbers of a model and of contacts, their tables (name, place of the first number, "
      "records), and bytes of the rest of the contacts.");
  py::class_<engine::RecordedWorlds>(m, "RecordedWorlds", "Worlds of either precision.");
  bind_worlds_of<double>(
      m,
      "Worlds",
      "Records of worlds of one scene, and their advance. `periods`, `first_bit` and `python` are the "
      "periods [s] of the sampled blocks, the bit of the first of them, and the bits that Python runs; `key` "
      "is the place of the key of random numbers among the signals. python_step(world, t, h), if given, "
      "makes a step of length h [s] in the parts of a world, whatever the integrator, and returns whether "
      "its state is finite and closed; all blocks run in Python then, and hold(world) notes what its steps "
      "remember, put_back(world) returns to it. Records have `caller_numbers` of the caller.");
  bind_worlds_of<float>(m, "FloatWorlds", "The same of worlds in single precision.");
}

}  // namespace pysim::bindings
