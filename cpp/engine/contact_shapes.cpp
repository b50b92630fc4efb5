// Shapes and fields of contacts, read from their description.
#include "engine/contact_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tree/program_check.hpp"

namespace pysim::engine {

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

collision::DistancePair distance_pair(const std::string& a, const std::string& b) {
  int index = 0;
  for (const auto& kinds : collision::closed_form_pairs) {
    if (a == kinds[0] && b == kinds[1]) return collision::DistancePair{index};
    ++index;
  }
  return collision::DistancePair::by_support;
}

namespace {

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
    const double* group = groups.data() + Group::numbers * i;
    if (group[Group::first] != sum || !(group[Group::count] >= 1)) sum = points + 1;
    sum += group[Group::count];
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
    std::vector<Real> converted(x.size());
    std::transform(x.begin(), x.end(), converted.begin(), [](double y) { return static_cast<Real>(y); });
    return converted;
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

}  // namespace pysim::engine
