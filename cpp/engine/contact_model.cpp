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

/// Radius of a ball about a shape's origin that holds the shape [m].
double radius_of(const collision::Shape<double>& shape) {
  const auto norm = [](auto... x) { return std::hypot(x...); };
  return collision::visit_kind(shape.kind, [&](auto kind) { return kind.ball_radius(shape, norm); });
}

/// Counts of a mesh's vertices, faces and their corners; the arrays of other shapes are empty.
void read_mesh(const std::vector<double>& vertices,
               const std::vector<double>& faces,
               const std::vector<double>& corners,
               collision::Shape<double>& shape) {
  using Face = collision::MeshFace;
  constexpr int numbers = Face::numbers;
  const std::size_t vertex_count = vertices.size() / 3, face_count = faces.size() / numbers;
  if (collision::is_mesh(shape.kind) && vertex_count == 0) {
    throw std::invalid_argument("a mesh must have vertices");
  }
  const auto is_vertex = [count = static_cast<double>(vertex_count)](double v) {
    return v >= 0 && v < count;
  };
  const auto not_a_vertex = [&] {
    throw std::invalid_argument("corners of faces must be vertices from 0 to " +
                                std::to_string(static_cast<std::ptrdiff_t>(vertex_count) - 1));
  };
  if (!std::all_of(corners.begin(), corners.end(), is_vertex)) not_a_vertex();
  for (std::size_t i = 0; i < face_count; ++i) {
    const double* corner = faces.data() + numbers * i + Face::corner;
    if (!std::all_of(corner, corner + 4, is_vertex)) not_a_vertex();
    const double *face = faces.data() + numbers * i, first = face[Face::first], listed = face[Face::count];
    if (first >= 0 && listed >= 3 && first + listed <= static_cast<double>(corners.size())) continue;
    throw std::invalid_argument("a face must have three corners or more, of the list of " +
                                std::to_string(corners.size()));
  }
  shape.vertices = static_cast<int>(vertex_count);
  shape.corners = static_cast<int>(corners.size());
  shape.faces = static_cast<int>(face_count);
}

/// Groups of a mesh's points, see collision::PointGroup.
collision::PointGroups<double> read_groups(const std::vector<double>& groups, int points) {
  using Group = collision::PointGroup;
  const std::size_t count = groups.size() / Group::numbers;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double* own = groups.data() + Group::numbers * i;
    if (own[Group::first] != sum || !(own[Group::count] >= 1)) sum = points + 1;
    sum += own[Group::count];
  }
  if (sum != points) throw std::invalid_argument("groups must have all points, one after the other");
  return {static_cast<int>(count), groups.data()};
}

}  // namespace

void set_mesh(const std::vector<double>& vertices,
              const std::vector<double>& faces,
              const std::vector<double>& corners,
              const std::vector<double>& vertex_groups,
              const std::vector<double>& normal_groups,
              collision::Shape<double>& shape) {
  read_mesh(vertices, faces, corners, shape);
  shape.vertex = vertices.data();
  shape.face = faces.data();
  shape.corner = corners.data();
  shape.of_vertices = read_groups(vertex_groups, shape.vertices);
  shape.of_normals = read_groups(normal_groups, shape.faces);
}

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

/// Requires that a field's program has the numbers of one, or that its heights are those of a grid.
void check_field(const FieldDescription& field) {
  if (field.program) {
    if (field.program->registers > collision::most_field_registers) {
      throw std::invalid_argument("program must have " + std::to_string(collision::most_field_registers) +
                                  " registers or fewer, got " + std::to_string(field.program->registers));
    }
    return tree::check_program(*field.program, 3, 4, "field");
  }
  const auto nodes = std::int64_t{field.rows} * field.columns;
  if (field.rows < 2 || field.columns < 2 || nodes != static_cast<std::int64_t>(field.heights.size())) {
    throw std::invalid_argument("heights must have shape (rows, columns), 2 or more of each, got (" +
                                std::to_string(field.rows) + ", " + std::to_string(field.columns) + ")");
  }
  if (!(field.spacing[0] > 0) || !(field.spacing[1] > 0)) {
    throw std::invalid_argument("spacing must be positive [m]");
  }
}

template struct FieldNumbers<double>;
template struct FieldNumbers<float>;

ModelContacts::ModelContacts(const tree::Model& model, ContactDescription description)
    : model_(&model), description_(std::move(description)) {
  if (!(slip_speed() > 0)) {
    throw std::invalid_argument("slip_speed must be positive [m/s], got " + std::to_string(slip_speed()));
  }
  check_model();
  for (const ShapeDescription& own : description_.shapes) read_shape(own);
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

/// The table of pairs. A kind is a law with a plane or a velocity, on the axes of its body.
void ModelContacts::read_pairs() {
  const double *const plane = description_.planes.data(), *const surface = description_.surfaces.data(),
                      *const law = description_.laws.data();
  const int numbers = law_numbers();
  const std::size_t planes_count = std::min(description_.planes.size() / 4, description_.surfaces.size() / 3),
                    laws_count = description_.laws.size() / static_cast<std::size_t>(numbers);
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
  Shape own = {};
  own.shape.kind = shape_kind(from.kind);
  std::copy_n(from.size, 3, own.shape.size);
  std::copy_n(from.placement, 12, own.placement);
  if (from.body >= 0) model_->to_engine_frame(from.body, own.placement);
  set_mesh(from.vertices, from.faces, from.corners, from.vertex_groups, from.normal_groups, own.shape);
  own.shape.covered = from.covered;
  own.radius = radius_of(own.shape);
  shapes_.push_back(own);
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

}  // namespace pysim::engine
