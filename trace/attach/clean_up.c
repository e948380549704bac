/* Takes probes out of a process whose tracer was killed, by what the process itself has: the jumps
 * in its code, and what the tracer noted in the memory that the two shared. */
#include "trace/attach/attach.h"
#include "trace/attach/leaving.h"
#include "trace/attach/listening.h"
#include "trace/attach/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 20 }; /* of code at a time */

static bool is_jump_into_ours(const struct trace_leaving *leaving, uint64_t address,
                              const uint8_t *there)
{
    int32_t distance;
    memcpy(&distance, there + 1, sizeof distance);
    return there[0] == 0xe9 &&
           trace_leaving_is_ours(leaving, address + TRACE_JUMP_BYTES + (uint64_t)(int64_t)distance);
}

/* Lists the jumps of a piece of code into what is ours, with what the file has there. Bytes before
 * a jump may look like one that ends within it: then both are listed, the second as it is once the
 * first is put back, because the file is right for either. */
static int find_changed(struct trace_leaving *leaving, uint64_t address, const uint8_t *there,
                        const uint8_t *original, size_t size)
{
    for (size_t i = 0; i + TRACE_JUMP_BYTES <= size; i++) {
        struct trace_changed changed = {.address = address + i};
        if (!memcmp(there + i, original + i, TRACE_JUMP_BYTES) ||
            !is_jump_into_ours(leaving, changed.address, there + i))
            continue;
        const struct trace_changed *last =
            leaving->changed.count ? &leaving->changed.items[leaving->changed.count - 1] : NULL;
        const uint64_t past = last ? changed.address - last->address : TRACE_JUMP_BYTES;
        const size_t put_back = past < TRACE_JUMP_BYTES ? TRACE_JUMP_BYTES - (size_t)past : 0;
        memcpy(changed.jump, there + i, sizeof changed.jump);
        memcpy(changed.jump, original + i, put_back);
        memcpy(changed.original, original + i, sizeof changed.original);
        if (sprof_vec_push(&leaving->changed, changed))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* Bytes of a text at a time, the last of one piece again in the next, for jumps that lie in both.
 * Returns how many were read, 0 at the end. */
static size_t read_piece(const struct trace_leaving *leaving, const struct trace_text *text,
                         uint64_t at, uint8_t *there)
{
    const uint64_t rest = text->span.end - at;
    const ssize_t got = pread(leaving->memory_fd, there, rest < PIECE ? rest : PIECE, (off_t)at);
    return got < TRACE_JUMP_BYTES ? 0 : (size_t)got;
}

static bool has_jump_into_ours(const struct trace_leaving *leaving, const struct trace_text *text,
                               uint8_t *there)
{
    size_t got;
    for (uint64_t at = text->span.start; (got = read_piece(leaving, text, at, there));
         at += got - (TRACE_JUMP_BYTES - 1))
        for (size_t i = 0; i + TRACE_JUMP_BYTES <= got; i++)
            if (is_jump_into_ours(leaving, at + i, there + i))
                return true;
    return false;
}

static int compare_with_file(struct trace_leaving *leaving, const struct trace_text *text,
                             uint8_t *there, uint8_t *original)
{
    struct image *image;
    struct sprof_error why = {0};
    if (!has_jump_into_ours(leaving, text, there))
        return 0;
    if (trace_text_open(leaving, text, &image, &why))
        return sprof_error_set(leaving->error, SPROF_EUNSUPPORTED, 0,
                               "process %d: its probes were switched off when their tracer was "
                               "killed, and stay until it ends, because its code is not to be "
                               "had as it was: %s",
                               (int)leaving->session->pid, why.message);
    int result = 0;
    size_t got;
    for (uint64_t at = text->span.start; !result && (got = read_piece(leaving, text, at, there));
         at += got - (TRACE_JUMP_BYTES - 1)) {
        const ssize_t had =
            pread(image_fd(image), original, got, (off_t)(at - text->span.start + text->offset));
        result = had > 0 ? find_changed(leaving, at, there, original, (size_t)had) : 0;
    }
    image_free(image);
    return result ? sprof_error_memory(leaving->error) : 0;
}

static int compare_with_files(struct trace_leaving *leaving)
{
    uint8_t *there = malloc(PIECE), *original = malloc(PIECE);
    int result = there && original ? 0 : sprof_error_memory(leaving->error);
    for (size_t i = 0; i < leaving->texts.count && !result; i++)
        /* The addresses in thunks are nobody's jumps, though their bytes may look so. */
        if (!trace_leaving_is_ours(leaving, leaving->texts.items[i].span.start))
            result = compare_with_file(leaving, &leaving->texts.items[i], there, original);
    free(there);
    free(original);
    return result;
}

/* Whether an address is within a mapping as the tracer made it, *end being the end of that.
 * Whatever the program has mapped in its place since is its own. */
static bool is_mapped(pid_t pid, uint64_t start, const char *rights, const char *name,
                      uint64_t *end)
{
    char path[64], line[512], have[8];
    unsigned long first, last, offset, inode;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
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

/* A session of which nothing is left but what the process has. */
static int make_session(struct trace_leaving *leaving, const struct probe_owner *owner)
{
    struct trace_session *session = leaving->session;
    session->hello = owner->hello;
    uint64_t end;
    if (is_mapped(session->pid, owner->shared_at, "rw-s", "/memfd:" PROBE_MEMORY_NAME, &end)) {
        session->shared_at = owner->shared_at;
        session->shared_bytes = end - owner->shared_at;
    }
    for (uint32_t i = 0; i < owner->island_count; i++) {
        const struct trace_file file = {.path = "",
                                        .island = owner->islands[i].address,
                                        .island_bytes = owner->islands[i].bytes};
        const struct trace_coming coming = {{file.island, file.island + file.island_bytes}, false};
        /* Islands side by side are one mapping. */
        const bool is_there = is_mapped(session->pid, file.island, "r-xp", "", &end) &&
                              file.island_bytes <= end - file.island;
        if (is_there ? sprof_vec_push(&session->files, file)
                     : sprof_vec_push(&leaving->coming, coming))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int clean_up(pid_t pid, const struct probe_owner *owner, uint32_t functions,
                    const struct sprof_log *log, struct sprof_error *error)
{
    static const uint8_t off[PROBE_THUNKS];
    const uint32_t closed = PROBE_LOADING_CLOSED;
    struct trace_session *session = calloc(1, sizeof *session);
    struct trace_leaving leaving = {.session = session,
                                    .memory_fd = -1,
                                    .pages_fd = -1,
                                    .functions = functions,
                                    .handle = owner->handle,
                                    .close_at = owner->close,
                                    .shares_all = true,
                                    .error = error};
    int result = session ? 0 : sprof_error_memory(error);
    if (!result) {
        session->pid = pid;
        session->options.log = log;
        result = trace_leaving_open(&leaving, error);
    }
    if (!result && (make_session(&leaving, owner) || trace_leaving_look(&leaving)))
        result = sprof_error_memory(error);
    if (!result &&
        (!trace_leaving_write(&leaving, owner->shared_at + offsetof(struct probe_shared, tiers),
                              off, sizeof off) ||
         !trace_leaving_write(&leaving,
                              owner->shared_at + offsetof(struct probe_shared, loading.state),
                              &closed, sizeof closed)))
        result = sprof_error_set(error, SPROF_EPERMISSION, errno,
                                 "the memory of process %d may not be written: %s", (int)pid,
                                 strerror(errno));
    if (!result)
        result = compare_with_files(&leaving);
    if (!result)
        result = trace_leave(&leaving);
    trace_leaving_release(&leaving);
    if (session)
        sprof_vec_release(&session->files);
    free(session);
    return result;
}

/* The tracer was killed, and its keeper, too, before the first probe was in place or behind the
 * last. */
static int take_agent_out(pid_t pid, const struct sprof_log *log, struct sprof_error *error)
{
    const int result = trace_attach_sweep(pid, log, error);
    if (!result && !trace_attach_is_left(pid))
        sprof_log_message(log, SPROF_LOG_NOTE,
                          "process %d had no probes, but the tracing agent of a trace that was "
                          "killed: it was taken out",
                          (int)pid);
    return result;
}

int trace_clean_up_locked(pid_t pid, const struct sprof_log *log, struct sprof_error *error)
{
    struct probe_owner *owner = malloc(sizeof *owner);
    uint32_t functions;
    int result = owner ? 0 : sprof_error_memory(error);
    const bool is_there = !result && trace_owner_read(pid, owner, &functions);
    if (is_there && owner->has_points)
        result = sprof_error_set(error, SPROF_ESTATE, 0,
                                 "process %d was started with --all-points: its probes were "
                                 "switched off when their tracer was killed, and stay until it "
                                 "ends",
                                 (int)pid);
    else if (is_there)
        result = clean_up(pid, owner, functions, log, error);
    else if (!result && trace_attach_is_left(pid))
        result = take_agent_out(pid, log, error);
    free(owner);
    return result;
}

/* Once the lock is there the tracer's keeper may have done it. */
int trace_clean_up(pid_t pid, const struct sprof_log *log, struct sprof_error *error)
{
    if (trace_listens(pid)) /* its agent is meant to stay */
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d listens: its agent switched all probes off when their "
                               "tracer was killed, and there is nothing to take out",
                               (int)pid);
    int lock_fd = -1;
    int result = trace_lock(pid, &lock_fd, error);
    if (!result)
        result = trace_clean_up_locked(pid, log, error);
    if (lock_fd >= 0)
        close(lock_fd);
    return result;
}

bool trace_has_left_agent(pid_t pid)
{
    int lock_fd = -1;
    const bool is_left =
        trace_attach_is_left(pid) && trace_lock_soon(pid, &lock_fd) && trace_attach_is_left(pid);
    if (lock_fd >= 0)
        close(lock_fd);
    return is_left;
}

bool trace_clean_up_after(const struct trace_tracer *tracer, pid_t pid, bool is_running,
                          struct sprof_error *error)
{
    struct probe_owner *owner = malloc(sizeof *owner);
    uint32_t functions;
    bool is_out = owner != NULL;
    if (owner && !trace_owner_read(pid, owner, &functions))
        is_out = !is_running || !trace_attach_sweep(pid, NULL, error);
    else if (owner && owner->has_points)
        is_out = true; /* they are off, and stay */
    else if (owner && owner->pid == (uint32_t)tracer->pid && owner->start == tracer->start) {
        const int result = clean_up(pid, owner, functions, NULL, error);
        /* … or they stay */
        is_out = result == SPROF_EUNSUPPORTED || (!result && !trace_owner_read(pid, owner, NULL));
    }
    free(owner);
    return is_out;
}
