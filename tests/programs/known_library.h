/* A library that tests declare to be part of the system. */
#ifndef SPROF_TESTS_KNOWN_LIBRARY_H
#define SPROF_TESTS_KNOWN_LIBRARY_H

#include <stdint.h>

/* Spins in the library itself. */
void library_spin(uint64_t turns);

/* Calls back, as qsort does. */
void library_call(void (*function)(uint64_t), uint64_t turns);

#endif
