// Mutated files of scenes under right checksums: each is read or refused, and what is read runs.
//
//     mutations FILE SEED COUNT      prints how many were read
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "engine/rate_slopes.hpp"
#include "library/handles.hpp"

namespace {

constexpr std::size_t header = 12 + 4 + 8;  // kind, format, checksum

void set_checksum(std::string& bytes) {
  std::uint64_t sum = 14695981039346656037U;
  for (std::size_t k = header; k < bytes.size(); ++k) {
    sum = (sum ^ static_cast<unsigned char>(bytes[k])) * 1099511628211U;
  }
  std::memcpy(&bytes[header - 8], &sum, 8);
}

/// Changes one to four places: a byte, a whole number of four bytes, or a double.
void mutate(std::string& bytes, std::mt19937_64& draw) {
  const auto count = 1 + draw() % 4;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t at = header + draw() % (bytes.size() - header - 8);
    const std::int32_t whole[] = {-1, 0, 1, 7, 1 << 20, -2147483647, 2147483647};
    const double real[] = {-1, 0, 1e300, -1e-300, 1e18, 0.5};
    switch (draw() % 3) {
      case 0:
        bytes[at] = static_cast<char>(draw());
        break;
      case 1:
        std::memcpy(&bytes[at], &whole[draw() % 7], 4);
        break;
      default:
        std::memcpy(&bytes[at], &real[draw() % 6], 8);
    }
  }
}

/// Slopes of what a world of an ordinary differential equation computes.
void compute_slopes(const pysim_worlds& worlds) {
  if (worlds.worlds->is_convex() || worlds.worlds->model().rows() > 0) return;
  pysim::engine::WorldSlopes slopes(*worlds.worlds);
  for (auto* const own : {&slopes.q, &slopes.v, &slopes.signals}) std::fill(own->begin(), own->end(), 0.1);
  slopes.compute(0);
}

/// Runs a scene as far as its signals, poses, forces, accelerations and slopes can be read.
void run(pysim_scene* scene) {
  pysim_worlds* const worlds = pysim_worlds_new(scene, 1);
  if (worlds == nullptr) return;
  std::vector<double> parameters(static_cast<std::size_t>(pysim_scene_count(scene, PYSIM_PARAMETERS)) + 1);
  pysim_worlds_get_parameters(worlds, 0, parameters.data());
  for (double& x : parameters) x *= 1.25;
  pysim_worlds_set_parameters(worlds, 0, parameters.data());
  if (pysim_scene_adapts(scene)) {
    pysim_worlds_advance(worlds, pysim_worlds_t(worlds)[0] + 1e-3, 1);
  } else {
    pysim_worlds_step(worlds, 5, 1);
  }
  const auto size = [&](pysim_what what, int each) {
    return static_cast<std::size_t>(pysim_scene_count(scene, what) * each + 1);
  };
  std::vector<double> signals(size(PYSIM_SIGNALS, 1)), poses(size(PYSIM_BODIES, 16)),
      forces(size(PYSIM_PAIRS, 3)), a(size(PYSIM_V, 1));
  pysim_worlds_signals(worlds, 0, signals.data());
  pysim_worlds_poses(worlds, 0, poses.data());
  pysim_worlds_forces(worlds, 0, forces.data());
  pysim_worlds_accelerations(worlds, 0, a.data());
  compute_slopes(*worlds);
  pysim_worlds_free(worlds);
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  std::ifstream file(words[1], std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::mt19937_64 draw(std::strtoull(words[2], nullptr, 10));
  int read = 0;
  for (int k = 0; k < std::atoi(words[3]); ++k) {
    std::string bytes = whole;
    mutate(bytes, draw);
    set_checksum(bytes);
    if (count > 4) std::ofstream(words[4], std::ios::binary) << bytes;  // to look at the one that ends it
    pysim_scene* const scene = pysim_scene_load(bytes.data(), bytes.size());
    if (scene == nullptr) continue;
    ++read;
    run(scene);
    pysim_scene_free(scene);
  }
  std::printf("%d\n", read);
  return 0;
}
