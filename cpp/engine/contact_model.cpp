// Contacts of a model, read from their description.
#include "engine/contact_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "collision/manifold.hpp"
#include "tree/program_check.hpp"

namespace pysim::engine {

int law_numbers() {
  constraints::ContactLaw<double> law = {};
  int count = -1;  // the lever
  constraints::ContactLaw<double>::visit([&](auto&) { ++count; }, law);
  return count;
}

namespace {

/// Reads a law from a row: its numbers in the order of ContactLaw::visit, except the lever, which comes last
/// and follows from the shapes. The exponent stands for `hertz`.
struct LawRow {
  const double* next;
  const double* end;

  void operator()(double& number) { number = next < end ? *next++ : 0; }
  void operator()(bool& hertz) { hertz = *next++ != 1; }
};

using KindOfShapes = contact::PairTable::KindOfShapes;
constexpr int shape_kinds = collision::ShapeKinds::count;
constexpr std::size_t pairs_of_kinds = std::size_t{shape_kinds} * shape_kinds;

/// Kinds of pairs of shapes, by the kinds of both.
const std::array<KindOfShapes, pairs_of_kinds>& kinds_of_shapes() {
  static const auto known = [] {
    std::array<KindOfShapes, pairs_of_kinds> kinds = {};
    for (int i = 0; i < shape_kinds; ++i) {
      for (int j = 0; j < shape_kinds; ++j) {
        const char *a = collision::name_of(collision::ShapeKind{i}),
                   *b = collision::name_of(collision::ShapeKind{j});
        const bool swapped = i < j;
        kinds[static_cast<std::size_t>(shape_kinds * i + j)] = {
            swapped ? distance_pair(b, a) : distance_pair(a, b), swapped};
      }
    }
    return kinds;
  }();
  return known;
}

KindOfShapes kind_of_shapes(collision::ShapeKind a, collision::ShapeKind b) {
  return kinds_of_shapes()[static_cast<std::size_t>(shape_kinds * static_cast<int>(a) + static_cast<int>(b))];
}

/// Radius of a ball about a shape's origin that holds the shape [m].
double radius_of(const collision::Shape<double>& shape) {
  const auto norm = [](auto... x) { return std::hypot(x...); };
  return collision::visit_kind(shape.kind, [&](auto kind) { return kind.ball_radius(shape, norm); });
}

}  // namespace

ModelContacts::ModelContacts(const tree::Model& model, ContactDescription description)
    : model_(&model), description_(std::move(description)) {
  if (!(slip_speed() > 0)) {
    throw std::invalid_argument("slip_speed must be positive [m/s], got " + std::to_string(slip_speed()));
  }
  check_model();
  for (const ShapeDescription& shape : description_.shapes) read_shape(shape);
  for (const FieldDescription& field : fields()) {
    check_field(field);
    field_.push_back(&field_numbers_.emplace_back(field).field);
  }
  read_shape_numbers();
  read_pairs();
  read_joints();
  read_bounds();
  read_partners();
  if (pairs() > contact::most_listed_pairs) return;
  for (int k = 0; k < pairs(); ++k) {
    pairs_.push_back(pair(k));
    bounds_.emplace_back();
    pair_table_.read_bounds(k, bounds_.back());
  }
}

/// Bodies and fields of shapes.
void ModelContacts::read_shape_numbers() {
  const auto view = model_->view<double>();
  for (std::size_t k = 0; k < shapes_.size(); ++k) {
    const int body = description_.shapes[k].body, field = description_.shapes[k].field;
    if (field < -1 || field >= static_cast<int>(fields().size())) {
      throw std::invalid_argument("field_of_shape must be from -1 to " + std::to_string(fields().size() - 1) +
                                  ", got " + std::to_string(field));
    }
    int root = body;
    while (root >= 0 && view.joint[root].parent >= 0) root = view.joint[root].parent;
    const bool flies = root >= 0 && view.joint[root].shape == tree::Shape::free;
    shape_numbers_.push_back({body, -1, root, field, flies, shapes_[k].radius});
  }
}

/// A law with a plane or a velocity, on the axes of its body: rows of planes and laws, and the body.
ModelContacts::Table::Kind ModelContacts::kind_of_pair(const std::array<int, 3>& key) const {
  const auto at = [](int k) { return static_cast<std::size_t>(k); };
  const double *const plane = description_.planes.data() + 4 * at(key[0]),
                      *const surface = description_.surfaces.data() + 3 * at(key[0]),
                      *const law = description_.laws.data() + at(law_numbers()) * at(key[1]);
  Table::Kind kind = {};
  std::copy_n(plane, 3, kind.normal);
  kind.offset = plane[3];
  double placement[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, surface[0], surface[1], surface[2]};
  model_->to_engine_frame(key[2], placement);
  std::copy_n(placement + 9, 3, kind.surface);
  constraints::ContactLaw<double>::visit(LawRow{law, law + law_numbers()}, kind.law);
  return kind;
}

/// The table of pairs.
void ModelContacts::read_pairs() {
  const double* const surface = description_.surfaces.data();
  const std::size_t planes_count = std::min(description_.planes.size() / 4, description_.surfaces.size() / 3),
                    laws_count = description_.laws.size() / static_cast<std::size_t>(law_numbers());
  const auto at = [](int k) { return static_cast<std::size_t>(k); };
  table_.reserve(description_.pairs.size() + 1);
  std::map<std::array<int, 3>, int> known;
  std::array<int, 3> last = {-1, -1, -1};
  int kind = -1;
  std::vector<int> known_points(shapes_.size() + 1, -1);  // with the first shape of the last pair
  int first_known = -2;
  for (const std::array<int, 4>& row : description_.pairs) {
    const int a = row[0], b = row[1];
    check_pair(a, b);
    if (row[2] < 0 || at(row[2]) >= planes_count || row[3] < 0 || at(row[3]) >= laws_count) {
      throw std::invalid_argument("pairs must have rows of planes and of laws as their last indices");
    }
    const double* const moving = surface + 3 * at(row[2]);
    const bool moves = moving[0] != 0 || moving[1] != 0 || moving[2] != 0;
    const std::array<int, 3> key = {row[2], row[3], moves && a >= 0 ? shape_numbers_[at(a)].body : -1};
    if (key != last) {
      const auto [place, is_new] = known.try_emplace(key, static_cast<int>(kinds_.size()));
      last = key;
      kind = place->second;
      if (is_new) kinds_.push_back(kind_of_pair(key));
    }
    if (a != first_known) std::fill(known_points.begin(), known_points.end(), -1);
    first_known = a;
    int& points = known_points[at(b)];
    if (points < 0) points = points_of(a, b);
    table_.push_back({a, b, kind, points_});
    if (kinds_[at(kind)].law.resists_turning()) {
      turning_.resize(table_.size(), -1);
      turning_.back() = turning_points_;
      turning_points_ += points;
    }
    points_ += points;
    if (a >= 0 && shape_numbers_[at(a)].body >= 0) {
      ++moving_pairs_;
      stiff_ = stiff_ || is_stiff(a, b, kinds_[at(kind)].law);
    }
  }
  table_.push_back({-1, -1, -1, points_});
  if (turning_points_ > 0) turning_.resize(table_.size(), -1);
  pair_table_ = {table_.data(),
                 kinds_.data(),
                 turning_points_ > 0 ? turning_.data() : nullptr,
                 shapes_.data(),
                 shape_numbers_.data(),
                 kinds_of_shapes().data(),
                 field_.data()};
}

/// Whether a load of two shapes in a step of 5 ms can be some 500 times the mass of the lighter body, at
/// penetrations of 1 mm. Where they are much stiffer, floats lose what the mass contributes.
bool ModelContacts::is_stiff(int a, int b, const constraints::ContactLaw<double>& law) const {
  constexpr double step = 5e-3, penetration = 1e-3, most = 500;
  const auto view = model_->view<double>();
  const auto mass = [&](int shape) {
    return view.constants[shape_numbers_[static_cast<std::size_t>(shape)].body].inertia[0];
  };
  const double time = step + law.relaxation + law.dissipation * penetration;
  const double load = step * std::max(law.stiffness, law.tangential) * time;
  return law.hertz || !(load <= most * std::min(mass(a), mass(b)));
}

/// Contact points of two shapes.
int ModelContacts::points_of(int first, int second) const {
  const auto at = [](int k) { return static_cast<std::size_t>(k); };
  const collision::Shape<double>& b = shapes_[at(second)].shape;
  if (first < 0) return collision::plane_points(b.kind);
  const collision::Shape<double>& a = shapes_[at(first)].shape;
  const int of_second = shape_numbers_[at(second)].field, of_first = shape_numbers_[at(first)].field;
  if (of_second >= 0) return collision::field_points(*field_[at(of_second)], a);
  if (of_first >= 0) return collision::field_points(*field_[at(of_first)], b);
  return collision::manifold_points(kind_of_shapes(a.kind, b.kind).kind, a.kind, b.kind);
}

void ModelContacts::read_shape(const ShapeDescription& from) {
  if (from.body < -1 || from.body >= model_->nbodies()) {
    throw std::invalid_argument("bodies must be from -1 to " + std::to_string(model_->nbodies() - 1) +
                                ", got " + std::to_string(from.body));
  }
  Shape placed = {};
  placed.shape.kind = shape_kind(from.kind);
  std::copy_n(from.size, 3, placed.shape.size);
  std::copy_n(from.placement, 12, placed.placement);
  if (from.body >= 0) model_->to_engine_frame(from.body, placed.placement);
  set_mesh(from.vertices, from.faces, from.corners, from.vertex_groups, from.normal_groups, placed.shape);
  placed.shape.covered = from.covered;
  placed.radius = radius_of(placed.shape);
  shapes_.push_back(placed);
}

void ModelContacts::check_pair(int first, int second) const {
  const int shapes = static_cast<int>(shapes_.size());
  if (first < -1 || first >= shapes || second < 0 || second >= shapes) {
    throw std::invalid_argument("pairs must be of shapes from 0 to " + std::to_string(shapes - 1) +
                                ", the first −1 for a plane");
  }
  const auto at = [](int k) { return static_cast<std::size_t>(k); };
  if (shape_numbers_[at(second)].body < 0) {
    throw std::invalid_argument("the second shape of a pair must be on a body");
  }
  if (first < 0 || shape_numbers_[at(first)].field >= 0 || shape_numbers_[at(second)].field >= 0) return;
  for (const int k : {first, second}) {
    const auto& shape = shapes_[at(k)].shape;
    if (collision::is_mesh(shape.kind) && shape.faces == 0) {
      throw std::invalid_argument("a mesh that meets another shape must have faces");
    }
  }
}

void ModelContacts::set_work(const std::vector<int>& places) {
  const std::size_t count = static_cast<std::size_t>(pairs()) + coordinates_.size();
  const int states = model_->signals() == nullptr ? 0 : model_->signals()->states;
  const auto begin = places.begin(), end = places.end();
  const bool fits = places.size() == count &&
                    std::all_of(begin, begin + pairs(), [](int k) { return k >= 0; }) &&
                    std::all_of(begin, end, [=](int k) { return k >= -1 && k < states; });
  if (!fits) {
    throw std::invalid_argument("work must have " + std::to_string(count) + " places among the " +
                                std::to_string(states) + " states of signals");
  }
  work_ = places;
}

void ModelContacts::check_model() const {
  const auto view = model_->view<double>();
  bool wheels = false;
  for (int k = 0; k < view.loops; ++k) wheels = wheels || view.loop[k].kind == tree::LoopKind::wheel;
  const char* what = wheels ? "wheels" : view.callback_numbers > 0 ? "joints that Python computes" : nullptr;
  if (what == nullptr) return;
  throw std::invalid_argument(std::string("contacts do not support ") + what + " yet");
}

/// Laws of coordinates with limits or friction, and the joints' other forces.
void ModelContacts::read_joints() {
  const auto view = model_->view<double>();
  const double inf = std::numeric_limits<double>::infinity();
  smooth_.assign(view.passive, view.passive + view.nv);
  diagonal_.assign(static_cast<std::size_t>(view.nv), 0);
  single_.assign(static_cast<std::size_t>(view.bodies), 0);
  for (int b = 0; b < view.bodies; ++b) {
    const tree::Joint& joint = view.joint[b];
    bool bare = joint.shape == tree::Shape::free && joint.parent < 0 && joint.end == b + 1 &&
                view.constants[b].inertia[0] > 0;
    for (int k = 0; k < joint.blocks; ++k) {
      const tree::Block& block = joint.block[k];
      for (int i = 0; i < block.nv; ++i) {
        const int v = joint.v + block.v + i;
        const bool plain = block.group == tree::Group::real;
        auto& passive = smooth_[static_cast<std::size_t>(v)];
        bare = bare && passive.damping == 0 && passive.stiffness == 0 && view.armature[v] == 0;
        if (plain) diagonal_[static_cast<std::size_t>(v)] = passive.stiffness;
        const bool limited = plain && (passive.lower > -inf || passive.upper < inf);
        if (limited || passive.friction > 0) {
          coordinates_.push_back({v,
                                  limited ? joint.q + block.q + i : -1,
                                  passive.friction,
                                  passive.lower,
                                  passive.upper,
                                  passive.stop_stiffness,
                                  passive.stop_damping});
        }
        passive.friction = 0;
        passive.lower = -inf;
        passive.upper = inf;
      }
    }
    single_[static_cast<std::size_t>(b)] = bare ? 1 : 0;
  }
  for (int i = 0; i < view.rows; ++i) {  // bodies that constraints move are not single
    const tree::SupportPath& path = view.row_path[i];
    for (int k = path.first; k < path.first + path.count; ++k) {
      single_[static_cast<std::size_t>(view.path[k])] = 0;
    }
    if (view.mimic) std::fill(single_.begin(), single_.end(), 0);
    for (int m = path.first_v; !view.mimic && m < path.first_v + path.nv; ++m) {
      int b = 0;
      while (view.joint[b].v + view.joint[b].nv <= view.path[m]) ++b;
      single_[static_cast<std::size_t>(b)] = 0;
    }
  }
}

contact::Contacts<double> ModelContacts::view() const {
  static_assert(sizeof(bool) == 1);
  const bool are_few = pairs() <= contact::most_listed_pairs;
  return {pairs(),
          points_,
          static_cast<int>(coordinates_.size()),
          turning_points_,
          moving_pairs_,
          stiff_,
          are_few ? pairs_.data() : nullptr,
          coordinates_.data(),
          smooth_.data(),
          diagonal_.data(),
          reinterpret_cast<const bool*>(single_.data()),
          bounded_,
          static_cast<int>(rates_.size()),
          static_cast<int>(carriers_.size()),
          rates_.data(),
          carriers_.data(),
          are_few ? bounds_.data() : nullptr,
          tree_pairs_,
          static_cast<int>(balls_.size()),
          balls_.data(),
          levers_.data(),
          lever_.data(),
          partners_.empty() ? nullptr : partners_.data(),
          first_partner_.data(),
          plane_pairs_.data(),
          static_cast<int>(plane_pairs_.size()),
          &pair_table_};
}

}  // namespace pysim::engine
