/* A host of an FMU of FMI 2 in C: two instances in two threads, each of which goes back once.
 *
 *     host BINARY RESOURCES TOKEN STEP STEPS OTHER [REFERENCE ...]
 *
 * Prints the numbers of the references after the steps of each instance; ends with 0 if an instance that is
 * made with the token OTHER is refused, and going back repeats the bits.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmu/headers/fmi2FunctionTypes.h"

typedef struct {
  fmi2InstantiateTYPE* instantiate;
  fmi2SetupExperimentTYPE* setup;
  fmi2EnterInitializationModeTYPE* enter;
  fmi2ExitInitializationModeTYPE* leave;
  fmi2DoStepTYPE* step;
  fmi2GetRealTYPE* get;
  fmi2GetFMUstateTYPE* save;
  fmi2SetFMUstateTYPE* restore;
  fmi2FreeFMUstateTYPE* release;
  fmi2FreeInstanceTYPE* free;
} Functions;

static Functions fmu;
static fmi2CallbackFunctions callbacks;
static const char *resources, *token;
static double length;
static int steps, count;
static fmi2ValueReference* references;

typedef struct {
  double* values;
  int failed;
} Result;

static void log_text(fmi2ComponentEnvironment environment,
                     fmi2String name,
                     fmi2Status status,
                     fmi2String category,
                     fmi2String text,
                     ...) {
  va_list list;
  (void)environment, (void)status, (void)category;
  fprintf(stderr, "%s: ", name);
  va_start(list, text);
  vfprintf(stderr, text, list);
  va_end(list);
  fprintf(stderr, "\n");
}

static void* run(void* argument) {
  Result* result = argument;
  double* first = malloc((size_t)count * sizeof(double));
  fmi2FMUstate middle = NULL;
  fmi2Component c = fmu.instantiate("one", fmi2CoSimulation, token, resources, &callbacks, 0, 0);
  result->failed = 1;
  if (c == NULL) return NULL;
  int bad = fmu.setup(c, 0, 0, 0, 0, 0) || fmu.enter(c) || fmu.leave(c);
  for (int k = 0; k < steps; ++k) {
    if (k == steps / 2) bad |= fmu.save(c, &middle);
    bad |= fmu.step(c, k * length, length, 0);
  }
  bad |= fmu.get(c, references, (size_t)count, first) || fmu.restore(c, middle);
  for (int k = steps / 2; k < steps; ++k) bad |= fmu.step(c, k * length, length, 0);
  bad |= fmu.get(c, references, (size_t)count, result->values) || fmu.release(c, &middle);
  result->failed = bad || memcmp(first, result->values, (size_t)count * sizeof(double)) != 0;
  fmu.free(c);
  free(first);
  return NULL;
}

static int load(const char* binary) {
  void* const library = dlopen(binary, RTLD_NOW | RTLD_LOCAL);
  const char* const names[] = {"Instantiate", "SetupExperiment", "EnterInitializationMode",
                               "ExitInitializationMode", "DoStep", "GetReal", "GetFMUstate",
                               "SetFMUstate", "FreeFMUstate", "FreeInstance"};
  void** const functions = (void**)&fmu;
  if (library == NULL) return 0;
  for (size_t k = 0; k < sizeof(names) / sizeof(*names); ++k) {
    char name[64];
    snprintf(name, sizeof(name), "fmi2%s", names[k]);
    if ((functions[k] = dlsym(library, name)) == NULL) return 0;
  }
  return 1;
}

int main(int words, char** word) {
  Result results[2];
  pthread_t threads[2];
  if (words < 7 || !load(word[1])) return 2;
  callbacks.logger = log_text;
  resources = word[2], token = word[3], length = atof(word[4]), steps = atoi(word[5]), count = words - 7;
  references = calloc((size_t)count + 1, sizeof(*references));
  for (int k = 0; k < count; ++k) references[k] = (fmi2ValueReference)atol(word[7 + k]);
  if (fmu.instantiate("other", fmi2CoSimulation, word[6], resources, &callbacks, 0, 0) != NULL) return 3;
  for (int i = 0; i < 2; ++i) {
    results[i].values = calloc((size_t)count + 1, sizeof(double));
    pthread_create(&threads[i], NULL, run, &results[i]);
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < count; ++k) printf("%.17g ", results[i].values[k]);
    printf("\n");
    free(results[i].values);
  }
  free(references);
  return results[0].failed || results[1].failed;
}
