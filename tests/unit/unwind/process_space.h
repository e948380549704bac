/* A live process as the target of walks: its executable mappings, and tables of what they map. */
#ifndef SPROF_TESTS_UNWIND_PROCESS_SPACE_H
#define SPROF_TESTS_UNWIND_PROCESS_SPACE_H

#include "unwind/unwind.h"

#include <sys/types.h>

enum { PROCESS_REGIONS = 256, PROCESS_IMAGES = 64, PROCESS_PATH = 256 };

struct process_space {
    pid_t pid;
    struct unwind_region regions[PROCESS_REGIONS];
    size_t count;
    struct {
        char path[PROCESS_PATH];
        struct unwind_table *table;
    } images[PROCESS_IMAGES];
    size_t image_count;
    struct unwind_space space;
};

/* Zeroed by the caller. Reads the mappings (again); their generation changes with them. Files are
 * read once. Returns false where /proc says nothing. */
bool process_space_update(struct process_space *process, pid_t pid);
void process_space_release(struct process_space *process);

/* memory->read, with the process as its context. */
int process_space_read(void *process, uint64_t address, void *buffer, size_t size);

/* Copies as much as can be read, up to `size`; returns how much. */
size_t process_space_copy(pid_t pid, uint64_t address, uint8_t *buffer, size_t size);

#endif
