// Bindings of contacts: descriptions of pairs, convex steps, distances of shapes.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>

#include "bindings/contacts.hpp"
#include "bindings/released_gil.hpp"
#include "bindings/stepping_arguments.hpp"
#include "collision/manifold.hpp"
#include "engine/contact_dispatch.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

constexpr const char* half_space = "half_space";

/// Names of the kinds of shapes.
std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (int k = 0; k < collision::ShapeKinds::count; ++k) {
    names.emplace_back(collision::name_of(collision::ShapeKind{k}));
  }
  return names;
}

collision::ShapeKind shape_kind(const std::string& name) {
  std::string known;
  int index = 0;
  for (const std::string& other : shape_names()) {
    if (name == other) return collision::ShapeKind{index};
    known += (index++ > 0 ? ", " : "") + other;
  }
  throw std::invalid_argument("shape '" + name + "' is unknown; choose one of " + known);
}

/// How the distance of shapes of two kinds is computed, with the first one named first.
collision::DistancePair distance_pair(const std::string& a, const std::string& b) {
  int index = 0;
  for (const auto& kinds : collision::closed_form_pairs) {
    if (a == kinds[0] && b == kinds[1]) return collision::DistancePair{index};
    ++index;
  }
  return collision::DistancePair::by_support;
}

/// Rows of numbers, one for each pair.
const double* rows_of(const Numbers& x,
                      const char* name,
                      std::size_t pairs,
                      std::initializer_list<py::ssize_t> row) {
  std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(pairs)};
  shape.insert(shape.end(), row.begin(), row.end());
  const bool fits =
      x.ndim() == static_cast<py::ssize_t>(shape.size()) && std::equal(shape.begin(), shape.end(), x.shape());
  if (!fits) {
    throw std::invalid_argument(std::string(name) + " must have shape " +
                                describe(static_cast<py::ssize_t>(shape.size()), shape.data()) + ", got " +
                                describe(x));
  }
  return x.data();
}

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
    std::array<KindOfShapes, pairs_of_kinds> found = {};
    for (int i = 0; i < shape_kinds; ++i) {
      for (int j = 0; j < shape_kinds; ++j) {
        const char *a = collision::name_of(collision::ShapeKind{i}),
                   *b = collision::name_of(collision::ShapeKind{j});
        const bool swapped = i < j;
        found[static_cast<std::size_t>(shape_kinds * i + j)] = {
            swapped ? distance_pair(b, a) : distance_pair(a, b), swapped};
      }
    }
    return found;
  }();
  return known;
}

KindOfShapes kind_of_shapes(collision::ShapeKind a, collision::ShapeKind b) {
  return kinds_of_shapes()[static_cast<std::size_t>(shape_kinds * static_cast<int>(a) + static_cast<int>(b))];
}

/// Numbers of a row.
int law_numbers() {
  constraints::ContactLaw<double> law = {};
  int count = -1;  // the lever
  constraints::ContactLaw<double>::visit([&](auto&) { ++count; }, law);
  return count;
}

/// Radius of a ball about a shape's origin that holds the shape [m].
double radius_of(const collision::Shape<double>& shape) {
  const auto norm = [](auto... x) { return std::hypot(x...); };
  return collision::visit_kind(shape.kind, [&](auto kind) { return kind.ball_radius(shape, norm); });
}

/// Counts of a mesh's vertices and faces; the arrays of other shapes are empty.
void read_mesh(const Numbers& vertices, const Numbers& faces, collision::Shape<double>& shape) {
  if (vertices.ndim() != 2 || vertices.shape(1) != 3) {
    throw std::invalid_argument("vertices must have shape (n, 3), got " + describe(vertices));
  }
  constexpr int numbers = collision::MeshFace::numbers;
  if (faces.ndim() != 2 || faces.shape(1) != numbers) {
    throw std::invalid_argument("faces must have shape (n, 7), got " + describe(faces));
  }
  if (collision::is_mesh(shape.kind) && vertices.shape(0) == 0) {
    throw std::invalid_argument("a mesh must have vertices");
  }
  const auto count = static_cast<double>(vertices.shape(0));
  for (py::ssize_t i = 0; i < faces.shape(0); ++i) {
    const double* corner = faces.data() + numbers * i + collision::MeshFace::corner;
    if (std::all_of(corner, corner + 4, [&](double v) { return v >= 0 && v < count; })) continue;
    throw std::invalid_argument("corners of faces must be vertices from 0 to " +
                                std::to_string(vertices.shape(0) - 1));
  }
  shape.vertices = static_cast<int>(vertices.shape(0));
  shape.faces = static_cast<int>(faces.shape(0));
}

