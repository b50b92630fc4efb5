// Scenes as files: what the worlds of a scene are made of, written once, read where there is no Python.
//
//     "pysim scene\n", format, checksum, then a SceneFile (tree/model_file.hpp)
//
// The checksum shows damage; it is no protection against a file that was made to harm:
// what is read is checked, number by number, before a kernel sees it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/worlds.hpp"
#include "tree/model_file.hpp"

namespace pysim::engine {

/// A signal that is given from outside: places of its numbers among those of the signals.
struct InputSignal {
  std::string name, unit;
  std::vector<int> places;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.name...), f(r.unit...), f(r.places...);
  }
};

/// A signal of the scene among the readings of a world.
struct OutputSignal {
  std::string name, unit;
  int first, size;
  std::vector<std::string> labels;  ///< of its numbers, none for their indices
  bool is_touching;                 ///< depends on contact sensors

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.name...), f(r.unit...), f(r.first...), f(r.size...), f(r.labels...), f(r.is_touching...);
  }
};

/// Numbers of the scene that may be set while it runs.
struct SceneParameter {
  std::string name, unit;
  std::vector<double> start, low, high;  ///< bounds of what is allowed
  std::vector<std::string> labels;       ///< ends of the names of its numbers, none for one number

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.name...), f(r.unit...), f(r.start...), f(r.low...), f(r.high...), f(r.labels...);
  }
};

/// Numbers of the engine that follow from the parameters' numbers, the inputs of the program. Its outputs are
/// those at `places` (tree/model_copy.hpp), then by how much centres of mass of roots are farther from their
/// joints than the model's [m].
struct ParameterNumbers {
  std::optional<tree::ProgramDescription> program;  ///< none without parameters
  std::vector<std::int64_t> places;                 ///< ascending

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.program...), f(r.places...);
  }
};

/// All that the worlds of a scene are made of.
struct SceneFile {
  enum Names : std::size_t { q, q_units, v, v_units, bodies, pairs };
  static constexpr std::size_t kinds = pairs + 1;

  std::string name;
  std::vector<tree::JointDescription> joints;
  std::vector<tree::PackedInertia> inertias;
  double gravity[3] = {};
  tree::Ties ties;
  std::optional<ContactDescription> contacts;
  std::vector<int> work;  ///< places of the work of contacts, none without a ledger
  WorldScheme scheme = {};
  WorldBlocks blocks;
  std::array<std::vector<double>, 4> actuation;  ///< offsets, amplitudes, frequencies, phases (nv)
  std::array<std::vector<std::string>, kinds> names;
  std::vector<int> pair_of_shapes;  ///< pair of links of every pair of shapes
  std::vector<double> signs;        ///< of their forces, −1 where they act on the first link
  std::vector<InputSignal> inputs;
  std::vector<OutputSignal> outputs;
  std::vector<ContactSensor> sensors;
  std::vector<SceneParameter> parameters;
  ParameterNumbers follow;          ///< from the parameters
  std::vector<double> numbers;      ///< of the signals, before their blocks run at the start
  bool settles = false;             ///< whether initial values of blocks depend on one another
  std::vector<std::uint8_t> start;  ///< record of a world that begins

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.name...), f(r.joints...), f(r.inertias...), f(r.gravity...), f(r.ties...), f(r.contacts...),
        f(r.work...), f(r.scheme...), f(r.blocks...), f(r.actuation...), f(r.names...),
        f(r.pair_of_shapes...), f(r.signs...), f(r.inputs...), f(r.outputs...), f(r.sensors...),
        f(r.parameters...), f(r.follow...), f(r.numbers...), f(r.settles...), f(r.start...);
  }
};

/// What worlds know of their scene, and the record of the first of them; its model and names are left out.
SceneFile file_of(Worlds<double>& worlds);

/// The bytes of a file.
std::string write_scene_file(const SceneFile& file);

/// The checksum in the header of a file that can be read.
std::uint64_t checksum_in(const char* bytes);

/// The scene in the bytes of a file. Throws std::invalid_argument if they are of another format, damaged, or
/// not those of a scene.
SceneFile read_scene_file(const char* bytes, std::size_t size);

/// A scene that was read, with the model and the contacts that its worlds share.
class FiledScene {
 public:
  /// Throws std::invalid_argument if the parts do not fit one another, or need Python.
  explicit FiledScene(SceneFile file);
  FiledScene(const FiledScene&) = delete;  // worlds refer to it
  FiledScene& operator=(const FiledScene&) = delete;

  const SceneFile& file() const { return file_; }
  const tree::Model& model() const { return *model_; }

  /// Worlds that begin, whose records lie in `memory`. They refer to the scene.
  std::unique_ptr<Worlds<double>> worlds(std::ptrdiff_t count, OwnedMemory& memory) const;

  /// Lets a world begin again under these values of all inputs, one after the other; null for those of the
  /// scene. `parameters_differ` from the scene's, whose numbers the worlds have.
  void begin(Worlds<double>& worlds, int world, const double* inputs, bool parameters_differ = false) const;

  /// Values of all parameters in the scene, one after the other.
  const std::vector<double>& parameters() const { return parameters_; }

  /// Computes the engine's numbers at `follow.places` from values of all parameters; returns by how much
  /// centres of mass may be farther from their joints [m]. Throws std::invalid_argument if a value is not
  /// allowed.
  double numbers_of(const double* parameters, double* numbers) const;

  /// Whether forces of joints follow from parameters.
  bool varies_joint_forces() const { return varies_joint_forces_; }

  const std::vector<std::string>& names(SceneFile::Names of) const { return file_.names[of]; }

 private:
  void check() const;
  void check_sensors() const;
  void check_parameters();

  SceneFile file_;
  std::vector<double> parameters_;
  bool varies_joint_forces_ = false;
  std::unique_ptr<tree::Model> model_;
  std::unique_ptr<ModelContacts> contacts_;
};

}  // namespace pysim::engine
