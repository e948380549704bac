/* Executable mappings of a process, now and at an earlier read. Functions that return int return 0
 * or SPROF_ENOMEM. */
#ifndef SPROF_PROBING_MAPPED_FILES_H
#define SPROF_PROBING_MAPPED_FILES_H

#include "probing/program.h"

struct probing_mapped {
    uint64_t address, size, file_offset;
    struct sprof_file_id file; /* its path is in probing_mapped_files.paths */
    bool is_early;             /* still to be reported by the loader */
};

/* To begin, set only `program`, which is borrowed; all else is zero. */
struct probing_mapped_files {
    struct probing_program *program;
    SPROF_VEC(struct probing_mapped) before, now;
    SPROF_VEC(uint64_t) linked; /* address - vaddr, from the loader's list */
    SPROF_VEC(const char *) paths;
};

bool probing_mapped_is_of(const struct probing_mapped *mapped, const struct probing_file *file);
struct model_mmap probing_mapped_as_model(const struct probing_mapped *mapped);

/* Reads `now`. */
int probing_mapped_files_read(struct probing_mapped_files *files);

/* Sets `before` to `now` without early mappings. */
void probing_mapped_files_keep(struct probing_mapped_files *files);

bool probing_mapped_files_had(const struct probing_mapped_files *files,
                              const struct probing_mapped *mapped);

/* Whether another mapping of its file in `now` counts. Only the first that is loaded counts: a
 * library can have several executable mappings and be in several namespaces. */
bool probing_mapped_files_has_other(const struct probing_mapped_files *files, size_t index);

/* Reads the loader's list of files. Code of files outside of it may run already. */
int probing_mapped_files_read_linked(struct probing_mapped_files *files);

/* Whether the list has this bias. */
bool probing_mapped_files_is_linked(const struct probing_mapped_files *files, uint64_t bias);

void probing_mapped_files_release(struct probing_mapped_files *files);

#endif
