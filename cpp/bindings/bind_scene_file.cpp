// Files of scenes for engines without Python.
#include "bindings/lent_worlds.hpp"
#include "engine/scene_file.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

py::bytes scene_file(
    LentWorlds<double>& worlds,
    const std::string& name,
    const std::vector<tree::JointDescription>& joints,
    const Numbers& inertias,
    std::vector<tree::LoopDescription> loops,
    std::vector<tree::CouplingDescription> couplings,
    std::vector<tree::ElementDescription> elements,
    std::optional<tree::SignalsDescription> signals,
    std::array<std::vector<std::string>, engine::SceneFile::kinds> names,
    std::vector<int> pair_of_shapes,
    std::vector<double> signs,
    const std::vector<std::tuple<std::string, std::string, std::vector<int>>>& inputs,
    const std::vector<std::tuple<std::string, std::string, int, int, std::vector<std::string>>>& outputs,
    std::vector<double> numbers,
    bool settles) {
  engine::SceneFile file = engine::file_of(worlds);
  file.name = name;
  file.joints = joints;
  file.inertias.resize(joints.size());
  const auto count = static_cast<py::ssize_t>(joints.size());
  copy_numbers(inertias, "inertias", {count, 10}, joints.empty() ? nullptr : file.inertias.front().data());
  file.ties = {std::move(loops), std::move(couplings), std::move(elements), std::move(signals)};
  file.names = std::move(names);
  file.pair_of_shapes = std::move(pair_of_shapes);
  file.signs = std::move(signs);
  for (const auto& [own, unit, places] : inputs) file.inputs.push_back({own, unit, places});
  for (const auto& [own, unit, first, size, labels] : outputs) {
    file.outputs.push_back({own, unit, first, size, labels});
  }
  file.numbers = std::move(numbers);
  file.settles = settles;
  const engine::FiledScene check(file);  // what cannot be read is not written
  return engine::write_scene_file(file);
}

}  // namespace

void bind_scene_file(py::module_& m) {
  m.def("scene_file",
        &scene_file,
        "worlds"_a,
        "name"_a,
        "joints"_a,
        "inertias"_a,
        "loops"_a,
        "couplings"_a,
        "elements"_a,
        "signals"_a,
        "names"_a,
        "pair_of_shapes"_a,
        "signs"_a,
        "inputs"_a,
        "outputs"_a,
        "numbers"_a,
        "settles"_a,
        "Returns the bytes of a file (cpp/engine/scene_file.hpp) of the scene of worlds that have begun; "
        "inputs are (name, unit, places), outputs (name, unit, first, size, labels).");
}

}  // namespace pysim::bindings
