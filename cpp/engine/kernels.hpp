// The table of kernels an instruction set provides. A new algorithm is one line in the struct and one below.
#pragma once

#include "engine/derivative_operations.hpp"
#include "engine/differential_operation.hpp"
#include "engine/frame_operations.hpp"
#include "engine/inertia_operations.hpp"
#include "engine/mesh_kernels.hpp"
#include "engine/operations.hpp"
#include "engine/pair_kernels.hpp"
#include "engine/regressor_operations.hpp"
#include "engine/rollouts.hpp"
#include "engine/run.hpp"
#include "engine/spatial_kernels.hpp"
#include "simd/finite.hpp"

namespace pysim::engine {

/// Runs states [begin, end) of a batch; `scratch` is aligned to 64 bytes and large enough for the model.
template <class Real>
using Kernel = void (*)(const tree::ModelView<Real>& model,
                        const Batch<Real>& batch,
                        std::ptrdiff_t begin,
                        std::ptrdiff_t end,
                        void* scratch);

/// Runs whole registers of states [begin, end), state k by the model models[k]; all stay in planes, or none.
template <class Real>
using WorldsKernel = void (*)(const tree::ModelView<Real>* const* models,
                              const Batch<Real>& batch,
                              std::ptrdiff_t begin,
                              std::ptrdiff_t end,
                              void* scratch);

template <class Real>
struct DynamicsKernels {
  int width;  ///< states of a register
  bool (*all_finite)(const Real* x, std::ptrdiff_t count);
  Kernel<Real> forward_kinematics, frame_placement;
  Kernel<Real> rnea, aba, crba, passive_forces;
  Kernel<Real> kinetic_energy, potential_energy, elastic_energy, center_of_mass;
  Kernel<Real> integrate, difference, rollout;
  WorldsKernel<Real> rollout_of_worlds;
  Kernel<Real> joint_torque_regressor, kinetic_energy_regressor, potential_energy_regressor;
  Kernel<Real> momentum_regressor;
  Kernel<Real> jacobian, jacobian_rate, frame_velocity, frame_acceleration, influence_coefficients;
  Kernel<Real> second_influence_coefficients;
  Kernel<Real> minverse, coriolis_matrix, frame_mobility;
  Kernel<Real> centroidal_momentum, centroidal_momentum_rate, centroidal_map, centroidal_map_rate;
  Kernel<Real> joint_reactions;
  Kernel<Real> constrained_aba, constrained_aba_derivatives, constraint_rows, project;
  Kernel<Real> rnea_derivatives, aba_derivatives, passive_force_derivatives;
  Kernel<Real> twist_derivatives, placement_derivatives;
  Kernel<Real> differential_dynamics;
};

struct Kernels {
  const char* isa;
  DynamicsKernels<double> float64;
  DynamicsKernels<float> float32;
  Kernel<double> advance, advance_adaptive;
  SpatialKernels<double> spatial;
  SpatialKernels<float> spatial_float;
  PairKernels<double> pairs;
  PairKernels<float> pairs_float;
  MeshKernels meshes;
};

template <class Isa, class Real, int W>
constexpr DynamicsKernels<Real> make_dynamics_kernels() noexcept {
  using S = simd::Pack<Real, W, Isa>;
  using Tail = simd::Pack<Real, 1, Isa>;
  return {W,
          &simd::all_finite<S>,
          &run<ForwardKinematics, S, Tail>,
          &run<FramePlacement, S, Tail>,
          &run<Rnea, S, Tail>,
          &run<Aba, S, Tail>,
          &run<Crba, S, Tail>,
          &run<PassiveForces, S, Tail>,
          &run<KineticEnergy, S, Tail>,
          &run<PotentialEnergy, S, Tail>,
          &run<ElasticEnergy, S, Tail>,
          &run<CenterOfMass, S, Tail>,
          &run<Integrate, S, Tail>,
          &run<Difference, S, Tail>,
          &rollout<Isa, Real, W>,
          &rollout_of_worlds<Isa, Real, W>,
          &run<JointTorqueRegressor, S, Tail>,
          &run<KineticEnergyRegressor, S, Tail>,
          &run<PotentialEnergyRegressor, S, Tail>,
          &run<MomentumRegressor, S, Tail>,
          &run<Jacobian, S, Tail>,
          &run<JacobianRate, S, Tail>,
          &run<FrameVelocity, S, Tail>,
          &run<FrameAcceleration, S, Tail>,
          &run<InfluenceCoefficients, S, Tail>,
          &run<SecondInfluenceCoefficients, S, Tail>,
          &run<Minverse, S, Tail>,
          &run<CoriolisMatrix, S, Tail>,
          &run<FrameMobility, S, Tail>,
          &run<CentroidalMomentum, S, Tail>,
          &run<CentroidalMomentumRate, S, Tail>,
          &run<CentroidalMap, S, Tail>,
          &run<CentroidalMapRate, S, Tail>,
          &run<JointReactions, S, Tail>,
          &run<ConstrainedAba, S, Tail>,
          &run<ConstrainedAbaDerivatives, S, Tail>,
          &run<ConstraintRows, S, Tail>,
          &run<Project, S, Tail>,
          &run<RneaDerivatives, S, Tail>,
          &run<AbaDerivatives, S, Tail>,
          &run<PassiveForceDerivatives, S, Tail>,
          &run<DesignDerivatives<true>, S, Tail>,
          &run<DesignDerivatives<false>, S, Tail>,
          &run<DifferentialDynamics, S, Tail>};
}

/// W doubles or 2 W floats to a register.
template <class Isa, int W>
constexpr Kernels make_kernels(const char* isa) noexcept {
  return {isa,
          make_dynamics_kernels<Isa, double, W>(),
          make_dynamics_kernels<Isa, float, 2 * W>(),
          &run<Advance, simd::Pack<double, W, Isa>, simd::Pack<double, 1, Isa>>,
          &run<AdvanceAdaptive, simd::Pack<double, W, Isa>, simd::Pack<double, 1, Isa>>,
          make_spatial_kernels<Isa, double, W>(),
          make_spatial_kernels<Isa, float, 2 * W>(),
          make_pair_kernels<Isa, double, W>(),
          make_pair_kernels<Isa, float, 2 * W>(),
          make_mesh_kernels<Isa, W>()};
}

}  // namespace pysim::engine
