// Distances of two shapes by their support points, their normals and nearest points, by the poses of both.
//
// Slopes that the search leaves in the normal have not converged. A step of the refinement, Newton's method,
// multiplies their error by that of the normal, which is rounding at the end of its first run. It runs twice
// more, from points that move with their shapes.
#include "dual_numbers.hpp"
// kernels, which call functions of numbers by their qualified names
#include "collision/separation_product.hpp"

namespace pysim::adjoints {

using R = simd::Reverse<P>;
using collision::PlacedShape;

enum Kind { sphere, capsule, box, cylinder, ellipsoid, cone, mesh, kinds };

/// A shape of 0.05 to 0.3 m, with the tables of a mesh: a tetrahedron.
class DrawnShape {
 public:
  DrawnShape(Random& random, int kind) {
    shape_.kind = static_cast<collision::ShapeKind>(kind);
    for (double& x : shape_.size) x = random.uniform(0.025, 0.15);
    if (kind == mesh) make_mesh(random);
  }
  DrawnShape(const DrawnShape&) = delete;
  DrawnShape& operator=(const DrawnShape&) = delete;

  const collision::Shape<double>& shape() const { return shape_; }

 private:
  void make_mesh(Random& random) {
    constexpr double corners[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    for (const auto& corner : corners) {
      for (int i = 0; i < 3; ++i) vertex_.push_back(shape_.size[i] * (corner[i] + random.uniform(-0.3, 0.3)));
    }
    for (int k = 0; k < 4; ++k) {
      const int a = (k + 1) % 4, b = (k + 2) % 4, c = (k + 3) % 4;
      const auto at = [this](int i) { return spatial::all3<P>(&vertex_[static_cast<std::size_t>(3 * i)]); };
      Vec3<P> n = cross(at(b) - at(a), at(c) - at(a));
      const P away = dot(n, at(a) - at(k)), scale = P{1.0} / simd::sqrt(dot(n, n));
      n = (value(away) > 0 ? scale : -scale) * n;
      const double row[] = {value(n.x), value(n.y), value(n.z), 1.0 * a, 1.0 * b, 1.0 * c, 1.0 * a, 0, 0, 0};
      face_.insert(face_.end(), row, row + collision::MeshFace::numbers);
    }
    shape_.vertices = shape_.faces = 4;
    shape_.vertex = vertex_.data();
    shape_.face = face_.data();
    shape_.of_vertices = shape_.of_normals = {1, group_};
  }

  collision::Shape<double> shape_ = {};
  std::vector<double> vertex_, face_;
  const double group_[collision::PointGroup::numbers] = {0, 0, 0, 2, 0, 4};
};

/// A pose, and a direction of it: a change of the place, and a rotation about an axis through it.
struct DrawnPose {
  double R[3][3], p[3], w[3], dp[3];  ///< columns of the rotation

  DrawnPose(Random& random, double reach) {
    for (int i = 0; i < 3; ++i) {
      for (double& each : R[i]) each = random.normal();
      p[i] = random.uniform(-reach, reach), dp[i] = random.normal(), w[i] = random.normal();
    }
    orthonormalise();
  }

  /// Below another pose, with axes that lean from those of the other.
  void face(const DrawnPose& other, double lean, Random& random) {
    const double by[3] = {lean * random.normal(), lean * random.normal(), lean * random.normal()};
    const double reach[3] = {random.uniform(-0.02, 0.02), random.uniform(-0.02, 0.02), -0.4};
    for (int j = 0; j < 3; ++j) {
      const int b = (j + 1) % 3, c = (j + 2) % 3;
      for (int i = 0; i < 3; ++i) {
        R[i][j] = other.R[i][j] + by[b] * other.R[i][c] - by[c] * other.R[i][b];
      }
      p[j] = other.p[j];
      for (int i = 0; i < 3; ++i) p[j] += reach[i] * other.R[i][j];
    }
    orthonormalise();
  }

  /// Visits each number and its direction: of three columns and the place.
  template <class Visit>
  void visit(const Visit& visit) const {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        const int a = (j + 1) % 3, b = (j + 2) % 3;
        visit(R[i][j], w[a] * R[i][b] - w[b] * R[i][a]);
      }
    }
    for (int j = 0; j < 3; ++j) visit(p[j], dp[j]);
  }

  /// The shape at this pose; make(x, dx) makes its numbers.
  template <class S, class Make>
  PlacedShape<S> placed(const DrawnShape& drawn, const Make& make) const {
    std::vector<S> x;
    visit([&](double at, double along) { x.push_back(make(at, along)); });
    const auto three = [&](std::size_t i) { return Vec3<S>{x[i], x[i + 1], x[i + 2]}; };
    return {spatial::all3<S>(drawn.shape().size), {{three(0), three(3), three(6)}, three(9)}, &drawn.shape()};
  }

 private:
  /// Twice: of columns that are nearly parallel, little is left.
  void orthonormalise() {
    for (int k = 0; k < 2; ++k) {
      const double along = R[0][0] * R[1][0] + R[0][1] * R[1][1] + R[0][2] * R[1][2],
                   square = R[0][0] * R[0][0] + R[0][1] * R[0][1] + R[0][2] * R[0][2];
      for (int j = 0; j < 3; ++j) R[1][j] -= along / square * R[0][j];
      for (int i = 0; i < 2; ++i) {
        const double size = std::sqrt(R[i][0] * R[i][0] + R[i][1] * R[i][1] + R[i][2] * R[i][2]);
        for (double& each : R[i]) each /= size;
      }
    }
    for (int j = 0; j < 3; ++j) {
      const int a = (j + 1) % 3, b = (j + 2) % 3;
      R[2][j] = R[0][a] * R[1][b] - R[0][b] * R[1][a];
    }
  }
};

