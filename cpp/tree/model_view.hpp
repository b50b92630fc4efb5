// Frozen model as the kernels read it: numbers behind plain pointers, without functions.
//
// Coordinates here are the tree's full ones. With mimic joints, the tree has more coordinates than the user;
// `coordinates.hpp` maps between the two, so that algorithms need not distinguish them.
//
// A record lists its fields once, in `visit`: f is called with the same field of all records. Numbers
// are of type Real; all other fields belong to the structure. The file is long, since it lists all records.
#pragma once

#include <cstddef>

#include "simd/compiler.hpp"
#include "tree/program_operations.hpp"

namespace pysim::tree {

/// Motion of a joint. A revolute joint has its axis on z of the engine's body frame.
enum class Shape : int {
  revolute,     ///< Rz(q)
  prismatic,    ///< z q
  helical,      ///< Rz(q), z pitch q
  cylindrical,  ///< z q₀, Rz(q₁)
  universal,    ///< Rx(q₀) Ry(q₁)
  ball,         ///< quaternion
  planar,       ///< x q₀ + y q₁, Rz(q₂)
  translation,  ///< x q₀ + y q₁ + z q₂
  free,         ///< position, quaternion
  fixed,        ///< none; closes a loop as a weld, never moves a body of the tree
  program,      ///< given by a traced plugin
  callback      ///< given by numbers that Python computed for this state
};

/// One column of the motion subspace: a constant unit vector, or six stored numbers.
enum Column : signed char { vx, vy, vz, wx, wy, wz, stored };

constexpr int max_joint_nv = 6;

/// Kind of a run of coordinates: plain numbers, a rotation (quaternion in q), a displacement (position,
/// quaternion).
enum class Group : signed char { real, rotation, pose };

/// Consecutive coordinates of one group, counted from the joint's first.
struct Block {
  Group group;
  int q, v;  ///< its first coordinate
  int nv;    ///< 3 for a rotation, 6 for a pose

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.group...), f(r.q...), f(r.v...), f(r.nv...);
  }
};

/// Joint k moves body k.
struct Joint {
  Shape shape;
  int parent;                ///< body, or −1 for the world
  int end;                   ///< bodies k … end − 1 are those that move with joint k
  int nq, nv;                ///< numbers in q and v
  int q, v;                  ///< index of its first number, in tree coordinates
  int reduced_q, reduced_v;  ///< index of its first number in the user's coordinates; −1 for a mimic joint
  int first_stored;          ///< index of its first stored column; −1 if it has none
  int stored_count;          ///< number of stored columns
  int fork;         ///< of a body with two children or more: index of the columns below it among those of
                    ///< all forks; else −1
  bool biased;      ///< c = Ṡ q̇ is not zero
  bool hinge;       ///< rotates freely about z: one column, no bias, no armature
  bool leaf;        ///< no joint has this body as its parent
  bool last_child;  ///< no later joint has the same parent: going to the root, it comes first
  Column column[max_joint_nv];  ///< the motion subspace, column by column
  int blocks;                   ///< its coordinates, group by group
  Block block[max_joint_nv];
  int program;           ///< joint program that moves it; −1 for the shapes above
  int force;             ///< program of its passive force (outputs: nv); −1 for none
  int force_derivative;  ///< program of the derivatives of that force (outputs: 2 nv²); −1 for none
  int derivative;        ///< program of the derivatives of its columns and bias; −1 for none
  int first_slope;       ///< index of the derivatives of its columns and bias; −1 if S is constant
  int callback;          ///< index of its numbers among those that Python computed; −1 for none
};

/// One step of a joint program: registers[out] = op(registers[a], registers[b], registers[c]).
struct Instruction {
  Op op;
  int out, a, b, c;
  int rows = 0;  ///< of a lookup

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.op...), f(r.out...), f(r.a...), f(r.b...), f(r.c...), f(r.rows...);
  }
};

