// Loops, couplings, elements and ports of a model: their placement in the tree, and the support paths of the
// rows.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "tree/axis_alignment.hpp"
#include "tree/closure.hpp"
#include "tree/model_file.hpp"

namespace pysim::tree {
namespace {

/// The same bytes for parts of a path at one moving point.
std::string place_as_bytes(const PathPointDescription& d) {
  std::string bytes;
  FileWriter write(bytes);
  write(d.body), write(d.at), write(d.coordinates), write(d.place);
  return bytes;
}

int all_rows(LoopKind kind, const Joint& joint) {
  switch (kind) {
    case LoopKind::joint:
      return 6 - joint.nv;
    case LoopKind::plane:
    case LoopKind::distance:
      return 1;
    case LoopKind::line:
      return 2;
    case LoopKind::wheel:
      return 3;
  }
  return 0;
}

/// The pose with its axes turned:  R ← R R_turn.
void align_pose(const double turn[9], double pose[12]) {
  double turned[9];
  times(pose, turn, 3, turned);
  std::copy(turned, turned + 9, pose);
}

}  // namespace

/// Frames A and B in the engine's frames of their bodies, both turned like the joint that closes the loop:
/// its placement is then the identity, see loop_fit.hpp.
void Model::close_loops(const std::vector<LoopDescription>& loops) {
  if (loops.empty()) return;
  std::vector<JointDescription> joints;
  for (const auto& d : loops) {
    JointDescription& joint = joints.emplace_back();
    joint.name = d.name;
    joint.motion = d.motion;
    double turn[9];
    joint_alignment(d.motion, turn);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) joint.placement[3 * i + j] = turn[3 * j + i];
    }
  }
  closure_ = std::make_shared<const Closure>(joints);
  for (std::size_t k = 0; k < loops.size(); ++k) {
    const LoopDescription& d = loops[k];
    if (std::min(d.a, d.b) < -1 || std::max(d.a, d.b) >= nbodies() || d.a == d.b) {
      throw std::invalid_argument("loop '" + d.name + "': needs two bodies of the model");
    }
    Loop loop = {d.kind, d.a, d.b, rows_, static_cast<int>(d.independent.size()), {}, -1, d.work};
    const int all = all_rows(loop.kind, closure_->model.joints()[k]);
    if (loop.rows > all ||
        std::any_of(d.independent.begin(), d.independent.end(), [&](int i) { return i < 0 || i >= all; })) {
      throw std::invalid_argument("loop '" + d.name + "': it has " + std::to_string(all) + " rows");
    }
    std::copy(d.independent.begin(), d.independent.end(), loop.independent);
    if (d.function) {
      const Shape shape = closure_->model.joints()[k].shape;
      if (loop.kind != LoopKind::joint || (shape != Shape::ball && shape != Shape::fixed)) {
        throw std::invalid_argument("loop '" + d.name + "': a driven one is closed by a ball or fixed joint");
      }
      loop.program = keep_program(d.function, 1, 24, d.name);
      timed_ = true;
    }
    row_paths_.insert(
        row_paths_.end(), d.independent.size(), mimic_ ? everything() : path_to_world(d.a, d.b));
    rows_ += loop.rows;
    loops_.push_back(loop);

    LoopConstants<double> c = {};
    std::copy(d.at_a, d.at_a + 12, c.at_a);
    std::copy(d.at_b, d.at_b + 12, c.at_b);
    to_engine_frame(d.a, c.at_a);
    to_engine_frame(d.b, c.at_b);
    const double* turn = closure_->view<double>().constants[k].alignment;
    align_pose(turn, c.at_b);
    if (loop.kind == LoopKind::joint) {
      align_pose(turn, c.at_a);
    } else if (loop.kind != LoopKind::distance) {  // z of A
      double axis[9];
      align_z(d.motion.axis, axis);
      align_pose(axis, c.at_a);
    }
    c.length = d.length;
    loop_start_.insert(loop_start_.end(), d.start.begin(), d.start.end());
    double_.loop_constants.push_back(c);
  }
  if (loop_start_.size() != static_cast<std::size_t>(loop_nq())) {
    throw std::invalid_argument("loops must have an initial value for every coordinate of their joints");
  }
}

