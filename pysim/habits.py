"""Names of other programs and of habit, with the expressions that do the same here: remedies for unknown attributes.

A line of a table is `NAME NAME …: EXPRESSION`. In expressions, `model`, `scene`, `worlds` and `trajectory` are objects
of pysim; q, v, a and tau are arrays of states, `frame` and `path` texts.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from pysim.errors import UnknownAttributeError, closest

if TYPE_CHECKING:
    from collections.abc import Iterable

# similarity of names: of one that is preferred to a name of habit, and of any
LIKE, LIKE_AT_ALL = (0.8, 0.7)

_ALGORITHMS = """
forward_dynamics fd compute_aba articulated_body_algorithm: pysim.aba(model, q, v, tau)
inverse_dynamics compute_inverse_dynamics recursive_newton_euler mj_inverse: pysim.rnea(model, q, v, a)
mass_matrix inertia_matrix joint_space_inertia composite_rigid_body full_mass_matrix: pysim.crba(model, q)
mj_fullM: pysim.crba(model, q)
inverse_mass_matrix compute_minverse mass_matrix_inverse inverse_inertia_matrix: pysim.minverse(model, q)
bias_forces bias_force bias nle non_linear_effects nonlinear_terms: pysim.nonlinear_effects(model, q, v)
coriolis_and_gravity: pysim.nonlinear_effects(model, q, v)
coriolis compute_coriolis_matrix christoffel: pysim.coriolis_matrix(model, q, v)
gravity_torque gravity_vector gravity_forces gravity_compensation: pysim.generalized_gravity(model, q)
generalised_gravity compute_generalized_gravity: pysim.generalized_gravity(model, q)
fk kinematics forward body_poses link_poses compute_forward_kinematics: pysim.forward_kinematics(model, q)
frame_pose frame_transform link_pose get_frame tool_pose: pysim.frame_placement(model, q, frame)
end_effector_pose update_frame_placements: pysim.frame_placement(model, q, frame)
frame_jacobian geometric_jacobian compute_frame_jacobian body_jacobian: pysim.jacobian(model, q, frame)
site_jacobian: pysim.jacobian(model, q, frame)
space_jacobian spatial_jacobian: pysim.jacobian(model, q, frame, "world")
jacobian_dot jacobian_derivative: pysim.jacobian_time_derivative(model, q, v, frame)
frame_jacobian_time_variation: pysim.jacobian_time_derivative(model, q, v, frame)
frame_twist spatial_velocity body_velocity link_velocity: pysim.frame_velocity(model, q, v, frame)
spatial_acceleration link_acceleration: pysim.frame_acceleration(model, q, v, a, frame)
com centre_of_mass compute_com com_position center_of_gravity: pysim.center_of_mass(model, q)
com_velocity: pysim.com_jacobian(model, q) @ v
jacobian_com center_of_mass_jacobian jacobian_center_of_mass: pysim.com_jacobian(model, q)
ke compute_kinetic_energy: pysim.kinetic_energy(model, q, v)
pe gravitational_energy compute_potential_energy: pysim.potential_energy(model, q)
spring_energy: pysim.elastic_energy(model, q)
mechanical_energy: pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q) + pysim.elastic_energy(model, q)
total_energy: pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q) + pysim.elastic_energy(model, q)
energy: pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q) + pysim.elastic_energy(model, q)
moment_arm muscle_moment_arms muscle_lengths path_lengths path_jacobian: pysim.moment_arms(scene, q)
momentum spatial_momentum angular_momentum linear_momentum: pysim.centroidal_momentum(model, q, v)
compute_centroidal_momentum: pysim.centroidal_momentum(model, q, v)
centroidal_momentum_matrix ccrba cmm: pysim.centroidal_map(model, q)
task_space_inertia cartesian_inertia lambda_matrix: pysim.operational_space_inertia(model, q, frame)
operational_inertia: pysim.operational_space_inertia(model, q, frame)
delassus_matrix: pysim.operational_space_mobility(model, q, frame)
regressor dynamics_regressor torque_regressor: pysim.joint_torque_regressor(model, q, v, a)
compute_joint_torque_regressor: pysim.joint_torque_regressor(model, q, v, a)
forward_dynamics_derivatives compute_aba_derivatives: pysim.aba_derivatives(model, q, v, tau)
inverse_dynamics_derivatives compute_rnea_derivatives: pysim.rnea_derivatives(model, q, v, a)
reaction_forces joint_forces constraint_reactions joint_wrenches: pysim.joint_reactions(model, q, v, a)
spring_forces damping_forces friction_forces: pysim.passive_forces(model, q, v)
ik inverse_geometry solve_ik: pysim.inverse_kinematics(model, {frame: pose})
closed_loop_dynamics constraint_dynamics constrained_dynamics: pysim.loops.constrained_aba(model, q, v, tau)
constraint_force: pysim.loops.constraint_forces(model, q, v, tau)
constraint_matrix: pysim.loops.constraint_jacobian(model, q)
degrees_of_freedom: pysim.loops.mobility(model, q)
tip_force external_force apply_wrench: pysim.aba(model, q, v, tau, f_ext)
"""
_TABLES = {
    "pysim": _ALGORITHMS
    + """
