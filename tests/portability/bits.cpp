// Fingerprints of what the engine computes, one a line, for comparison between processors and systems.
//
//     bits FILE …      scenes as engine files (pysim.simulation.engine_file)
//
// Maps and algorithms in both precisions at pseudo-random arguments, as packs and one state at a time, then
// worlds of every scene. A NaN counts as one value: its sign and payload are the processor's.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "engine/dispatch.hpp"
#include "library/handles.hpp"

using namespace pysim;

namespace {

/// Splitmix64 [Steele, Lea, Flood 2014].
class Random {
 public:
  /// In −1 … 1, exact in both precisions.
  double unit() { return static_cast<double>(static_cast<std::int64_t>(next() >> 41)) / (1 << 22) - 1; }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_ = 1;
};

/// FNV-1a of the bytes of numbers.
class Fingerprint {
 public:
  template <class Real>
  void add(const Real* x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Real value = std::isnan(x[i]) ? static_cast<Real>(NAN) : x[i];
      unsigned char bytes[sizeof(Real)];
      std::memcpy(bytes, &value, sizeof(Real));
      for (const unsigned char byte : bytes) hash_ = (hash_ ^ byte) * 0x100000001b3u;
    }
  }

  void print(const std::string& name) const {
    std::printf("%s %016llx\n", name.c_str(), static_cast<unsigned long long>(hash_));
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

/// Of packs, and of states that fill none.
constexpr std::size_t rows = 21;

template <class Real>
const char* precision_name() {
  return sizeof(Real) == 8 ? "double" : "float";
}

/// Numbers around 1 and over all magnitudes; subnormal and infinite ones as well.
template <class Real>
std::vector<Real> random_numbers(Random& random, std::size_t count) {
  std::vector<Real> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double near = random.unit(), power = random.unit();
    x[i] = static_cast<Real>(i % 5 == 0 ? std::ldexp(near, static_cast<int>(power * 140)) : 3 * near);
  }
  return x;
}

template <class Real>
void print_maps() {
  Random random;
  const auto& kernels = engine::precision<Real>();
  for (const auto& map : kernels.spatial.maps) {
    const std::size_t in = rows * static_cast<std::size_t>(map.in),
                      out = rows * static_cast<std::size_t>(map.out);
    const std::vector<Real> x = random_numbers<Real>(random, in);
    std::vector<Real> y(out);
    map.run(x.data(), y.data(), rows);
    Fingerprint print;
    print.add(y.data(), out);
    print.print(std::string("map ") + map.name + " " + precision_name<Real>());
  }
}

/// Random states of a model, and room for every result.
template <class Real>
class Algorithms {
 public:
  Algorithms(const tree::Model& model, const double* start, std::string scene)
      : model_(model), scene_(std::move(scene)) {
    const auto nq = static_cast<std::size_t>(model.nq()), nv = static_cast<std::size_t>(model.nv()),
               bodies = static_cast<std::size_t>(model.nbodies()),
               full = static_cast<std::size_t>(model.tree_nv());
    for (std::size_t k = 0; k < rows; ++k) q_.insert(q_.end(), start, start + nq);
    for (auto* const x : {&v_, &x_}) {
      x->resize(rows * nv);
      for (Real& number : *x) number = static_cast<Real>(random_.unit());
    }
    for (const double x : model.loop_start()) loop_q_.push_back(static_cast<Real>(x));
    for (std::size_t k = 1; k < rows; ++k) {
      loop_q_.insert(loop_q_.end(), loop_q_.begin(), loop_q_.begin() + model.loop_nq());
    }
    out_.resize(rows * (6 * full * full + (nv + 12) * (nv + nq + 16 * bodies) + 64));
    for (auto& matrix : derivative_) matrix.resize(rows * nv * nv);
    run("integrate", &engine::StateKernels<Real>::integrate);
    q_.assign(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(rows * nq));
  }