/// A traced joint: a straight-line program from q (and v) to pose, motion subspace and bias.
///
/// Registers begin with q, then v, then the constants, then results. The first `pose_end` instructions need
/// no v. Outputs are registers: rotation column-major and position (12), each stored column of S (6), the
/// bias (6).
template <class Real>
struct ProgramView {
  const Instruction* code;
  int pose_end, end;
  int registers;
  int constant_count, table_count;
  const Real* constants;
  const Real* tables;  ///< knots and coefficients of splines
  const int* outputs;
};

/// Constants of body k and its joint, in the engine's frames.
template <class Real>
struct Constants {
  Real placement[12];  ///< joint frame in the parent body: rotation column-major, position [m]
  Real inertia[10];    ///< m, mc, Ixx, Iyy, Izz, Ixy, Iyz, Izx about the body frame's origin
  Real alignment[9];   ///< axes of the engine's frame in the user's body frame, column-major
  Real pitch;          ///< [m/rad]
  Real rest[12];       ///< rest position of the joint's spring, in its nq coordinates

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.placement...), f(r.inertia...), f(r.alignment...), f(r.pitch...), f(r.rest...);
  }
};

/// Body k of a tree whose joints keep its bodies in planes, see dynamics/planar_aba.hpp: on axes x and y of
/// the plane and its normal n; all bodies' axes are parallel to these if all coordinates are zero.
template <class Real>
struct PlaneBody {
  Real at[2];               ///< the joint's position on the parent [m]
  Real slide[4];            ///< directions of its translations, on the parent's axes
  Real sense;               ///< −1 if it rotates about −n, else 1
  Real mass, moment[2], I;  ///< m, mc; I about n, about the body's origin
  Real axes[9];             ///< x, y, n in the engine's frame of the body, column-major
  Real gravity[2];          ///< [m/s²]

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.at...), f(r.slide...), f(r.sense...), f(r.mass...), f(r.moment...), f(r.I...), f(r.axes...),
        f(r.gravity...);
  }
};

/// A hinge that closes a loop in the plane: its ends on the axes of their bodies, and the axes of the loop's
/// frames A and B.
template <class Real>
struct PlaneLoop {
  Real at_a[2], at_b[2];
  Real axes_a[4], axes_b[4];  ///< x, y

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.at_a...), f(r.at_b...), f(r.axes_a...), f(r.axes_b...);
  }
};

/// A point of a path on the plane's axes, and its height above the plane.
template <class Real>
struct PlanePoint {
  Real at[2], height;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.at...), f(r.height...);
  }
};

/// Passive generalised forces of one coordinate of v.
template <class Real>
struct Passive {
  Real damping, stiffness;            ///< [N·s/m], [N/m], or [N·m·s/rad], [N·m/rad]
  Real friction, friction_width;      ///< −friction tanh(v / width)
  Real lower, upper;                  ///< ±inf for none
  Real stop_stiffness, stop_damping;  ///< the stop beyond a limit

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.damping...), f(r.stiffness...), f(r.friction...), f(r.friction_width...), f(r.lower...),
        f(r.upper...), f(r.stop_stiffness...), f(r.stop_damping...);
  }
};

/// The numbers of Passive, with the names of the scene keys, and their values for no force.
struct PassiveNumber {
  const char* name;
  double Passive<double>::* number;
  double none;
};
constexpr PassiveNumber passive_numbers[] = {
    {"damping", &Passive<double>::damping, 0},
    {"stiffness", &Passive<double>::stiffness, 0},
    {"friction", &Passive<double>::friction, 0},
    {"friction_width", &Passive<double>::friction_width, 1},
    {"lower", &Passive<double>::lower, -simd::infinity},
    {"upper", &Passive<double>::upper, simd::infinity},
    {"stop_stiffness", &Passive<double>::stop_stiffness, 0},
    {"stop_damping", &Passive<double>::stop_damping, 0},
};

/// Coordinate i of the tree is ratio · q_reduced[reduced] + offset.
template <class Real>
struct Mimic {
  int reduced;
  Real ratio, offset;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.reduced...), f(r.ratio...), f(r.offset...);
  }
};

