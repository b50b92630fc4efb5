// Detection of trees whose bodies move in planes, and the numbers that planar_aba.hpp reads for them.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "tree/axis_alignment.hpp"
#include "tree/closure.hpp"

namespace pysim::tree {
namespace {

/// Largest sine of an angle between axes that count as parallel: the rounding of products of rotations.
constexpr double parallel = 1e-13;

double dot(const double* a, const double* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// Length of a × b.
double across(const double* a, const double* b) {
  return std::hypot(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
}

bool turns(const Joint& joint) {
  return joint.shape == Shape::revolute || joint.shape == Shape::planar;
}

bool keeps_to(const double* normal, const Joint& joint, const double* axis) {
  if (turns(joint)) return across(normal, axis) <= parallel;
  return joint.shape == Shape::prismatic && std::abs(dot(normal, axis)) <= parallel;
}

}  // namespace

/// Poses of the bodies at zero coordinates, in the engine's frames.
std::vector<Model::NeutralPose> Model::neutral_poses() const {
  std::vector<NeutralPose> poses(joints_.size());
  for (std::size_t b = 0; b < joints_.size(); ++b) {
    const double* placement = double_.constants[b].placement;
    if (joints_[b].parent < 0) {
      std::copy(placement, placement + 12, poses[b].begin());
      continue;
    }
    const auto& parent = poses[static_cast<std::size_t>(joints_[b].parent)];
    times(parent.data(), placement, 4, poses[b].data());
    for (std::size_t i = 9; i < 12; ++i) poses[b][i] += parent[i];
  }
  return poses;
}

/// The first rotation axis of a tree is the normal of its plane. Trees in parallel planes share their
/// axes; a tree that only translates uses those of the first tree that rotates.
void Model::find_planes() {
  const std::vector<NeutralPose> poses = neutral_poses();
  const auto axis = [&](auto joint) { return &poses[static_cast<std::size_t>(joint - joints_.begin())][6]; };
  const auto first = std::find_if(joints_.begin(), joints_.end(), turns);
  double_.plane.assign(joints_.size(), {});
  planar_tree_ = !mimic_ && first != joints_.end();
  if (!planar_tree_) return;
  double common[9], axes[9];
  align_z(axis(first), common);
  planar_loops_ = hinges_close_loops(poses, common + 6);
  for (std::size_t b = 0; b < joints_.size(); ++b) {
    const int parent = joints_[b].parent;
    if (parent < 0) {
      const auto end = joints_.begin() + joints_[b].end;
      const auto own = std::find_if(joints_.begin() + static_cast<std::ptrdiff_t>(b), end, turns);
      const bool shared = own == end || across(common + 6, axis(own)) <= parallel;
      planar_loops_ = planar_loops_ && shared;
      std::copy(common, common + 9, axes);
      if (!shared) align_z(axis(own), axes);
    }
    planar_tree_ = planar_tree_ && keeps_to(axes + 6, joints_[b], &poses[b][6]);
    const double* above = parent < 0 ? nullptr : poses[static_cast<std::size_t>(parent)].data();
    double_.plane[b] = plane_body(b, axes, poses[b].data(), above);
  }
  planar_loops_ = planar_loops_ && planar_tree_;
  if (planar_loops_) project_loops(poses, common);
}

/// Whether there are loops, and every one is a hinge along the normal whose rows constrain positions in the
bool Model::hinges_close_loops(const std::vector<NeutralPose>& poses, const double normal[3]) const {
  for (std::size_t k = 0; k < loops_.size(); ++k) {
    const Loop& loop = loops_[k];
    if (loop.kind != LoopKind::joint || closure_->model.joints()[k].shape != Shape::revolute) return false;
    if (std::any_of(loop.independent, loop.independent + loop.rows, [](int i) { return i > 1; }))
      return false;
    const double* z = double_.loop_constants[k].at_a + 6;
    double turned[3] = {z[0], z[1], z[2]};
    if (loop.a >= 0) times(poses[static_cast<std::size_t>(loop.a)].data(), z, 1, turned);
    if (across(normal, turned) > parallel) return false;
  }
  return !loops_.empty();
}

/// Ends of loops and points of paths on the plane's axes.
void Model::project_loops(const std::vector<NeutralPose>& poses, const double axes[9]) {
  static const NeutralPose world = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  const auto pose = [&](int body) { return body < 0 ? world.data() : poses[std::size_t(body)].data(); };
  const auto lay = [axes](const double* R, const double* a, double* to) {
    double turned[3];
    times(R, a, 1, turned);
    to[0] = dot(axes, turned), to[1] = dot(axes + 3, turned);
    return dot(axes + 6, turned);
  };
  for (std::size_t k = 0; k < loops_.size(); ++k) {
    const LoopConstants<double>& loop = double_.loop_constants[k];
    PlaneLoop<double> flat = {};
    for (const auto& [body, at, origin, directions] :
         {std::tuple{loops_[k].a, loop.at_a, flat.at_a, flat.axes_a},
          std::tuple{loops_[k].b, loop.at_b, flat.at_b, flat.axes_b}}) {
      lay(pose(body), at + 9, origin);
      lay(pose(body), at, directions);
      lay(pose(body), at + 3, directions + 2);
    }
    double_.plane_loops.push_back(flat);
  }
  for (const PathPoint<double>& point : double_.path_points) {
    PlanePoint<double> flat = {};
    const double* const body = pose(point.body);
    flat.height = lay(body, point.at + 9, flat.at) + dot(axes + 6, body + 9);
    double_.plane_points.push_back(flat);
  }
}

PlaneBody<double> Model::plane_body(std::size_t b,
                                    const double axes[9],
                                    const double pose[12],
                                    const double* parent) const {
  const Joint& joint = joints_[b];
  PlaneBody<double> plane = {};
  const auto project = [axes](const double* a, double* to) {
    to[0] = dot(axes, a), to[1] = dot(axes + 3, a);
  };
  double at[3];
  for (int i = 0; i < 3; ++i) at[i] = pose[9 + i] - (parent == nullptr ? 0 : parent[9 + i]);
  project(at, plane.at);
  if (joint.shape == Shape::prismatic) project(pose + 6, plane.slide);
  if (joint.shape == Shape::planar) {
    project(pose, plane.slide);
    project(pose + 3, plane.slide + 2);
  }
  plane.sense = turns(joint) && dot(axes + 6, pose + 6) < 0 ? -1 : 1;
  transpose_times(pose, axes, 3, plane.axes);
  const double* I = double_.constants[b].inertia;  // m, mc, Ixx, Iyy, Izz, Ixy, Iyz, Izx
  const double* n = plane.axes + 6;
  plane.mass = I[0];
  plane.moment[0] = dot(plane.axes, I + 1);
  plane.moment[1] = dot(plane.axes + 3, I + 1);
  plane.I = I[4] * n[0] * n[0] + I[5] * n[1] * n[1] + I[6] * n[2] * n[2] +
            2 * (I[7] * n[0] * n[1] + I[8] * n[1] * n[2] + I[9] * n[2] * n[0]);
  project(gravity_, plane.gravity);
  return plane;
}

}  // namespace pysim::tree
