// Joints of a model from their descriptions: shapes, plugins, coordinates, frames.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tree/axis_alignment.hpp"
#include "tree/model.hpp"
#include "tree/program_check.hpp"

namespace pysim::tree {
namespace {

/// Coordinates and motion subspace of a built-in shape.
struct BuiltIn {
  Group group;
  int nq, nv;
  bool has_axis;  ///< turned so that the axis is z
  bool biased;
  Column column[max_joint_nv];
};

BuiltIn built_in(Shape shape) {
  switch (shape) {
    case Shape::revolute:
      return {Group::real, 1, 1, true, false, {wz}};
    case Shape::prismatic:
      return {Group::real, 1, 1, true, false, {vz}};
    case Shape::helical:
      return {Group::real, 1, 1, true, false, {stored}};
    case Shape::cylindrical:
      return {Group::real, 2, 2, true, false, {vz, wz}};
    case Shape::universal:
      return {Group::real, 2, 2, false, true, {stored, wy}};
    case Shape::ball:
      return {Group::rotation, 4, 3, false, false, {wx, wy, wz}};
    case Shape::planar:
      return {Group::real, 3, 3, false, true, {stored, stored, wz}};
    case Shape::translation:
      return {Group::real, 3, 3, false, false, {vx, vy, vz}};
    case Shape::free:
      return {Group::pose, 7, 6, false, false, {vx, vy, vz, wx, wy, wz}};
    case Shape::fixed:
    case Shape::program:
    case Shape::callback:
      break;
  }
  return {Group::real, 0, 0, false, false, {}};
}

/// `given`, or n times `none` if it is empty.
template <class T>
std::vector<T> filled(const std::vector<T>& given, std::size_t n, const T& none) {
  return given.empty() ? std::vector<T>(n, none) : given;
}

/// Tᵀ I T of the packed record.
void align_inertia(const double T[9], const PackedInertia& inertia, double out[10]) {
  const double* in = inertia.data();
  const double I[9] = {in[4], in[7], in[9], in[7], in[5], in[8], in[9], in[8], in[6]};
  double IT[9], J[9];
  times(I, T, 3, IT);
  transpose_times(T, IT, 3, J);
  out[0] = in[0];
  transpose_times(T, in + 1, 1, out + 1);
  const double packed[6] = {J[0], J[4], J[8], J[1], J[5], J[2]};
  std::copy(packed, packed + 6, out + 4);
}

bool is_active(const Passive<double>& p) {
  return p.damping != 0 || p.stiffness != 0 || p.friction != 0 || std::isfinite(p.lower) ||
         std::isfinite(p.upper);
}

}  // namespace

void joint_alignment(const MotionDescription& motion, double turn[9]) {
  const double z[3] = {0, 0, 1};
  align_z(built_in(motion.shape).has_axis ? motion.axis : z, turn);
}

void Model::add_joint(const JointDescription& d, const PackedInertia& inertia) {
  const MotionDescription& motion = d.motion;
  if (d.parent < -1 || d.parent >= nbodies()) {
    throw std::invalid_argument("joint '" + d.name + "': its parent must come before it");
  }
  int open = nbodies() - 1;  // depth first: the parent is the last body or one of its ancestors
  while (open != d.parent && open >= 0) open = joints_[static_cast<std::size_t>(open)].parent;
  if (open != d.parent) {
    throw std::invalid_argument("joint '" + d.name + "': bodies must come depth first");
  }
  Joint joint = {};
  joint.parent = d.parent;
  joint.first_stored = joint.program = joint.force = joint.callback = joint.derivative =
      joint.force_derivative = joint.first_slope = -1;
  joint.shape = motion.shape;
  if (motion.shape == Shape::program) {
    add_program(d, joint);
  } else if (motion.shape == Shape::callback) {
    add_callback(d, joint);
  } else {
    const BuiltIn shape = built_in(motion.shape);
    joint.nq = shape.nq;
    joint.nv = shape.nv;
    joint.biased = shape.biased;
    std::copy(shape.column, shape.column + max_joint_nv, joint.column);
    joint.blocks = 1;
    joint.block[0] = {shape.group, 0, 0, shape.nv};
    joint.stored_count = static_cast<int>(std::count(shape.column, shape.column + shape.nv, stored));
  }
  if (joint.stored_count > 0 || joint.program >= 0) {
    joint.first_stored = stored_columns_;
    stored_columns_ += joint.stored_count;
    if (joint.program >= 0) stored_columns_ += (programs_.back().registers + 5) / 6;
  }
  add_slopes(d, joint);
  if (motion.force) {
    const auto nv = static_cast<std::size_t>(joint.nv);
    joint.force = keep_program(motion.force, joint.nq + joint.nv, nv, d.name);
    joint.force_derivative = keep_program(motion.force_derivative, joint.nq + joint.nv, 2 * nv * nv, d.name);
    joint_forces_ = true;
  }

  Constants<double> c = {};
  joint_alignment(motion, c.alignment);
  aligned_ = aligned_ || c.alignment[8] < 1;

  // X_P'B' = Tᵀ_P X_PB T_B: both frames turned.
  double pose[12];
  std::copy(d.placement, d.placement + 12, pose);
  if (d.parent >= 0) to_engine_frame(d.parent, pose);
  times(pose, c.alignment, 3, c.placement);
  std::copy(pose + 9, pose + 12, c.placement + 9);
  align_inertia(c.alignment, inertia, c.inertia);
  c.pitch = motion.pitch;
  double_.constants.push_back(c);
  names_.push_back(d.name);
  add_coordinates(d, joint);
  joints_.push_back(joint);
}

void Model::add_coordinates(const JointDescription& d, Joint& joint) {
  const auto nq = static_cast<std::size_t>(joint.nq), nv = static_cast<std::size_t>(joint.nv);
  const auto rest = filled(d.rest, nq, 0.0), armature = filled(d.armature, nv, 0.0);
  const auto passive = filled(d.passive, nv, no_passive());
  if (rest.size() != nq || armature.size() != nv || passive.size() != nv) {
    throw std::invalid_argument("joint '" + d.name + "': rest needs " + std::to_string(nq) +
                                " numbers, armature and passive forces " + std::to_string(nv));
  }
  joint.q = nq_;
  joint.v = nv_;
  nq_ += joint.nq;
  nv_ += joint.nv;
  const bool follows = d.follows >= 0;
  mimic_ = mimic_ || follows;
  joint.reduced_q = follows ? -1 : reduced_nq_;
  joint.reduced_v = follows ? -1 : reduced_nv_;
  for (int i = 0; i < joint.nq; ++i) double_.mimic_q.push_back({reduced_nq_ + i, 1, 0});
  for (int i = 0; i < joint.nv; ++i) double_.mimic_v.push_back({reduced_nv_ + i, 1, 0});
  if (!follows) {
    reduced_nq_ += joint.nq;
    reduced_nv_ += joint.nv;
  }
  joint.hinge = joint.nv == 1 && joint.column[0] == wz && !joint.biased && armature[0] == 0;
  std::copy(rest.begin(), rest.end(), double_.constants.back().rest);
  double_.armature.insert(double_.armature.end(), armature.begin(), armature.end());
  double_.passive.insert(double_.passive.end(), passive.begin(), passive.end());
  joint_forces_ = joint_forces_ || std::any_of(passive.begin(), passive.end(), is_active);
}

/// Coordinates and columns of a joint that a plugin describes.
void Model::add_blocks(const JointDescription& d, Joint& joint) {
  const MotionDescription& p = d.motion;
  const auto fail = [&](const char* what) { throw std::invalid_argument("joint '" + d.name + "': " + what); };
  if (p.blocks.empty() || p.blocks.size() > max_joint_nv) fail("a plugin needs 1 to 6 blocks of coordinates");
  joint.blocks = static_cast<int>(p.blocks.size());
  std::copy(p.blocks.begin(), p.blocks.end(), joint.block);
  for (const auto& block : p.blocks) {
    const int least = block.group == Group::rotation ? 3 : block.group == Group::pose ? 6 : 1;
    const bool fits = block.group == Group::real ? block.nv >= least : block.nv == least;
    if (!fits || block.nv > max_joint_nv || block.q != joint.nq || block.v != joint.nv) {
      fail("blocks must follow one another, with 3 velocities of a rotation and 6 of a pose");
    }
    joint.nv += block.nv;
    joint.nq += block.nv + (block.group == Group::real ? 0 : 1);
  }
  if (joint.nv > max_joint_nv) fail("a joint has at most 6 velocities");
  if (p.columns.size() != static_cast<std::size_t>(joint.nv)) fail("a plugin needs one column per velocity");
  std::copy(p.columns.begin(), p.columns.end(), joint.column);
  joint.stored_count = joint.nv;
  joint.biased = p.biased;
}

void Model::add_program(const JointDescription& d, Joint& joint) {
  add_blocks(d, joint);
  joint.program = keep_program(
      d.motion.program, joint.nq + joint.nv, 18 + 6 * static_cast<std::size_t>(joint.nv), d.name);
}

/// Reserves memory for ∂S/∂q and ∂c/∂q; for a traced joint also for its program's registers.
void Model::add_slopes(const JointDescription& d, Joint& joint) {
  if (!joint.biased && !d.motion.derivative) return;
  const int twists = joint.nv * joint.nv + joint.nv;
  joint.first_slope = slopes_;
  slopes_ += twists;
  if (joint.shape != Shape::program) return;
  joint.derivative =
      keep_program(d.motion.derivative, joint.nq + joint.nv, 6 * static_cast<std::size_t>(twists), d.name);
  slopes_ += (d.motion.derivative->registers + 5) / 6;
}

/// Python passes pose, columns, bias and the columns' rates; the latter are stored after the columns until
/// they are needed.
void Model::add_callback(const JointDescription& d, Joint& joint) {
  add_blocks(d, joint);
  joint.callback = callback_numbers_;
  joint.stored_count += 1 + joint.nv;
  callback_numbers_ += 12 + 6 * joint.stored_count;
}

/// Index of a program among the model's, which has `inputs` before its constants.
int Model::keep_program(const std::optional<ProgramDescription>& given,
                        int inputs,
                        std::size_t outputs,
                        const std::string& owner) {
  if (!given) throw std::invalid_argument("joint '" + owner + "': a program is missing");
  check_program(*given, static_cast<std::size_t>(inputs), outputs, "joint '" + owner + "'");
  programs_.push_back(*given);
  programs_.back().owner = owner;
  return static_cast<int>(programs_.size()) - 1;
}

}  // namespace pysim::tree
