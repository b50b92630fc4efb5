// Algorithms of one state: name, operation and signature, each registered here once.
//
// An algorithm is a kernel (dynamics/), an operation that reads states, runs it and writes the result
// (engine/*_operations.hpp), an entry here and, if Python calls it with arrays only, a signature. The
// tables of kernels (kernels.hpp) and the Python function (bindings/bind_algorithms.cpp) follow from these.
#pragma once

namespace pysim::engine {

// clang-format off

/// Functions of a model and arrays: entry(name, operation).
#define PYSIM_FUNCTIONS(entry)                                          \
  entry(forward_kinematics, ForwardKinematics)                          \
  entry(rnea, Rnea)                                                     \
  entry(nonlinear_effects, Rnea)                                        \
  entry(generalized_gravity, Rnea)                                      \
  entry(aba, Aba)                                                       \
  entry(crba, Crba)                                                     \
  entry(minverse, Minverse)                                             \
  entry(coriolis_matrix, CoriolisMatrix)                                \
  entry(passive_forces, PassiveForces)                                  \
  entry(kinetic_energy, KineticEnergy)                                  \
  entry(potential_energy, PotentialEnergy)                              \
  entry(elastic_energy, ElasticEnergy)                                  \
  entry(center_of_mass, CenterOfMass)                                   \
  entry(centroidal_momentum, CentroidalMomentum)                        \
  entry(centroidal_momentum_rate, CentroidalMomentumRate)               \
  entry(centroidal_map, CentroidalMap)                                  \
  entry(centroidal_map_time_derivative, CentroidalMapRate)              \
  entry(joint_reactions, JointReactions)                                \
  entry(joint_torque_regressor, JointTorqueRegressor)                   \
  entry(kinetic_energy_regressor, KineticEnergyRegressor)               \
  entry(potential_energy_regressor, PotentialEnergyRegressor)           \
  entry(momentum_regressor, MomentumRegressor)                          \
  entry(influence_coefficients, InfluenceCoefficients)                  \
  entry(second_influence_coefficients, SecondInfluenceCoefficients)     \
  entry(integrate, Integrate)                                           \
  entry(difference, Difference)

/// Functions of a frame as well.
#define PYSIM_FRAME_FUNCTIONS(entry)                                    \
  entry(frame_placement, FramePlacement)                                \
  entry(jacobian, Jacobian)                                             \
  entry(jacobian_time_derivative, JacobianRate)                         \
  entry(frame_velocity, FrameVelocity)                                  \
  entry(frame_acceleration, FrameAcceleration)                          \
  entry(frame_mobility, FrameMobility)

/// Derivatives along the joints' axes and placements: functions of a model and arrays.
#define PYSIM_DESIGN_DERIVATIVES(entry)                                 \
  entry(twist_derivatives, DesignDerivatives<true>)                     \
  entry(placement_derivatives, DesignDerivatives<false>)

/// Derivatives with respect to the state: several matrices.
#define PYSIM_STATE_DERIVATIVES(entry)                                  \
  entry(rnea_derivatives, RneaDerivatives)                              \
  entry(aba_derivatives, AbaDerivatives)                                \
  entry(passive_force_derivatives, PassiveForceDerivatives)             \
  entry(differential_dynamics, DifferentialDynamics)

/// Mechanisms with their loops closed.
#define PYSIM_MOTIONS(entry)                                            \
  entry(constrained_aba, ConstrainedAba)                                \
  entry(constrained_aba_derivatives, ConstrainedAbaDerivatives)         \
  entry(constraint_rows, ConstraintRows)                                \
  entry(classify_rows, ClassifyRows)                                    \
  entry(project, Project)

/// Steps that continue from call to call, in double precision only.
#define PYSIM_STEPS(entry)                                              \
  entry(update_signals, UpdateSignals)                                  \
  entry(read_signals, ReadSignals)                                      \
  entry(measure_contacts, MeasureContacts)                              \
  entry(signal_forces, SignalForces)                                    \
  entry(search_poses, SearchPoses)                                      \
  entry(event_values, EventValues)                                      \
  entry(advance_worlds, AdvanceWorlds)

/// The same, in tables of one translation unit each.
#define PYSIM_ALGORITHMS(entry) PYSIM_FUNCTIONS(entry) PYSIM_FRAME_FUNCTIONS(entry)
#define PYSIM_DERIVATIVES(entry) PYSIM_STATE_DERIVATIVES(entry) PYSIM_DESIGN_DERIVATIVES(entry)

// clang-format on

/// The length of an axis: a multiple of one of the model's numbers, or a number.
struct Length {
  enum Of { one, nq, nv, full_nv, bodies };