linearise linearisation linearization linear_system linearized state_space: pysim.linearize(scene)
transition_matrices: pysim.linearize(scene)
controller_gain dlqr riccati: pysim.lqr(system, Q, R)
static_equilibrium find_equilibrium statics trim settle rest: pysim.equilibrium(scene)
modal_analysis eigenmodes normal_modes natural_frequencies modes: pysim.linearize(scene).modes()
bode frequency_response transfer_function: pysim.linearize(scene).frequency_response()
load open read read_scene from_file from_toml scene_from_file load_toml: pysim.load_scene(path)
load_urdf load_mjcf load_robot from_urdf from_mjcf from_xml_path parse_urdf read_urdf: pysim.load_model(path)
build_model_from_urdf: pysim.load_model(path)
Robot RobotModel MultibodyPlant MjModel Mechanism System load_sdf: pysim.load_model(path)
run sim simulation_run integrate_scene solve solve_ivp play: pysim.simulate(scene)
batch_simulate parallel_rollout mj_rollout vmap: pysim.rollout(scene, q, v)
World Simulator Simulation Env VectorWorld MjData Data create_data sim_step: pysim.Worlds(scene)
step mj_step: pysim.Worlds(scene).step()
make Gym gymnasium make_env GymEnv: pysim.gym.make(path)
Environments VectorEnv: pysim.environments.Environment(path, 64)
read_trajectory open_trajectory load_run load_h5 load_results: pysim.load_trajectory(path)
Result Results Log Recording SimulationResult: pysim.Trajectory
parameter_study monte_carlo parametric_sweep scan: pysim.sweep(scene, parameters, output=path)
optimize minimize minimise fit_parameters design_optimization: pysim.optimise(path, numbers, minimise=quantity)
Builder ModelBuilder new_scene scene_builder: pysim.SceneBuilder("name")
plot: pysim.render.plot(trajectory)
view viewer visualize visualise launch_viewer show animate: pysim.render.view(trajectory)
movie video record_video save_movie: pysim.render.movie(trajectory, path)
still picture screenshot render_frame image snapshot: pysim.render.still(trajectory, path)
web html to_html: pysim.render.web(trajectory, path)
validate check_scene lint: pysim.check(path)
convert_file to_urdf export_urdf save_urdf: pysim.convert(path, target)
continue_run restart: pysim.resume(path)
fit calibrate: pysim.identify.fit(scene, t, q, {})
system_identification estimate_parameters: pysim.identify.identify(model, samples)
distance signed_distance collide closest_points gjk: pysim.contact.distances(shape, pose, shape, pose)
quaternion quat rotation transform transforms SE3 SO3 lie se3: pysim.spatial
euler_to_matrix rpy_to_matrix rotation_from_euler: pysim.spatial.rotation_from_rpy(rpy)
quat_to_matrix quaternion_to_matrix: pysim.spatial.rotation_from_quaternion(quaternion)
slerp: pysim.spatial.slerp(quaternion, quaternion, 0.5)
skew: pysim.spatial.skew(a3)
exp6 exp3 exp: pysim.spatial.exp(twist)
log6 log3 log: pysim.spatial.log(pose)
mesh_mass_properties mass_properties mesh_inertia: pysim.inertia.mesh_inertia(vertices, faces, density)
closure_jacobian constraint_jacobian: pysim.loops.constraint_jacobian(model, q)
project_to_constraints close_loops assemble: pysim.loops.assemble(model, q)
Error SimError Exception: pysim.PysimError
Warning: pysim.PysimWarning
integrate: model.integrate(q, v)
difference: model.difference(q, q)
neutral zero_configuration: model.neutral()
random_configuration random_q sample_configuration: model.random_configuration(0)
set_isa simd instruction_sets: pysim.available_isas()
raycast ray_cast lidar rangefinder height_map: worlds.signals["scan"]  # of a [[sensor]] of type "height_scan"
camera: pysim.render.still(trajectory, path)
contacts contact_forces: trajectory.contact_forces
""",
    "Model": _ALGORITHMS
    + """
