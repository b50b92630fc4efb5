// The frozen model: owner of the numbers that ModelView shows to the kernels.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/model_view.hpp"

namespace pysim::tree {

/// A straight-line program, see ProgramView.
struct ProgramDescription {
  std::vector<Instruction> code;
  int pose_end = 0;
  int registers = 0;
  std::vector<double> constants;
  std::vector<double> tables;
  std::vector<int> outputs;
  std::string owner;  ///< the joint or coupling that runs it

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.code...), f(r.pose_end...), f(r.registers...), f(r.constants...), f(r.tables...), f(r.outputs...);
  }
};

/// Motion of a joint, in the user's frames.
struct MotionDescription {
  Shape shape = Shape::fixed;
  double axis[3] = {0, 0, 1};
  double pitch = 0;             ///< [m/rad]
  std::vector<Block> blocks;    ///< of a plugin's coordinates, as are its columns and `biased`
  std::vector<Column> columns;  ///< [nv]
  bool biased = false;
  std::optional<ProgramDescription> program;           ///< of shape "program", outputs 12 + 6 nv + 6
  std::optional<ProgramDescription> derivative;        ///< of S and c by q, outputs 6 nv² + 6 nv
  std::optional<ProgramDescription> force;             ///< passive force of a plugin, outputs nv
  std::optional<ProgramDescription> force_derivative;  ///< of that force, outputs nv² for q and nv² for v

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.shape...), f(r.axis...), f(r.pitch...), f(r.blocks...), f(r.columns...), f(r.biased...),
        f(r.program...), f(r.derivative...), f(r.force...), f(r.force_derivative...);
  }
};

/// A coordinate without passive forces.
inline Passive<double> no_passive() {
  Passive<double> passive = {};
  for (const auto& [name, number, none] : passive_numbers) passive.*number = none;
  return passive;
}

/// A joint, in the user's frames. Empty arrays mean zeros, and no passive forces.
struct JointDescription {
  std::string name;
  MotionDescription motion;
  int parent = -1;  ///< body, −1 for the world
  double placement[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  int follows = -1;  ///< joint that this one mimics:  q = ratio q_other + offset
  double ratio = 1, offset = 0;
  std::vector<double> rest;              ///< [nq]
  std::vector<double> armature;          ///< [nv]
  std::vector<Passive<double>> passive;  ///< [nv]

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.name...), f(r.motion...), f(r.parent...), f(r.placement...), f(r.follows...), f(r.ratio...),
        f(r.offset...), f(r.rest...), f(r.armature...), f(r.passive...);
  }
};

/// Parameters of the body that a joint moves: m, mc, Ixx, Iyy, Izz, Ixy, Iyz, Izx in the body frame.
using PackedInertia = std::array<double, 10>;

/// Columns of the rotation that takes z to the joint's axis: the engine's axes in the user's frame.
void joint_alignment(const MotionDescription& motion, double turn[9]);

/// A loop between frames A and B, in the user's frames.
struct LoopDescription {
  std::string name;
  LoopKind kind = LoopKind::joint;
  MotionDescription motion;  ///< of the joint that closes it; of shape "fixed" if a point is constrained
  int a = -1, b = -1;        ///< bodies, −1 for the world
  double at_a[12] = {}, at_b[12] = {};
  double length = 0;
  std::vector<int> independent;                ///< its rows that the engine uses
  std::vector<double> start;                   ///< the joint's initial coordinates for the fit [nq]
  std::optional<ProgramDescription> function;  ///< of time, drives frame A: outputs 24
  int work = -1;                               ///< see Loop

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.name...), f(r.kind...), f(r.motion...), f(r.a...), f(r.b...), f(r.at_a...), f(r.at_b...),
        f(r.length...), f(r.independent...), f(r.start...), f(r.function...), f(r.work...);
  }
};

