/* Takes out probes of a killed or ended tracer, by its notes in the shared memory. */
#include "arch/probe.h"
#include "inject/inside.h"
#include "inject/leaving.h"
#include "inject/listening.h"
#include "inject/lock.h"
#include "inject/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SITES = 256 };

static bool is_jump_into_ours(const struct inject_leaving *leaving, uint64_t address,
                              const uint8_t *there)
{
    uint64_t target;
    return arch_code_jump_target(there, address, &target) &&
           inject_leaving_is_ours(leaving, target);
}

/* A noted jump may be unwritten, removed, or gone with its library. */
static int find_changed(struct inject_leaving *leaving, const struct probe_site *sites,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct inject_changed changed = {.address = sites[i].address};
        memcpy(changed.original, sites[i].original, sizeof changed.original);
        if (sites[i].address &&
            inject_leaving_read(leaving, changed.address, changed.jump, sizeof changed.jump) &&
            is_jump_into_ours(leaving, changed.address, changed.jump) &&
            sprof_vec_push(&leaving->changes, changed))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int find_noted(struct inject_leaving *leaving, uint64_t shared_at)
{
    const uint64_t count_at = shared_at + offsetof(struct probe_shared, sites.count),
                   sites_at = shared_at + offsetof(struct probe_shared, sites.list);
    struct probe_site sites[SITES];
    uint32_t count = 0;
    int result = 0;
    bool is_read = inject_leaving_read(leaving, count_at, &count, sizeof count);
    count = count < 1 + PROBE_THUNKS ? count : 1 + PROBE_THUNKS; /* the process could write there */
    for (uint64_t at = 0, piece; at < count && is_read && !result; at += piece) {
        piece = count - at < SITES ? count - at : SITES;
        is_read = inject_leaving_read(leaving, sites_at + at * sizeof *sites, sites,
                                      piece * sizeof *sites);
        result = is_read ? find_changed(leaving, sites, piece) : 0;
    }
    if (result)
        return sprof_error_memory(leaving->error);
    return is_read ? 0
                   : sprof_error_set(leaving->error, SPROF_EPERMISSION, errno,
                                     "the memory of process %d may not be read: %s",
                                     (int)leaving->process->pid, strerror(errno));
}

/* True: the tracer's mapping holds `start`; *end: its end. Other memory is the program's own. */
static bool is_mapped(pid_t pid, uint64_t start, const char *rights, const char *name,
                      uint64_t *end)
{
    char path[64], line[512], have[8];
    unsigned long first, last, offset, inode;
    bool found = false;
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        found =
            sscanf(line, "%lx-%lx %7s %lx %*s %lu", &first, &last, have, &offset, &inode) == 5 &&
            first <= start && start < last && !strcmp(have, rights) && !offset &&
            (*name ? strstr(line, name) != NULL : !inode);
        *end = last;
    }
    if (maps)
        fclose(maps);
    return found;
}

