/* The bytes of a recording without rows, which store/empty/main.c makes when sprof is built. */
#ifndef SPROF_STORE_EMPTY_H
#define SPROF_STORE_EMPTY_H

#include <stddef.h>
#include <stdint.h>

extern const uint8_t store_empty[];
extern const size_t store_empty_size;

#endif
