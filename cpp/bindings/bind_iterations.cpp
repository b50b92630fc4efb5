// Binding of the statistics of Newton's method in convex steps.
#include <pybind11/pybind11.h>

#include "bindings/immutable_record.hpp"
#include "contact/iteration_log.hpp"

namespace pysim::bindings {

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

}  // namespace pysim::bindings
