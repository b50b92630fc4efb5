// Contacts of a model in single precision: a copy of what ModelContacts holds.
#pragma once

#include <algorithm>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "engine/contact_model.hpp"

namespace pysim::engine {

class FloatContacts {
 public:
  /// Without contacts, empty.
  explicit FloatContacts(const ModelContacts* contacts) {
    if (contacts == nullptr) return;
    const auto from = contacts->view();
    const int speeds = contacts->memory().speeds;
    for (const FieldDescription& field : contacts->fields()) fields_.emplace_back(field);
    for (int k = 0; k < from.pairs; ++k) {
      contact::ContactPair<double> room;
      pairs_.push_back(pair(from.pair_at<double>(k, room)));
      const int field = contacts->field_of(k);
      if (field >= 0) pairs_.back().field = &fields_[place(field)].field;
      contact::PairBounds<double> bounds_room;
      bounds_.push_back(bounds(from.bounds_at(k, bounds_room)));
    }
    for (int k = 0; k < from.pairs; ++k) {
      contact::ContactPair<double> room;
      const auto& pair = from.pair_at<double>(k, room);
      pairs_[place(k)].shape_a = shape(pair.shape_a);
      pairs_[place(k)].shape_b = shape(pair.shape_b);
    }
    for (int k = 0; k < from.coordinates; ++k) {
      const auto& law = from.coordinate[k];
      coordinates_.push_back({law.v,
                              law.q,
                              real(law.friction),
                              real(law.lower),
                              real(law.upper),
                              real(law.stiffness),
                              real(law.damping)});
    }
    smooth_ = passive(from.smooth, speeds);
    for (int k = 0; k < speeds; ++k) diagonal_.push_back(real(from.diagonal[k]));
    for (int k = 0; k < from.balls; ++k) {
      const auto& ball = from.ball[k];
      balls_.push_back({ball.body, {}, real(ball.radius)});
      copy(ball.centre, balls_.back().centre);
    }
    int levers = 0;
    for (int k = 0; k < from.carriers; ++k) levers = std::max(levers, from.levers[k].end);
    for (int k = 0; k < levers; ++k) lever_.push_back({from.lever[k].rate, real(from.lever[k].length)});
    view_ = {from.pairs,       from.points,    from.coordinates,    from.turning_points, from.moving_pairs,
             from.stiff,       pairs_.data(),  coordinates_.data(), smooth_.data(),      diagonal_.data(),
             from.single,      from.bounded,   from.rates,          from.carriers,       from.rate,
             from.carrier,     bounds_.data(), from.tree_pairs,     from.balls,          balls_.data(),
             from.levers,      lever_.data(),  from.partner,        from.first_partner,  from.plane_pair,
             from.plane_pairs, from.table};
  }
  FloatContacts(const FloatContacts&) = delete;  // the view refers to the numbers
  FloatContacts& operator=(const FloatContacts&) = delete;

  /// Refers to the contacts that this was made from, too.
  const contact::Contacts<float>& view() const { return view_; }

 private:
  static std::size_t place(int k) { return static_cast<std::size_t>(k); }
  static float real(double x) { return static_cast<float>(x); }

  template <std::size_t n>
  static void copy(const double (&from)[n], float (&to)[n]) {
    std::transform(from, from + n, to, real);
  }

  static contact::ContactPair<float> pair(const contact::ContactPair<double>& from) {
    contact::ContactPair<float> converted = {};
    converted.a = from.a;
    converted.b = from.b;
    converted.first = from.first;
    converted.points = from.points;
    converted.turning = from.turning;
    converted.plane = from.plane;
    converted.swapped = from.swapped;
    converted.kind = from.kind;
    converted.offset = real(from.offset);
    copy(from.normal, converted.normal);
    copy(from.surface, converted.surface);
    const auto rounded = [](auto& single, const auto& number) {
      single = static_cast<std::decay_t<decltype(single)>>(number);
    };
    constraints::ContactLaw<float>::visit(rounded, converted.law, from.law);
    return converted;
  }

  /// Copy of a shape, each once; null of null.
  const contact::PairShape<float>* shape(const contact::PairShape<double>* from) {
    if (from == nullptr) return nullptr;
    const contact::PairShape<float>*& copied = copies_[from];
    if (copied == nullptr) {
      shapes_.push_back(shape(*from));
      copied = &shapes_.back();
    }
    return copied;
  }

  contact::PairShape<float> shape(const contact::PairShape<double>& from) {
    contact::PairShape<float> converted = {};
    converted.shape.kind = from.shape.kind;
    converted.shape.vertices = from.shape.vertices;
    copy(from.shape.size, converted.shape.size);
    copy(from.placement, converted.placement);
    converted.radius = real(from.radius);
    converted.shape.faces = from.shape.faces;
    converted.shape.vertex = numbers(from.shape.vertex, 3 * from.shape.vertices);
    converted.shape.face = numbers(from.shape.face, collision::MeshFace::numbers * from.shape.faces);
    converted.shape.covered = from.shape.covered;
    converted.shape.corners = from.shape.corners;
    converted.shape.corner = numbers(from.shape.corner, from.shape.corners);
    converted.shape.of_vertices = groups(from.shape.of_vertices);
    converted.shape.of_normals = groups(from.shape.of_normals);
    return converted;
  }

  /// Balls are somewhat larger, for their points are rounded.
  collision::PointGroups<float> groups(const collision::PointGroups<double>& from) {
    using Group = collision::PointGroup;
    const float* copied = numbers(from.group, Group::numbers * from.count);
    for (int g = 0; g < from.count; ++g) meshes_.back()[place(Group::numbers * g + Group::radius)] *= 1.0001F;
    return {from.count, copied};
  }

  const float* numbers(const double* from, int count) {
    if (count == 0) return nullptr;
    std::vector<float> copied(place(count));
    std::transform(from, from + count, copied.begin(), real);
    meshes_.push_back(std::move(copied));  // moved, not copied: the numbers stay where they are
    return meshes_.back().data();
  }

  static contact::PairBounds<float> bounds(const contact::PairBounds<double>& from) {
    return {from.a,
            from.b,
            from.ball_a,
            from.ball_b,
            from.root,
            from.one_tree,
            real(from.radii),
            real(from.least_reach)};
  }

  static std::vector<tree::Passive<float>> passive(const tree::Passive<double>* from, int count) {
    std::vector<tree::Passive<float>> converted(place(count));
    for (int k = 0; k < count; ++k) {
      tree::Passive<float>::visit(
          [](float& to, double number) { to = real(number); }, converted[place(k)], from[k]);
    }
    return converted;
  }

  std::vector<contact::ContactPair<float>> pairs_;
  std::deque<contact::PairShape<float>> shapes_;  // pairs refer to them
  std::unordered_map<const contact::PairShape<double>*, const contact::PairShape<float>*> copies_;
  std::deque<FieldNumbers<float>> fields_;  // pairs refer to them
  std::vector<contact::PairBounds<float>> bounds_;
  std::vector<std::vector<float>> meshes_;
  std::vector<constraints::CoordinateLaw<float>> coordinates_;
  std::vector<tree::Passive<float>> smooth_;
  std::vector<float> diagonal_;
  std::vector<contact::Ball<float>> balls_;
  std::vector<contact::Lever<float>> lever_;
  contact::Contacts<float> view_ = {};
};

}  // namespace pysim::engine
