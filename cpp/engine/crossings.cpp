// Detection of crossing faces in a tree of boxes over the faces in Morton order [Morton 1966; Lauterbach et
// al. 2009]: each node has equal numbers of neighbouring faces, node k of a level holds nodes 2k and 2k + 1
// of the level below, and the tree needs no links.
#include "engine/crossings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace pysim::engine {

namespace {

using Point = std::array<double, 3>;
using Index = std::ptrdiff_t;

constexpr Index leaf_size = 4;

struct Face {
  std::array<Point, 3> corner;
  Index index;
};

struct Box {
  Point low = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};

  void add(const Box& other) {
    for (int k = 0; k < 3; ++k) {
      low[k] = std::min(low[k], other.low[k]);
      high[k] = std::max(high[k], other.high[k]);
    }
  }

  bool meets(const Box& other) const {
    return low[0] <= other.high[0] && other.low[0] <= high[0] && low[1] <= other.high[1] &&
           other.low[1] <= high[1] && low[2] <= other.high[2] && other.low[2] <= high[2];
  }
};

Box box_of(const Face& face) {
  Box box;
  for (const Point& p : face.corner) box.add({p, p});
  return box;
}

Point minus(const Point& a, const Point& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

/// Side of the plane (a, b, c) on which d is: the sign of det [a − d, b − d, c − d], 0 within its rounding
/// error [Shewchuk 1997, bound A of ORIENT3D].
int side(const Point& a, const Point& b, const Point& c, const Point& d) {
  constexpr double bound = 7.771561172376103e-16;
  const Point u = minus(a, d), v = minus(b, d), w = minus(c, d);
  double det = 0, size = 0;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const double vw = v[j] * w[k], wv = v[k] * w[j];
    det += u[i] * (vw - wv);
    size += std::abs(u[i]) * (std::abs(vw) + std::abs(wv));
  }
  if (det > bound * size) return 1;
  return det < -bound * size ? -1 : 0;
}

enum class Passage { none, inside, rim };

/// An edge p q of one face that passes through the rim a b of another, each pair in the order of its
/// coordinates.
struct RimPassage {
  std::array<Point, 4> places;  ///< p, q, a, b
  bool enters;                  ///< from the front of the face to its back when going from p to q
  Index pierced;
  std::pair<Index, Index> faces;
  bool counted;  ///< these faces cross elsewhere too
};

/// How the segment p q, whose ends are on different sides of the face, passes through it; and through which
/// edge of its rim.
Passage passage(const Point& p, const Point& q, const Face& face, int& rim) {
  const auto& [a, b, c] = face.corner;
  const int turns[3] = {side(p, q, a, b), side(p, q, b, c), side(p, q, c, a)};
  int sum = 0, zeros = 0;
  for (int k = 0; k < 3; ++k) {
    sum += turns[k];
    if (turns[k] == 0) ++zeros, rim = k;
  }
  if (sum == 3 || sum == -3) return Passage::inside;
  return zeros == 1 && (sum == 2 || sum == -2) ? Passage::rim : Passage::none;
}

/// Whether an edge of one face passes through the other; passages through its rim are added to a list.
bool edge_pierces(const Face& face, const Face& pierced, std::vector<RimPassage>& rims) {
  const auto& [a, b, c] = pierced.corner;
  int sides[3];
  for (int k = 0; k < 3; ++k) sides[k] = side(a, b, c, face.corner[k]);
  bool inside = false;
  for (int k = 0; k < 3; ++k) {
    const int next = (k + 1) % 3;
    if (sides[k] * sides[next] >= 0) continue;
    int rim = 0;
    const Passage place = passage(face.corner[k], face.corner[next], pierced, rim);
    inside = inside || place == Passage::inside;
    if (place != Passage::rim) continue;
    const auto edge = std::minmax(face.corner[k], face.corner[next]);
    const auto border = std::minmax(pierced.corner[rim], pierced.corner[(rim + 1) % 3]);
    const bool enters = (sides[k] < 0) == (edge.first == face.corner[k]);  // det < 0 in front
    rims.push_back({{edge.first, edge.second, border.first, border.second},
                    enters,
                    pierced.index,
                    std::minmax({face.index, pierced.index}),
                    false});
  }
  return inside;
}

/// Two corners at the same places: the faces share an edge and can cross in their common plane only.
bool share_an_edge(const Face& one, const Face& other) {
  int common = 0;
  for (const Point& p : one.corner) {
    if (p == other.corner[0] || p == other.corner[1] || p == other.corner[2]) ++common;
  }
  return common >= 2;
}

/// 10 bits of x, two zeros before each.
std::uint32_t spread(std::uint32_t x) {
  x = (x * 0x00010001u) & 0xFF0000FFu;
  x = (x * 0x00000101u) & 0x0F00F00Fu;
  x = (x * 0x00000011u) & 0xC30C30C3u;
  return (x * 0x00000005u) & 0x49249249u;
}