/// The ancestors of a and b, including a and b.
SupportPath Model::path_to_world(int a, int b) {
  const auto first = static_cast<int>(paths_.size());
  while (a >= 0 || b >= 0) {
    const int next = std::max(a, b);
    paths_.push_back(next);
    const int parent = joints_[static_cast<std::size_t>(next)].parent;
    if (a == next) a = parent;
    if (b == next) b = parent;
  }
  return with_coordinates(first);
}

/// The body that the joint with the user's velocity v moves; −1 if there is none.
int Model::body_of(int v) const {
  for (int b = 0; b < nbodies(); ++b) {
    const Joint& joint = joints_[static_cast<std::size_t>(b)];
    if (joint.reduced_v >= 0 && joint.reduced_v <= v && v < joint.reduced_v + joint.nv) return b;
  }
  return -1;
}

SupportPath Model::everything() {
  const auto first = static_cast<int>(paths_.size());
  for (int b = nbodies() - 1; b >= 0; --b) paths_.push_back(b);
  return with_coordinates(first);
}

/// The support path of the bodies appended to the paths from `first` on, with their coordinates.
SupportPath Model::with_coordinates(int first) {
  const auto end = static_cast<int>(paths_.size());
  for (int n = first; n < end && !mimic_; ++n) {
    const Joint& joint = joints_[static_cast<std::size_t>(paths_[static_cast<std::size_t>(n)])];
    for (int k = joint.v + joint.nv - 1; k >= joint.v; --k) paths_.push_back(k);
  }
  for (int k = 0; k < reduced_nv_ && mimic_; ++k) paths_.push_back(k);
  return {first, end - first, end, static_cast<int>(paths_.size()) - end};
}

void Model::add_couplings(const std::vector<CouplingDescription>& couplings) {
  const auto keep = [this](const CouplingDescription& d, const std::vector<Term<double>>& terms) {
    for (const auto& t : terms) {
      if (t.q < 0 || t.q >= reduced_nq_ || t.v < 0 || t.v >= reduced_nv_) {
        throw std::invalid_argument("coupling '" + d.name + "': refers to a coordinate that does not exist");
      }
      double_.terms.push_back(t);
    }
    return static_cast<int>(double_.terms.size() - terms.size());
  };
  for (const auto& d : couplings) {
    Coupling<double> r = {rows_++, 0, static_cast<int>(d.terms.size()), -1, -1, 0, 0, d.work, d.offset};
    const bool timed = d.inputs.empty() && d.function && d.terms.size() == 1;
    row_paths_.push_back(timed && !mimic_ ? path_to_world(body_of(d.terms[0].v), -1) : everything());
    r.first_term = keep(d, d.terms);
    r.inputs = static_cast<int>(d.inputs.size());
    r.first_input = keep(d, d.inputs);
    if (r.inputs > 0) {
      r.program = keep_program(d.function, 2 * r.inputs, 2 + d.inputs.size(), d.name);
      r.derivative =
          keep_program(d.derivative, 3 * r.inputs, (2 + d.inputs.size()) * d.inputs.size(), d.name);
    } else if (d.function) {
      r.program = keep_program(d.function, 1, 3, d.name);
      timed_ = true;
    }
    double_.couplings.push_back(r);
    coupling_names_.push_back(d.name);
  }
}

