// Joints of a model from their descriptions: shapes, plugins, coordinates, frames.
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "tree/model.hpp"
#include "tree/turning.hpp"

namespace pysim::tree {
namespace {

struct ShapeEntry {
  Shape shape;
  Group group;
  int nq, nv;
  bool has_axis;  ///< turned so that the axis is z
  bool biased;
  Column column[max_joint_nv];
};

const std::map<std::string, ShapeEntry>& shapes() {
  static const std::map<std::string, ShapeEntry> table = {
      {"revolute", {Shape::revolute, Group::real, 1, 1, true, false, {wz}}},
      {"prismatic", {Shape::prismatic, Group::real, 1, 1, true, false, {vz}}},
      {"helical", {Shape::helical, Group::real, 1, 1, true, false, {stored}}},
      {"cylindrical", {Shape::cylindrical, Group::real, 2, 2, true, false, {vz, wz}}},
      {"universal", {Shape::universal, Group::real, 2, 2, false, true, {stored, wy}}},
      {"ball", {Shape::ball, Group::rotation, 4, 3, false, false, {wx, wy, wz}}},
      {"planar", {Shape::planar, Group::real, 3, 3, false, true, {stored, stored, wz}}},
      {"translation", {Shape::translation, Group::real, 3, 3, false, false, {vx, vy, vz}}},
      {"fixed", {Shape::fixed, Group::real, 0, 0, false, false, {}}},
      {"free", {Shape::free, Group::pose, 7, 6, false, false, {vx, vy, vz, wx, wy, wz}}},
  };
  return table;
}

const ShapeEntry& shape_entry(const JointDescription& d) {
  const auto entry = shapes().find(d.shape);
  if (entry == shapes().end()) {
    throw std::invalid_argument("joint '" + d.name + "': unknown joint shape '" + d.shape + "'");
  }
  return entry->second;
}

/// Tᵀ I T of the packed record.
void turn_inertia(const double T[9], const double in[10], double out[10]) {
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

void joint_turn(const JointDescription& d, double turn[9]) {
  const bool is_shape = d.shape != "program" && d.shape != "callback";
  const double z[3] = {0, 0, 1};
  turn_to(is_shape && shape_entry(d).has_axis ? d.axis : z, turn);
}

void Model::add_joint(const JointDescription& d) {
  if (d.parent < -1 || d.parent >= nbodies()) {
    throw std::invalid_argument("joint '" + d.name + "': its parent must come before it");
  }
  int open = nbodies() - 1;  // depth first: the parent is the last body or above it
  while (open != d.parent && open >= 0) open = joints_[static_cast<std::size_t>(open)].parent;
  if (open != d.parent) {
    throw std::invalid_argument("joint '" + d.name + "': bodies must come depth first");
  }
  Joint joint = {};
  joint.parent = d.parent;
  joint.first_stored = joint.program = joint.force = joint.callback = joint.derivative =
      joint.force_derivative = joint.first_slope = -1;
  if (d.shape == "program") {
    add_program(d, joint);
  } else if (d.shape == "callback") {
    add_callback(d, joint);
  } else {
    const ShapeEntry& shape = shape_entry(d);
    joint.shape = shape.shape;
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
  if (!d.force.outputs.empty()) {
    const auto nv = static_cast<std::size_t>(joint.nv);
    joint.force = keep_program(d.force, nv, d.name);
    joint.force_derivative = keep_program(d.force_derivative, 2 * nv * nv, d.name);
    force_registers_ = std::max({force_registers_, d.force.registers, d.force_derivative.registers});
    joint_forces_ = true;
  }

  Constants<double> c = {};
  joint_turn(d, c.turn);
  turned_ = turned_ || c.turn[8] < 1;

  // X_P'B' = Tᵀ_P X_PB T_B: both frames turned.
  double pose[12];
  std::copy(d.placement, d.placement + 12, pose);
  if (d.parent >= 0) to_engine_frame(d.parent, pose);
  times(pose, c.turn, 3, c.placement);
  std::copy(pose + 9, pose + 12, c.placement + 9);
  turn_inertia(c.turn, d.inertia, c.inertia);
  c.pitch = d.pitch;
  std::copy(d.rest.begin(), d.rest.end(), c.rest);
  double_.constants.push_back(c);
  names_.push_back(d.name);
  add_coordinates(d, joint);
  joints_.push_back(joint);
}

void Model::add_coordinates(const JointDescription& d, Joint& joint) {
  const auto nq = static_cast<std::size_t>(joint.nq), nv = static_cast<std::size_t>(joint.nv);
  if (d.rest.size() != nq || d.armature.size() != nv || d.passive.size() != nv) {
    throw std::invalid_argument("joint '" + d.name + "': rest needs " + std::to_string(nq) +
                                " numbers, armature and passive forces " + std::to_string(nv));
  }
  joint.q = nq_;
  joint.v = nv_;
  nq_ += joint.nq;
  nv_ += joint.nv;
  const bool follows = d.follows >= 0;
  coupled_ = coupled_ || follows;
  joint.own_q = follows ? -1 : own_nq_;
  joint.own_v = follows ? -1 : own_nv_;
  for (int i = 0; i < joint.nq; ++i) double_.coupling_q.push_back({own_nq_ + i, 1, 0});
  for (int i = 0; i < joint.nv; ++i) double_.coupling_v.push_back({own_nv_ + i, 1, 0});
  if (!follows) {
    own_nq_ += joint.nq;
    own_nv_ += joint.nv;
  }
  joint.hinge = joint.nv == 1 && joint.column[0] == wz && !joint.biased && d.armature[0] == 0;
  double_.armature.insert(double_.armature.end(), d.armature.begin(), d.armature.end());
  double_.passive.insert(double_.passive.end(), d.passive.begin(), d.passive.end());
  joint_forces_ = joint_forces_ || std::any_of(d.passive.begin(), d.passive.end(), is_active);
}

/// Coordinates and columns of a joint that a plugin describes.
void Model::add_blocks(const JointDescription& d, Joint& joint) {
  const ProgramDescription& p = d.program;
  const auto fail = [&](const char* what) { throw std::invalid_argument("joint '" + d.name + "': " + what); };
  if (p.blocks.empty() || p.blocks.size() > max_joint_nv) fail("a plugin needs 1 to 6 blocks of coordinates");
  joint.blocks = static_cast<int>(p.blocks.size());
  std::copy(p.blocks.begin(), p.blocks.end(), joint.block);
  for (const auto& block : p.blocks) {
    joint.nv += block.nv;
    joint.nq += block.nv + (block.group == Group::real ? 0 : 1);
  }
  if (joint.nv > max_joint_nv) fail("a joint has at most 6 velocities");
  if (p.columns.size() != static_cast<std::size_t>(joint.nv)) fail("a plugin needs a column a velocity");
  std::copy(p.columns.begin(), p.columns.end(), joint.column);
  joint.stored_count = joint.nv;
  joint.biased = p.biased;
}

void Model::add_program(const JointDescription& d, Joint& joint) {
  add_blocks(d, joint);
  joint.shape = Shape::program;
  joint.program = keep_program(d.program, 18 + 6 * static_cast<std::size_t>(joint.nv), d.name);
}

/// A place for ∂S/∂q and ∂c/∂q, of a traced joint with its program and that program's registers.
void Model::add_slopes(const JointDescription& d, Joint& joint) {
  if (!joint.biased && d.derivative.outputs.empty()) return;
  const int twists = joint.nv * joint.nv + joint.nv;
  joint.first_slope = slopes_;
  slopes_ += twists;
  if (joint.shape != Shape::program) return;
  joint.derivative = keep_program(d.derivative, 6 * static_cast<std::size_t>(twists), d.name);
  slopes_ += (d.derivative.registers + 5) / 6;
}

/// Python hands over pose, columns, bias and the columns' rates; the latter wait behind the columns until
/// they are asked for.
void Model::add_callback(const JointDescription& d, Joint& joint) {
  add_blocks(d, joint);
  joint.shape = Shape::callback;
  joint.callback = callback_numbers_;
  joint.stored_count += 1 + joint.nv;
  callback_numbers_ += 12 + 6 * joint.stored_count;
}

/// Index of a program among the model's; refuses one that would touch what is not its own.
int Model::keep_program(const ProgramDescription& program, std::size_t outputs, const std::string& owner) {
  const auto outside = [&](int r) { return r < 0 || r >= program.registers; };
  for (const auto& i : program.code) {
    if (outside(i.a) || outside(i.out)) {
      throw std::invalid_argument("joint '" + owner + "': an instruction uses a register that is not there");
    }
  }
  if (program.outputs.size() != outputs ||
      std::any_of(program.outputs.begin(), program.outputs.end(), outside)) {
    throw std::invalid_argument("joint '" + owner + "': the outputs of a program do not fit its coordinates");
  }
  programs_.push_back(program);
  programs_.back().owner = owner;
  return static_cast<int>(programs_.size()) - 1;
}

}  // namespace pysim::tree
