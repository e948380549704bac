/* Writes code for system calls over a process's entry point. */
#include "inject/entry_code.h"
#include "plan/plan.h"
#include "target/target.h"

#include <string.h>
#include <unistd.h>

struct search {
    struct inject_entry_code *entry;
    pid_t pid;
    bool found;
};

static int search_mapping(void *context, const struct model_mmap *mapping)
{
    struct search *search = context;
    const uint64_t offset = search->entry->at - mapping->address;
    if (offset >= mapping->size || mapping->size - offset < ARCH_CALLS_CODE_BYTES ||
        !mapping->file.path)
        return 0;
    struct image *image;
    const struct image_request request = plan_request_of(search->pid, mapping);
    if (image_open(&image, &request, NULL))
        return 0;
    search->found = pread(image_fd(image), search->entry->original, ARCH_CALLS_CODE_BYTES,
                          (off_t)(mapping->file_offset + offset)) == ARCH_CALLS_CODE_BYTES;
    image_free(image);
    return 0;
}

int inject_entry_code_find(struct inject_entry_code *entry, pid_t pid, struct sprof_error *error)
{
    struct search search = {entry, pid, false};
    uint8_t there[ARCH_CALLS_CODE_BYTES];
    entry->at = target_entry(pid);
    if (entry->at && target_each_mapping(pid, search_mapping, &search))
        return sprof_error_memory(error);
    if (search.found && target_read_memory(pid, entry->at, there, sizeof there) == sizeof there &&
        (!memcmp(there, entry->original, sizeof there) ||
         !memcmp(there, arch_calls_code, sizeof there)))
        return 0;
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "process %d has no entry point as its file has it, where the tracing "
                           "agent could be brought in\n`--backend uprobe`, as root, has the kernel "
                           "count its calls",
                           (int)pid);
}

bool inject_entry_code_write(const struct inject_entry_code *entry, int memory_fd)
{
    return pwrite(memory_fd, arch_calls_code, ARCH_CALLS_CODE_BYTES, (off_t)entry->at) ==
           ARCH_CALLS_CODE_BYTES;
}

bool inject_entry_code_restore(const struct inject_entry_code *entry, int memory_fd)
{
    return pwrite(memory_fd, entry->original, sizeof entry->original, (off_t)entry->at) ==
           sizeof entry->original;
}

void inject_entry_code_call(uint64_t words[INJECT_ENTRY_CODE_WORDS], uint64_t number,
                            const uint64_t arguments[6], uint64_t next)
{
    words[0] = number;
    memcpy(words + 1, arguments, 6 * sizeof *words);
    words[7] = next;
}