/// Constraint of a loop: a joint's, on a point of frame B (its origin) in frame A, or a wheel's.
enum class LoopKind : int {
  joint,     ///< X_AB is a pose of the joint
  plane,     ///< z = 0
  line,      ///< x = y = 0
  distance,  ///< |p| = length
  wheel      ///< a disc about z of B rolls on the plane z = 0 of A
};

/// Support path of a row: the bodies that its force affects, leaves first, a run of `path`; and their
/// coordinates, a run as well: in the order of a sweep to the root, or all of the user's if there are mimic
/// joints.
struct SupportPath {
  int first, count;
  int first_v, nv;
};

/// Coordinates that the paths of two rows share, an entry of G = J M⁻¹ Jᵀ: their first index on the path of
/// its row, and on that of its column.
struct SharedRun {
  int in_row, in_column, count;
};

/// Block of the lower triangle of G: rows [row, end) with one path, and columns [column, column_end) whose
/// path shares some of its coordinates: `runs` of `shared`.
struct RowBlock {
  int row, end, column, column_end;
  int first, runs;
};

/// Loop k is closed by joint k of the closure.
struct Loop {
  LoopKind kind;
  int a, b;            ///< bodies, −1 for the world
  int row, rows;       ///< its first row among the rows of the constraints
  int independent[6];  ///< the rows of the joint that some motion of the tree can violate
  int program;         ///< of time, that drives frame A, see driven_frame.hpp; −1 for none
  int work;  ///< of a driven loop, its place among the states of elements; −1 if it is not integrated
};

template <class Real>
struct LoopConstants {
  Real at_a[12], at_b[12];  ///< frames A and B in the engine's frames of their bodies; B turned as its joint
  Real length;              ///< [m], the distance of a point or the radius of a wheel

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.at_a...), f(r.at_b...), f(r.length...);
  }
};

/// One row of the constraints between coordinates of the user:  Σ factor q − offset − f(x) = 0; a program
/// without inputs is a function of time.
template <class Real>
struct Coupling {
  int row;
  int first_term, terms;  ///< Σ factor q
  int program;            ///< f and its slopes, see couplings.hpp; −1 for none
  int derivative;         ///< the derivatives of these, see coupling_derivatives.hpp; −1 for none
  int first_input, inputs;
  int work;  ///< of a prescribed motion, its place among the states of elements; −1 if it is not integrated
  Real offset;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.row...), f(r.first_term...), f(r.terms...), f(r.program...), f(r.derivative...), f(r.first_input...),
        f(r.inputs...), f(r.work...), f(r.offset...);
  }
};

/// factor · q of a coupling, or an input of its function.
template <class Real>
struct Term {
  int q, v;  ///< of the user's coordinates
  Real factor;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.q...), f(r.v...), f(r.factor...);
  }
};

/// Between what an element's program acts.
enum class ElementKind : int {
  frames,      ///< frames A and B: inputs X_AB (12), V_AB (6); outputs the wrench on B, in B
  path,        ///< points, one after the other: inputs length and rate; output the tension
  coordinates  ///< n coordinates: inputs q (n), v (n); outputs their generalised forces
};

/// Numbers of a port: pose and twist, or length and rate.
constexpr int port_numbers(ElementKind kind) {
  return kind == ElementKind::path ? 2 : 18;
}

/// Velocities of a port, and the forces that belong to them.
constexpr int port_motions(ElementKind kind) {
  return kind == ElementKind::path ? 1 : 6;
}

/// A force that a traced program computes, see elements/forces.hpp.
template <class Real>
struct Element {
  ElementKind kind;
  int a, b;                 ///< bodies of the frames, −1 for the world
  int first, count;         ///< of the points of a path, or of the coordinates
  int program;              ///< the force
  int derivative;           ///< the force's derivatives by the inputs, see elements/derivatives.hpp
  int energy;               ///< the stored energy, of the same inputs; −1 for none
  int bends;                ///< obstacles, conditional and moving points of a path
  int slopes;               ///< of the moving points' places, by one coordinate each
  Real at_a[12], at_b[12];  ///< frames in the engine's frames of their bodies

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.kind...), f(r.a...), f(r.b...), f(r.first...), f(r.count...), f(r.program...), f(r.derivative...),
        f(r.energy...), f(r.bends...), f(r.slopes...), f(r.at_a...), f(r.at_b...);
  }

  /// Whether it acts along a path of points alone, which are fixed on their bodies.
  bool is_straight() const { return kind == ElementKind::path && bends == 0; }
};

