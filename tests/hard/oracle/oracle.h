/* The oracle test: threads of a real program are stopped again and again, and each time the same
 * registers and the same memory are unwound by sprof, by libunwind and by libdwfl. */
#ifndef SPROF_TESTS_ORACLE_H
#define SPROF_TESTS_ORACLE_H

#include "unwind/unwind.h"

#include <stdbool.h>
#include <sys/types.h>

enum { ORACLE_FRAMES = 4096, ORACLE_SLICE = 65304, ORACLE_NOWHERE = ORACLE_FRAMES };

/* == The stopped thread (target.c) == */

struct oracle_map {
    uint64_t start, end, offset, inode;
    uint32_t device_major, device_minor;
    bool executable;
    char *path; /* "" for anonymous memory */
};

struct oracle_target {
    pid_t pid, tid;
    struct oracle_map *maps;
    size_t map_count;
    char *maps_text;
    uint32_t generation; /* another one whenever the maps have changed */
    struct unwind_registers registers;
    uint8_t slice[ORACLE_SLICE]; /* of the stack, from its pointer up */
    size_t slice_size;
};

/* Stops one thread that is on a CPU, else the first. False when the process has ended. */
bool target_stop(struct oracle_target *target);
void target_go_on(struct oracle_target *target);
void target_release(struct oracle_target *target);

/* All `size` bytes of the stopped thread's memory: 0, else -1. */
int target_read(const struct oracle_target *target, uint64_t address, void *buffer, size_t size);
const struct oracle_map *target_map(const struct oracle_target *target, uint64_t address);

/* ---- What an unwinder found -----------------------------------------------------------------
 * Frames behind the first one that has no call frame information are the unwinder's guesses: no
 * evidence. `guessing` is that frame's index, ORACLE_NOWHERE where there is none. */
struct oracle_stack {
    uint64_t pc[ORACLE_FRAMES];
    uint8_t found_by[ORACLE_FRAMES]; /* sprof only */
    size_t count;
    size_t guessing;
    enum model_end end; /* sprof only */
    bool switched;      /* sprof only: to another stack */
    char error[96];     /* the others: why they stopped; "" at a root */
};

struct oracle_sprof;
struct oracle_sprof *oracle_sprof_new(void);
void oracle_sprof_free(struct oracle_sprof *sprof);
void oracle_sprof_walk(struct oracle_sprof *sprof, const struct oracle_target *target,
                       struct oracle_stack *stack);

struct oracle_libunwind;
struct oracle_libunwind *oracle_libunwind_new(void);
void oracle_libunwind_free(struct oracle_libunwind *libunwind);
void oracle_libunwind_walk(struct oracle_libunwind *libunwind, const struct oracle_target *target,
                           struct oracle_stack *stack);

struct oracle_libdwfl;
struct oracle_libdwfl *oracle_libdwfl_new(void);
void oracle_libdwfl_free(struct oracle_libdwfl *libdwfl);
void oracle_libdwfl_walk(struct oracle_libdwfl *libdwfl, const struct oracle_target *target,
                         struct oracle_stack *stack);

/* == Comparing (compare.c) == */

/* The reason for stacks that sprof ends at a top of Go's stack, where others go on. */
extern const char oracle_go_top[];

/* NULL: the same frames. Else why not, by name; "" when no known reason explains it. `go` admits
 * what only Go's programs may do. */
const char *oracle_explain(const struct oracle_stack *sprof, const struct oracle_stack *other,
                           const char *other_name, const struct oracle_target *target, bool go);

#endif