void Model::find_row_blocks() {
  const auto end_of_path = [this](std::size_t row) {  // the rows of one loop have the same path
    std::size_t end = row + 1;
    while (end < row_paths_.size() && row_paths_[end].first == row_paths_[row].first) ++end;
    return end;
  };
  for (std::size_t row = 0; row < row_paths_.size(); row = end_of_path(row)) {
    for (std::size_t column = 0; column <= row; column = end_of_path(column)) {
      RowBlock block = {
          int(row), int(end_of_path(row)), int(column), int(end_of_path(column)), int(shared_.size()), 0};
      share(row_paths_[row], row_paths_[column]);
      block.runs = static_cast<int>(shared_.size()) - block.first;
      if (block.runs > 0 || column == row) row_blocks_.push_back(block);
    }
  }
}

/// Appends the coordinates on both paths, run by run; both are in descending order, or hold all coordinates.
void Model::share(const SupportPath& of_row, const SupportPath& of_column) {
  const std::size_t first = shared_.size();
  const int *const a = paths_.data() + of_row.first_v, *const b = paths_.data() + of_column.first_v;
  for (int m = 0, n = 0; m < of_row.nv && n < of_column.nv;) {
    const int here = a[m], there = b[n];
    if (here == there) {
      SharedRun* const last = shared_.size() > first ? &shared_.back() : nullptr;
      if (last != nullptr && last->in_row + last->count == m && last->in_column + last->count == n) {
        ++last->count;
      } else {
        shared_.push_back({m, n, 1});
      }
    }
    m += there <= here;
    n += here <= there;
  }
}

void Model::add_elements(const std::vector<ElementDescription>& elements) {
  for (const auto& d : elements) {
    if (std::min(d.a, d.b) < -1 || std::max(d.a, d.b) >= nbodies()) {
      throw std::invalid_argument("force '" + d.name + "': no such body");
    }
    Element<double> element = {d.kind, d.a, d.b, 0, 0, -1, -1, -1, 0, 0, {}, {}};
    std::copy(d.at_a, d.at_a + 12, element.at_a);
    std::copy(d.at_b, d.at_b + 12, element.at_b);
    to_engine_frame(d.a, element.at_a);
    to_engine_frame(d.b, element.at_b);
    int inputs = 18;
    std::size_t outputs = 6, derivatives = 6 + 72;
    if (d.kind == ElementKind::path) {
      add_path(d.name, d.points, element);
      inputs = 2;
      outputs = 1;
      derivatives = 3;
    } else if (d.kind == ElementKind::coordinates) {
      add_element_coordinates(d, element);
      inputs = 2 * element.count;
      outputs = d.coordinates.size();
      derivatives = 2 * outputs * outputs;
    }
    element.program = keep_program(d.program, inputs, outputs, d.name);
    element.derivative = keep_program(d.derivative, inputs, derivatives, d.name);
    if (d.energy) element.energy = keep_program(d.energy, inputs, 1, d.name);
    double_.elements.push_back(element);
    element_names_.push_back(d.name);
  }
}

void Model::add_path(const std::string& name,
                     const std::vector<PathPointDescription>& points,
                     Element<double>& element) {
  if (points.size() < 2) throw std::invalid_argument("force '" + name + "': a path needs two points");
  element.first = static_cast<int>(double_.path_points.size());
  element.count = static_cast<int>(points.size());
  if (points.front().kind != PathKind::point || points.back().kind != PathKind::point) {
    throw std::invalid_argument("force '" + name + "': an obstacle is not between two points");
  }
  int run = 0;  // obstacles since the last point
  for (std::size_t k = 0; k < points.size(); ++k) {
    run = points[k].kind == PathKind::point ? 0 : run + 1;
    const bool alone =
        run < 2 || (points[k].kind != PathKind::conditional && points[k - 1].kind != PathKind::conditional);
    if (!alone || run > tree::most_obstacles) {
      throw std::invalid_argument("force '" + name + "': too many obstacles between two points");
    }
    if (run > 0 || !points[k].coordinates.empty()) ++element.bends;
  }
  std::map<std::string, PathPoint<double>> moving;  // the first part at each moving point
  for (const PathPointDescription& d : points) {
    PathPoint<double> point = d;
    if (point.body < -1 || point.body >= nbodies()) {
      throw std::invalid_argument("force '" + name + "': no such body");
    }
    to_engine_frame(point.body, point.at);
    if (point.kind == PathKind::conditional) {
      if (point.q < 0 || point.q >= reduced_nq_) {
        throw std::invalid_argument("force '" + name + "': no such coordinate");
      }
      point.q = leading({point.q, -1}).q;
    }
    point.first = point.count = 0;
    point.program = point.derivative = -1;
    if (!d.coordinates.empty()) {
      if (point.kind != PathKind::point && point.kind != PathKind::conditional) {
        throw std::invalid_argument("force '" + name + "': what moves is no point");
      }
      const auto [same, is_new] = moving.try_emplace(place_as_bytes(d), point);
      if (is_new) set_motion(name, d, same->second);
      const PathPoint<double>& first = same->second;
      point.first = first.first, point.count = first.count;
      point.program = first.program, point.derivative = first.derivative;
    }
    element.slopes += point.count;
    double_.path_points.push_back(point);
  }
}