  Of of = one;
  int times = 0;

  constexpr Length() = default;
  constexpr Length(int n) : times(n) {}
  constexpr Length(Of number, int n = 1) : of(number), times(n) {}
};

enum Rule : unsigned {
  takes_passive = 1,      ///< the joints' passive forces may be included
  refuses_callbacks = 2,  ///< callback joints are rejected: they have no second derivatives
  at_rest = 4,            ///< v is zero
  needs_bodies = 8        ///< undefined if nothing moves
};

constexpr int max_arrays = 4, max_axes = 3;

/// Arguments of a function and its result per state. An array's name determines its meaning: the first is a
/// configuration, v a velocity, f_ext external wrenches, which may be omitted, q1 a configuration, and any
/// other has nv numbers.
struct Signature {
  const char* name;
  const char* array[max_arrays];
  Length row[max_axes];
  unsigned rules = 0;

  constexpr int arrays() const {
    int n = 0;
    while (n < max_arrays && array[n] != nullptr) ++n;
    return n;
  }
  constexpr int axes() const {
    int n = 0;
    while (n < max_axes && row[n].times > 0) ++n;
    return n;
  }
  constexpr bool has(Rule rule) const { return (rules & rule) != 0; }
};

namespace signatures {

constexpr Length nq = Length::nq, nv = Length::nv, full_nv = Length::full_nv, bodies = Length::bodies;
constexpr Length parameters = {Length::bodies, 10};  ///< of all bodies
constexpr Length twists = {Length::bodies, 6};

constexpr Signature forward_kinematics = {"forward_kinematics", {"q"}, {bodies, 4, 4}};
constexpr Signature rnea = {"rnea", {"q", "v", "a", "f_ext"}, {nv}, takes_passive};
constexpr Signature nonlinear_effects = {"nonlinear_effects", {"q", "v"}, {nv}, takes_passive};
constexpr Signature generalized_gravity = {"generalized_gravity", {"q"}, {nv}, takes_passive | at_rest};
constexpr Signature aba = {"aba", {"q", "v", "tau", "f_ext"}, {nv}, takes_passive};
constexpr Signature crba = {"crba", {"q"}, {nv, nv}};
constexpr Signature minverse = {"minverse", {"q"}, {nv, nv}};
constexpr Signature coriolis_matrix = {"coriolis_matrix", {"q", "v"}, {nv, nv}};
constexpr Signature passive_forces = {"passive_forces", {"q", "v"}, {nv}};
constexpr Signature kinetic_energy = {"kinetic_energy", {"q", "v"}, {}};
constexpr Signature potential_energy = {"potential_energy", {"q"}, {}};
constexpr Signature elastic_energy = {"elastic_energy", {"q"}, {}};
constexpr Signature center_of_mass = {"center_of_mass", {"q"}, {3}, needs_bodies};
constexpr Signature centroidal_momentum = {"centroidal_momentum", {"q", "v"}, {6}};
constexpr Signature centroidal_momentum_rate = {"centroidal_momentum_rate", {"q", "v", "a"}, {6}};
constexpr Signature centroidal_map = {"centroidal_map", {"q"}, {6, nv}};
constexpr Signature centroidal_map_time_derivative = {"centroidal_map_time_derivative", {"q", "v"}, {6, nv}};
constexpr Signature joint_reactions = {"joint_reactions", {"q", "v", "a", "f_ext"}, {2, bodies, 6}};
constexpr Signature joint_torque_regressor = {"joint_torque_regressor", {"q", "v", "a"}, {nv, parameters}};
constexpr Signature kinetic_energy_regressor = {"kinetic_energy_regressor", {"q", "v"}, {parameters}};
constexpr Signature potential_energy_regressor = {"potential_energy_regressor", {"q"}, {parameters}};
constexpr Signature momentum_regressor = {"momentum_regressor", {"q", "v"}, {6, parameters}};
constexpr Signature influence_coefficients = {"influence_coefficients", {"q"}, {6, full_nv}};
constexpr Signature second_influence_coefficients = {
    "second_influence_coefficients", {"q"}, {6, full_nv, full_nv}, refuses_callbacks};
constexpr Signature integrate = {"integrate", {"q", "dv"}, {nq}};
constexpr Signature difference = {"difference", {"q0", "q1"}, {nv}};
constexpr Signature twist_derivatives = {
    "twist_derivatives", {"q", "v", "a", "f_ext"}, {nv, twists}, refuses_callbacks};
constexpr Signature placement_derivatives = {
    "placement_derivatives", {"q", "v", "a", "f_ext"}, {nv, twists}, refuses_callbacks};

}  // namespace signatures

}  // namespace pysim::engine
