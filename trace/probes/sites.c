/* Notes where jumps to probes stand, and what was there, in the memory that tracer and process
 * share: who takes them out where the tracer was killed needs no file for that. */
#include "trace/probes/probes.h"

#include <string.h>

void trace_note_site(struct trace_session *session, size_t index, uint64_t address,
                     const uint8_t original[TRACE_JUMP_BYTES])
{
    struct probe_shared *shared = session->shared;
    struct probe_site site = {.address = address};
    memcpy(site.original, original, TRACE_JUMP_BYTES);
    shared->sites[index] = site;
    if (shared->site_count <= index)
        shared->site_count = (uint32_t)index + 1;
}

void trace_note_site_of(struct trace_session *session, size_t number)
{
    const struct trace_probe *probe = &session->probes.items[number];
    trace_note_site(session, 1 + number,
                    session->files.items[probe->file].bias + probe->function->site,
                    probe->function->original);
}

void trace_forget_sites(struct trace_session *session, size_t first, size_t count)
{
    memset(session->shared->sites + 1 + first, 0, count * sizeof *session->shared->sites);
}
