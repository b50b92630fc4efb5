// Table of contents of the extension module pysim._engine.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "engine/dispatch.hpp"

namespace pysim::bindings {
void bind_joints(pybind11::module_&);
void bind_signals(pybind11::module_&);
void bind_ties(pybind11::module_&);
void bind_model(pybind11::module_&);
void bind_algorithms(pybind11::module_&);
void bind_constraints(pybind11::module_&);
void bind_derivatives(pybind11::module_&);
void bind_stepping(pybind11::module_&);
void bind_worlds(pybind11::module_&);
void bind_environment(pybind11::module_&);
void bind_contacts(pybind11::module_&);
void bind_distances(pybind11::module_&);
void bind_events(pybind11::module_&);
void bind_rollout(pybind11::module_&);
void bind_scene_file(pybind11::module_&);
void bind_spatial(pybind11::module_&);
void bind_frames(pybind11::module_&);
void bind_gradients(pybind11::module_&);
void bind_meshes(pybind11::module_&);
void bind_random(pybind11::module_&);
}  // namespace pysim::bindings

PYBIND11_MODULE(_engine, m) {
  using namespace pysim::bindings;
  const std::string missing = pysim::engine::missing_kernels();
  if (!missing.empty()) throw pybind11::import_error(missing);
  m.doc() = "Compiled multibody engine. Import it through pysim, not directly.";
  m.def("available_isas",
        &pysim::engine::available_isas,
        "Instruction sets of this build that the CPU supports, narrowest first.");
  m.def("use_isa", &pysim::engine::use_isa, pybind11::arg("isa"), "Select another instruction set.");
  m.def("isa", [] { return pysim::engine::kernels().isa; }, "The instruction set in use.");
  bind_joints(m);
  bind_ties(m);
  bind_signals(m);
  bind_model(m);
  bind_algorithms(m);
  bind_constraints(m);
  bind_derivatives(m);
  bind_stepping(m);
  bind_contacts(m);
  bind_distances(m);
  bind_events(m);
  bind_rollout(m);
  bind_worlds(m);
  bind_gradients(m);
  bind_environment(m);
  bind_scene_file(m);
  bind_spatial(m);
  bind_frames(m);
  bind_meshes(m);
  bind_random(m);
}
