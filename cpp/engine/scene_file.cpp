// Scenes as bytes, and the worlds of those that were read.
#include "engine/scene_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/dispatch.hpp"
#include "engine/integrators.hpp"
#include "engine/world_numbers.hpp"
#include "tree/program.hpp"
#include "tree/program_check.hpp"

namespace pysim::engine {
namespace {

constexpr char kind_of_file[] = "pysim scene\n";
constexpr std::size_t kind_size = sizeof(kind_of_file) - 1;
constexpr std::uint32_t format = 4;
struct Portable;  // the tag of what is no kernel
using One = simd::Pack<double, 1, Portable>;

constexpr std::size_t header = kind_size + sizeof(std::uint32_t) + sizeof(std::uint64_t);

/// FNV-1a of 64 bits.
std::uint64_t checksum(const char* bytes, std::size_t size) {
  std::uint64_t sum = 14695981039346656037U;
  for (std::size_t k = 0; k < size; ++k) sum = (sum ^ static_cast<unsigned char>(bytes[k])) * 1099511628211U;
  return sum;
}

[[noreturn]] void refuse(const std::string& problem) {
  throw std::invalid_argument("scene file: " + problem);
}

void require(bool fits, const char* problem) {
  if (!fits) refuse(problem);
}

std::string text_of(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", x);
  return text;
}

bool is_finite(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

}  // namespace

SceneFile file_of(Worlds<double>& worlds) {
  SceneFile file;
  std::copy_n(worlds.model().gravity(), 3, file.gravity);
  if (const auto* const contacts = worlds.model_contacts()) {
    file.contacts = contacts->description();
    file.work = contacts->work_places();
  }
  file.scheme = worlds.scheme();
  file.scheme.events = nullptr;
  file.blocks = worlds.blocks();
  file.sensors = worlds.sensors();
  const auto& drive = worlds.actuation();
  const double* const forces[] = {drive.offset, drive.amplitude, drive.frequency, drive.phase};
  for (std::size_t k = 0; k < 4; ++k) file.actuation[k].assign(forces[k], forces[k] + worlds.nv());
  const int first = 0;
  file.start.resize(worlds.saved_size({&first, 1}));
  worlds.save({&first, 1}, reinterpret_cast<char*>(file.start.data()));
  return file;
}

std::string write_scene_file(const SceneFile& file) {
  std::string body;
  tree::FileWriter{body}(file);
  std::string bytes(kind_of_file, kind_size);
  tree::FileWriter write(bytes);
  write(format);
  write(checksum(body.data(), body.size()));
  return bytes + body;
}

std::uint64_t checksum_in(const char* bytes) {
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes + kind_size + sizeof(format), sizeof(sum));
  return sum;
}

SceneFile read_scene_file(const char* bytes, std::size_t size) {
  if (size < header || std::memcmp(bytes, kind_of_file, kind_size) != 0) {
    refuse("is not one that pysim has written");
  }
  std::uint32_t written = 0;
  std::memcpy(&written, bytes + kind_size, sizeof(written));
  if (written != format) {
    refuse("has format " + std::to_string(written) + ", and this engine reads " + std::to_string(format) +
           "; write it again with the same version of pysim");
  }
  if (checksum_in(bytes) != checksum(bytes + header, size - header)) {
    refuse("is damaged: its checksum is another; take a whole copy");
  }
  SceneFile file;
  try {
    tree::FileReader read(bytes + header, size - header);
    read(file);
    read.finish();
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
  return file;
}

FiledScene::FiledScene(SceneFile file) : file_(std::move(file)) {
  check();
  const auto& f = file_;
  try {
    model_ = std::make_unique<tree::Model>(f.joints, f.inertias, f.gravity, f.ties);
    if (f.contacts) {
      contacts_ = std::make_unique<ModelContacts>(*model_, *f.contacts);
      if (!f.work.empty()) contacts_->set_work(f.work);
    }
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
  const auto nq = static_cast<std::size_t>(model_->nq()), nv = static_cast<std::size_t>(model_->nv());
  require(model_->callback_numbers() == 0, "has joints that Python computes");
  require(names(SceneFile::q).size() == nq && names(SceneFile::q_units).size() == nq &&
              names(SceneFile::v).size() == nv && names(SceneFile::v_units).size() == nv,
          "has other names than coordinates");
  require(names(SceneFile::bodies).size() == static_cast<std::size_t>(model_->nbodies()),
          "has other names than bodies");
  for (const auto& forces : f.actuation)
    require(forces.size() == nv && is_finite(forces), "has other forces than coordinates");
  const auto shapes = static_cast<std::size_t>(contacts_ ? contacts_->pairs() : 0);
  const auto pairs = static_cast<int>(names(SceneFile::pairs).size());
  require(
      f.pair_of_shapes.size() == shapes && f.signs.size() == shapes &&
          std::all_of(
              f.pair_of_shapes.begin(), f.pair_of_shapes.end(), [=](int k) { return k >= 0 && k < pairs; }),
      "has other pairs of links than contacts");
  const tree::Signals* const signals = model_->signals();
  const int numbers = signals == nullptr ? 0 : signals->numbers(),
            carried = signals == nullptr ? 0 : signals->carried(),
            readings = signals == nullptr ? 0 : signals->reading_count;
  require(f.numbers.size() == static_cast<std::size_t>(numbers), "has other numbers than signals");
  for (const auto& input : f.inputs) {
    require(
        std::all_of(input.places.begin(), input.places.end(), [=](int k) { return k >= 0 && k < carried; }),
        "has an input at a place that does not exist");
  }
  for (const auto& output : f.outputs) {
    require(output.first >= 0 && output.size >= 0 && output.first <= readings - output.size &&
                (output.labels.empty() || output.labels.size() == static_cast<std::size_t>(output.size)),
            "has an output at a place that does not exist");
  }
  const int blocks = signals == nullptr ? 0 : signals->blocks,
            periods = static_cast<int>(f.blocks.periods.size());
  require(f.blocks.first_bit >= 0 && periods <= std::max(blocks, 0) &&
              f.blocks.first_bit <= std::max(blocks, 0) - periods && f.blocks.key >= -1 &&
              f.blocks.key < std::max(numbers, 1),
          "has sampled blocks that do not exist");
  require(!(signals != nullptr && !f.scheme.has_signals), "has signals that do not act");
  require(f.blocks.python == 0, "has blocks that run between steps");
  check_sensors();
  check_parameters();
}

void FiledScene::check_sensors() const {
  const auto shapes = static_cast<int>(file_.signs.size()), numbers = static_cast<int>(file_.numbers.size());
  const auto all_of = [](const auto& list, const auto& holds) {
    return std::all_of(list.begin(), list.end(), holds);
  };
  const auto is_number = [](double x) { return std::isfinite(x); };
  for (const auto& sensor : file_.sensors) {
    require(sensor.places.size() == ContactSensor::numbers &&
                all_of(sensor.places, [=](int k) { return k >= 0 && k < numbers; }),
            "has a contact sensor without its numbers");
    require(sensor.signs.size() == sensor.shapes.size() &&
                all_of(sensor.shapes, [=](int k) { return k >= 0 && k < shapes; }) &&
                all_of(sensor.signs, is_number),
            "has a contact sensor of pairs that do not exist");
    require(sensor.body >= -1 && sensor.body < model_->nbodies() && sensor.axes_body >= -1 &&
                sensor.axes_body < model_->nbodies() && all_of(sensor.frame, is_number) &&
                all_of(sensor.axes, is_number),
            "has a contact sensor on a body that does not exist");
  }
}

void FiledScene::check_parameters() {
  for (const auto& parameter : file_.parameters) {
    const std::size_t size = parameter.start.size();
    require(size > 0 && parameter.low.size() == size && parameter.high.size() == size &&
                is_finite(parameter.start) &&
                parameter.labels.size() == (parameter.labels.empty() ? 0 : size) &&
                (size == 1 || !parameter.labels.empty()),
            "has a parameter without its numbers");
    parameters_.insert(parameters_.end(), parameter.start.begin(), parameter.start.end());
  }
  const auto& follow = file_.follow;
  require(follow.program.has_value() == !file_.parameters.empty(), "has other parameters than their program");
  if (!follow.program) return;
  try {
    tree::check_program(*follow.program, parameters_.size(), follow.places.size() + 1, "parameters");
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
  const NumberList known =
      list_numbers(*model_, file_.scheme.integrator == "convex" ? contacts_.get() : nullptr);
  const auto at = [&](const char* name) {
    const auto table = std::find_if(known.tables.begin(), known.tables.end(), [=](const auto& table) {
      return std::get<0>(table) == name;
    });
    return table == known.tables.end() ? 0 : std::get<1>(*table);
  };
  const auto begin = at("passive"), end = at("mimic_q"),
             count = static_cast<std::ptrdiff_t>(known.values.size());
  for (std::size_t k = 0; k < follow.places.size(); ++k) {
    const auto place = follow.places[k];
    require(place >= 0 && place < count && (k == 0 || place > follow.places[k - 1]),
            "has a parameter at a place that does not exist");
    varies_joint_forces_ |= place >= begin && place < end;
  }
  std::vector<double> numbers(follow.places.size());
  try {
    numbers_of(parameters_.data(), numbers.data());
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
}

double FiledScene::numbers_of(const double* parameters, double* numbers) const {
  std::size_t count = 0;
  for (const auto& parameter : file_.parameters) {
    for (std::size_t k = 0; k < parameter.start.size(); ++k) {
      const double x = parameters[count++];
      if (std::isfinite(x) && x >= parameter.low[k] && x <= parameter.high[k]) continue;
      throw std::invalid_argument(
          "parameter '" + parameter.name + (parameter.labels.empty() ? "" : parameter.labels[k]) +
          "' must be finite, and from " + text_of(parameter.low[k]) + " to " + text_of(parameter.high[k]) +
          (parameter.unit.empty() ? "" : " " + parameter.unit) + ", got " + text_of(x));
    }
  }
  const auto& program = *file_.follow.program;
  const tree::ProgramView<double> view = {program.code.data(),
                                          program.pose_end,
                                          static_cast<int>(program.code.size()),
                                          program.registers,
                                          static_cast<int>(program.constants.size()),
                                          static_cast<int>(program.tables.size()),
                                          program.constants.data(),
                                          program.tables.data(),
                                          program.outputs.data()};
  std::vector<One> registers(static_cast<std::size_t>(program.registers), simd::all<One>(0.0));
  for (std::size_t k = 0; k < count; ++k) registers[k] = simd::all<One>(parameters[k]);
  tree::load_constants(view, registers.data() + count);
  tree::run(view, 0, view.end, registers.data());
  const auto output = [&](std::size_t k) {
    const double x = simd::lane(registers[static_cast<std::size_t>(program.outputs[k])], 0);
    if (!std::isfinite(x)) {
      throw std::invalid_argument(
          "parameters: a number that follows from them is not finite; set other values");
    }
    return x;
  };
  const std::size_t places = file_.follow.places.size();
  std::vector<double> values(places);
  for (std::size_t k = 0; k < places; ++k) values[k] = output(k);
  const double reach = output(places);
  std::copy(values.begin(), values.end(), numbers);
  return reach;
}

/// Checks what a model does not need to be read.
void FiledScene::check() const {
  const auto& scheme = file_.scheme;
  require(
      std::isfinite(file_.gravity[0]) && std::isfinite(file_.gravity[1]) && std::isfinite(file_.gravity[2]),
      "has a gravity that is not finite");
  require(scheme.step > 0 && scheme.passes >= 1 && scheme.passes <= 16 && scheme.solver_tolerance > 0 &&
              scheme.accuracy >= 0 && scheme.least_step >= 0 && std::isfinite(scheme.accuracy) &&
              std::isfinite(scheme.least_step),
          "has settings that no scheme has");
  constexpr double least_share = 1e-9;  // of a step, so that steps under accuracy end
  require(scheme.accuracy == 0 || scheme.least_step >= least_share * scheme.step,
          "has steps under accuracy that may become too short");
  checked_radius(scheme.spectral_radius);
  require(std::all_of(file_.blocks.periods.begin(),
                      file_.blocks.periods.end(),
                      [](double p) { return p > 0 && std::isfinite(p); }),
          "has a period that is not positive");
  // the record has the numbers of signals, and more bytes than any count of them
  const auto& signals = file_.ties.signals;
  if (!signals) return;
  const std::int64_t numbers = 3 * std::int64_t{signals->states} + signals->held_numbers;
  require(signals->states >= 0 && signals->held_numbers >= 0 &&
              numbers * 8 <= static_cast<std::int64_t>(file_.start.size()),
          "has fewer numbers of signals than the signals have");
}

std::unique_ptr<Worlds<double>> FiledScene::worlds(std::ptrdiff_t count, OwnedMemory& memory) const {
  auto worlds = std::make_unique<Worlds<double>>(
      *model_, contacts_.get(), count, file_.scheme, file_.blocks, CallerStep{}, memory.allocate());
  const auto& forces = file_.actuation;
  worlds->set_actuation({forces[0].data(), forces[1].data(), forces[2].data(), forces[3].data()});
  worlds->set_sensors(file_.sensors);
  for (int k = 0; k < count; ++k) begin(*worlds, k, nullptr);
  return worlds;
}

void FiledScene::begin(Worlds<double>& worlds,
                       int world,
                       const double* inputs,
                       bool parameters_differ) const {
  const Selection selection = {&world, 1};
  worlds.load(reinterpret_cast<const char*>(file_.start.data()), file_.start.size(), selection);
  if ((inputs == nullptr && !parameters_differ) || model_->signals() == nullptr) return;
  const auto& parts = worlds.parts();
  const auto& n = parts.sizes;
  double* const numbers = parts.signals + std::ptrdiff_t{world} * n.signals;
  bool differ = parameters_differ;
  const auto each_input = [&](const auto& visit) {
    const double* next = inputs;
    for (const auto& input : file_.inputs) {
      for (const int place : input.places)
        visit(numbers[place], inputs == nullptr ? numbers[place] : *next++);
    }
  };
  each_input([&](double number, double input) { differ |= number != input; });
  if (!differ) return;
  if (file_.settles) {
    throw std::invalid_argument(
        "inputs: initial values of blocks depend on one another, and were solved for the inputs and "
        "parameters of the file; set them after the first step");
  }
  std::copy(file_.numbers.begin(), file_.numbers.end(), numbers);
  each_input([](double& number, double input) { number = input; });
  const int blocks = model_->signals()->blocks;
  if (blocks == 0) return;
  std::vector<double> loop_q(parts.loop_q + std::ptrdiff_t{world} * n.loop_q,
                             parts.loop_q + std::ptrdiff_t{world + 1} * n.loop_q);
  const SmoothLaw law(worlds.is_convex() ? nullptr : contacts_.get());
  Batch<double> batch = {};
  batch.states = 1;
  batch.q = parts.q + std::ptrdiff_t{world} * n.q;
  batch.v = parts.v + std::ptrdiff_t{world} * n.v;
  batch.loop_q = batch.out_loop_q = loop_q.data();
  batch.actuation = &worlds.actuation();
  batch.signals = numbers;
  batch.contact_forces = law.forces();
  batch.first = true;
  batch.time = parts.t[world];
  batch.due = blocks < 64 ? (std::uint64_t{1} << blocks) - 1 : ~std::uint64_t{0};
  run_varied(&StateKernels<double>::update_signals, *model_, batch, worlds.varied(world));
}

}  // namespace pysim::engine
