/* Takes out an agent that a killed tracer has left, or was loading, while there is no shared
 * memory; clean_up.c does the rest. */
#include "trace/attach/attachment.h"
#include "trace/attach/inside.h"
#include "trace/attach/lent.h"

#include "agent/agent.h"

#include <stdlib.h>

static bool began_with_agent(pid_t pid, const char *library)
{
    const struct image_request request = {.file = {.path = library}};
    const uint64_t base = trace_attach_find_base(pid, library);
    struct image_extent extent;
    struct image *image;
    uint32_t began_with = 0;
    if (!base || image_open(&image, &request, NULL))
        return true;
    const bool has = image_section_extent(image, PROBE_BEGAN_WITH, &extent);
    image_free(image);
    return !has ||
           target_read_memory(pid, base + extent.vaddr, &began_with, sizeof began_with) !=
               sizeof began_with ||
           began_with;
}

/* Without shared memory there is no probe: it is mapped before the first and unmapped after the
 * last. It stays in children that were forked with probes in their code. Code of a program that
 * began with the agent may lead into it. */
bool trace_attach_is_left(pid_t pid)
{
    char library[TARGET_PATH_MAX];
    if (trace_attach_find_agent(pid, library, NULL) || trace_attach_sees(pid, library) != 1 ||
        trace_attach_has_mapping(pid, "/memfd:" PROBE_MEMORY_NAME))
        return false;
    if (trace_attach_is_raw(pid))
        return trace_attach_find_base(pid, library) || trace_raw_left_open(pid, library) >= 0;
    return trace_attach_find_base(pid, library) && !began_with_agent(pid, library);
}

static int close_left_open(struct trace_session *session, void *fd, struct sprof_error *error)
{
    struct trace_attachment *attachment = session->attachment;
    const int result = trace_attach_take(attachment, session->pid, true, error);
    return result ? result
                  : trace_raw_close(attachment->entrance.raw, &attachment->hand, *(int *)fd, error);
}

static int find_left(struct trace_session *session, void *unused, struct sprof_error *error)
{
    struct trace_attachment *attachment = session->attachment;
    (void)unused;
    const int result = trace_attach_take(attachment, session->pid, false, error);
    if (result)
        return result;
    attachment->asked = trace_attach_find_asked(session->pid, attachment->library);
    return attachment->asked ? trace_attach_say_hello(session, error) : SPROF_ESTATE;
}

static int take_loaded_out(struct trace_session *session, struct sprof_error *error)
{
    struct trace_attachment *attachment = session->attachment;
    const pid_t pid = session->pid;
    if (attachment->entrance.raw &&
        !trace_raw_find(pid, attachment->library, trace_attach_find_base(pid, attachment->library),
                        &attachment->mapped)) /* parts of it, at most */
        return trace_attach_give_up(session, error);
    const int result = trace_attach_with_hand(session, find_left, NULL, error);
    return result ? result : trace_detach(session, error);
}

int trace_attach_sweep(pid_t pid, const struct sprof_log *log, struct sprof_error *error)
{
    struct trace_session *session = calloc(1, sizeof *session);
    char library[TARGET_PATH_MAX];
    int left_open = -1;
    int result =
        session ? trace_attach_find_library(pid, library, error) : sprof_error_memory(error);
    if (!result) /* a borrowed thread may still be loading it */
        result = trace_lent_wait(pid, error);
    if (!result && trace_attach_has_mapping(pid, "/memfd:" PROBE_MEMORY_NAME))
        result = sprof_error_set(error, SPROF_ESTATE, 0,
                                 "process %d has what it shares with sprof since a moment ago",
                                 (int)pid);
    if (!result && trace_attach_is_raw(pid))
        left_open = trace_raw_left_open(pid, library);
    const bool is_there = !result && trace_attach_find_base(pid, library);
    if (is_there || left_open >= 0) {
        session->pid = session->options.pid = pid;
        session->options.log = log;
        session->common = session;
        session->lock_fd = session->memory_fd = session->agent_fd = session->child_fd = -1;
        result = trace_attach_open(session, error);
        if (!result && left_open >= 0)
            result = trace_attach_with_hand(session, close_left_open, &left_open, error);
        if (!result && is_there)
            result = take_loaded_out(session, error);
        trace_attach_free(session->attachment);
    }
    free(session);
    return result;
}
