// Contacts of a model: the owner of what the views of cpp/contact show.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "contact/run.hpp"
#include "engine/contact_shapes.hpp"
#include "tree/model.hpp"

namespace pysim::engine {

/// Contacts of a model, in the user's frames.
struct ContactDescription {
  std::vector<ShapeDescription> shapes;
  std::vector<std::array<int, 4>>
      pairs;                     ///< the first shape, −1 for a plane, the second, their plane, their law
  std::vector<double> planes;    ///< (k, 4) normal and offset
  std::vector<double> surfaces;  ///< (k, 3) velocities of the first surface in its body's frame [m/s]
  std::vector<double> laws;      ///< (l, law_numbers())
  double slip_speed;             ///< [m/s]
  std::vector<FieldDescription> fields;

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.shapes...), f(r.pairs...), f(r.planes...), f(r.surfaces...), f(r.laws...), f(r.slip_speed...),
        f(r.fields...);
  }
};

/// Numbers of a row of a law: those of ContactLaw::visit, except the lever, which follows from the shapes.
int law_numbers();

/// Contacts of a model: pairs of shapes and their laws, and what bounds the motion of shapes.
class ModelContacts {
 public:
  using Pair = contact::ContactPair<double>;

  ModelContacts(const tree::Model& model, ContactDescription description);

  const tree::Model& model() const { return *model_; }
  int points() const { return points_; }
  contact::Contacts<double> view() const;
  contact::ContactMemory memory() const { return contact::memory_of(view(), model_->view<double>().nv); }
  int pairs() const { return static_cast<int>(table_.size()) - 1; }
  Pair pair(int k) const {
    Pair room = {};
    return contact::read_pair<double>(pair_table_, k, room);
  }
  const ContactDescription& description() const { return description_; }
  const std::vector<FieldDescription>& fields() const { return description_.fields; }
  /// Field of a pair, −1 for none.
  int field_of(int pair) const { return pair_table_.field_of(pair); }
  int points_of_pair(int k) const {
    const auto* const row = table_.data() + k;
    return row[1].point - row->point;
  }
  /// Continuous gaps of a pair, see contact::continuous_gap.
  int gaps(int k) const {
    const Pair that = pair(k);
    return that.plane && !collision::is_mesh(that.shape_b->shape.kind) ? that.points : 1;
  }
  double slip_speed() const { return description_.slip_speed; }
  /// Bytes of what worlds that are stepped together share: pairs, shapes, planes and fields, and what bounds
  /// motions, without the numbers of contact/copy.hpp and the levers that lengthen_levers changes.
  std::string structure() const;

  /// Places of the work of every pair, and of every coordinate of convex steps, among the states of signals.
  void set_work(const std::vector<int>& places);
  const std::vector<int>& work_places() const { return work_; }
  const int* work() const { return work_.empty() ? nullptr : work_.data(); }

 private:
  using Shape = contact::PairShape<double>;
  using Table = contact::PairTable;

  void check_model() const;
  void read_shape(const ShapeDescription& from);
  void read_shape_numbers();
  Table::Kind kind_of_pair(const std::array<int, 3>& key) const;
  void read_pairs();
  void check_pair(int first, int second) const;
  int points_of(int first, int second) const;
  bool is_stiff(int a, int b, const constraints::ContactLaw<double>& law) const;
  void read_joints();
  void read_bounds();
  void read_partners();
  int add_ball(int body, const Shape& shape, std::vector<std::vector<int>>& balls_of_body);
  bool add_levers(int body, double extent);

  const tree::Model* model_;
  ContactDescription description_;  ///< whose meshes and programs are referred to
  std::vector<int> work_;
  int points_ = 0, turning_points_ = 0, moving_pairs_ = 0;
  bool stiff_ = false;
  std::vector<Shape> shapes_;
  std::vector<Table::ShapeNumbers> shape_numbers_;
  std::vector<Table::Pair> table_;  ///< and the number of all points
  std::vector<Table::Kind> kinds_;
  std::vector<int> turning_;
  Table pair_table_ = {};
  std::vector<Pair> pairs_;  ///< of few pairs, made from the table
  std::deque<FieldNumbers<double>> field_numbers_;
  std::vector<const collision::Field<double>*> field_;
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
  int tree_pairs_ = 0;
  std::vector<contact::Levers> levers_;
  std::vector<contact::Lever<double>> lever_;
};

}  // namespace pysim::engine