static int note_mapped(struct inject_leaving *leaving, const struct probe_owner *owner)
{
    struct inject_process *process = leaving->process;
    process->hello = owner->hello;
    uint64_t end;
    if (is_mapped(process->pid, owner->shared_at, "rw-s", "/memfd:" PROBE_MEMORY_NAME, &end)) {
        process->shared_at = owner->shared_at;
        process->shared_bytes = end - owner->shared_at;
    }
    for (uint32_t i = 0; i < owner->island_count; i++) {
        const struct inject_span island = {owner->islands[i].address,
                                           owner->islands[i].address + owner->islands[i].bytes};
        const struct inject_coming coming = {island, false};
        /* adjacent islands are one mapping */
        const bool is_there = is_mapped(process->pid, island.start, "r-xp", "", &end) &&
                              owner->islands[i].bytes <= end - island.start;
        if (is_there ? sprof_vec_push(&leaving->islands, island)
                     : sprof_vec_push(&leaving->coming, coming))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int switch_off(const struct inject_leaving *leaving, uint64_t shared_at)
{
    static const uint8_t off[PROBE_THUNKS];
    const uint32_t closed = PROBE_LOADING_CLOSED;
    const pid_t pid = leaving->process->pid;
    if (inject_leaving_write(leaving, shared_at + offsetof(struct probe_shared, tiers), off,
                             sizeof off) &&
        inject_leaving_write(leaving, shared_at + offsetof(struct probe_shared, loading.state),
                             &closed, sizeof closed))
        return 0;
    return sprof_error_set(leaving->error, SPROF_EPERMISSION, errno,
                           "the memory of process %d may not be written: %s", (int)pid,
                           strerror(errno));
}

/* stopped_ns: longest stop; not NULL if others use the shared memory. */
static int clean_up(pid_t pid, const struct probe_owner *owner, uint32_t functions,
                    uint64_t *stopped_ns, const struct sprof_log *log, struct sprof_error *error)
{
    struct inject_process process = INJECT_PROCESS_NONE;
    struct inject_leaving leaving = {
        .process = &process,
        .memory_fd = -1,
        .pages_fd = -1,
        .functions = functions,
        .agent = {owner->handle, owner->close, {owner->mapped_at, owner->mapped_bytes}},
        .shares_all = true,
        .others_go_on = stopped_ns != NULL,
        .error = error};
    process.pid = pid;
    process.log = log;
    int result = inject_leaving_open(&leaving, error);
    if (!result && (note_mapped(&leaving, owner) || inject_leaving_read_maps(&leaving)))
        result = sprof_error_memory(error);
    if (!result && !stopped_ns)
        result = switch_off(&leaving, owner->shared_at);
    if (!result)
        result = find_noted(&leaving, owner->shared_at);
    if (!result)
        result = inject_leave(&leaving);
    inject_leaving_release(&leaving);
    if (stopped_ns)
        *stopped_ns = process.stopped_ns;
    return result;
}

static int take_agent_out(pid_t pid, const struct sprof_log *log, struct sprof_error *error)
{
    const int result = inject_recover_agent(pid, log, error);
    if (!result && !inject_is_agent_left(pid))
        sprof_log_message(log, SPROF_LOG_NOTE,
                          "process %d had no probes, but the tracing agent of a trace that was "
                          "killed: it was taken out",
                          (int)pid);
    return result;
}

int inject_clean_up_locked(pid_t pid, const struct sprof_log *log, struct sprof_error *error)
{
    struct probe_owner *owner = malloc(sizeof *owner);
    uint32_t functions;
    int result = owner ? 0 : sprof_error_memory(error);
    const bool is_there = !result && inject_owner_read(pid, owner, &functions);
    if (is_there && owner->has_points)
        result = sprof_error_set(error, SPROF_ESTATE, 0,
                                 "process %d was started with --all-points: its probes were "
                                 "switched off when their tracer was killed, and stay until it "
                                 "ends",
                                 (int)pid);
    else if (is_there)
        result = clean_up(pid, owner, functions, NULL, log, error);
    else if (!result && inject_is_agent_left(pid)) {
        result = take_agent_out(pid, log, error);
        if (result == SPROF_ESTATE && inject_owner_read(pid, owner, &functions))
            result = clean_up(pid, owner, functions, NULL, log, error);
    }
    free(owner);
    return result;
}

int inject_take_out_of(pid_t pid, int lock_fd, uint64_t *stopped_ns, const struct sprof_log *log,
                       struct sprof_error *error)
{
    struct probe_owner *owner = malloc(sizeof *owner);
    uint32_t functions;
    int own_fd = -1, result = owner ? 0 : sprof_error_memory(error);
    if (!result && lock_fd < 0)
        result = inject_lock(pid, &own_fd, error);
    if (!result && inject_owner_read(pid, owner, &functions) && owner->pid == (uint32_t)getpid())
        result = clean_up(pid, owner, functions, stopped_ns, log, error);
    else if (!result)
        result =
            sprof_error_set(error, SPROF_ESTATE, 0, "process %d has no probes any more", (int)pid);
    inject_close(&own_fd);
    free(owner);
    return result;
}

int inject_clean_up(pid_t pid, const struct sprof_log *log, struct sprof_error *error)
{
    if (inject_listens(pid)) /* its agent stays */
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d listens: its agent switched all probes off when their "
                               "tracer was killed, and there is nothing to take out",
                               (int)pid);
    int lock_fd = -1;
    int result = inject_lock(pid, &lock_fd, error);
    if (!result)
        result = inject_clean_up_locked(pid, log, error);
    if (lock_fd >= 0)
        close(lock_fd);
    return result;
}

bool inject_has_left_agent(pid_t pid)
{
    int lock_fd = -1;
    const bool is_left =
        inject_is_agent_left(pid) && inject_lock_soon(pid, &lock_fd) && inject_is_agent_left(pid);
    if (lock_fd >= 0)
        close(lock_fd);
    return is_left;
}

bool inject_clean_up_after(const struct inject_tracer *tracer, pid_t pid, bool is_running,
                           struct sprof_error *error)
{
    struct probe_owner *owner = malloc(sizeof *owner);
    uint32_t functions;
    bool is_out = owner != NULL;
    if (owner && !inject_owner_read(pid, owner, &functions))
        is_out = !is_running || !inject_recover_agent(pid, NULL, error);
    else if (owner && owner->has_points)
        is_out = true; /* off, and stay */
    else if (owner && owner->pid == (uint32_t)tracer->pid && owner->start == tracer->start) {
        const int result = clean_up(pid, owner, functions, NULL, NULL, error);
        is_out = !result && !inject_owner_read(pid, owner, NULL);
    }
    free(owner);
    return is_out;
}