/// Groups of a mesh's points, see collision::PointGroup.
collision::PointGroups<double> read_groups(const Numbers& groups, int points) {
  using Group = collision::PointGroup;
  if (groups.ndim() != 2 || groups.shape(1) != Group::numbers) {
    throw std::invalid_argument("groups must have shape (n, 6), got " + describe(groups));
  }
  double sum = 0;
  for (py::ssize_t i = 0; i < groups.shape(0); ++i) {
    const double* own = groups.data() + Group::numbers * i;
    if (own[Group::first] != sum || !(own[Group::count] >= 1)) sum = points + 1;
    sum += own[Group::count];
  }
  if (sum != points) throw std::invalid_argument("groups must have all points, one after the other");
  return {static_cast<int>(groups.shape(0)), groups.data()};
}

/// A 4×4 matrix as rotation column-major, position.
void pack(const double* X, double pose[12]) {
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 3; ++i) pose[3 * j + i] = X[4 * i + j];
  }
}

FieldDescription make_field(std::optional<tree::ProgramDescription> program,
                            const std::optional<Numbers>& heights,
                            std::pair<double, double> spacing) {
  if (program.has_value() == heights.has_value()) {
    throw std::invalid_argument("a field has either a program or heights");
  }
  FieldDescription field;
  if (program) {
    if (program->outputs.size() != 4) {
      throw std::invalid_argument("program must have 4 outputs, got " +
                                  std::to_string(program->outputs.size()));
    }
    if (program->registers > collision::most_field_registers) {
      throw std::invalid_argument("program must have " + std::to_string(collision::most_field_registers) +
                                  " registers or fewer, got " + std::to_string(program->registers));
    }
    field.program = std::move(program);
    return field;
  }
  if (heights->ndim() != 2 || heights->shape(0) < 2 || heights->shape(1) < 2) {
    throw std::invalid_argument("heights must have shape (rows, columns), 2 or more of each, got " +
                                describe(*heights));
  }
  if (!(spacing.first > 0) || !(spacing.second > 0)) {
    throw std::invalid_argument("spacing must be positive [m]");
  }
  field.heights.assign(heights->data(), heights->data() + heights->size());
  field.rows = static_cast<int>(heights->shape(0));
  field.columns = static_cast<int>(heights->shape(1));
  field.spacing[0] = spacing.first;
  field.spacing[1] = spacing.second;
  return field;
}

}  // namespace

template <class Real>
FieldNumbers<Real>::FieldNumbers(const FieldDescription& from) {
  const auto numbers = [](const std::vector<double>& x) {
    std::vector<Real> found(x.size());
    std::transform(x.begin(), x.end(), found.begin(), [](double y) { return static_cast<Real>(y); });
    return found;
  };
  if (from.program) {
    const tree::ProgramDescription& p = *from.program;
    constants = numbers(p.constants);
    tables = numbers(p.tables);
    field.program = {p.code.data(),
                     p.pose_end,
                     static_cast<int>(p.code.size()),
                     p.registers,
                     static_cast<int>(constants.size()),
                     static_cast<int>(tables.size()),
                     constants.data(),
                     tables.data(),
                     p.outputs.data()};
    return;
  }
  heights = numbers(from.heights);
  const auto size = [&](int i) { return from.spacing[i]; };
  double highest = from.heights.front(), steepest = 0;
  for (int j = 0; j < from.rows; ++j) {
    for (int i = 0; i < from.columns; ++i) {
      const double* const h = from.heights.data() + std::ptrdiff_t{j} * from.columns + i;
      highest = std::max(highest, *h);
      const double x = i + 1 < from.columns ? (h[1] - h[0]) / size(0) : 0;
      const double y = j + 1 < from.rows ? (h[from.columns] - h[0]) / size(1) : 0;
      steepest = std::max({steepest, std::abs(x), std::abs(y)});
    }
  }
  field.grid = {from.columns,
                from.rows,
                {static_cast<Real>(size(0)), static_cast<Real>(size(1))},
                static_cast<Real>(highest),
                static_cast<Real>(std::sqrt(1 + 2 * steepest * steepest)),
                heights.data()};
}

template struct FieldNumbers<double>;
template struct FieldNumbers<float>;

