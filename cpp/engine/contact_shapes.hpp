// Descriptions of shapes and fields that touch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collision/field.hpp"
#include "collision/pairs.hpp"
#include "collision/shape_kinds.hpp"
#include "tree/model.hpp"

namespace pysim::engine {

/// A signed-distance field: a program of p (3) with the outputs d and ∇d, or heights at the nodes of a grid.
struct FieldDescription {
  std::optional<tree::ProgramDescription> program;
  std::vector<double> heights;  ///< [rows · columns] [m]
  int rows = 0, columns = 0;
  double spacing[2] = {0, 0};  ///< [m] along x and y

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.program...), f(r.heights...), f(r.rows...), f(r.columns...), f(r.spacing...);
  }
};

/// A field with its numbers in one precision; code is that of the description, which must outlive it.
template <class Real>
struct FieldNumbers {
  std::vector<Real> constants, tables, heights;
  collision::Field<Real> field = {};

  explicit FieldNumbers(const FieldDescription& from);
};

/// Throws std::invalid_argument if a field's program or its heights are not those of a field.
void check_field(const FieldDescription& field);

/// A shape on a body. That of a field is a ball that holds the solid.
struct ShapeDescription {
  int body;  ///< −1 for the world
  std::string kind;
  double size[3];        ///< [m]
  double placement[12];  ///< in the body's frame
  std::vector<double> vertices, faces, corners, vertex_groups,
      normal_groups;  ///< of a convex mesh, see collision::MeshFace
  int field;          ///< −1 for none
  int covered;        ///< bits of the faces that other shapes of the body cover, see collision::Shape

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.body...), f(r.kind...), f(r.size...), f(r.placement...), f(r.vertices...), f(r.faces...),
        f(r.corners...), f(r.vertex_groups...), f(r.normal_groups...), f(r.field...), f(r.covered...);
  }
};

/// Names of the kinds of shapes.
std::vector<std::string> shape_names();

/// Kind of a shape with a name.
collision::ShapeKind shape_kind(const std::string& name);

/// How the distance of shapes of two kinds is computed, with the first one named first.
collision::DistancePair distance_pair(const std::string& a, const std::string& b);

/// Lets a shape refer to a mesh and its groups; those of other shapes are empty.
void set_mesh(const std::vector<double>& vertices,
              const std::vector<double>& faces,
              const std::vector<double>& corners,
              const std::vector<double>& vertex_groups,
              const std::vector<double>& normal_groups,
              collision::Shape<double>& shape);

}  // namespace pysim::engine
