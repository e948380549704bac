/* One fuzz target: the function libFuzzer calls. Built without libFuzzer, `driver.c` calls it with
 * the corpus and a fixed number of mutations, so that every build runs every target a little. */
#ifndef SPROF_TESTS_FUZZ_H
#define SPROF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input. */
#define FUZZ_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

#endif
