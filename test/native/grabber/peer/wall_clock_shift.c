/* Preloaded into a program, moves its wall clock by as many seconds as the file $WALL_CLOCK_SHIFT says, from the moment
 * the file says so. The monotonic clock stays what it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long shift(void) {
  const char* const name = getenv("WALL_CLOCK_SHIFT");
  long seconds = 0;
  FILE* const file = name == NULL ? NULL : fopen(name, "re");
  if (file == NULL) return 0;
  if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
  fclose(file);
  return seconds;
}

typedef int (*ClockGettime)(clockid_t, struct timespec*);

int clock_gettime(clockid_t clock, struct timespec* now) {
  static ClockGettime real;
  if (real == NULL) real = (ClockGettime)dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += shift();
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* into) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (into != NULL) *into = precise.tv_sec;
  return precise.tv_sec;
}