/// A coupling between coordinates, see Coupling.
struct CouplingDescription {
  std::string name;
  std::vector<Term<double>> terms, inputs;
  double offset = 0;
  std::optional<ProgramDescription> function;    ///< outputs 2 + inputs; without inputs of time, 3
  std::optional<ProgramDescription> derivative;  ///< outputs (2 + inputs) · inputs
  int work = -1;                                 ///< see Coupling

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.name...), f(r.terms...), f(r.inputs...), f(r.offset...), f(r.function...), f(r.derivative...),
        f(r.work...);
  }
};

/// A part of a path, see PathPoint, and of a moving point what moves it, in the user's frames.
struct PathPointDescription : PathPoint<double> {
  std::vector<ElementCoordinate> coordinates;  ///< of the user's q and v, that move it
  std::optional<ProgramDescription> place;     ///< outputs 3 + 3 n
  std::optional<ProgramDescription> slopes;    ///< outputs 3 + 3 n + 3 n²

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    PathPoint<double>::visit(f, r...);
    f(r.coordinates...), f(r.place...), f(r.slopes...);
  }
};

/// A force that a traced program computes, in the user's frames.
struct ElementDescription {
  std::string name;
  ElementKind kind = ElementKind::frames;
  int a = -1, b = -1;                          ///< bodies of the frames, −1 for the world
  double at_a[12] = {}, at_b[12] = {};         ///< frames in their bodies
  std::vector<PathPointDescription> points;    ///< of a path
  std::vector<ElementCoordinate> coordinates;  ///< of the user's q and v
  ProgramDescription program;
  ProgramDescription derivative;
  std::optional<ProgramDescription> energy;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.name...), f(r.kind...), f(r.a...), f(r.b...), f(r.at_a...), f(r.at_b...), f(r.points...),
        f(r.coordinates...), f(r.program...), f(r.derivative...), f(r.energy...);
  }
};

/// Two frames, or a path, between which signals measure and actuators act; in the user's frames.
struct PortDescription {
  std::string name;
  ElementKind kind = ElementKind::frames;
  int a = -1, b = -1;
  double at_a[12] = {}, at_b[12] = {};
  std::vector<PathPointDescription> points;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.name...), f(r.kind...), f(r.a...), f(r.b...), f(r.at_a...), f(r.at_b...), f(r.points...);
  }
};

/// A use of inverse dynamics in a program of signals: `arguments` are registers.
struct SignalCallDescription {
  SignalCallKind kind = SignalCallKind::gravity;
  int to = 0;
  std::vector<int> arguments;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.kind...), f(r.to...), f(r.arguments...);
  }
};

/// A program of signals: what it reads, and the places in the state that its outputs take.
struct SignalProgramDescription {
  ProgramDescription program;
  int input_registers = 0;
  std::vector<SignalInput> inputs;
  std::vector<SignalCallDescription> calls;
  std::vector<int> places;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.program...), f(r.input_registers...), f(r.inputs...), f(r.calls...), f(r.places...);
  }
};

/// The signals of a scene, see Signals.
struct SignalsDescription {
  int states = 0, held_numbers = 0;
  std::optional<SignalProgramDescription> forces, slopes, readings;
  std::vector<int> coordinates;
  std::vector<SignalSlope> slope_places;
  std::vector<PortDescription> ports;
  int driven = 0;
  std::vector<SignalProgramDescription> blocks;
  int integrals = 0;
  std::vector<int> bounded;  ///< numbers of their coordinates
  std::vector<SignalSlope> bounded_slope_places;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.states...), f(r.held_numbers...), f(r.forces...), f(r.slopes...), f(r.readings...),
        f(r.coordinates...), f(r.slope_places...), f(r.ports...), f(r.driven...), f(r.blocks...),
        f(r.integrals...), f(r.bounded...), f(r.bounded_slope_places...);
  }
};

/// Owner of what Signals shows.
struct SignalTables {
  Signals signals = {};
  std::vector<SignalInput> inputs;
  std::vector<SignalCall> calls;
  std::vector<int> arguments, placed, coordinates, sampled, bounded;
  std::vector<SignalSlope> slopes, bounded_slopes;
  std::vector<SampledBlock> blocks;
};

