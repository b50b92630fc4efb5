/* Worlds of a scene in C: load a file that `pysim fmu` or pysim.fmu.engine_file wrote, and step it.
 *
 *     pysim_scene* scene = pysim_scene_read("robot.pysim");
 *     pysim_worlds* worlds = pysim_worlds_new(scene, 1);
 *     pysim_worlds_set_inputs(worlds, 0, torques);
 *     pysim_worlds_step(worlds, 10, 1);
 *     const double* q = pysim_worlds_q(worlds);
 *
 * Functions that return a pointer return null, and others a negative number, where they fail;
 * pysim_message() says why, on the thread of the call. A scene may be shared by threads; worlds belong to one
 * at a time. Worlds refer to their scene, which is freed after them.
 */
#ifndef PYSIM_H
#define PYSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pysim_scene pysim_scene;
typedef struct pysim_worlds pysim_worlds;

/* What a scene has numbers or names of. */
typedef enum {
  PYSIM_Q,         /* coordinates */
  PYSIM_V,         /* velocities */
  PYSIM_INPUTS,    /* numbers that are given from outside */
  PYSIM_SIGNALS,   /* numbers of all signals that can be read */
  PYSIM_BODIES,    /* moving bodies */
  PYSIM_PAIRS,     /* pairs of links that may touch */
  PYSIM_PARAMETERS /* numbers of the scene that may be changed: masses, gains, frictions */
} pysim_what;

/* Version of the engine: files are read by the version that wrote them. */
const char* pysim_version(void);

/* Why the last call on this thread failed. */
const char* pysim_message(void);

/* Scenes. */
pysim_scene* pysim_scene_read(const char* path);
pysim_scene* pysim_scene_load(const void* bytes, size_t size);
void pysim_scene_free(pysim_scene* scene);
const char* pysim_scene_name(const pysim_scene* scene);
/* Step [s], infinite for a scheme that adapts its steps freely. */
double pysim_scene_step(const pysim_scene* scene);
int pysim_scene_adapts(const pysim_scene* scene);
int pysim_scene_count(const pysim_scene* scene, pysim_what what);
const char* pysim_scene_text(const pysim_scene* scene, pysim_what what, int index);
const char* pysim_scene_unit(const pysim_scene* scene, pysim_what what, int index);
/* Index of what has a name. */
int pysim_scene_find(const pysim_scene* scene, pysim_what what, const char* name);

/* Worlds, which begin at the scene's start. */
pysim_worlds* pysim_worlds_new(const pysim_scene* scene, int count);
void pysim_worlds_free(pysim_worlds* worlds);
int pysim_worlds_count(const pysim_worlds* worlds);
/* Lets a world begin again, under inputs that act from the start on; null for those of the scene. */
int pysim_worlds_begin(pysim_worlds* worlds, int world, const double* inputs);

/* Makes steps; returns how many worlds are lost, which stay at their last good states. */
int pysim_worlds_step(pysim_worlds* worlds, int64_t steps, int threads);
/* Makes steps until t [s], one step of this length where the scheme adapts its steps. */
int pysim_worlds_advance(pysim_worlds* worlds, double t, int threads);

/* States: rows of numbers, world after world. What is written counts from the next step on. */
double* pysim_worlds_q(pysim_worlds* worlds);
double* pysim_worlds_v(pysim_worlds* worlds);
const double* pysim_worlds_t(const pysim_worlds* worlds);

/* Numbers of all inputs of a world, one after the other. */
int pysim_worlds_set_inputs(pysim_worlds* worlds, int world, const double* values);
int pysim_worlds_get_inputs(const pysim_worlds* worlds, int world, double* values);

/* Numbers of all parameters of a world. What is set counts from the next step on; a world that has made none
 * begins with it (pysim_worlds_begin). They are not part of a record. */
int pysim_worlds_set_parameters(pysim_worlds* worlds, int world, const double* values);
int pysim_worlds_get_parameters(const pysim_worlds* worlds, int world, double* values);

/* Numbers of all signals of a world at its state, [unit of each]. */
int pysim_worlds_signals(pysim_worlds* worlds, int world, double* values);
/* Poses (bodies, 4, 4) of the bodies in the world, rows of each matrix one after the other [m]. */
int pysim_worlds_poses(pysim_worlds* worlds, int world, double* poses);
/* Forces (pairs, 3) on the second link of every pair, in world axes [N]: in the last step of the integrator
 * convex, at the state of others. */
int pysim_worlds_forces(pysim_worlds* worlds, int world, double* forces);

/* Accelerations of a world at its state, under the contact forces of its last step if that was convex. */
int pysim_worlds_accelerations(pysim_worlds* worlds, int world, double* accelerations);

/* 0 while a world goes on, else a reason, whose text is pysim_status_text. */
int pysim_worlds_status(const pysim_worlds* worlds, int world);
const char* pysim_status_text(int status);

/* The record of a world: what the next step depends on. */
size_t pysim_worlds_saved_size(pysim_worlds* worlds, int world);
int pysim_worlds_save(pysim_worlds* worlds, int world, void* bytes);
int pysim_worlds_load(pysim_worlds* worlds, int world, const void* bytes, size_t size);
int pysim_worlds_copy(pysim_worlds* worlds, int source, int target);

#ifdef __cplusplus
}
#endif

#endif
