/* Plans of the files that a live process runs code of. */
#ifndef SPROF_PLAN_PROCESS_PLAN_H
#define SPROF_PLAN_PROCESS_PLAN_H

#include "plan/function_plan.h"

#include <sys/types.h>

/* One file that a process runs code of. */
struct plan_module {
    struct plan plan;         /* empty where there is none */
    const char *path;         /* as the process sees it */
    uint64_t identity;        /* see plan_identity */
    uint64_t bias;            /* address - vaddr */
    uint64_t address;         /* of the mapping that was looked at */
    size_t differing;         /* functions of which the process runs other bytes */
    struct sprof_error error; /* code 0, or why there is no plan */
};

struct model_mmap; /* model/records.h */

/* What is in a process for another purpose, and is to be left out. */
struct plan_put_in {
    const void *context;
    /* Puts what was there before into bytes that were read at an address. */
    void (*restore)(const void *context, uint64_t address, uint8_t *bytes, size_t size);
    bool (*is)(const void *context, const struct model_mmap *mapping);
};

/* Plans every file that a live process has mapped executable and `wants` (NULL: all) accepts,
 * each once, compares the bytes, and calls `module` for each; what it returns other than 0 ends the
 * matter and is returned. The plan is the callee's to keep (by zeroing it), else it is released.
 * The bytes come from its memory, or where that is -1 by system calls that ptrace rights are needed
 * for, but for what was `put_in` (NULL: nothing).
 * *runs_generated_code: it has executable memory that is no file's, so that each probe has to
 * check its caller. Errors: SPROF_ENOTFOUND (no such process, or nothing mapped that may be seen),
 * SPROF_EPERMISSION, SPROF_ENOMEM. */
int plan_process(pid_t pid, int memory_fd, struct cache *cache, const struct plan_put_in *put_in,
                 bool (*wants)(void *context, const struct image_request *file),
                 int (*module)(void *context, struct plan_module *module), void *context,
                 bool *runs_generated_code, struct sprof_error *error);

/* Whether what is mapped there is code that the process has made, and no file of code: no file at
 * all, or of /dev/zero, of System V's shared memory or a memfd, unless a program or a library was
 * put into that. Stacks are none, though they may be executable. */
bool plan_is_generated(pid_t pid, const struct model_mmap *mapping);

/* What opens the file of a mapping of a process, whatever has its path by now; borrows the
 * mapping's path. */
struct image_request plan_request_of(pid_t pid, const struct model_mmap *mapping);

/* The same of the file that a process has mapped, with that identity; borrows `path`, which is
 * what is opened where it is not mapped any more. SPROF_ENOMEM. */
int plan_request_find(struct image_request *request, pid_t pid, uint64_t identity,
                      const char *path);

/* Digest of device and inode of a mapped file, which it keeps when it is renamed, replaced or
 * removed. Compare it only with those of other mappings: some file systems' stat differs. */
uint64_t plan_identity(const struct sprof_file_id *file);

/* Whether two mappings of a file are of one copy of it: their addresses differ as places in it do.
 */
bool plan_is_same_copy(const struct model_mmap *a, const struct model_mmap *b);

/* Whether a mapping of a file is not of the copy that the process's loader has made, and there is
 * such a one. It takes a look at all mappings: for files that have several. */
bool plan_is_idle_copy(pid_t pid, const struct model_mmap *mapping);

/* Plans the file of one mapping in module->path, and compares the bytes; module->error says what
 * went wrong. The caller releases module->plan. */
void plan_mapping(struct plan_module *module, pid_t pid, const struct model_mmap *mapping,
                  struct cache *cache);

#endif