ModelContacts::ModelContacts(const Model& model,
                             const std::vector<int>& bodies,
                             const std::vector<std::string>& kinds,
                             const Numbers& sizes,
                             const Numbers& placements,
                             const std::vector<Numbers>& vertices,
                             const std::vector<Numbers>& faces,
                             const std::vector<std::pair<Numbers, Numbers>>& groups,
                             const Columns& pairs,
                             const Numbers& planes,
                             const Numbers& surfaces,
                             const Numbers& laws,
                             double slip_speed,
                             std::vector<FieldDescription> fields,
                             const std::vector<int>& field_of_shape)
    : model_(&model), slip_speed_(slip_speed), fields_(std::move(fields)) {
  if (!(slip_speed > 0)) {
    throw std::invalid_argument("slip_speed must be positive [m/s], got " + std::to_string(slip_speed));
  }
  check_model();
  read_shapes(bodies, kinds, sizes, placements, vertices, faces, groups);
  for (const FieldDescription& field : fields_) field_.push_back(&field_numbers_.emplace_back(field).field);
  read_shape_numbers(bodies, field_of_shape);
  read_pairs(pairs, planes, surfaces, laws);
  read_joints();
  read_bounds();
  read_partners();
  if (this->pairs() > contact::most_listed_pairs) return;
  for (int k = 0; k < this->pairs(); ++k) {
    pairs_.push_back(pair(k));
    bounds_.emplace_back();
    pair_table_.read_bounds(k, bounds_.back());
  }
}

/// Bodies and fields of shapes.
void ModelContacts::read_shape_numbers(const std::vector<int>& bodies,
                                       const std::vector<int>& field_of_shape) {
  if (!field_of_shape.empty() && field_of_shape.size() != bodies.size()) {
    throw std::invalid_argument("field_of_shape must have " + std::to_string(bodies.size()) +
                                " entries, or none");
  }
  const auto view = model_->view<double>();
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    const int field = field_of_shape.empty() ? -1 : field_of_shape[k];
    if (field < -1 || field >= static_cast<int>(fields_.size())) {
      throw std::invalid_argument("field_of_shape must be from -1 to " + std::to_string(fields_.size() - 1) +
                                  ", got " + std::to_string(field));
    }
    int root = bodies[k];
    while (root >= 0 && view.joint[root].parent >= 0) root = view.joint[root].parent;
    const bool flies = root >= 0 && view.joint[root].shape == tree::Shape::free;
    shape_numbers_.push_back({bodies[k], -1, root, field, flies, shapes_[k].radius});
  }
}