/// Loops, couplings, elements and signals of a mechanism.
struct Ties {
  std::vector<LoopDescription> loops;
  std::vector<CouplingDescription> couplings;
  std::vector<ElementDescription> elements;
  std::optional<SignalsDescription> signals;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.loops...), f(r.couplings...), f(r.elements...), f(r.signals...);
  }
};

/// Numbers of one precision, in the layout that the kernels read.
template <class Real>
struct ModelNumbers {
  std::vector<std::vector<Real>> program_constants, program_tables;
  std::vector<ProgramView<Real>> programs;
  std::vector<Constants<Real>> constants;
  std::vector<PlaneBody<Real>> plane;
  std::vector<PlaneLoop<Real>> plane_loops;
  std::vector<PlanePoint<Real>> plane_points;
  std::vector<Real> armature;
  std::vector<Passive<Real>> passive;
  std::vector<Mimic<Real>> mimic_q, mimic_v;
  std::vector<LoopConstants<Real>> loop_constants;
  std::vector<Coupling<Real>> couplings;
  std::vector<Term<Real>> terms;
  std::vector<Element<Real>> elements;
  std::vector<PathPoint<Real>> path_points;
  std::vector<Element<Real>> ports;
};

/// A quaternion among the user's coordinates.
struct QuaternionPlace {
  int at;     ///< its first number in q
  int joint;  ///< its joint
};

struct Closure;

/// Built once, never changed. Body k moves with joint k; a parent comes before its children.
class Model {
 public:
  /// One inertia per joint, of the body it moves. Throws std::invalid_argument if the joints are not a tree
  /// in that order.
  Model(const std::vector<JointDescription>& joints,
        const std::vector<PackedInertia>& inertias,
        const double gravity[3],
        const Ties& ties = {});
  Model(const Model&) = delete;  // views point into it
  Model& operator=(const Model&) = delete;
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;
  ~Model() = default;

  /// Pose of body `b`'s user frame, turned to the engine's: R ← Rᵀ_turn R, p ← Rᵀ_turn p, for 12 numbers.
  void to_engine_frame(int body, double pose[12]) const;

  template <class Real>
  ModelView<Real> view() const;

  int nq() const { return reduced_nq_; }
  int nv() const { return reduced_nv_; }
  int callback_numbers() const { return callback_numbers_; }
  int rows() const { return rows_; }
  bool planar_tree() const { return planar_tree_; }
  bool planar_loops() const { return planar_loops_; }
  const std::vector<Loop>& loops() const { return loops_; }
  int loop_nq() const;

  /// Initial coordinates of the loops' joints for the fit.
  const std::vector<double>& loop_start() const { return loop_start_; }
  int tree_nv() const { return nv_; }
  int nbodies() const { return static_cast<int>(joints_.size()); }

  /// The signals of a scene; null for none.
  const Signals* signals() const { return signals_ ? &signals_->signals : nullptr; }
  const std::vector<Joint>& joints() const { return joints_; }
  const std::vector<std::string>& names() const { return names_; }
  const double* gravity() const { return gravity_; }
  const std::vector<QuaternionPlace>& quaternions() const { return quaternions_; }

  /// Numbers in which the states of batches in double precision differ; none differ if count is 0.
  const VariedNumbers& varied() const { return varied_; }
  void vary(const VariedNumbers& varied) { varied_ = varied; }

  /// Difference of `other` in more than its numbers, which prevents sharing a pack with it. Empty
  /// if the two are alike.
  std::string structure_difference(const Model& other) const;

  /// The neutral configuration: zeros, identity quaternions.
  std::vector<double> neutral() const;