/// Part of a path: a point, a point that counts within a range of a coordinate, or between two points a
/// sphere or cylinder, which the path wraps over or passes through, an ellipsoid, which it wraps over, or a
/// torus, through whose hole it passes.
enum class PathKind : int {
  point,
  conditional,
  sphere,
  cylinder,
  inside_sphere,
  inside_cylinder,
  ellipsoid,
  torus
};

/// Most obstacles of a path between two of its points.
constexpr int most_obstacles = 4;

/// A point of a path, or an obstacle that it wraps over (elements/wrapping.hpp,
/// elements/ellipsoid_wrapping.hpp) or passes through (elements/inside_wrapping.hpp,
/// elements/torus_wrapping.hpp). Coordinates may move a point (elements/path_points.hpp).
template <class Real>
struct PathPoint {
  int body;  ///< −1 for the world
  PathKind kind;
  int q;             ///< coordinate of the tree that a conditional point depends on, else −1
  int first, count;  ///< of the coordinates that move a point, one range for parts at the same point; 0 for
                     ///< a fixed one
  int program;       ///< from these x (n) to its place p and ∂p/∂x_i (n); −1 for a fixed point
  int derivative;    ///< to ∂²p/∂x_i∂x_k (n²), i after i, as well
  Real at[12];       ///< frame of the obstacle or of p in the body, its origin the centre or the fixed point;
                     ///< z is the axis of a cylinder
  Real radii[3];  ///< [m] of the obstacle: a radius three times, semi-axes, or of a ring and its tube twice
  Real side[3];   ///< direction in its axes in which the path passes; 0 for the shorter side
  Real lower, upper;  ///< range of the coordinate; of z in which a cylinder is touched
  Real multiplicity;  ///< of a point: strands of the path from the point before, 0 for none

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.body...), f(r.kind...), f(r.q...), f(r.first...), f(r.count...), f(r.program...), f(r.derivative...),
        f(r.at...), f(r.radii...), f(r.side...), f(r.lower...), f(r.upper...), f(r.multiplicity...);
  }

  bool moves() const { return count > 0; }
};

/// A coordinate of the tree that an element acts on.
struct ElementCoordinate {
  int q, v;  ///< its numbers; q is −1 for a velocity whose coordinate is no plain number

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.q...), f(r.v...);
  }
};

/// Origin of a number that programs of signals read. Coordinates are the user's.
enum class SignalSource : int {
  time,               ///< [s]
  q,                  ///< the user's coordinates
  v,                  ///< and velocities
  state,              ///< states of elements, then the numbers that are held between instants
  port,               ///< positions and rates of ports, see elements/signals.hpp
  mean_v,             ///< v of the work of forces: the mean over a step that holds its forces, else v
  mean_port,          ///< rates of ports at these
  acceleration,       ///< v̇, of programs that run after the dynamics
  port_acceleration,  ///< spatial acceleration of frame B of a port (6), in B
  reaction            ///< wrench of a joint on its body (6), in the user's frame of the body
};

/// A number that a program of signals reads into register `to`.
struct SignalInput {
  SignalSource source;
  int index, to;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.source...), f(r.index...), f(r.to...);
  }
};

/// Inverse dynamics that a program of signals uses, without passive forces: forces (reduced_nv) of gravity
/// alone, for accelerations at the q and v of the mechanism, or for q, v and accelerations of the program.
enum class SignalCallKind : int { gravity, inverse, inverse_at };

