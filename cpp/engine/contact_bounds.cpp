// Contacts of a model: balls about shapes, levers of joints, and the lists of pairs by their balls.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/contact_model.hpp"

namespace pysim::engine {

/// Index of the ball about a shape, among those of the bodies from the world on.
int ModelContacts::add_ball(int body, const Shape& shape, std::vector<std::vector<int>>& balls_of_body) {
  const double* p = shape.placement + 9;
  const auto same = [&](int k) {
    const contact::Ball<double>& ball = balls_[static_cast<std::size_t>(k)];
    return ball.radius == shape.radius && std::equal(p, p + 3, ball.centre);
  };
  std::vector<int>& known = balls_of_body[static_cast<std::size_t>(body + 1)];
  const auto at = std::find_if(known.begin(), known.end(), same);
  if (at != known.end()) return *at;
  known.push_back(static_cast<int>(balls_.size()));
  balls_.push_back({body, {p[0], p[1], p[2]}, shape.radius});
  return known.back();
}

/// Balls about shapes, and levers of the bodies that have them.
void ModelContacts::read_bounds() {
  const auto view = model_->view<double>();
  std::vector<std::vector<int>> balls_of_body(static_cast<std::size_t>(view.bodies) + 1);
  const auto place_ball = [&](int k) {
    const auto at = static_cast<std::size_t>(k);
    Table::ShapeNumbers& numbers = shape_numbers_[at];
    if (numbers.ball < 0) numbers.ball = add_ball(numbers.body, shapes_[at], balls_of_body);
  };
  for (int k = 0; k < pairs(); ++k) {
    const Table::Pair& pair = table_[static_cast<std::size_t>(k)];
    if (pair.a >= 0) place_ball(pair.a);
    place_ball(pair.b);
    if (pair.a < 0) continue;
    const auto &a = shape_numbers_[static_cast<std::size_t>(pair.a)],
               &b = shape_numbers_[static_cast<std::size_t>(pair.b)];
    tree_pairs_ += a.body >= 0 && a.root == b.root ? 1 : 0;
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
  const auto earlier = [&](const Table::Pair& pair) { return std::min(ball_of(pair.a), ball_of(pair.b)); };
  first_partner_.assign(balls_.size() + 1, 0);
  for (int k = 0; k < pairs(); ++k) {
    const Table::Pair& pair = table_[at(k)];
    if (pair.a < 0) {
      plane_pairs_.push_back(k);
    } else {
      ++first_partner_[at(earlier(pair)) + 1];
    }
  }
  std::partial_sum(first_partner_.begin(), first_partner_.end(), first_partner_.begin());
  partners_.resize(at(first_partner_.back()));
  std::vector<int> next(first_partner_.begin(), first_partner_.end() - 1);
  for (int k = 0; k < pairs(); ++k) {
    const Table::Pair& pair = table_[at(k)];
    if (pair.a >= 0) partners_[at(next[at(earlier(pair))]++)] = k;
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
  contact::Levers levers = {static_cast<int>(lever_.size()), 0, 0};
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
    if (is_root) levers.root = static_cast<int>(lever_.size());
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
    if (joint.parent < 0 && !is_root) levers.root = static_cast<int>(lever_.size());
  }
  levers.end = static_cast<int>(lever_.size());
  carriers_.push_back(body);
  levers_.push_back(levers);
  return true;
}

}  // namespace pysim::engine
