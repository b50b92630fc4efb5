// Files of scenes for engines without Python.
#include "bindings/lent_worlds.hpp"
#include "engine/scene_file.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

using List = std::vector<double>;
using Texts = std::vector<std::string>;

template <class Record, class... Fields>
std::vector<Record> records(const std::vector<std::tuple<Fields...>>& rows) {
  std::vector<Record> found;
  for (const auto& row : rows) std::apply([&](const auto&... x) { found.push_back({x...}); }, row);
  return found;
}

py::bytes scene_file(
    LentWorlds<double>& worlds,
    const std::string& name,
    const std::vector<tree::JointDescription>& joints,
    const Numbers& inertias,
    std::tuple<std::vector<tree::LoopDescription>,
               std::vector<tree::CouplingDescription>,
               std::vector<tree::ElementDescription>,
               std::optional<tree::SignalsDescription>> ties,
    std::array<Texts, engine::SceneFile::kinds> names,
    std::pair<std::vector<int>, List> shapes,
    const std::vector<std::tuple<std::string, std::string, std::vector<int>>>& inputs,
    const std::vector<std::tuple<std::string, std::string, int, int, Texts, bool>>& outputs,
    const std::vector<std::tuple<std::string, std::string, List, List, List, Texts>>& parameters,
    std::pair<std::optional<tree::ProgramDescription>, std::vector<std::int64_t>> follow,
    std::pair<List, bool> numbers) {
  engine::SceneFile file = engine::file_of(worlds);
  file.name = name;
  file.joints = joints;
  file.inertias.resize(joints.size());
  const auto count = static_cast<py::ssize_t>(joints.size());
  copy_numbers(inertias, "inertias", {count, 10}, joints.empty() ? nullptr : file.inertias.front().data());
  std::tie(file.ties.loops, file.ties.couplings, file.ties.elements, file.ties.signals) = std::move(ties);
  file.names = std::move(names);
  std::tie(file.pair_of_shapes, file.signs) = std::move(shapes);
  file.inputs = records<engine::InputSignal>(inputs);
  file.outputs = records<engine::OutputSignal>(outputs);
  file.parameters = records<engine::SceneParameter>(parameters);
  file.follow = {std::move(follow.first), std::move(follow.second)};
  std::tie(file.numbers, file.settles) = std::move(numbers);
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
        "ties"_a,
        "names"_a,
        "shapes"_a,
        "inputs"_a,
        "outputs"_a,
        "parameters"_a,
        "follow"_a,
        "numbers"_a,
        "Returns the bytes of a file (cpp/engine/scene_file.hpp) of the scene of worlds that have begun.");
}

}  // namespace pysim::bindings