nbody n_bodies num_bodies nb body_count num_links n_links: model.nbodies
njoints n_joints num_joints njnt: len(model.joint_names)
nconfig num_q n_q qdim num_positions num_configuration: model.nq
ndof dof dofs num_dof n_dof num_velocities n_v: model.nv
neutral_configuration q0 qpos0 zero_configuration home: model.neutral()
random_q random_state sample sample_configuration: model.random_configuration(0)
mass masses body_mass get_mass totalmass: model.total_mass
inertias body_inertia: model.parameters
g gravity_vector opt: model.gravity
links link_names body get_body body_list: model.body_names
joint get_joint joints_names jnt_names: model.joint_names
frame get_frame_names site_names sites: model.frame_names
parent parent_of tree topology: model.parents
lower lower_limits position_limits joint_limits jnt_range lower_position_limit upper_limits upper: model.limits
q_min q_max: model.limits
torque_limits effort_limit max_effort actuator_forcerange tau_max: model.effort_limits
rotor_inertia rotor_inertias: model.armature
set_gravity with_g: model.with_gravity((0, 0, -1.62))
set_parameters set_mass set_inertia with_masses: model.with_parameters(model.parameters)
lock lock_joints build_reduced_model reduced freeze fix_joint fix_joints with_locked: model.locked({joint: 0.0})
from_file from_urdf load read: pysim.load_model(path)
create_data data simulate run step: pysim.Worlds(scene)
copy clone: model.with_gravity(model.gravity)
save to_urdf export write: pysim.convert(path, target)
linearize linearise: pysim.linearize(scene)
show view visualize display plot: pysim.render.pose(model)
units: model.coordinate_units
timestep dt step_size: scene.settings.step
names: model.coordinate_names
loops: model.loop_names
constraints: model.row_names
is_planar: model.planar_tree
""",
    "Worlds": _ALGORITHMS
    + """
qpos configuration configurations positions joint_positions x state states: worlds.q
qvel velocity velocities joint_velocities qd q_dot dq: worlds.v
time times current_time sim_time: worlds.t
timestep time_step h step_size: worlds.dt
ctrl control controls action actions command commands u set_control: worlds.inputs
sensordata sensors sensor observation observations outputs y get_sensor: worlds.signals
num_worlds n_worlds num_envs n nworld size batch_size count: len(worlds)
nq: worlds.model.nq
nv ndof: worlds.model.nv
mechanism robot plant: worlds.model
simulate advance run forward step_simulation do_step mj_step integrate: worlds.step()
set_state set_q state_vector: worlds.q
begin restart reset_world reinit reset_idx: worlds.reset()
body_poses link_poses xpos xquat transforms forward_kinematics: worlds.poses
contact_forces contact_force: worlds.contacts
contact_list get_contacts ncon: worlds.contact_points()
contact_pairs collision_pairs: worlds.pairs
get_state snapshot checkpoint state_bytes dump serialize to_bytes: worlds.save()
set_state_bytes restore deserialize from_bytes: worlds.load(worlds.save())
params parameter randomize domain_randomization: worlds.parameters
failed diverged is_lost unstable dead alive: worlds.lost
error why reasons: worlds.reason()
clone duplicate copy_world: worlds.copy(0, 1)
trajectory log recording recorder history movie: worlds.record(every=0.1).trajectory()
apply_force apply_wrench external_force xfrc_applied add_force perturb impulse kick: worlds.push(body, impulse)
delete destroy free shutdown stop: worlds.close()
""",
    "Trajectory": _ALGORITHMS
    + """
