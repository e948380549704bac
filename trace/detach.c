/* Removes a program's probes from its process. */
#include "trace/tracing.h"

#include <string.h>

struct changed_by_trace {
    struct inject_changes changes;
    SPROF_VEC(struct inject_span) islands;
};

static int add_jump(struct changed_by_trace *all, uint64_t address,
                    const uint8_t jump[PLAN_JUMP_BYTES], const uint8_t original[PLAN_JUMP_BYTES])
{
    struct inject_changed changed = {.address = address};
    memcpy(changed.jump, jump, sizeof changed.jump);
    memcpy(changed.original, original, sizeof changed.original);
    return sprof_vec_push(&all->changes, changed);
}

static int list_changes(const struct trace_session *session, struct changed_by_trace *all)
{
    const struct probing_hook *hook = &session->hook;
    int result = hook->at ? add_jump(all, hook->at, hook->jump, hook->original) : 0;
    for (size_t i = 0; i < session->probes.count && !result; i++) {
        const struct probing_probe *probe = &session->probes.items[i];
        const uint64_t site = session->files.items[probe->file].bias + probe->function->site;
        if (probe->is_placed)
            result = add_jump(all, site, probe->jump, probe->function->original);
    }
    for (size_t i = 0; i < session->files.count && !result; i++) {
        const struct probing_file *file = &session->files.items[i];
        const struct inject_span island = {file->island, file->island + file->island_bytes};
        if (island.start)
            result = sprof_vec_push(&all->islands, island);
    }
    return result;
}

static int take_out(struct trace_session *session, struct sprof_error *error)
{
    struct changed_by_trace all = {0};
    int result = list_changes(session, &all) ? sprof_error_memory(error) : 0;
    const struct inject_trace trace = {
        .changes = &all.changes,
        .islands = all.islands.items,
        .island_count = all.islands.count,
        .functions = session->outside ? session->capacity : (uint32_t)session->probes.count};
    if (!result)
        result = inject_take_out(&session->process, &trace, error);
    sprof_vec_release(&all.changes);
    sprof_vec_release(&all.islands);
    return result;
}

int trace_detach(struct trace_session *session, struct sprof_error *error)
{
    if (session->backend->take_out) {
        session->backend->take_out(session);
        return 0;
    }
    if (session->process.shared)
        memset(session->process.shared->tiers, PROBE_OFF, sizeof session->process.shared->tiers);
    trace_loader_close(&session->loader);
    const int result = take_out(session, error);
    if (result)
        return result;
    for (size_t i = 0; i < session->probes.count; i++)
        session->probes.items[i].is_placed = false;
    session->is_out = true;
    inject_keeper_forget(&session->trace->keeper, session->process.pid);
    inject_close(&session->process.lock_fd);
    return 0;
}

void trace_leave_process(struct trace_session *session)
{
    struct sprof_error error = {0};
    if (session->backend->only_embedded) /* its agent keeps the memory until the session is freed */
        session->backend->take_out(session);
    if (!session->process.attachment || session->is_out)
        return;
    int result = 0;
    struct sprof_urgency urgency;
    sprof_urgency_raise(&urgency);
    if (session->process.hello.errand)
        result = trace_detach(session, &error);
    else if (!session->executable.is_replaced)
        result = inject_give_up(&session->process, &error);
    sprof_urgency_restore(&urgency);
    if (result && *error.message && error.code != SPROF_ENOTFOUND &&
        !session->executable.is_replaced)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING, "%s", error.message);
}

void trace_owner_end(struct trace_session *session, bool is_ending)
{
    for (size_t i = 0; i < session->trace->programs.count; i++)
        if (trace_program_at(session->trace, i)->process.shared)
            trace_program_at(session->trace, i)->process.shared->owner.is_ending = is_ending;
}