/// A use of it between the two parts of a program: results from register `to` on.
struct SignalCall {
  SignalCallKind kind;
  int to;
  int first_argument;  ///< of the registers with the accelerations, behind q and v of the program if any

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.kind...), f(r.to...), f(r.first_argument...);
  }
};

/// Ports whose numbers a program reads or that receive forces from it, and the bodies that they are on with
/// all above them, ascending: runs of `Signals::placed`.
struct PlacedList {
  int first_port, ports;
  int first_body, bodies;
};

/// A program of signals and what it reads.
struct SignalProgram {
  int program;  ///< −1 for none
  int first_input, inputs;
  int input_registers;  ///< before the constants
  int first_call, calls;
  bool after_dynamics;  ///< reads accelerations or reactions
  PlacedList placed;    ///< at v
  PlacedList mean;      ///< at the mean v
};

/// A program that computes numbers of the state at instants.
struct SampledBlock {
  SignalProgram program;
  int first_output;  ///< of the places that its outputs take in the state
};

/// Direction in which inputs of the signals change.
enum class SignalMotion : int {
  state,          ///< a state of an element
  q,              ///< along a coordinate of v
  v,              ///< a coordinate of v
  port_position,  ///< along a velocity of a port
  port_rate       ///< a velocity of a port
};

/// Slope of a row of the forces: coordinates, efforts of ports, then rates of states.
struct SignalSlope {
  int row;
  SignalMotion along;
  int index;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.row...), f(r.along...), f(r.index...);
  }
};

/// Numbers of a bounded force rest + clip(x, lower, upper) among the outputs of the slopes.
struct SignalBounds {
  enum Place : int { x, lower, upper };
  static constexpr std::size_t count = 3;
};

/// Controllers, actuators, sensors and other signals of a scene, as programs.
struct Signals {
  int states;            ///< numbers that integrators carry
  int integrals;         ///< the last of the states, on which nothing else depends
  int held_numbers;      ///< that change at instants only
  SignalProgram forces;  ///< outputs: forces on coordinates, efforts of ports, rates of states
  /// Outputs: efforts of ports, the slopes, then x and its bounds for each bounded force, and their slopes.
  SignalProgram slopes;
  SignalProgram readings;  ///< outputs: every signal
  int reading_count;
  const SignalInput* input;
  const SignalCall* call;
  const int* argument;  ///< registers
  const int* placed;    ///< ports and bodies
  int coordinates;
  const int* coordinate;  ///< [coordinates] of the user's v
  int driven;             ///< the first ports, which receive forces
  int slope_ports;        ///< the first ports, on which slopes depend
  int slope_count;
  const SignalSlope* slope;
  int bounded;             ///< forces rest + clip(x, lower, upper) on coordinates
  const int* bounded_row;  ///< [bounded] their numbers among the forces on coordinates
  int bounded_slope_count;
  const SignalSlope* bounded_slope;  ///< of x; a row is a number among the bounded forces
  int blocks;
  const SampledBlock* block;
  const int* sampled;  ///< places in the state
  int sampled_count;

  /// Numbers of the state: states and held numbers, then two for each state that generalised α carries.
  int numbers() const { return 3 * states + held_numbers; }
  int carried() const { return states + held_numbers; }
  /// States on which forces or other states depend.
  int coupled() const { return states - integrals; }
};

/// Contacts as forces that depend on the state alone, see elements/contact_forces.hpp. The layers above
/// compute them, behind a table, so that kernels without contacts are not compiled with their geometry.
struct ContactForces {
  struct Bodies {
    int a, b;  ///< a is −1 for the world
  };
  /// Wrench (6) on body b of a pair for X_AB and V_AB (18), and its slopes (72) where they are not null;
  /// false where it is zero in every world. All are packs of the caller's number type.
  using Wrench = bool (*)(const void* law, int pair, const void* motion, void* wrench, void* slopes);

  int pairs;
  const Bodies* pair;
  const void* law;
  Wrench pack, single;
  const int* work;  ///< [pairs] places of their work among the states of elements; null for none
};

