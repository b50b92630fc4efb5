/* A host of worlds in C: loads a scene, sets its inputs, steps it, goes back and repeats.
 *
 *     host FILE STEPS [INPUT …]      prints q, v and t; ends with 0 if the repeated states have the same bits
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/pysim.h"

static int fail(void) {
  fprintf(stderr, "%s\n", pysim_message());
  return 1;
}

int main(int count, char** words) {
  if (count < 3) return 2;
  pysim_scene* scene = pysim_scene_read(words[1]);
  if (scene == NULL) return fail();
  pysim_worlds* worlds = pysim_worlds_new(scene, 3);
  if (worlds == NULL) return fail();
  const int steps = atoi(words[2]), nq = pysim_scene_count(scene, PYSIM_Q),
            nv = pysim_scene_count(scene, PYSIM_V);
  double* inputs = calloc((size_t)pysim_scene_count(scene, PYSIM_INPUTS) + 1, sizeof(double));
  if (pysim_worlds_get_inputs(worlds, 0, inputs) != 0) return fail();
  for (int k = 3; k < count; ++k) inputs[k - 3] = atof(words[k]);
  for (int world = 0; world < 3; ++world) {
    if (pysim_worlds_begin(worlds, world, inputs) != 0) return fail();
  }
  if (pysim_worlds_step(worlds, steps / 2, 1) < 0) return fail();
  const size_t size = pysim_worlds_saved_size(worlds, 1);
  void* saved = malloc(size);
  if (pysim_worlds_save(worlds, 1, saved) != 0) return fail();
  if (pysim_worlds_step(worlds, steps - steps / 2, 2) < 0) return fail();
  double* q = malloc(((size_t)nq + 1) * sizeof(double));
  memcpy(q, pysim_worlds_q(worlds) + nq, (size_t)nq * sizeof(double));
  if (pysim_worlds_load(worlds, 1, saved, size) != 0) return fail();
  const double t = pysim_worlds_t(worlds)[0];
  if (pysim_worlds_advance(worlds, t, 1) < 0) return fail(); /* the first is there: nothing is stepped */
  pysim_worlds* again = pysim_worlds_new(scene, 1);
  if (pysim_worlds_load(again, 0, saved, size) != 0 || pysim_worlds_step(again, steps - steps / 2, 1) < 0) {
    return fail();
  }
  for (int k = 0; k < nq; ++k) printf("%.17g ", pysim_worlds_q(worlds)[k]);
  for (int k = 0; k < nv; ++k) printf("%.17g ", pysim_worlds_v(worlds)[k]);
  printf("%.17g\n", t);
  const int differs = memcmp(q, pysim_worlds_q(again), (size_t)nq * sizeof(double)) != 0 ||
                      memcmp(q, pysim_worlds_q(worlds), (size_t)nq * sizeof(double)) != 0;
  pysim_worlds_free(again);
  pysim_worlds_free(worlds);
  pysim_scene_free(scene);
  free(saved), free(q), free(inputs);
  return differs;
}
