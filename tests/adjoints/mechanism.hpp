// A mechanism at a random state, and random directions of all that its functions depend on.
#pragma once

#include "dual_numbers.hpp"
// kernels, which call functions of numbers by their qualified names
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "constraints/contact_law_product.hpp"
#include "dynamics/retract_product.hpp"
#include "library/handles.hpp"
#include "tree/model_copy.hpp"
#include "tree/tape.hpp"

namespace pysim::adjoints {

using spatial::Force;
using spatial::Motion;
using spatial::Pose;

/// One world of a scene's file.
class Scene {
 public:
  explicit Scene(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    scene_ = pysim_scene_load(bytes.data(), bytes.size());
    worlds_ = scene_ == nullptr ? nullptr : pysim_worlds_new(scene_, 1);
    if (worlds_ == nullptr) std::fprintf(stderr, "%s\n", pysim_message()), std::exit(3);
  }

  ~Scene() {
    pysim_worlds_free(worlds_);
    pysim_scene_free(scene_);
  }

  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  tree::ModelView<double> model() const { return scene_->scene.model().view<double>(); }
  engine::Worlds<double>& worlds() const { return *worlds_->worlds; }
  pysim_worlds* handle() const { return worlds_; }

 private:
  pysim_scene* scene_;
  pysim_worlds* worlds_;
};

/// Numbers of a copied model with random directions: those in which worlds may differ and that act on a
/// scene's steps without structure of their own. Inertias of bodies have places of their own, too.
class Directions {
 public:
  explicit Directions(Random& random) : random_(random) {}

  std::vector<std::ptrdiff_t> place;  ///< ascending, in the order of tree/model_copy.hpp
  std::vector<double> along;          ///< of the numbers at these places
  std::vector<double> theta;          ///< (bodies, ten)
  std::vector<double> laws;           ///< (pairs, law_numbers)

  void begin(const char* table, int) {
    if (std::strcmp(table, "closure") == 0) in_closure_ = true;
    if (std::strcmp(table, "laws") == 0) in_closure_ = false;
    table_ = table;
    at_ = 0;
  }

  void operator()(T& to, const double& from) {
    const double dx = direction(from);
    to = dual(from, dx);
    ++at_, ++next_;
  }

  tree::VariedNumbers varied() const { return {static_cast<int>(place.size()), place.data(), nullptr, true}; }

 private:
  bool is(const char* table) const { return std::strcmp(table_, table) == 0; }

  double direction(double x) {
    constexpr int constants = 44, pose = 12, position = 9, inertia = 12, alignment = 22, loop = 25;
    if (in_closure_) return 0;
    if (is("bodies")) {
      const int i = at_ % constants;
      if (i >= inertia && i < alignment) {
        theta.push_back(moved((std::fabs(x) + 0.01) * random_.normal()));
        return theta.back();
      }
      return i >= position && i < inertia ? moved(0.1 * random_.normal()) : 0;
    }
    if (is("loops")) {  // rotations stay ones
      const int i = at_ % loop;
      return i % pose >= position || i == loop - 1 ? moved(0.1 * random_.normal()) : 0;
    }
    if (is("laws")) {
      const bool is_lever = at_ % constraints::law_numbers == constraints::law_numbers - 1;
      laws.push_back(is_lever ? 0 : x * random_.normal());
      return laws.back();
    }
    if (is("gravity")) return moved(random_.normal());
    const bool moves = is("armature") || is("passive") || is("couplings") || is("terms") || is("elements") ||
                       is("ports") || is("constants") || is("coordinates") || is("smooth") || is("diagonal");
    return moves && x != 0 && std::fabs(x) < simd::infinity ? moved(x * random_.normal()) : 0;
  }

  double moved(double dx) {
    place.push_back(next_);
    along.push_back(dx);
    return dx;
  }

  Random& random_;
  const char* table_ = "";
  int at_ = 0;
  std::ptrdiff_t next_ = 0;
  bool in_closure_ = false;
};

/// Memory of workspaces: addresses are reserved, and only what is written is there.
struct Memory {
  static constexpr std::size_t count = std::size_t{1} << 28;  // [doubles]
  std::unique_ptr<double[]> numbers{new double[count]};
};

class Mechanism {
 public:
  /// Numbers of the model have slopes if they move.
  Mechanism(const Scene& scene, Random& random, bool moves)
      : random_(random),
        nv_(scene.model().reduced_nv),
        plain_{reinterpret_cast<P*>(memory(0))},
        dual_{reinterpret_cast<D*>(memory(1))},
        directions_(random),
        model_(tree::ModelCopy<P, P, Constants>(plain_, constants_).of(scene.model())),
        dual_model_(moves ? tree::ModelCopy<T, D, Directions>(dual_, directions_).of(scene.model())
                          : tree::ModelCopy<T, D, Constants>(dual_, constants_).of(scene.model())) {
    q_ = take<P>(plain_, model_.reduced_nq + model_.callback_numbers);
    for (int i = 0; i < model_.reduced_nq + model_.callback_numbers; ++i)
      q_[i] = P{scene.worlds().parts().q[i]};
  }

