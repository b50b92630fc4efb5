/* Preloaded into a process to make its writes to files fail: the n-th, all from the n-th on, or to kill it there, before
   or in the middle of the write. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { ONE = 1, ALL_LATER = 2, KILL = 3, KILL_HALFWAY = 4 };

enum { HALFWAY = 2 };  /* of `fails`: half of the bytes are written, then the process is killed */

static long count, fail_at;
static int mode;

void arm(long n, int how) {
  count = 0;
  fail_at = n;
  mode = how;
}

long writes(void) { return count; }

static int fails(int fd) {
  struct stat found;
  if (!mode || fstat(fd, &found) || !S_ISREG(found.st_mode)) return 0;
  ++count;
  if (count < fail_at || (count > fail_at && mode == ONE)) return 0;
  if (mode == KILL) kill(getpid(), SIGKILL);
  if (mode == KILL_HALFWAY) return HALFWAY;
  errno = EIO;
  return 1;
}

static ssize_t killed(ssize_t written) {
  kill(getpid(), SIGKILL);
  return written;
}

static int refused(int fd) {
  int fate = fails(fd);
  if (fate == HALFWAY) killed(0);
  return fate;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void* data, size_t size) {
  int fate = fails(fd);
  if (fate == HALFWAY) return killed(REAL(write)(fd, data, size / 2));
  return fate ? -1 : REAL(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  int fate = fails(fd);
  if (fate == HALFWAY) return killed(REAL(pwrite)(fd, data, size / 2, offset));
  return fate ? -1 : REAL(pwrite)(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  int fate = fails(fd);
  if (fate == HALFWAY) return killed(REAL(pwrite64)(fd, data, size / 2, offset));
  return fate ? -1 : REAL(pwrite64)(fd, data, size, offset);
}

int ftruncate(int fd, off_t length) { return refused(fd) ? -1 : REAL(ftruncate)(fd, length); }

int ftruncate64(int fd, off64_t length) { return refused(fd) ? -1 : REAL(ftruncate64)(fd, length); }

int fsync(int fd) { return refused(fd) ? -1 : REAL(fsync)(fd); }