  void run(const char* name, engine::Kernel<Real> engine::StateKernels<Real>::* kernel) {
    static constexpr Real placement[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, Real(0.25), Real(-0.5), Real(0.75)};
    engine::Batch<Real> batch = {};
    batch.states = rows;
    batch.q = q_.data(), batch.v = v_.data(), batch.x = x_.data(), batch.loop_q = loop_q_.data();
    batch.body = model_.nbodies() - 1, batch.placement = placement, batch.passive = true;
    std::fill(out_.begin(), out_.end(), Real(0));
    batch.out = out_.data();
    for (int m = 0; m < 3; ++m) {
      std::fill(derivative_[m].begin(), derivative_[m].end(), Real(0));
      batch.derivative[m] = derivative_[m].data();
    }
    engine::run_batch<Real>(kernel, model_, batch, 1);
    Fingerprint print;
    print.add(out_.data(), out_.size());
    for (const auto& matrix : derivative_) print.add(matrix.data(), matrix.size());
    print.print(scene_ + " " + name + " " + precision_name<Real>());
  }

 private:
  const tree::Model& model_;
  std::string scene_;
  Random random_;
  std::vector<Real> q_, v_, x_, loop_q_, out_, derivative_[3];
};

template <class Real>
void print_algorithms(const tree::Model& model, const double* start, const std::string& scene) {
  if (model.callback_numbers() > 0) return;
  Algorithms<Real> algorithms(model, start, scene);
#define PYSIM_PRINT(name, Operation) \
  if (std::strcmp(#name, "difference") != 0) algorithms.run(#name, &engine::StateKernels<Real>::name);
  PYSIM_FUNCTIONS(PYSIM_PRINT)
  PYSIM_FRAME_FUNCTIONS(PYSIM_PRINT)
  PYSIM_DESIGN_DERIVATIVES(PYSIM_PRINT)
#undef PYSIM_PRINT
  algorithms.run("rnea_derivatives", &engine::StateKernels<Real>::rnea_derivatives);
  algorithms.run("aba_derivatives", &engine::StateKernels<Real>::aba_derivatives);
  algorithms.run("passive_force_derivatives", &engine::StateKernels<Real>::passive_force_derivatives);
}

/// Worlds, begun at the scene's start with other velocities: eleven, so that packs of two registers and of
/// one, and single worlds run.
void print_worlds(const pysim_scene& scene, const std::string& name) {
  constexpr int count = 11, steps = 200;
  pysim_worlds worlds(&scene, count);
  for (int k = 0; k < count; ++k) scene.scene.begin(*worlds.worlds, k, nullptr);
  const auto nv = static_cast<std::size_t>(scene.scene.model().nv());
  double* const v = pysim_worlds_v(&worlds);
  Random random;
  if (scene.scene.model().loop_nq() == 0) {  // else velocities have to satisfy the loops
    for (std::size_t i = 0; i < count * nv; ++i) v[i] += 0.1 * random.unit();
  }
  const int lost = worlds.step(steps, 1, std::nullopt);
  Fingerprint print;
  print.add(pysim_worlds_q(&worlds), count * static_cast<std::size_t>(scene.scene.model().nq()));
  print.add(v, count * nv);
  print.add(pysim_worlds_t(&worlds), count);
  print.print(name + " worlds, " + std::to_string(lost) + " lost");
}

}  // namespace

int main(int count, char** words) {
  print_maps<double>();
  print_maps<float>();
  for (int k = 1; k < count; ++k) {
    const std::string path = words[k], file = path.substr(path.find_last_of("/\\") + 1);
    const std::string name = file.substr(0, file.find('.'));
    pysim_scene* const scene = pysim_scene_read(path.c_str());
    if (scene == nullptr) {
      std::fprintf(stderr, "%s\n", pysim_message());
      return 1;
    }
    pysim_worlds worlds(scene, 1);
    const double* const q = pysim_worlds_q(&worlds);
    print_algorithms<double>(scene->scene.model(), q, name);
    print_algorithms<float>(scene->scene.model(), q, name);
    print_worlds(*scene, name);
    pysim_scene_free(scene);
  }
  return 0;
}
