// A pendulum that swings onto a ground, in C++ alone: it is saved, goes on, is restored, and reaches the same
// bits. same bits.
#include <cstdio>
#include <cstring>
#include <vector>

#include "engine/worlds.hpp"

using namespace pysim;

int main() {
  tree::JointDescription hinge;
  hinge.name = "hinge";
  hinge.motion.shape = tree::Shape::revolute;
  hinge.motion.axis[1] = 1, hinge.motion.axis[2] = 0;
  const double gravity[3] = {0, 0, -9.81};  // 1 kg, 0.5 m below the hinge: m, mc, I about the hinge
  const tree::Model model({hinge}, {{1, 0, 0, -0.5, 0.26, 0.26, 0.01, 0, 0, 0}}, gravity);
  engine::ContactDescription contacts = {};
  contacts.shapes.push_back(
      {0, "sphere", {0.05, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, -0.5}, {}, {}, {}, {}, {}, -1, 0});
  contacts.pairs = {{-1, 0, 0, 0}};
  contacts.planes = {0, 0, 1, -0.5};
  contacts.surfaces = {0, 0, 0};
  contacts.laws = {1e5, 1, 0.5, 0.8, 0.8, 1e5, 0, 0, 0};
  contacts.slip_speed = 0.01;
  const engine::ModelContacts ground(model, contacts);

  engine::OwnedMemory memory;
  engine::Worlds<double> worlds(model, &ground, 2, {"convex", 1e-3}, {}, {}, memory.allocate());
  const auto& parts = worlds.parts();
  parts.q[0] = 1.2, parts.q[1] = 0.6;  // the first swings free for 0.2 s, the second touches soon
  worlds.accept(worlds.all());
  worlds.step(200, worlds.all(), {}, 1);
  std::vector<char> saved(worlds.saved_size(worlds.all()));
  worlds.save(worlds.all(), saved.data());
  worlds.step(300, worlds.all(), {}, 1);
  const double went_on[] = {parts.q[0], parts.q[1], parts.v[0], parts.v[1], parts.t[0]};
  worlds.load(saved.data(), saved.size(), worlds.all());
  worlds.step(300, worlds.all(), {}, 1);
  const double restored[] = {parts.q[0], parts.q[1], parts.v[0], parts.v[1], parts.t[0]};
  for (const double x : restored) std::printf("%.17g ", x);
  std::printf("%d %d\n", static_cast<int>(parts.touching[0]), static_cast<int>(parts.touching[1]));
  return std::memcmp(went_on, restored, sizeof(restored)) == 0 && parts.status[0] == 0 ? 0 : 1;
}
