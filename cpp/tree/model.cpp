// Frozen model: construction from joint descriptions, and its views for the kernels.
#include "tree/model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tree/axis_alignment.hpp"
#include "tree/closure.hpp"
#include "tree/single_precision.hpp"

namespace pysim::tree {
namespace {

/// First number of a block's quaternion in its joint's coordinates; −1 if it has none.
int quaternion_offset(const Block& block) {
  if (block.group == Group::rotation) return block.q;
  return block.group == Group::pose ? block.q + 3 : -1;
}

}  // namespace

Model::Model(const std::vector<JointDescription>& joints,
             const std::vector<PackedInertia>& inertias,
             const double gravity[3],
             const Ties& ties) {
  std::copy(gravity, gravity + 3, gravity_);
  if (inertias.size() != joints.size()) {
    throw std::invalid_argument("inertias must have a row for each of " + std::to_string(joints.size()) +
                                " joints, got " + std::to_string(inertias.size()));
  }
  for (std::size_t k = 0; k < joints.size(); ++k) add_joint(joints[k], inertias[k]);
  set_mimics(joints);
  mark_children();
  number_forks();
  group_coordinates();
  close_loops(ties.loops);
  add_couplings(ties.couplings);
  find_row_blocks();
  add_elements(ties.elements);
  if (ties.signals) add_signals(*ties.signals);
  check_work();
  mark_branches();
  find_planes();
  for (const auto& program : programs_) {
    const auto &c = program.constants, &t = program.tables;
    double_.program_constants.push_back(c);
    double_.program_tables.push_back(t);
    float_.program_constants.push_back(rounded(c));
    float_.program_tables.push_back(rounded(t));
  }
  view_programs(double_);
  view_programs(float_);
  float_.constants = rounded(double_.constants);
  float_.plane = rounded(double_.plane);
  float_.plane_loops = rounded(double_.plane_loops);
  float_.plane_points = rounded(double_.plane_points);
  float_.loop_constants = rounded(double_.loop_constants);
  float_.couplings = rounded(double_.couplings);
  float_.terms = rounded(double_.terms);
  float_.elements = rounded(double_.elements);
  float_.path_points = rounded(double_.path_points);
  float_.ports = rounded(double_.ports);
  float_.armature = rounded(double_.armature);
  float_.passive = rounded(double_.passive);
  float_.mimic_q = rounded(double_.mimic_q);
  float_.mimic_v = rounded(double_.mimic_v);
}

/// A mimic joint's map is its leader's, scaled; the leader may come later, but is not itself a mimic joint.
void Model::set_mimics(const std::vector<JointDescription>& joints) {
  for (std::size_t k = 0; k < joints.size(); ++k) {
    const JointDescription& d = joints[k];
    if (d.follows < 0) continue;
    const auto leader = static_cast<std::size_t>(d.follows);
    if (leader >= joints.size() || joints_[leader].nq != 1 || joints_[k].nq != 1 ||
        joints[leader].follows >= 0) {
      throw std::invalid_argument(
          "joint '" + d.name +
          "': mimic needs two joints of one coordinate each, and the leading one must not mimic another");
    }
    double_.mimic_q[static_cast<std::size_t>(joints_[k].q)] = {joints_[leader].reduced_q, d.ratio, d.offset};
    double_.mimic_v[static_cast<std::size_t>(joints_[k].v)] = {joints_[leader].reduced_v, d.ratio, 0};
  }
}

template <class Real>
void Model::view_programs(ModelNumbers<Real>& numbers) {
  for (std::size_t k = 0; k < programs_.size(); ++k) {
    const ProgramDescription& p = programs_[k];
    numbers.programs.push_back({p.code.data(),
                                p.pose_end,
                                static_cast<int>(p.code.size()),
                                p.registers,
                                static_cast<int>(p.constants.size()),
                                static_cast<int>(p.tables.size()),
                                numbers.program_constants[k].data(),
                                numbers.program_tables[k].data(),
                                p.outputs.data()});
  }
}

void Model::group_coordinates() {
  for (int b = 0; b < nbodies(); ++b) {
    const Joint& joint = joints_[static_cast<std::size_t>(b)];
    for (int k = 0; k < joint.blocks && joint.reduced_q >= 0; ++k) {
      const Block& block = joint.block[k];
      const int at = quaternion_offset(block);
      if (at >= 0) quaternions_.push_back({joint.reduced_q + at, b});
      if (at < 0 && !runs_.empty() && runs_.back().group == Group::real) {
        runs_.back().nv += block.nv;
      } else {
        runs_.push_back({block.group, joint.reduced_q + block.q, joint.reduced_v + block.v, block.nv});
      }
    }
  }
}

void Model::mark_children() {
  std::vector<bool> seen(joints_.size(), false);
  for (std::size_t k = 0; k < joints_.size(); ++k) joints_[k].end = static_cast<int>(k) + 1;
  for (auto joint = joints_.rbegin(); joint != joints_.rend(); ++joint) {
    const auto body = joints_.size() - 1 - static_cast<std::size_t>(joint - joints_.rbegin());
    joint->leaf = !seen[body];
    if (joint->parent < 0) continue;
    const auto parent = static_cast<std::size_t>(joint->parent);
    joints_[parent].end = std::max(joints_[parent].end, joint->end);
    joint->last_child = !seen[parent];
    seen[parent] = true;
  }
}

void Model::number_forks() {
  for (auto& joint : joints_) joint.fork = -1;
  for (const auto& joint : joints_) {
    if (joint.parent < 0 || joint.last_child) continue;
    Joint& parent = joints_[static_cast<std::size_t>(joint.parent)];
    if (parent.fork >= 0) continue;
    parent.fork = fork_columns_;
    const bool to_the_end = parent.end == nbodies();
    const int end = to_the_end ? nv_ : joints_[static_cast<std::size_t>(parent.end)].v;
    fork_columns_ += end - parent.v - parent.nv;
  }
}

/// Tree structure of the user's coordinates. Couplings and elements connect branches: then all count as one
/// branch.
void Model::mark_branches() {
  for (int k = 0; k < reduced_nv_; ++k) above_.push_back(k - 1);
  below_end_.assign(static_cast<std::size_t>(reduced_nv_), reduced_nv_);
  if (mimic_ || !double_.elements.empty()) return;
  for (const auto& joint : joints_) {
    if (joint.nv == 0) continue;  // a weld, which closes a loop
    const bool is_root = joint.parent < 0;
    const Joint* parent = is_root ? nullptr : &joints_[static_cast<std::size_t>(joint.parent)];
    const auto first = static_cast<std::size_t>(joint.v);
    above_[first] = is_root ? -1 : parent->v + parent->nv - 1;
    const bool is_last = joint.end == nbodies();
    const int end = is_last ? nv_ : joints_[static_cast<std::size_t>(joint.end)].v;
    std::fill_n(below_end_.begin() + joint.v, joint.nv, end);
  }
}

void Model::to_engine_frame(int body, double pose[12]) const {
  if (body < 0) return;
  const double* turn = double_.constants[static_cast<std::size_t>(body)].alignment;
  double turned[12];
  transpose_times(turn, pose, 4, turned);
  std::copy(turned, turned + 12, pose);
}

template <class Real>
ModelView<Real> Model::view() const {
  const auto& n = [this]() -> const ModelNumbers<Real>& {
    if constexpr (sizeof(Real) == 8) {
      return double_;
    } else {
      return float_;
    }
  }();
  ModelView<Real> view = {};
  view.bodies = nbodies();
  view.fork_columns = fork_columns_;
  view.nq = nq_;
  view.nv = nv_;
  view.reduced_nq = reduced_nq_;
  view.reduced_nv = reduced_nv_;
  view.stored_columns = stored_columns_;
  view.slopes = slopes_;
  view.callback_numbers = callback_numbers_;
  view.mimic = mimic_;
  view.aligned = aligned_;
  view.joint_forces = joint_forces_;
  view.planar_tree = planar_tree_;
  view.planar_loops = planar_loops_;
  copy_numbers(gravity_, 3, view.gravity);
  view.joint = joints_.data();
  view.constants = n.constants.data();
  view.plane = n.plane.data();
  view.plane_loop = n.plane_loops.data();
  view.plane_point = n.plane_points.data();
  view.armature = n.armature.data();
  view.passive = n.passive.data();
  view.mimic_q = n.mimic_q.data();
  view.mimic_v = n.mimic_v.data();
  view.run = runs_.data();
  view.runs = static_cast<int>(runs_.size());
  view.above = above_.data();
  view.below_end = below_end_.data();
  view.programs = static_cast<int>(n.programs.size());
  view.program = n.programs.data();
  view.loops = static_cast<int>(loops_.size());
  view.rows = rows_;
  view.loop = loops_.data();
  view.row_path = row_paths_.data();
  view.path = paths_.data();
  view.row_blocks = static_cast<int>(row_blocks_.size());
  view.row_block = row_blocks_.data();
  view.shared = shared_.data();
  view.loop_constants = n.loop_constants.data();
  view.couplings = static_cast<int>(n.couplings.size());
  view.coupling = n.couplings.data();
  view.timed = timed_;
  view.terms = static_cast<int>(n.terms.size());
  view.term = n.terms.data();
  view.elements = static_cast<int>(n.elements.size());
  view.element = n.elements.data();
  for (const auto& element : n.elements) view.straight_paths += element.is_straight() ? 1 : 0;
  view.path_points = static_cast<int>(n.path_points.size());
  view.path_point = n.path_points.data();
  view.element_coordinate = element_coordinates_.data();
  view.signals = signals();
  view.contacts = nullptr;
  view.ports = static_cast<int>(n.ports.size());
  view.port = n.ports.data();
  if (closure_) view.closure = &closure_->view<Real>();
  return view;
}

template ModelView<double> Model::view() const;
template ModelView<float> Model::view() const;

std::vector<double> Model::neutral() const {
  std::vector<double> q(static_cast<std::size_t>(reduced_nq_), 0.0);
  for (const auto& place : quaternions_) q[static_cast<std::size_t>(place.at + 3)] = 1;
  return q;
}

}  // namespace pysim::tree
