/* Made-up stacks of real code: frames at random addresses of an image, each laid out as the image's
 * own call frame information says, so that every unwinder must find the same ones. */
#ifndef SPROF_BENCH_UNWIND_STACK_H
#define SPROF_BENCH_UNWIND_STACK_H

#include "unwind/unwind.h"

#define BENCH_STACK UINT64_C(0x7ffd00000000)

struct bench_stack {
    uint8_t *bytes;
    size_t size;
    struct unwind_registers registers;
    uint64_t bias;       /* of the image; 0 for one that cannot be moved */
    uint64_t *addresses; /* innermost first */
    size_t frames;
};

/* A stack of `frames` distinct frames. Returns 0 or a negative code. */
int bench_stack_make(struct bench_stack *stack, const struct unwind_table *table, uint64_t bias,
                     size_t frames, unsigned seed);
void bench_stack_free(struct bench_stack *stack);

/* The vaddrs at which the table's rows begin; the caller frees. NULL when out of memory. */
uint64_t *bench_row_starts(const struct unwind_table *table);

/* One peer's walk of the stack: the number of leading frames that agree with the stack, and the
 * nanoseconds a frame of the best of `rounds` rounds. */
struct bench_peer {
    size_t agreeing;
    double ns_per_frame;
};
struct bench_peer bench_libunwind(const struct bench_stack *stack, const char *path, int rounds);
struct bench_peer bench_libdwfl(const struct bench_stack *stack, const char *path, int rounds);

/* Nanoseconds a row of libdw's dwarf_cfi_addrframe over rows of the table. */
double bench_libdw_row_ns(const struct unwind_table *table, const char *path, size_t rows);

#endif