/// Faces in the order of their middles on Morton's curve.
std::vector<Face> in_morton_order(const double* vertices, const Index* faces, Index count) {
  std::vector<Face> unsorted(static_cast<std::size_t>(count));
  Box bounds;
  for (Index f = 0; f < count; ++f) {
    Face& face = unsorted[static_cast<std::size_t>(f)];
    face.index = f;
    for (int k = 0; k < 3; ++k) {
      const double* p = vertices + 3 * faces[3 * f + k];
      face.corner[static_cast<std::size_t>(k)] = {p[0], p[1], p[2]};
    }
    bounds.add(box_of(face));
  }
  std::vector<std::pair<std::uint32_t, Index>> keys;
  keys.reserve(unsorted.size());
  for (const Face& face : unsorted) {
    const Box box = box_of(face);
    std::uint32_t key = 0;
    for (int k = 0; k < 3; ++k) {
      const double extent = bounds.high[k] - bounds.low[k];
      const double middle = 0.5 * box.low[k] + 0.5 * box.high[k] - bounds.low[k];
      const double cell = extent > 0 ? std::min(1023.0, 1024 * (middle / extent)) : 0.0;
      key = (key << 1) | spread(static_cast<std::uint32_t>(cell));
    }
    keys.emplace_back(key, face.index);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<Face> sorted;
  sorted.reserve(unsorted.size());
  for (const auto& key : keys) sorted.push_back(unsorted[static_cast<std::size_t>(key.second)]);
  return sorted;
}

class Tree {
 public:
  explicit Tree(std::vector<Face> faces) : faces_(std::move(faces)) {
    std::vector<Box> leaves((faces_.size() + leaf_size - 1) / leaf_size);
    for (std::size_t f = 0; f < faces_.size(); ++f) {
      boxes_.push_back(box_of(faces_[f]));
      leaves[f / leaf_size].add(boxes_.back());
    }
    levels_.push_back(std::move(leaves));
    while (levels_.back().size() > 1) {
      const std::vector<Box>& below = levels_.back();
      std::vector<Box> above((below.size() + 1) / 2);
      for (std::size_t k = 0; k < below.size(); ++k) above[k / 2].add(below[k]);
      levels_.push_back(std::move(above));
    }
  }

  Crossings crossings() {
    if (!faces_.empty()) within(levels_.size() - 1, 0);
    settle_rims();
    return crossings_;
  }

 private:
  /// Pairs inside one node.
  void within(std::size_t level, std::size_t node) {
    if (level == 0) {
      const auto [begin, end] = faces_of(node);
      for (std::size_t i = begin; i < end; ++i) compare(i, i + 1, end);
      return;
    }
    const std::size_t left = 2 * node, right = left + 1;
    within(level - 1, left);
    if (right >= levels_[level - 1].size()) return;
    within(level - 1, right);
    between(level - 1, left, right);
  }

  /// Pairs of a face of one node and a face of another of its level.
  void between(std::size_t level, std::size_t a, std::size_t b) {
    if (!levels_[level][a].meets(levels_[level][b])) return;
    if (level == 0) {
      const auto [begin, end] = faces_of(a);
      const auto [other_begin, other_end] = faces_of(b);
      for (std::size_t i = begin; i < end; ++i) {
        if (boxes_[i].meets(levels_[0][b])) compare(i, other_begin, other_end);
      }
      return;
    }
    const std::size_t size = levels_[level - 1].size();
    for (std::size_t i = 2 * a; i < std::min(2 * a + 2, size); ++i) {
      for (std::size_t j = 2 * b; j < std::min(2 * b + 2, size); ++j) between(level - 1, i, j);
    }
  }

  void compare(std::size_t i, std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      const Face &one = faces_[i], &other = faces_[j];
      if (!boxes_[i].meets(boxes_[j]) || share_an_edge(one, other)) continue;
      const std::size_t known = rims_.size();
      const bool forth = edge_pierces(one, other, rims_);
      const bool back = edge_pierces(other, one, rims_);
      const bool inside = forth || back;
      if (inside) note(std::minmax({one.index, other.index}));
      for (std::size_t k = known; k < rims_.size(); ++k) rims_[k].counted = inside;
    }
  }

  /// Records the passages through a rim that also pass through both adjacent faces, for one order of a pair.
  void settle_rims() {
    const auto before = [](const RimPassage& x, const RimPassage& y) { return x.places < y.places; };
    std::sort(rims_.begin(), rims_.end(), before);
    std::vector<std::pair<Index, Index>> crossing;
    for (auto at = rims_.begin(); at != rims_.end();) {
      const auto end = std::upper_bound(at, rims_.end(), *at, before);
      const auto same = [&](const RimPassage& x) { return x.enters == at->enters; };
      const auto elsewhere = [&](const RimPassage& x) { return x.pierced != at->pierced; };
      if (std::all_of(at, end, same) && std::any_of(at, end, elsewhere)) {
        for (auto k = at; k != end; ++k) {
          if (!k->counted) crossing.push_back(k->faces);
        }
      }
      at = end;
    }
    std::sort(crossing.begin(), crossing.end());
    crossing.erase(std::unique(crossing.begin(), crossing.end()), crossing.end());
    for (const auto& pair : crossing) note(pair);
  }

  void note(const std::pair<Index, Index>& pair) {
    if (crossings_.count++ == 0 || pair < std::make_pair(crossings_.first, crossings_.second)) {
      crossings_.first = pair.first;
      crossings_.second = pair.second;
    }
  }

  std::pair<std::size_t, std::size_t> faces_of(std::size_t leaf) const {
    return {leaf * leaf_size, std::min((leaf + 1) * leaf_size, faces_.size())};
  }

  std::vector<Face> faces_;
  std::vector<Box> boxes_;                ///< of each face
  std::vector<std::vector<Box>> levels_;  ///< of the leaves, of pairs of them, …, of all
  std::vector<RimPassage> rims_;
  Crossings crossings_;
};

}  // namespace

Crossings find_crossings(const double* vertices, const std::ptrdiff_t* faces, std::ptrdiff_t count) {
  return Tree(in_morton_order(vertices, faces, count)).crossings();
}

}  // namespace pysim::engine