/// The coordinates of a moving point and its programs.
void Model::set_motion(const std::string& name, const PathPointDescription& d, PathPoint<double>& point) {
  const std::size_t n = d.coordinates.size();
  point.first = static_cast<int>(element_coordinates_.size());
  point.count = static_cast<int>(n);
  for (const ElementCoordinate& coordinate : d.coordinates) {
    if (coordinate.q < 0 || coordinate.q >= reduced_nq_ || coordinate.v < 0 || coordinate.v >= reduced_nv_) {
      throw std::invalid_argument("force '" + name + "': no such coordinate");
    }
    element_coordinates_.push_back(leading(coordinate));
  }
  point.program = keep_program(d.place, point.count, 3 + 3 * n, name);
  point.derivative = keep_program(d.slopes, point.count, 3 + 3 * n + 3 * n * n, name);
}

void Model::add_element_coordinates(const ElementDescription& d, Element<double>& element) {
  element.first = static_cast<int>(element_coordinates_.size());
  element.count = static_cast<int>(d.coordinates.size());
  for (const auto& coordinate : d.coordinates) {
    if (coordinate.q < -1 || coordinate.q >= reduced_nq_ || coordinate.v < 0 || coordinate.v >= reduced_nv_) {
      throw std::invalid_argument("force '" + d.name + "': no such coordinate");
    }
    element_coordinates_.push_back(leading(coordinate));
  }
}

void Model::add_port(const PortDescription& d) {
  if (std::min(d.a, d.b) < -1 || std::max(d.a, d.b) >= nbodies() || d.kind == ElementKind::coordinates) {
    throw std::invalid_argument("'" + d.name + "': no such body");
  }
  Element<double> port = {d.kind, d.a, d.b, 0, 0, -1, -1, -1, 0, 0, {}, {}};
  std::copy(d.at_a, d.at_a + 12, port.at_a);
  std::copy(d.at_b, d.at_b + 12, port.at_b);
  to_engine_frame(d.a, port.at_a);
  to_engine_frame(d.b, port.at_b);
  if (d.kind == ElementKind::path) add_path(d.name, d.points, port);
  double_.ports.push_back(port);
}

/// The coordinate of the tree whose joint has the user's coordinate of its own.
ElementCoordinate Model::leading(const ElementCoordinate& coordinate) const {
  ElementCoordinate leader = {-1, -1};
  for (const auto& joint : joints_) {
    if (joint.reduced_v < 0) continue;
    const int i = coordinate.v - joint.reduced_v, k = coordinate.q - joint.reduced_q;
    if (i >= 0 && i < joint.nv) leader.v = joint.v + i;
    if (coordinate.q >= 0 && k >= 0 && k < joint.nq) leader.q = joint.q + k;
  }
  return leader;
}

int Model::loop_nq() const {
  return closure_ ? closure_->model.nq() : 0;
}

}  // namespace pysim::tree
