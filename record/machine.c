/* Recording the whole machine: how it is named, and what is recorded instead where it may not be.
 */
#include "record/session.h"

#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *record_machine_text(struct record_session *session)
{
    const struct sampler_choice *choice = session->options.choice;
    struct sprof_str text = {0};
    sprof_str_append(&text, MODEL_TARGETS_ALL);
    for (size_t i = 0; choice && i < choice->cpu_count; i++)
        sprof_str_appendf(&text, "%s%d", i ? "," : ", on CPU ", choice->cpus[i]);
    if (choice && choice->cgroup)
        sprof_str_appendf(&text, ", in cgroup %s", choice->cgroup);
    if (choice && choice->by_user)
        sprof_str_appendf(&text, ", of user %u", (unsigned)choice->user);
    if (choice && choice->program)
        sprof_str_appendf(&text, ", named %s", choice->program);
    const char *kept = text.failed ? NULL : sprof_arena_text(&session->arena, text.text);
    sprof_str_release(&text);
    return kept;
}

enum { ATTEMPTS = 20 };

/* == What an ordinary user may sample == */

/* A process is sampled only if this user may read its mappings. */
static bool may_be_sampled(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool is_own(pid_t pid)
{
    struct sprof_proc_status status;
    return pid != getpid() && sprof_proc_status_read(pid, &status) && status.user == getuid() &&
           !status.kernel_thread && status.state != 'Z' && may_be_sampled(pid);
}

static int list_own(struct record_session *session)
{
    struct sprof_id_list all = {0};
    int result = target_all_processes(&all) == -ENOMEM ? SPROF_ENOMEM : 0;
    for (size_t i = 0; i < all.count && !result; i++)
        if (is_own(all.items[i]))
            result = sprof_vec_push(&session->own_processes, (pid_t)all.items[i]);
    sprof_vec_release(&all);
    return result;
}

static bool is_all(const struct sampler_choice *choice)
{
    return !choice->cpu_count && !choice->cgroup && !choice->program &&
           (!choice->by_user || choice->user == getuid());
}

/* One that was listed may have ended before it is attached to. */
static int begin_with_own(struct record_session *session, struct sampler_options *options,
                          struct sprof_error *error)
{
    int result = SPROF_ENOTFOUND;
    for (int i = 0; i < ATTEMPTS && result == SPROF_ENOTFOUND; i++) {
        session->own_processes.count = 0;
        if (!options->command && list_own(session))
            return sprof_error_memory(error);
        if (!options->command && !session->own_processes.count)
            return SPROF_EPERMISSION;
        options->pids = session->own_processes.items;
        options->pid_count = session->own_processes.count;
        result = sampler_begin(&session->sampler, options, error);
    }
    return result;
}

int record_begin_own(struct record_session *session, struct sampler_options *options,
                     struct sprof_error *error)
{
    const struct sprof_error why = *error;
    if (!is_all(&options->choice))
        return why.code;
    options->all_cpus = false;
    options->source =
        "perf"; /* a timer in the command alone would be far from what was asked for */
    const int result = begin_with_own(session, options, error);
    if (result)
        return result;
    session->options.all_cpus = false;
    session->options.pids = options->pids;
    session->options.pid_count = options->pid_count;
    if (options->command)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "only the command is recorded, with all that it starts: %s", why.message);
    else
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "only your own %zu process%s recorded, with all that they start: %s",
                          options->pid_count, options->pid_count == 1 ? " is" : "es are",
                          why.message);
    return 0;
}