/// The table of pairs. A kind is a law with a plane or a velocity, on the axes of its body.
void ModelContacts::read_pairs(const Columns& pairs,
                               const Numbers& planes,
                               const Numbers& surfaces,
                               const Numbers& laws) {
  if (pairs.ndim() != 2 || pairs.shape(1) != 4) {
    throw std::invalid_argument("pairs must have shape (n, 4), got " + describe(pairs));
  }
  const std::size_t planes_count = planes.ndim() == 2 ? static_cast<std::size_t>(planes.shape(0)) : 0;
  const std::size_t laws_count = laws.ndim() == 2 ? static_cast<std::size_t>(laws.shape(0)) : 0;
  const double* plane = rows_of(planes, "planes", planes_count, {4});
  const double* surface = rows_of(surfaces, "surfaces", planes_count, {3});
  const int numbers = law_numbers();
  const double* law = rows_of(laws, "laws", laws_count, {numbers});
  const auto at = [](int k) { return static_cast<std::size_t>(k); };
  const py::ssize_t n = pairs.shape(0);
  table_.reserve(static_cast<std::size_t>(n) + 1);
  std::map<std::array<int, 3>, int> known;
  std::array<int, 3> last = {-1, -1, -1};
  int kind = -1;
  std::vector<int> known_points(shapes_.size() + 1, -1);  // with the first shape of the last pair
  int first_known = -2;
  for (py::ssize_t k = 0; k < n; ++k) {
    const int* const row = pairs.data() + 4 * k;
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
      if (is_new) {
        Table::Kind own = {};
        std::copy_n(plane + 4 * at(row[2]), 3, own.normal);
        own.offset = plane[4 * at(row[2]) + 3];
        double moved[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, moving[0], moving[1], moving[2]};
        model_->to_engine_frame(key[2], moved);
        std::copy_n(moved + 9, 3, own.surface);
        const double* from = law + at(numbers) * at(row[3]);
        constraints::ContactLaw<double>::visit(LawRow{from, from + numbers}, own.law);
        kinds_.push_back(own);
      }
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
    moving_pairs_ += a >= 0 && shape_numbers_[at(a)].body >= 0 ? 1 : 0;
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

void ModelContacts::read_shapes(const std::vector<int>& bodies,
                                const std::vector<std::string>& kinds,
                                const Numbers& sizes,
                                const Numbers& placements,
                                const std::vector<Numbers>& vertices,
                                const std::vector<Numbers>& faces,
                                const std::vector<std::pair<Numbers, Numbers>>& groups) {
  const std::size_t n = bodies.size();
  const double* size = rows_of(sizes, "sizes", n, {3});
  const double* placement = rows_of(placements, "placements", n, {4, 4});
  if (kinds.size() != n || vertices.size() != n || faces.size() != n || groups.size() != n) {
    throw std::invalid_argument("kinds, vertices, faces and groups must have " + std::to_string(n) +
                                " entries");
  }
  for (std::size_t k = 0; k < n; ++k) {
    if (bodies[k] < -1 || bodies[k] >= model_->nbodies()) {
      throw std::invalid_argument("bodies must be from -1 to " + std::to_string(model_->nbodies() - 1) +
                                  ", got " + std::to_string(bodies[k]));
    }
    Shape own = {};
    own.shape.kind = shape_kind(kinds[k]);
    std::copy_n(size + 3 * k, 3, own.shape.size);
    read_mesh(vertices[k], faces[k], own.shape);
    vertices_.emplace_back(vertices[k].data(), vertices[k].data() + vertices[k].size());
    faces_.emplace_back(faces[k].data(), faces[k].data() + faces[k].size());
    const Numbers &of_vertices = groups[k].first, &of_normals = groups[k].second;
    own.shape.of_vertices = read_groups(of_vertices, own.shape.vertices);
    own.shape.of_normals = read_groups(of_normals, own.shape.faces);
    vertex_groups_.emplace_back(of_vertices.data(), of_vertices.data() + of_vertices.size());
    normal_groups_.emplace_back(of_normals.data(), of_normals.data() + of_normals.size());
    pack(placement + 16 * k, own.placement);
    if (bodies[k] >= 0) model_->to_engine_frame(bodies[k], own.placement);
    shapes_.push_back(own);
  }
  for (std::size_t k = 0; k < n; ++k) {
    shapes_[k].shape.vertex = vertices_[k].data();
    shapes_[k].shape.face = faces_[k].data();
    shapes_[k].shape.of_vertices.group = vertex_groups_[k].data();
    shapes_[k].shape.of_normals.group = normal_groups_[k].data();
    shapes_[k].radius = radius_of(shapes_[k].shape);
  }
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
    const auto& own = shapes_[at(k)].shape;
    if (collision::is_mesh(own.kind) && own.faces == 0) {
      throw std::invalid_argument("a mesh that meets another shape must have faces");
    }
  }
}

void ModelContacts::set_work(const Integers& places) {
  const py::ssize_t count = pairs() + static_cast<py::ssize_t>(coordinates_.size());
  const int states = model_->signals() == nullptr ? 0 : model_->signals()->states;
  const int *const begin = places.data(), *const end = begin + places.size();
  const bool fits = places.size() == count &&
                    std::all_of(begin, begin + pairs(), [](int k) { return k >= 0; }) &&
                    std::all_of(begin, end, [=](int k) { return k >= -1 && k < states; });
  if (!fits) {
    throw std::invalid_argument("work must have " + std::to_string(count) + " places among the " +
                                std::to_string(states) + " states of signals");
  }
  work_.assign(begin, end);
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
        auto& own = smooth_[static_cast<std::size_t>(v)];
        bare = bare && own.damping == 0 && own.stiffness == 0 && view.armature[v] == 0;
        if (plain) diagonal_[static_cast<std::size_t>(v)] = own.stiffness;
        const bool limited = plain && (own.lower > -inf || own.upper < inf);
        if (limited || own.friction > 0) {
          coordinates_.push_back({v,
                                  limited ? joint.q + block.q + i : -1,
                                  own.friction,
                                  own.lower,
                                  own.upper,
                                  own.stop_stiffness,
                                  own.stop_damping});
        }
        own.friction = 0;
        own.lower = -inf;
        own.upper = inf;
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

/// Index of the ball about a shape, among those of the bodies from the world on.
int ModelContacts::add_ball(int body, const Shape& own, std::vector<std::vector<int>>& balls_of_body) {
  const double* p = own.placement + 9;
  const auto same = [&](int k) {
    const contact::Ball<double>& ball = balls_[static_cast<std::size_t>(k)];
    return ball.radius == own.radius && std::equal(p, p + 3, ball.centre);
  };
  std::vector<int>& known = balls_of_body[static_cast<std::size_t>(body + 1)];
  const auto at = std::find_if(known.begin(), known.end(), same);
  if (at != known.end()) return *at;
  known.push_back(static_cast<int>(balls_.size()));
  balls_.push_back({body, {p[0], p[1], p[2]}, own.radius});
  return known.back();
}

/// Balls about shapes, and levers of the bodies that have them.
void ModelContacts::read_bounds() {
  const auto view = model_->view<double>();
  std::vector<std::vector<int>> balls_of_body(static_cast<std::size_t>(view.bodies) + 1);
  const auto place_ball = [&](int k) {
    const auto at = static_cast<std::size_t>(k);
    Table::ShapeNumbers& own = shape_numbers_[at];
    if (own.ball < 0) own.ball = add_ball(own.body, shapes_[at], balls_of_body);
  };
  for (int k = 0; k < pairs(); ++k) {
    const Table::Pair& own = table_[static_cast<std::size_t>(k)];
    if (own.a >= 0) place_ball(own.a);
    place_ball(own.b);
    if (own.a < 0) continue;
    const auto &a = shape_numbers_[static_cast<std::size_t>(own.a)],
               &b = shape_numbers_[static_cast<std::size_t>(own.b)];
    own_pairs_ += a.body >= 0 && a.root == b.root ? 1 : 0;
  }
  std::vector<double> extents(static_cast<std::size_t>(view.bodies), -1);
  for (const contact::Ball<double>& ball : balls_) {
    if (ball.body < 0) continue;
    double& extent = extents[static_cast<std::size_t>(ball.body)];
    const double* p = ball.centre;
    extent = std::max(extent, std::hypot(p[0], p[1], p[2]) + ball.radius);
  }
  rate_of_.assign(static_cast<std::size_t>(view.nv), -1);
  bounded_ = view.rows == 0 && !view.mimic;  // projections move coordinates by more than their velocities
  for (int b = 0; b < view.bodies && bounded_; ++b) {
    const double extent = extents[static_cast<std::size_t>(b)];
    if (extent >= 0) bounded_ = add_levers(b, extent);
  }
}

/// Lists pairs by their balls, if there are many.
void ModelContacts::read_partners() {
  if (pairs() <= contact::most_listed_pairs) return;
  const auto at = [](int k) { return static_cast<std::size_t>(k); };
  const auto ball_of = [&](int shape) { return shape_numbers_[at(shape)].ball; };
  const auto earlier = [&](const Table::Pair& own) { return std::min(ball_of(own.a), ball_of(own.b)); };
  first_partner_.assign(balls_.size() + 1, 0);
  for (int k = 0; k < pairs(); ++k) {
    const Table::Pair& own = table_[at(k)];
    if (own.a < 0) {
      plane_pairs_.push_back(k);
    } else {
      ++first_partner_[at(earlier(own)) + 1];
    }
  }
  std::partial_sum(first_partner_.begin(), first_partner_.end(), first_partner_.begin());
  partners_.resize(at(first_partner_.back()));
  std::vector<int> next(first_partner_.begin(), first_partner_.end() - 1);
  for (int k = 0; k < pairs(); ++k) {
    const Table::Pair& own = table_[at(k)];
    if (own.a >= 0) partners_[at(next[at(earlier(own))]++)] = k;
  }
  const auto precedes = [&](int i, int j) { return pair_table_.later_ball(i) < pair_table_.later_ball(j); };
  for (std::size_t n = 0; n < balls_.size(); ++n) {
    const auto begin = partners_.begin() + first_partner_[n], end = partners_.begin() + first_partner_[n + 1];
    if (!std::is_sorted(begin, end, precedes)) std::stable_sort(begin, end, precedes);
  }
}

/// Adds the levers of a body whose shapes reach as far as `extent` from its origin; false if a joint's motion
/// has no bound of this form.
bool ModelContacts::add_levers(int body, double extent) {
  const auto view = model_->view<double>();
  contact::Levers own = {static_cast<int>(lever_.size()), 0, 0};
  bool slides = false;  // below the joint in question, so that levers grow
  const auto add = [&](int v, int count, double length) {
    int& index = rate_of_[static_cast<std::size_t>(v)];
    if (index < 0) {
      index = static_cast<int>(rates_.size());
      rates_.push_back({v, count});
    }
    lever_.push_back({index, length});
  };
  for (int b = body; b >= 0; b = view.joint[b].parent) {
    const tree::Joint& joint = view.joint[b];
    const bool is_root = joint.parent < 0 && joint.shape == tree::Shape::free;
    if (is_root) own.root = static_cast<int>(lever_.size());
    switch (joint.shape) {
      case tree::Shape::prismatic:
        add(joint.v, 1, 1);
        slides = true;
        break;
      case tree::Shape::translation:
        add(joint.v, 3, 1);
        slides = true;
        break;
      case tree::Shape::revolute:
        if (slides) return false;
        add(joint.v, 1, extent);
        break;
      case tree::Shape::universal:
        if (slides) return false;
        add(joint.v, 1, extent);
        add(joint.v + 1, 1, extent);
        break;
      case tree::Shape::ball:
        if (slides) return false;
        add(joint.v, 3, extent);
        break;
      case tree::Shape::free: {
        if (slides || !is_root) return false;
        const double* inertia = view.constants[b].inertia;  // a single body rotates about its centre of mass
        const double c = inertia[0] > 0 ? std::hypot(inertia[1], inertia[2], inertia[3]) / inertia[0] : 0;
        add(joint.v, 3, 1);
        add(joint.v + 3, 3, extent + 2 * c);
        break;
      }
      default:
        return false;
    }
    const double* at = view.constants[b].placement + 9;
    extent += std::hypot(at[0], at[1], at[2]);
    if (joint.parent < 0 && !is_root) own.root = static_cast<int>(lever_.size());
  }
  own.end = static_cast<int>(lever_.size());
  carriers_.push_back(body);
  levers_.push_back(own);
  return true;
}

contact::Contacts<double> ModelContacts::view() const {
  static_assert(sizeof(bool) == 1);
  const bool are_few = pairs() <= contact::most_listed_pairs;
  return {pairs(),
          points_,
          static_cast<int>(coordinates_.size()),
          turning_points_,
          moving_pairs_,
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
          own_pairs_,
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

/// Contact points of the smooth law at states (…, points, 18): those that push, or nearer than `reach` [m].
static py::array contact_points(
    const ModelContacts& contacts, py::handle q, py::handle v, std::optional<double> reach, int threads) {
  Call<double> call(contacts.model(), q);
  call.set_v(v);
  check_threads(threads);
  const SmoothLaw smooth(&contacts);
  py::array report =
      make_output<double>(call.leading(), {contacts.points(), contact::ContactReport::numbers});
  engine::ContactBatch batch = {call.batch(), {}, &smooth.law()};
  batch.contacts.report = numbers<double>(report);
  if (reach) {
    if (!(*reach >= 0)) {
      throw std::invalid_argument("reach must not be negative [m], got " + std::to_string(*reach));
    }
    batch.reach = *reach;
  }
  {
    const ReleasedGil nogil;
    engine::run_contacts(&engine::ContactKernels::report, contacts.model(), batch, threads);
  }
  return report;
}

/// Generalised forces of the smooth law at states (…, nv), and their derivatives by q and v (…, nv, nv).
static py::tuple contact_forces(const ModelContacts& contacts, py::handle q, py::handle v) {
  const Model& model = contacts.model();
  Call<double> call(model, q);
  call.set_v(v);
  const SmoothLaw smooth(&contacts);
  py::array tau = make_output<double>(call.leading(), {model.nv()}),
            by_q = make_output<double>(call.leading(), {model.nv(), model.nv()}),
            by_v = make_output<double>(call.leading(), {model.nv(), model.nv()});
  engine::ContactBatch batch = {call.batch(), {}};
  batch.contact_forces = smooth.forces();
  batch.out = numbers<double>(tau);
  batch.derivative[0] = numbers<double>(by_q);
  batch.derivative[1] = numbers<double>(by_v);
  engine::run_contacts(&engine::ContactKernels::slopes, model, batch, 1);
  return py::make_tuple(tau, by_q, by_v);
}

/// Damping and stiffness of actuators (…, nv) that a convex step is implicit in.
static py::tuple actuator_damping(const ModelContacts& contacts,
                                  py::handle q,
                                  py::handle v,
                                  const std::optional<SignalNumbers::Array>& signals,
                                  const Actuation& actuation,
                                  double step) {
  const Model& model = contacts.model();
  Call<double> call(model, q);
  call.set_v(v);
  py::array d = make_output<double>(call.leading(), {model.nv()}),
            k = make_output<double>(call.leading(), {model.nv()});
  const stepping::Actuation forces = actuation.view(model);
  engine::ContactBatch batch = {call.batch(), {}};
  SignalNumbers signal_numbers(signals, model, call.leading().states);
  batch.actuation = &forces;
  batch.signals = signal_numbers.data();
  batch.time = 0;
  batch.step = step;
  batch.derivative[0] = numbers<double>(d);
  batch.derivative[1] = numbers<double>(k);
  engine::run_contacts(&engine::ContactKernels::damping, model, batch, 1);
  return py::make_tuple(d, k);
}

/// Signed distances of shapes of two kinds, row by row.
static py::array_t<double> distances(const std::string& kind_a,
                                     const std::string& kind_b,
                                     const Numbers& a,
                                     const Numbers& b,
                                     const std::array<Numbers, 4>& mesh_a,
                                     const std::array<Numbers, 4>& mesh_b) {
  const auto shape = [](const std::string& kind, const std::array<Numbers, 4>& mesh) {
    collision::Shape<double> own = {};
    if (kind != half_space) own.kind = shape_kind(kind);
    read_mesh(mesh[0], mesh[1], own);
    own.vertex = mesh[0].data();
    own.face = mesh[1].data();
    own.of_vertices = read_groups(mesh[2], own.vertices);
    own.of_normals = read_groups(mesh[3], own.faces);
    return own;
  };
  const auto own_a = shape(kind_a, mesh_a), own_b = shape(kind_b, mesh_b);
  const bool is_half_space = kind_a == half_space;
  if (kind_b == half_space || (!is_half_space && own_a.kind < own_b.kind)) {
    throw std::invalid_argument("'" + kind_a + "' and '" + kind_b + "' are no pair of distance_pairs");
  }
  const auto pair = is_half_space ? collision::DistancePair::half_space : distance_pair(kind_a, kind_b);
  using Map = engine::DistanceMap;
  const py::ssize_t rows = a.ndim() == 2 ? a.shape(0) : 0;
  for (const auto* x : {&a, &b}) {
    if (x->ndim() == 2 && x->shape(0) == rows && x->shape(1) == Map::in) continue;
    throw std::invalid_argument("rows must have shape (" + std::to_string(rows) + ", " +
                                std::to_string(Map::in) + "), got " + describe(*x));
  }
  py::array_t<double> found({rows, py::ssize_t{Map::out}});
  const double *first = a.data(), *second = b.data();
  double* out = found.mutable_data();
  {
    const ReleasedGil nogil;
    engine::distance_map().run(static_cast<int>(pair), own_a, own_b, first, second, out, rows);
  }
  return found;
}

void bind_contacts(py::module_& m) {
  m.def("distance_pairs", [] {
    std::vector<std::pair<std::string, std::string>> pairs;
    const std::vector<std::string> kinds = shape_names();
    for (auto a = kinds.begin(); a != kinds.end(); ++a) {
      for (auto b = kinds.begin(); b <= a; ++b) pairs.emplace_back(*a, *b);
    }
    for (const std::string& b : kinds) pairs.emplace_back(half_space, b);
    return pairs;
  });
  m.def("closed_form_pairs", [] {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& kinds : collision::closed_form_pairs) pairs.emplace_back(kinds[0], kinds[1]);
    return pairs;
  });
  m.def("distances",
        &distances,
        "kind_a"_a,
        "kind_b"_a,
        "a"_a,
        "b"_a,
        "mesh_a"_a,
        "mesh_b"_a,
        "Signed distances of shapes of two kinds, see distance_pairs: rows (n, 15) are sizes (3) as of "
        "Contacts and a pose as rotation column-major and position, mesh_a and mesh_b vertices, faces and "
        "groups as "
        "of Contacts. Returns rows (n, 10): distance [m], unit normal from a to b, and the nearest points on "
        "a and b.");
  py::class_<FieldDescription>(
      m,
      "Field",
      "Signed-distance field: `program` computes d [m] and ∇d from a point (3), or "
      "`heights` (rows along y, columns along x) [m] are those at the nodes of a grid with "
      "a `spacing` along x and y [m], centred at the origin.")
      .def(py::init(&make_field),
           "program"_a = py::none(),
           "heights"_a = py::none(),
           "spacing"_a = std::pair(0.0, 0.0));
  py::class_<ModelContacts>(
      m,
      "Contacts",
      "Contacts of a model. Shapes: `bodies` (−1 for the world), `kinds`, `sizes` (n, 3) [m], `placements` "
      "(n, 4, 4) in the body frames [m], `vertices` (v, 3) [m] and `faces` (f, 7) of convex meshes, which "
      "are "
      "outward normals and the vertices of four corners, `groups` of vertices and of normals (g, 6): centre "
      "and "
      "radius of a ball, first and count. `pairs` (m, 4) are indices: the first shape, −1 for a plane that "
      "is "
      "fixed to the world, and the second one, then rows of `planes` and `surfaces`, and of `laws`. `planes` "
      "(k, 4) are normal and offset, `surfaces` (k, 3) velocities of the first surface in its body's frame "
      "[m/s], and `laws` (l, 9) stiffness [N/m or N/m^1.5], exponent, dissipation [s/m], static and dynamic "
      "friction, tangential stiffness [N/m], relaxation time [s], and lengths of rolling and spinning "
      "friction "
      "[m]. slip_speed [m/s] regularises the friction of schemes that integrate contacts as smooth forces. "
      "`field_of_shape` are indices among `fields`, −1 for none: such a shape is a sphere about the origin "
      "of "
      "the field's frame that holds the solid.")
      .def(py::init<const Model&,
                    const std::vector<int>&,
                    const std::vector<std::string>&,
                    const Numbers&,
                    const Numbers&,
                    const std::vector<Numbers>&,
                    const std::vector<Numbers>&,
                    const std::vector<std::pair<Numbers, Numbers>>&,
                    const ModelContacts::Columns&,
                    const Numbers&,
                    const Numbers&,
                    const Numbers&,
                    double,
                    std::vector<FieldDescription>,
                    const std::vector<int>&>(),
           py::keep_alive<1, 2>(),
           "model"_a,
           "bodies"_a,
           "kinds"_a,
           "sizes"_a,
           "placements"_a,
           "vertices"_a,
           "faces"_a,
           "groups"_a,
           "pairs"_a,
           "planes"_a,
           "surfaces"_a,
           "laws"_a,
           "slip_speed"_a = 0.01,
           "fields"_a = std::vector<FieldDescription>(),
           "field_of_shape"_a = std::vector<int>())
      .def_property_readonly("points", &ModelContacts::points, "Contact points of all pairs.")
      .def_property_readonly(
          "pair_of_point",
          [](const ModelContacts& contacts) {
            py::array_t<int> pair(contacts.points());
            int* to = pair.mutable_data();
            for (int k = 0; k < contacts.pairs(); ++k) to = std::fill_n(to, contacts.points_of_pair(k), k);
            return pair;
          },
          "Index of the pair of every contact point (points,).")
      .def("gaps",
           &ModelContacts::gaps,
           "pair"_a,
           "Number of gaps of a pair that are continuous functions of the state, see EventDescription.gap.")
      .def(
          "set_work",
          &ModelContacts::set_work,
          "places"_a,
          "Lets runs with signals add the work [J] of every pair of shapes to the states of signals at these "
          "places, and then that of every one of law_coordinates in convex steps, at −1 for none.")
      .def_property_readonly(
          "law_coordinates",
          [](const ModelContacts& contacts) {
            const auto view = contacts.view();
            std::vector<int> found;
            for (int k = 0; k < view.coordinates; ++k) found.push_back(view.coordinate[k].v);
            return found;
          },
          "Velocities of the tree whose limits or dry friction convex steps compute.")
      .def_property_readonly(
          "memory_numbers",
          [](const ModelContacts& contacts) { return contacts.memory().numbers(); },
          "Numbers that a state keeps from step to step: Newton iterations, steps made again in halves, the "
          "point that "
          "converged worst, 1 where the last step failed, 0 where nothing touches, and what contacts "
          "remember.");
  m.def(
      "contact_forces",
      &contact_forces,
      "contacts"_a,
      "q"_a,
      "v"_a,
      "Returns the generalised forces (…, nv) of the smooth law at states, and their derivatives by q and v "
      "(…, nv, nv), with contact points fixed on the second body and normals on the first.");
  m.def("actuator_damping",
        &actuator_damping,
        "contacts"_a,
        "q"_a,
        "v"_a,
        "signals"_a.noconvert(),
        "actuation"_a,
        "step"_a,
        "Returns the damping and the stiffness (…, nv) of actuators on their own coordinates at states at "
        "t = 0, in which a convex step [s] is implicit.");
  m.def(
      "contact_points",
      &contact_points,
      "contacts"_a,
      "q"_a,
      "v"_a,
      py::kw_only(),
      "reach"_a = py::none(),
      "threads"_a = 1,
      "Returns the reports of contact points (…, points, 18) at states under the smooth law, without "
      "impulses: "
      "force on the body (3) [N], point (3) [m], penetration [m], slip speed [m/s], 1 where it sticks, "
      "impulse "
      "(3) [N·s], normal (3) towards the second body, and moment on it (3) [N·m]. A point sticks if it slips "
      "slower than slip_speed. With a reach [m], points are those whose gap is not larger, whether they push "
      "or "
      "not.");
}

}  // namespace pysim::bindings