/// Structure of a mechanism: its joints, loops, couplings and elements, and the numbers of
/// everything.
struct Structure {
  int bodies;
  int fork_columns;            ///< coordinates below forks, counted once per fork
  int nq, nv;                  ///< of the tree
  int reduced_nq, reduced_nv;  ///< of the user
  int stored_columns;          ///< twists stored for all joints, registers of programs included
  int slopes;                  ///< twists stored for derivatives of columns and biases, registers included
  int callback_numbers;        ///< numbers per state that Python computes; they follow q
  bool mimic;                  ///< there are mimic joints
  bool aligned;                ///< some body frame was turned
  bool planar_tree;            ///< all bodies move in planes
  bool planar_loops;           ///< all bodies move in one plane, where hinges alone close loops
  bool joint_forces;           ///< some joint has damping, a spring, friction, a limit or a plugin's force
  const Joint* joint;          ///< [bodies]
  const Block* run;  ///< [runs] the user's coordinates, group by group; plain numbers that are neighbours
                     ///< are one run, whatever their joints
  int runs;
  const int* above;      ///< [reduced_nv], the coordinate above; −1 at a root; k − 1 if mimic
  const int* below_end;  ///< [reduced_nv], where the coordinates that k moves end
  int programs;
  int loops, rows, row_blocks;  ///< loops, the rows of all constraints, and the row blocks
  const Loop* loop;
  const SupportPath* row_path;  ///< [rows] the support path of each row
  const int* path;              ///< bodies and coordinates, path after path
  const RowBlock* row_block;    ///< row blocks in the order of their first rows
  const SharedRun* shared;
  int couplings, terms;
  bool timed;                    ///< a coupling or loop depends on time
  int elements, straight_paths;  ///< straight_paths of them are straight
  int path_points;
  const ElementCoordinate* element_coordinate;
  const Signals* signals;  ///< of a scene; null for none
  int ports;
  const ContactForces* contacts;  ///< of a run; null for none
};

/// Whether elements or contacts act.
PYSIM_INLINE bool has_forces_between_bodies(const Structure& model) {
  return model.elements > 0 || model.contacts != nullptr;
}

/// Whether any forces besides inertia, gravity and constraints act.
PYSIM_INLINE bool has_passive(const Structure& model) {
  return model.joint_forces || has_forces_between_bodies(model);
}

template <class Real>
struct ModelView : Structure {
  Real gravity[3];
  const Constants<Real>* constants;           ///< [bodies]
  const PlaneBody<Real>* plane;               ///< [bodies] if they move in planes
  const PlaneLoop<Real>* plane_loop;          ///< [loops] of a planar_loops model
  const PlanePoint<Real>* plane_point;        ///< [path_points] of a planar_loops model
  const Real* armature;                       ///< [nv], of the tree
  const Passive<Real>* passive;               ///< [nv], of the tree
  const Mimic<Real>* mimic_q;                 ///< [nq] for real coordinates
  const Mimic<Real>* mimic_v;                 ///< [nv]
  const ProgramView<Real>* program;           ///< [programs] of joints and couplings
  const LoopConstants<Real>* loop_constants;  ///< [loops]
  const Coupling<Real>* coupling;             ///< [couplings]
  const Term<Real>* term;                     ///< [terms]
  const Element<Real>* element;               ///< [elements]
  const PathPoint<Real>* path_point;          ///< [path_points]
  const Element<Real>* port;                  ///< [ports] that signals measure or drive
  const ModelView<Real>* closure;             ///< the joints that close the loops, as a separate forest

  /// Numbers in φ, the coordinates of the loops' joints.
  int loop_nq() const { return loops == 0 ? 0 : closure->nq; }
};

/// Numbers of a model in which states differ, by their places in the order of tree/model_copy.hpp.
struct VariedNumbers {
  int count;
  const std::ptrdiff_t* place;  ///< [count] ascending
  const double* values;         ///< (states or worlds, count)
  bool joint_forces;            ///< forces of joints are among them
};

/// The model as kernels on S read it.
template <class S>
using ModelOf = ModelView<typename S::Parameter>;

}  // namespace pysim::tree