 private:
  void add_joint(const JointDescription& d, const PackedInertia& inertia);
  void add_coordinates(const JointDescription& d, Joint& joint);
  void add_blocks(const JointDescription& d, Joint& joint);
  void add_program(const JointDescription& d, Joint& joint);
  void add_slopes(const JointDescription& d, Joint& joint);
  void add_callback(const JointDescription& d, Joint& joint);
  int keep_program(const std::optional<ProgramDescription>& program,
                   int inputs,
                   std::size_t outputs,
                   const std::string& owner);
  void set_mimics(const std::vector<JointDescription>& joints);
  void mark_children();
  void number_forks();
  void mark_branches();
  using NeutralPose = std::array<double, 12>;
  std::vector<NeutralPose> neutral_poses() const;
  void find_planes();
  bool hinges_close_loops(const std::vector<NeutralPose>& poses, const double normal[3]) const;
  void project_loops(const std::vector<NeutralPose>& poses, const double axes[9]);
  PlaneBody<double> plane_body(std::size_t b,
                               const double axes[9],
                               const double pose[12],
                               const double* parent) const;
  void group_coordinates();
  void close_loops(const std::vector<LoopDescription>& loops);
  SupportPath path_to_world(int a, int b);
  int body_of(int v) const;
  SupportPath everything();
  SupportPath with_coordinates(int first);
  void find_row_blocks();
  void share(const SupportPath& of_row, const SupportPath& of_column);
  void add_couplings(const std::vector<CouplingDescription>& couplings);
  void add_elements(const std::vector<ElementDescription>& elements);
  void add_path(const std::string& name,
                const std::vector<PathPointDescription>& points,
                Element<double>& element);
  void set_motion(const std::string& name, const PathPointDescription& d, PathPoint<double>& point);
  void add_signals(const SignalsDescription& d);
  void add_port(const PortDescription& d);
  SignalProgram add_signal_program(const std::optional<SignalProgramDescription>& d,
                                   std::size_t outputs,
                                   SignalTables& tables);
  PlacedList list_placed(const SignalProgram& own, SignalSource source, int driven, SignalTables& tables);
  int signal_sources(SignalSource source, const Signals& signals) const;
  int velocities_of_ports() const;
  void check_slopes(const std::vector<SignalSlope>& slopes, int rows, const Signals& signals) const;
  void check_work() const;
  void add_element_coordinates(const ElementDescription& d, Element<double>& element);
  ElementCoordinate leading(const ElementCoordinate& own) const;
  std::string joint_difference(const Model& other) const;
  std::string program_difference(const Model& other) const;
  std::string loop_difference(const Model& other) const;
  std::string coupling_difference(const Model& other) const;
  std::string element_difference(const Model& other) const;
  std::string signal_difference(const Model& other) const;
  template <class Real>
  void view_programs(ModelNumbers<Real>& numbers);

  std::vector<Joint> joints_;
  std::vector<ProgramDescription> programs_;
  std::vector<Block> runs_;
  std::vector<int> above_, below_end_;
  std::vector<std::string> names_, coupling_names_, element_names_;
  std::vector<ElementCoordinate> element_coordinates_;
  std::vector<QuaternionPlace> quaternions_;
  VariedNumbers varied_ = {};
  ModelNumbers<double> double_;
  ModelNumbers<float> float_;
  double gravity_[3];
  int nq_ = 0, nv_ = 0, reduced_nq_ = 0, reduced_nv_ = 0, stored_columns_ = 0, slopes_ = 0;
  int callback_numbers_ = 0;
  int fork_columns_ = 0;
  std::vector<Loop> loops_;
  int rows_ = 0;
  std::vector<double> loop_start_;
  std::vector<SupportPath> row_paths_;
  std::vector<int> paths_;
  std::vector<RowBlock> row_blocks_;
  std::vector<SharedRun> shared_;
  std::shared_ptr<const SignalTables> signals_;
  std::shared_ptr<const Closure> closure_;  ///< the joints that close the loops
  bool mimic_ = false, aligned_ = false, joint_forces_ = false, planar_tree_ = false, planar_loops_ = false,
       timed_ = false;
};

}  // namespace pysim::tree
