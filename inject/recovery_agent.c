/* Takes out an agent without shared memory; recovery.c does the rest. */
#include "inject/attachment.h"
#include "inject/changes.h"
#include "inject/inside.h"
#include "inject/recovery_wait.h"

#include "agent/agent.h"

#include <stdlib.h>

static bool began_with_agent(pid_t pid, const char *library)
{
    const struct image_request request = {.file = {.path = library}};
    const uint64_t base = inject_find_base(pid, library);
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

/* Without shared memory there are no probes, except in forked children. Code of a program that
 * began with the agent may lead into it. */
bool inject_is_agent_left(pid_t pid)
{
    char library[TARGET_PATH_MAX];
    if (inject_find_agent(pid, library, NULL) || inject_sees(pid, library) != 1 ||
        inject_has_mapping(pid, "/memfd:" PROBE_MEMORY_NAME))
        return false;
    if (inject_is_raw(pid))
        return inject_find_base(pid, library) || inject_raw_left_open(pid, library) >= 0;
    return inject_find_base(pid, library) && !began_with_agent(pid, library);
}

static int close_left_open(struct inject_process *process, void *fd, struct sprof_error *error)
{
    struct inject_attachment *attachment = process->attachment;
    const int result = inject_take_thread(attachment, process->pid, true, error);
    return result ? result
                  : inject_raw_close(attachment->entrance.raw, &attachment->borrowed, *(int *)fd,
                                     error);
}

static int find_left(struct inject_process *process, void *unused, struct sprof_error *error)
{
    struct inject_attachment *attachment = process->attachment;
    (void)unused;
    const int result = inject_take_thread(attachment, process->pid, false, error);
    if (result)
        return result;
    attachment->asked = inject_find_asked(process->pid, attachment->library);
    return attachment->asked ? inject_say_hello(process, error) : SPROF_ESTATE;
}

static int take_loaded_out(struct inject_process *process, struct sprof_error *error)
{
    struct inject_attachment *attachment = process->attachment;
    const pid_t pid = process->pid;
    if (attachment->entrance.raw &&
        !inject_raw_find(pid, attachment->library, inject_find_base(pid, attachment->library),
                         &attachment->mapped)) /* incomplete */
        return inject_give_up(process, error);
    const int result = inject_borrow_and_act(process, find_left, NULL, error);
    return result ? result : inject_take_out(process, &(struct inject_trace){0}, error);
}

int inject_recover_agent(pid_t pid, const struct sprof_log *log, struct sprof_error *error)
{
    struct inject_process process = INJECT_PROCESS_NONE;
    char library[TARGET_PATH_MAX];
    int left_open = -1, result = inject_find_library(pid, library, error);
    if (!result) /* a borrowed thread may still load it */
        result = inject_recovery_wait(pid, error);
    if (!result && inject_has_mapping(pid, "/memfd:" PROBE_MEMORY_NAME))
        result = sprof_error_set(error, SPROF_ESTATE, 0,
                                 "another sprof is just beginning to trace process %d\ntry "
                                 "again in a few seconds",
                                 (int)pid);
    if (!result && inject_is_raw(pid))
        left_open = inject_raw_left_open(pid, library);
    const bool is_there = !result && inject_find_base(pid, library);
    if (is_there || left_open >= 0) {
        process.pid = pid;
        process.log = log;
        result = inject_attach(&process, error);
        if (!result && left_open >= 0)
            result = inject_borrow_and_act(&process, close_left_open, &left_open, error);
        if (!result && is_there)
            result = take_loaded_out(&process, error);
        inject_process_release(&process);
    }
    return result;
}