/// Moves B along the normal until the shapes have a distance.
void approach(const DrawnShape& a, const DrawnShape& b, const DrawnPose& A, DrawnPose& B, double distance) {
  const auto number = [](double x, double) { return P{x}; };
  for (int k = 0; k < 4; ++k) {
    const auto D =
        collision::convex_distance(A.placed<P>(a, number), B.placed<P>(b, number), P{simd::infinity});
    const double by = distance - value(D.d);
    B.p[0] += by * value(D.n.x), B.p[1] += by * value(D.n.y), B.p[2] += by * value(D.n.z);
  }
}

/// The point of a shape that p is on, without the slopes of the search that has found it.
Vec3<T> on_shape(const PlacedShape<T>& placed, const Vec3<T>& p) {
  const Vec3<T> own = transpose_times(placed.X.R, p - placed.X.p);
  return placed.X * Vec3<T>{constant(value(own.x)), constant(value(own.y)), constant(value(own.z))};
}

/// The distance by duals, from the cores nearest to each other, moved apart along their normal.
collision::Distance<T> distance_of_duals(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const T margin = constant(0.03), size = constant(0.1);
  auto found = collision::CoreDistance<T>(A, B).find(constant(simd::infinity));
  collision::CoreSearch<T> search(A, B, constant(1), found.n);
  search.move((margin - min(found.d, margin)) * found.n, found.n);
  search.run(simd::everywhere<T>(), constant(collision::fine<double>), constant(simd::infinity));
  collision::Witness<T> at;
  search.keep(simd::everywhere<T>(), at);
  for (int k = 0; k < 3; ++k) {
    at.a[k] = on_shape(A, at.a[k]), at.b[k] = on_shape(B, at.b[k]);
    at.weight[k] = constant(value(at.weight[k]));
  }
  for (int k = 0; k < 2; ++k) collision::refine(A, B, at, simd::everywhere<T>(), size, found);
  return collision::between_surfaces(found, core_radius(A), core_radius(B));
}

/// Of the distance, the normal and both points.
template <class S, class Visit>
void visit_numbers(const collision::Distance<S>& D, const Visit& visit) {
  const S* const numbers[] = {
      &D.d, &D.n.x, &D.n.y, &D.n.z, &D.p_A.x, &D.p_A.y, &D.p_A.z, &D.p_B.x, &D.p_B.y, &D.p_B.z};
  for (const S* x : numbers) visit(*x);
}

/// A tape with memory of its own.
class OwnTape {
 public:
  OwnTape() : weight_(most), cotangent_(most), from_(most), to_(most) {
    tape = {weight_.data(), cotangent_.data(), from_.data(), to_.data()};
  }
  OwnTape(const OwnTape&) = delete;
  OwnTape& operator=(const OwnTape&) = delete;

  simd::Tape<P> tape;

 private:
  static constexpr std::size_t most = simd::Tape<P>::most;
  std::vector<P> weight_, cotangent_;
  std::vector<int> from_, to_;
};

void compare_distances(
    Random& random, OwnTape& own, int first, int second, double distance, const char* name, double lean = 0) {
  const DrawnShape a(random, first), b(random, second);
  const DrawnPose A(random, 0.02);
  DrawnPose B(random, 0.4);
  if (lean > 0) B.face(A, lean, random);
  approach(a, b, A, B, distance);
  const std::vector<double> bar = random.normals(10);

  Comparison made;
  const auto slopes = distance_of_duals(A.placed<T>(a, dual), B.placed<T>(b, dual));
  std::size_t k = 0;
  visit_numbers(slopes, [&](const T& x) { made.dual(bar[k++], slope(x)); });

  simd::Tape<P>& tape = own.tape;
  tape.edges = tape.nodes = 0;
  std::vector<int> nodes;
  std::vector<double> along;
  const auto input = [&](double x, double dx) {
    nodes.push_back(tape.add_node()), along.push_back(dx);
    return R(P{x}, &tape, nodes.back());
  };
  const PlacedShape<R> on_a = A.placed<R>(a, input), on_b = B.placed<R>(b, input);
  const auto found = collision::convex_distance(on_a, on_b, R(P{simd::infinity}));
  k = 0;
  visit_numbers(found, [&](const R& x) {
    if (!x.is_constant()) tape.cotangent[x.node] = tape.cotangent[x.node] + P{bar[k]};
    ++k;
  });
  tape.pull(0);
  for (std::size_t i = 0; i < nodes.size(); ++i) made.adjoint(value(tape.cotangent[nodes[i]]), along[i]);
  note(name, made);
}

}  // namespace pysim::adjoints

int main(int count, char** words) {
  if (count != 2) return 2;
  using namespace pysim::adjoints;
  Random random = {std::mt19937_64(std::strtoull(words[1], nullptr, 10))};
  OwnTape tape;
  for (int first = box; first < kinds; ++first) {
    for (int second = sphere; second <= first; ++second) {
      for (int k = 0; k < 30; ++k) {
        compare_distances(random, tape, first, second, 0.01, "distances of shapes apart");
        compare_distances(random, tape, first, second, -0.001, "distances of shapes that overlap");
        if (second == box || second == cylinder) {
          compare_distances(random, tape, first, second, -0.001, "distances of faces that lean", 1e-2);
        }
      }
    }
  }
  print_errors();
  return 0;
}
