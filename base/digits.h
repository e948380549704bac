/* Whole numbers as people read them. */
#ifndef SPROF_BASE_DIGITS_H
#define SPROF_BASE_DIGITS_H

#include <stdint.h>

/* Room for the largest, 18 446 744 073 709 551 615. */
struct sprof_digits {
    char text[32];
};

/* 31894 as "31 894": groups of three. By value, so that one call can print several. */
struct sprof_digits sprof_digits_of(uint64_t number);

#endif