 protected:
  using Tape = simd::Tape<P>;

  template <class N, class W>
  static N* take(tree::Workspace<W>& w, int count) {
    return tree::take<N>(w, count);
  }

  P* plain(const std::vector<double>& x) {
    P* const to = take<P>(plain_, static_cast<int>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) to[i] = P{x[i]};
    return to;
  }

  T* dual_of(const std::vector<double>& x, const std::vector<double>& dx) {
    T* const to = take<T>(dual_, static_cast<int>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) to[i] = dual(x[i], dx[i]);
    return to;
  }

  static std::vector<double> still(int count) {
    return std::vector<double>(static_cast<std::size_t>(count), 0.0);
  }

  P* zeros(int count) { return plain(still(count)); }

  /// q ← q ⊕ a random step.
  void retract(double size) {
    auto step = random_.normals(nv_);
    for (double& each : step) each *= size;
    P* const dq = plain(step);
    dynamics::retract<P>(model_, q_, dq, q_);
  }

  /// Draws the direction of q.
  void aim() {
    along_ = random_.normals(nv_);
    q_dual_ = moved(q_, along_);
  }

  /// q ⊕ δ along a direction of δ.
  T* moved(const P* q, const std::vector<double>& along) {
    T* const to = take<T>(dual_, model_.reduced_nq + model_.callback_numbers);
    for (int i = 0; i < model_.reduced_nq + model_.callback_numbers; ++i) to[i] = constant(value(q[i]));
    dynamics::retract<T>(dual_model_, to, dual_of(still(nv_), along), to);
    return to;
  }

  /// Those of a configuration (user's nq) for cotangents along δ.
  void push_configuration(const T* q, const std::vector<double>& bar, Comparison& to) {
    P* const along = plain(bar);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (joint.reduced_v < 0) continue;
      P at[8] = {}, numbers[8] = {};
      for (int i = 0; i < joint.nq; ++i) at[i] = P{value(q[joint.reduced_q + i])};
      dynamics::seed_joint<P>(joint, at, along + joint.reduced_v, numbers);
      for (int i = 0; i < joint.nq; ++i) to.dual(value(numbers[i]), slope(q[joint.reduced_q + i]));
    }
  }

  /// Readings of signals, 0 without any.
  int reading_count() const {
    return model_.signals == nullptr || model_.signals->readings.program < 0 ? 0
                                                                             : model_.signals->reading_count;
  }

  /// Those of numbers.
  template <class Numbers>
  static void push(const Numbers& x, const std::vector<double>& bar, Comparison& to) {
    for (std::size_t i = 0; i < bar.size(); ++i) to.dual(bar[i], slope(x[i]));
  }

  /// Memory behind all that was taken.
  tree::Workspace<T> scratch() { return {reinterpret_cast<T*>(dual_.next)}; }

  /// A part of the memory, for objects that keep some.
  tree::Workspace<T> tangents(int count) { return {reinterpret_cast<T*>(take<D>(dual_, 2 * count))}; }

  static void pull(const P* bar, const std::vector<double>& direction, Comparison& to) {
    for (std::size_t i = 0; i < direction.size(); ++i) to.adjoint(value(bar[i]), direction[i]);
  }

  /// Cotangents of the tree's coordinates as those of the user's.
  P* users(const P* bar) {
    P* const to = zeros(nv_);
    for (int i = 0; i < model_.nv; ++i) to[model_.mimic_v[i].reduced] += model_.mimic_v[i].ratio * bar[i];
    return to;
  }

  static double* memory(int k) {
    static const Memory both[2];
    return both[k].numbers.get();
  }

  Random& random_;
  const int nv_;  ///< of the user's coordinates
  tree::Workspace<P> plain_;
  tree::Workspace<D> dual_;
  Constants constants_;
  Directions directions_;
  tree::ModelView<P> model_;
  tree::ModelView<T> dual_model_;
  P* q_ = nullptr;
  T* q_dual_ = nullptr;
  std::vector<double> along_;  ///< of q
};

}  // namespace pysim::adjoints
