/* Finds jumps that the program dropped with pages of its code (MADV_DONTNEED). The file's bytes are
 * back, so the probes count as resting until they are written again. */
#include "probing/probes.h"
#include "probing/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BETWEEN_NS UINT64_C(1000000000)
enum { PAGE_BITS = 12, BLOCK = 512 /* pages (2 MiB) */ };
/* see /proc/PID/pagemap in proc(5) */
#define IN_SWAP (UINT64_C(1) << 62)
#define PRESENT (UINT64_C(1) << 63)
#define OF_FILE (UINT64_C(1) << 61)

struct gone_pages {
    int fd;
    uint64_t first;
    size_t count;
    uint64_t entries[BLOCK];
};

/* A page with a jump is the process's copy, not the file's. */
static bool is_files(struct gone_pages *pages, uint64_t address)
{
    const uint64_t page = address >> PAGE_BITS;
    if (page - pages->first >= pages->count) {
        pages->first = page - page % BLOCK;
        const ssize_t size = pread(pages->fd, pages->entries, sizeof pages->entries,
                                   (off_t)(pages->first * sizeof *pages->entries));
        pages->count = size > 0 ? (size_t)size / sizeof *pages->entries : 0;
        if (page - pages->first >= pages->count)
            return false;
    }
    const uint64_t entry = pages->entries[page - pages->first];
    return entry & PRESENT ? (entry & OF_FILE) != 0 : !(entry & IN_SWAP);
}

static bool is_gone(const struct probing_program *program, const struct probing_probe *probe,
                    struct gone_pages *pages)
{
    const uint64_t site = program->files.items[probe->file].bias + probe->function->site;
    uint8_t there[PLAN_JUMP_BYTES];
    return probe->is_placed && !probe->is_restored && !probe->rests &&
           probing_can_place_live(program, probe) && is_files(pages, site) &&
           pread(program->process.code_fd, there, sizeof there, (off_t)site) ==
               (ssize_t)sizeof there &&
           !memcmp(there, probe->function->original, sizeof there);
}

static bool is_due(const struct probing_program *program)
{
    return program->times.now_ns >= program->gone_jumps.next_ns &&
           program->options.rest_ns != TRACE_NEVER && program->process.code_fd > 0 &&
           program->way->can_rest && !program->options.children && !program->points &&
           !program->executable.is_replaced;
}

void probing_gone_jumps_refresh(struct probing_program *program)
{
    char path[64];
    size_t gone = 0;
    if (!is_due(program))
        return;
    program->gone_jumps.next_ns = program->times.now_ns + BETWEEN_NS;
    sprof_proc_shared_path(path, sizeof path, program->process.pid, "pagemap");
    struct gone_pages pages = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    for (size_t i = 0; i < program->probes.count && pages.fd >= 0; i++)
        if (is_gone(program, &program->probes.items[i], &pages)) {
            probing_note_rest(&program->probes.items[i]);
            gone++;
        }
    if (pages.fd >= 0)
        close(pages.fd);
    if (!gone)
        return;
    if (!program->gone_jumps.is_reported)
        sprof_log_message(
            program->options.log, SPROF_LOG_WARNING,
            "the program has given back pages of its code (madvise), and with them "
            "the probes of %zu function%s: they are put back once a second, and calls "
            "until then are not counted",
            gone, sprof_plural(gone));
    program->gone_jumps.is_reported = true;
    probing_wake(program);
}
