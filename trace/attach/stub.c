/* Writes the code by which a process makes system calls for sprof over its entry point. */
#include "trace/attach/stub.h"
#include "target/target.h"
#include "trace/plan/plan.h"

#include <string.h>
#include <unistd.h>

/* pop rax, rdi, rsi, rdx, r10, r8, r9; syscall; ret. */
static const uint8_t code[TRACE_STUB_BYTES] = {0x58, 0x5f, 0x5e, 0x5a, 0x41, 0x5a, 0x41,
                                               0x58, 0x41, 0x59, 0x0f, 0x05, 0xc3, 0xcc};

struct search {
    struct trace_stub *stub;
    pid_t pid;
    bool found;
};

/* What the file has, of the mapping that the entry point is in. */
static int look_into(void *context, const struct model_mmap *mapping)
{
    struct search *search = context;
    const uint64_t offset = search->stub->at - mapping->address;
    if (offset >= mapping->size || mapping->size - offset < TRACE_STUB_BYTES || !mapping->file.path)
        return 0;
    struct image *image;
    const struct image_request request = trace_request_of(search->pid, mapping);
    if (image_open(&image, &request, NULL))
        return 0;
    search->found = pread(image_fd(image), search->stub->original, TRACE_STUB_BYTES,
                          (off_t)(mapping->file_offset + offset)) == TRACE_STUB_BYTES;
    image_free(image);
    return 0;
}

int trace_stub_find(struct trace_stub *stub, pid_t pid, struct sprof_error *error)
{
    struct search search = {stub, pid, false};
    uint8_t there[TRACE_STUB_BYTES];
    stub->at = target_entry(pid);
    if (stub->at && target_each_mapping(pid, look_into, &search))
        return sprof_error_memory(error);
    if (search.found && target_read_memory(pid, stub->at, there, sizeof there) == sizeof there &&
        (!memcmp(there, stub->original, sizeof there) || !memcmp(there, code, sizeof there)))
        return 0;
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "process %d has no entry point as its file has it, where the tracing "
                           "agent could be brought in\n`--backend uprobe`, as root, has the kernel "
                           "count its calls",
                           (int)pid);
}

bool trace_stub_write(const struct trace_stub *stub, int memory_fd)
{
    return pwrite(memory_fd, code, sizeof code, (off_t)stub->at) == sizeof code;
}

bool trace_stub_restore(const struct trace_stub *stub, int memory_fd)
{
    return pwrite(memory_fd, stub->original, sizeof stub->original, (off_t)stub->at) ==
           sizeof stub->original;
}

bool trace_stub_holds(const struct trace_stub *stub, uint64_t address)
{
    return address - stub->at < TRACE_STUB_BYTES;
}

void trace_stub_call(uint64_t words[TRACE_STUB_WORDS], uint64_t number, const uint64_t arguments[6],
                     uint64_t next)
{
    words[0] = number;
    memcpy(words + 1, arguments, 6 * sizeof *words);
    words[7] = next;
}