time times timestamps T: trajectory.t
position positions qpos configuration configurations x states: trajectory.q
velocity velocities qvel dq qd speed: trajectory.v
acceleration accelerations qacc ddq qdd: trajectory.a
kinetic_energy ke: trajectory.kinetic
potential_energy pe: trajectory.potential
elastic_energy spring_energy: trajectory.elastic
total_energy mechanical_energy: trajectory.energy
body_poses transforms link_poses: trajectory.poses
interpolate sample resample state_at: trajectory.at(0.05)
pose_at: trajectory.poses_at([0.05])
frame_path position_of path: trajectory.path_of(frame)
to_dataframe dataframe df as_dataframe pandas: trajectory.to_pandas()
csv write_csv save_csv export_csv: trajectory.to_csv(path)
dxf write_dxf save_dxf export_dxf: trajectory.to_dxf(path, [frame])
write to_hdf5 to_h5 export dump: trajectory.save(path)
view animate play display: pysim.render.view(trajectory)
movie video save_movie to_mp4: pysim.render.movie(trajectory, path)
still picture screenshot: pysim.render.still(trajectory, path)
sensors sensor outputs observations: trajectory.signals
n_steps num_steps size n: len(trajectory)
duration t_end final_time: trajectory.t[-1]
final_state last end: trajectory.at(trajectory.t[-1])
joint_names: trajectory.names["joints"]
body_names: trajectory.names["bodies"]
constraint_wrenches: trajectory.loop_wrenches
reaction_forces: pysim.joint_reactions(model, q, v, a)
model: pysim.load_scene(path).model
xarray dataset: trajectory.to_xarray()
usd: trajectory.to_usd(path)
""",
    "Scene": _ALGORITHMS
    + """
simulate run play solve: pysim.simulate(scene)
q q0 initial_q start qpos0 x0: scene.state.q
v v0 initial_v qvel0: scene.state.v
robot mechanism plant: scene.model
duration t_end: scene.settings.duration
step dt timestep: scene.settings.step
integrator solver: scene.settings.integrator
name title: scene.spec.name
gravity g: scene.model.gravity
bodies body: scene.model.bodies
joints joint: scene.model.joints
linearize linearise: pysim.linearize(scene)
worlds make_worlds batch: pysim.Worlds(scene)
write dump export to_toml to_file: scene.save(path)
load from_file read open: pysim.load_scene(path)
check validate: pysim.check(path)
inputs: scene.signals
controllers actuators sensors: scene.spec.blocks
set override update with_overrides: pysim.load_scene(path, overrides={})
render view show plot draw: pysim.render.pose(scene.model, scene.state)
""",
}


@cache
def habits(owner: str) -> dict[str, str]:
    """Return the expressions for names that `owner` ("pysim", "Model", …) does not have."""
    expressions: dict[str, str] = {}
    if owner in {"Worlds", "Scene"}:  # which have a model
        expressions = {
            name: expression.replace("model.", f"{owner.lower()}.model.")
            for name, expression in habits("Model").items()
            if "model." in expression and "pysim." not in expression
        }
    for line in _TABLES[owner].split("\n"):
        names, _, expression = line.partition(": ")
        for name in names.split():
            expressions[name] = expression
    return expressions


def unknown_attribute(owner: str, name: str, known: Iterable[str]) -> UnknownAttributeError:
    """Return the error for an attribute that `owner` does not have: by habit, or the nearest of the known names."""
    table = habits(owner)
    public = [own for own in known if not own.startswith("_")]
    names = _names_of_package() - {*public}
    near = next(iter({name} & {*table}), None) or closest(name, public, LIKE)
    near = near or closest(name, table, LIKE) or closest(name, names, LIKE)
    if near in table:
        remedy = f"; write {table[near]}"
    elif near in names:
        remedy = f"; it is pysim.{near}"
    else:
        near = near or closest(name, public, LIKE_AT_ALL)
        remedy = f"; did you mean {near!r}?" if near else ""
    error = UnknownAttributeError(owner, f"has no attribute {name!r}{remedy}")
    if not remedy:  # in Python's words
        what = "module 'pysim'" if owner == "pysim" else f"{owner!r} object"
        error.args = (f"{what} has no attribute {name!r}",)
    return error


def _names_of_package() -> set[str]:
    """Return the public names of pysim."""
    return set(import_module("pysim").__all__)


class AttributesByHabit:
    """Base of classes whose errors for unknown attributes name the expression to write."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a checker reports unknown attributes itself

        def __getattr__(self, name: str) -> object:
            owner = next(own.__name__ for own in type(self).__mro__ if own.__name__ in _TABLES)
            if name.startswith("_"):  # of protocols, often asked for
                raise AttributeError(f"{owner!r} object has no attribute {name!r}")
            raise unknown_attribute(owner, name, dir(self))
