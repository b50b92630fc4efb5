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
      const auto& own = from.pair_at<double>(k, room);
      pairs_[place(k)].shape_a = shape(own.shape_a);
      pairs_[place(k)].shape_b = shape(own.shape_b);
    }
    for (int k = 0; k < from.coordinates; ++k) {
      const auto& own = from.coordinate[k];
      coordinates_.push_back({own.v,
                              own.q,
                              real(own.friction),
                              real(own.lower),
                              real(own.upper),
                              real(own.stiffness),
                              real(own.damping)});
    }
    smooth_ = passive(from.smooth, speeds);
    for (int k = 0; k < speeds; ++k) diagonal_.push_back(real(from.diagonal[k]));
    for (int k = 0; k < from.balls; ++k) {
      const auto& own = from.ball[k];
      contact::Ball<float> ball = {own.body, {}, real(own.radius)};
      copy(own.centre, ball.centre);
      balls_.push_back(ball);
    }
    int levers = 0;
    for (int k = 0; k < from.carriers; ++k) levers = std::max(levers, from.levers[k].end);
    for (int k = 0; k < levers; ++k) lever_.push_back({from.lever[k].rate, real(from.lever[k].length)});
    view_ = {from.pairs,       from.points,    from.coordinates,    from.turning_points, from.moving_pairs,
             from.stiff,       pairs_.data(),  coordinates_.data(), smooth_.data(),      diagonal_.data(),
             from.single,      from.bounded,   from.rates,          from.carriers,       from.rate,
             from.carrier,     bounds_.data(), from.own_pairs,      from.balls,          balls_.data(),
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

  static contact::ContactPair<float> pair(const contact::ContactPair<double>& own) {
    contact::ContactPair<float> found = {};
    found.a = own.a;
    found.b = own.b;
    found.first = own.first;
    found.points = own.points;
    found.turning = own.turning;
    found.plane = own.plane;
    found.swapped = own.swapped;
    found.kind = own.kind;
    found.offset = real(own.offset);
    copy(own.normal, found.normal);
    copy(own.surface, found.surface);
    const auto rounded = [](auto& to, const auto& from) {
      to = static_cast<std::decay_t<decltype(to)>>(from);
    };
    constraints::ContactLaw<float>::visit(rounded, found.law, own.law);
    return found;
  }

  /// Copy of a shape, each once; null of null.
  const contact::PairShape<float>* shape(const contact::PairShape<double>* own) {
    if (own == nullptr) return nullptr;
    const contact::PairShape<float>*& known = copies_[own];
    if (known == nullptr) {
      shapes_.push_back(shape(*own));
      known = &shapes_.back();
    }
    return known;
  }

  contact::PairShape<float> shape(const contact::PairShape<double>& own) {
    contact::PairShape<float> found = {};
    found.shape.kind = own.shape.kind;
    found.shape.vertices = own.shape.vertices;
    copy(own.shape.size, found.shape.size);
    copy(own.placement, found.placement);
    found.radius = real(own.radius);
    found.shape.faces = own.shape.faces;
    found.shape.vertex = numbers(own.shape.vertex, 3 * own.shape.vertices);
    found.shape.face = numbers(own.shape.face, collision::MeshFace::numbers * own.shape.faces);
    found.shape.covered = own.shape.covered;
    found.shape.corners = own.shape.corners;
    found.shape.corner = numbers(own.shape.corner, own.shape.corners);
    found.shape.of_vertices = groups(own.shape.of_vertices);
    found.shape.of_normals = groups(own.shape.of_normals);
    return found;
  }

  /// Balls are somewhat larger, for their points are rounded.
  collision::PointGroups<float> groups(const collision::PointGroups<double>& own) {
    using Group = collision::PointGroup;
    const float* copied = numbers(own.group, Group::numbers * own.count);
    for (int g = 0; g < own.count; ++g) meshes_.back()[place(Group::numbers * g + Group::radius)] *= 1.0001F;
    return {own.count, copied};
  }

  const float* numbers(const double* from, int count) {
    if (count == 0) return nullptr;
    std::vector<float> copied(place(count));
    std::transform(from, from + count, copied.begin(), real);
    meshes_.push_back(std::move(copied));  // moved, not copied: the numbers stay where they are
    return meshes_.back().data();
  }

  static contact::PairBounds<float> bounds(const contact::PairBounds<double>& own) {
    return {
        own.a, own.b, own.ball_a, own.ball_b, own.root, own.one_tree, real(own.radii), real(own.least_reach)};
  }

  static std::vector<tree::Passive<float>> passive(const tree::Passive<double>* own, int count) {
    std::vector<tree::Passive<float>> found(place(count));
    for (int k = 0; k < count; ++k) {
      tree::Passive<float>::visit([](float& to, double from) { to = real(from); }, found[place(k)], own[k]);
    }
    return found;
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
