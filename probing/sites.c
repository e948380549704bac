/* Records jumps and original bytes in shared memory, for the keeper and for `sprof probes -p`
 * (inject/untraced.c). */
#include "probing/probes.h"
#include "probing/program.h"

#include <string.h>

void probing_note_site(struct probing_program *program, size_t index, uint64_t address,
                       const uint8_t original[PLAN_JUMP_BYTES])
{
    struct probe_shared *shared = program->process.shared;
    struct probe_site site = {.address = address};
    memcpy(site.original, original, PLAN_JUMP_BYTES);
    shared->sites.list[index] = site;
    if (shared->sites.count <= index)
        shared->sites.count = (uint32_t)index + 1;
}

void probing_note_site_of(struct probing_program *program, size_t number)
{
    const struct probing_probe *probe = &program->probes.items[number];
    probing_note_site(program, 1 + number,
                      program->files.items[probe->file].bias + probe->function->site,
                      probe->function->original);
}

void probing_forget_sites(struct probing_program *program, size_t first, size_t count)
{
    memset(program->process.shared->sites.list + 1 + first, 0,
           count * sizeof *program->process.shared->sites.list);
}

uint64_t probing_thunk_address(const struct probing_program *program,
                               const struct probing_probe *probe)
{
    return program->process.hello.thunks + (uint64_t)probe->thunk * ARCH_THUNK_BYTES;
}
