// Contacts of a model as Python describes them: shapes on bodies, and arrays with one row a pair of surfaces.
#pragma once

#include <pybind11/stl.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "bindings/algorithm_call.hpp"
#include "bindings/fixed_shape_arrays.hpp"
#include "engine/contact_dispatch.hpp"

namespace pysim::bindings {

/// A signed-distance field: a program of p (3) with the outputs d and ∇d, or heights at the nodes of a grid.
struct FieldDescription {
  std::optional<tree::ProgramDescription> program;
  std::vector<double> heights;  ///< [rows · columns] [m]
  int rows = 0, columns = 0;
  double spacing[2] = {0, 0};  ///< [m] along x and y
};

/// A field with its numbers in one precision; code is that of the description, which must outlive it.
template <class Real>
struct FieldNumbers {
  std::vector<Real> constants, tables, heights;
  collision::Field<Real> field = {};

  explicit FieldNumbers(const FieldDescription& from);
};

class ModelContacts {
 public:
  using Columns = py::array_t<int, py::array::c_style | py::array::forcecast>;
  using Integers = py::array_t<int, py::array::c_style | py::array::forcecast>;
  using Pair = contact::ContactPair<double>;

  /// Pairs of shapes by their indices, the first −1 for a plane, with the indices of their plane and velocity
  /// of the first surface, and of their law. The shape of a field is a ball that holds the solid.
  ModelContacts(const Model& model,
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
                const std::vector<int>& field_of_shape);

  const Model& model() const { return *model_; }
  int points() const { return points_; }
  contact::Contacts<double> view() const;
  contact::ContactMemory memory() const { return contact::memory_of(view(), model_->view<double>().nv); }
  int pairs() const { return static_cast<int>(table_.size()) - 1; }
  Pair pair(int k) const {
    Pair found = {};
    return contact::read_pair<double>(pair_table_, k, found);
  }
  const std::vector<FieldDescription>& fields() const { return fields_; }
  /// Field of a pair, −1 for none.
  int field_of(int pair) const { return pair_table_.field_of(pair); }
  int points_of_pair(int k) const {
    const auto* const own = table_.data() + k;
    return own[1].point - own->point;
  }
  /// Continuous gaps of a pair, see contact::continuous_gap.
  int gaps(int k) const {
    const Pair own = pair(k);
    return own.plane && !collision::is_mesh(own.shape_b->shape.kind) ? own.points : 1;
  }
  double slip_speed() const { return slip_speed_; }

  /// Places of the work of every pair, and of every coordinate of convex steps, among the states of signals.
  void set_work(const Integers& places);
  const int* work() const { return work_.empty() ? nullptr : work_.data(); }

 private:
  using Shape = contact::PairShape<double>;
  using Table = contact::PairTable;

  void check_model() const;
  void read_shapes(const std::vector<int>& bodies,
                   const std::vector<std::string>& kinds,
                   const Numbers& sizes,
                   const Numbers& placements,
                   const std::vector<Numbers>& vertices,
                   const std::vector<Numbers>& faces,
                   const std::vector<std::pair<Numbers, Numbers>>& groups);
  void read_shape_numbers(const std::vector<int>& bodies, const std::vector<int>& field_of_shape);
  void read_pairs(const Columns& pairs, const Numbers& planes, const Numbers& surfaces, const Numbers& laws);
  void check_pair(int first, int second) const;
  int points_of(int first, int second) const;
  void read_joints();
  void read_bounds();
  void read_partners();
  int add_ball(int body, const Shape& own, std::vector<std::vector<int>>& balls_of_body);
  bool add_levers(int body, double extent);

  const Model* model_;
  double slip_speed_;
  std::vector<int> work_;
  int points_ = 0, turning_points_ = 0, moving_pairs_ = 0;
  std::vector<Shape> shapes_;
  std::vector<Table::ShapeNumbers> shape_numbers_;
  std::vector<Table::Pair> table_;  ///< and the number of all points
  std::vector<Table::Kind> kinds_;
  std::vector<int> turning_;
  Table pair_table_ = {};
  std::vector<Pair> pairs_;  ///< of few pairs, made from the table
  std::vector<FieldDescription> fields_;
  std::deque<FieldNumbers<double>> field_numbers_;
  std::vector<const collision::Field<double>*> field_;
  std::vector<std::vector<double>> vertices_, faces_, vertex_groups_, normal_groups_;
  std::vector<constraints::CoordinateLaw<double>> coordinates_;
  std::vector<tree::Passive<double>> smooth_;
  std::vector<double> diagonal_;
  std::vector<unsigned char> single_;
  bool bounded_ = true;
  std::vector<contact::Rate> rates_;
  std::vector<int> rate_of_;  ///< [nv] index among rates, −1 for none
  std::vector<int> carriers_;
  std::vector<contact::PairBounds<double>> bounds_;
  std::vector<contact::Ball<double>> balls_;
  std::vector<int> partners_, first_partner_, plane_pairs_;
  int own_pairs_ = 0;
  std::vector<contact::Levers> levers_;
  std::vector<contact::Lever<double>> lever_;
};

/// The smooth law of contacts during a call; none where Python gives none.
class SmoothLaw {
 public:
  explicit SmoothLaw(const ModelContacts* contacts) {
    if (contacts == nullptr) return;
    law_ = {contacts->view(), contacts->slip_speed()};
    for (int k = 0; k < contacts->pairs(); ++k) {
      const auto pair = contacts->pair(k);
      bodies_.push_back({pair.a, pair.b});
    }
    forces_ = engine::contact_forces(law_, bodies_, contacts->work());
    given_ = true;
  }
  SmoothLaw(const SmoothLaw&) = delete;  // forces refer to the law
  SmoothLaw& operator=(const SmoothLaw&) = delete;

  const contact::SmoothContacts& law() const { return law_; }
  const tree::ContactForces* forces() const { return given_ ? &forces_ : nullptr; }
  stepping::PairGaps gaps() const { return engine::pair_gaps(law_.contacts, bodies_); }

 private:
  bool given_ = false;
  contact::SmoothContacts law_ = {};
  std::vector<tree::ContactForces::Bodies> bodies_;
  tree::ContactForces forces_ = {};
};

}  // namespace pysim::bindings
