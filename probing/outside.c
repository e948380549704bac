/* Writes thunks' addresses into GOT slots: see probing/outside.h. */
#include "probing/outside.h"
#include "inject/inject.h"
#include "probing/imports.h"
#include "probing/outside_slots.h"
#include "probing/probes.h"
#include "probing/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_NS UINT64_C(1000000000) /* between scans */
#define SOON_NS UINT64_C(100000000)   /* while many slots are filled */
enum { SOON = 10 /* scans */ };

static bool is_possible(const struct probing_program *session)
{
    const struct probing_way *way = session->way;
    return way->has_agent && !way->only_embedded && !session->options.all_points &&
           session->options.mode != TRACE_COVERAGE && !session->options.no_outside &&
           !session->untimed.runtime && !session->untimed.copier;
}

void probing_outside_number(struct probing_program *session)
{
    const uint32_t most = (session->capacity - (uint32_t)session->probes.count) / 2;
    const uint32_t room = most < PROBE_OUTSIDE ? most : PROBE_OUTSIDE;
    if (!is_possible(session) || !room)
        return;
    struct probing_outside *outside = session->outside = calloc(1, sizeof *outside);
    if (!outside)
        return;
    outside->room = room;
    outside->first = session->capacity - room;
    session->process.shared->first_outside = outside->first;
}

uint32_t probing_outside_room(const struct probing_program *session)
{
    return session->outside ? session->outside->room : 0;
}

/* == What slots lead to == */

/* Files outside the trace are planned here. */
static const struct probing_file *find_file(struct probing_program *session,
                                            const struct probing_mapped *mapped)
{
    struct probing_outside *outside = session->outside;
    for (size_t i = 0; i < session->files.count; i++)
        if (session->files.items[i].plan.function_count &&
            probing_mapped_is_of(mapped, &session->files.items[i]))
            return &session->files.items[i];
    for (size_t i = 0; i < outside->files.count; i++)
        if (probing_mapped_is_of(mapped, &outside->files.items[i]))
            return &outside->files.items[i];
    const struct model_mmap mapping = probing_mapped_as_model(mapped);
    struct plan_module module = {.path = mapped->file.path};
    struct cache *cache = session->options.no_cache ? NULL : cache_open(NULL);
    plan_mapping(&module, session->process.pid, &mapping, cache);
    cache_free(cache, 0);
    const struct probing_file file = {.plan = module.plan,
                                      .path = mapped->file.path,
                                      .identity = module.identity,
                                      .bias = module.bias};
    if (sprof_vec_push(&outside->files, file)) {
        plan_release(&module.plan);
        return NULL;
    }
    return &outside->files.items[outside->files.count - 1];
}

static const struct probing_mapped *mapped_at(const struct probing_mapped_files *files,
                                              uint64_t address)
{
    for (size_t i = 0; i < files->now.count; i++)
        if (address - files->now.items[i].address < files->now.items[i].size)
            return &files->now.items[i];
    return NULL;
}

static bool has_probe(const struct probing_program *session, const struct probing_file *file,
                      const struct plan_function *function)
{
    for (size_t i = file->first; i < file->first + file->count; i++)
        if (session->probes.items[i].function == function)
            return true;
    return false;
}

/* Whether its calls count as outside and can be measured. */
static bool is_callee(struct probing_program *session, const struct probing_mapped_files *files,
                      uint64_t address)
{
    const struct probing_mapped *mapped = mapped_at(files, address);
    const struct probing_file *file = mapped ? find_file(session, mapped) : NULL;
    if (!file || file->is_chosen || file->plan.is_loader || file->plan.sanitized)
        return false;
    const struct plan_function *function = plan_find(&file->plan, address - file->bias);
    return function && function->start == address - file->bias && probing_may_be_called(function) &&
           !has_probe(session, file, function);
}

static uint64_t target_of(struct probing_program *session, const struct probing_mapped_files *files,
                          const struct probing_imports *imports,
                          const struct probing_outside_slot *slot, uint64_t value)
{
    const struct probing_mapped *mapped = mapped_at(files, value);
    const struct probing_file *own = &session->files.items[slot->file];
    if (!mapped)
        return 0;
    const bool is_filled = !probing_mapped_is_of(mapped, own);
    const uint64_t target = is_filled ? value : probing_imports_find(imports, slot);
    return target && is_callee(session, files, target) ? target : 0;
}

/* == Slots == */

static int find_slots(struct probing_program *session)
{
    struct probing_outside *outside = session->outside;
    int result = 0;
    for (; outside->files_seen < session->files.count && !result; outside->files_seen++) {
        const struct probing_file *file = &session->files.items[outside->files_seen];
        if (probing_is_measured(file))
            result = probing_imports_slots(session, (uint32_t)outside->files_seen, &outside->slots);
    }
    return result;
}

static bool is_there(const struct probing_program *session, const struct probing_outside_slot *slot)
{
    return !slot->was_loaded || session->files.items[slot->file].is_loaded;
}

static uint64_t thunk_of(const struct probing_program *session, uint32_t index)
{
    return session->process.hello.thunks +
           (uint64_t)(session->outside->first + index) * ARCH_THUNK_BYTES;
}

struct change {
    size_t slot;
    uint64_t before;
};

struct changing {
    struct probing_program *session;
    int fd;
    SPROF_VEC(struct change) changes;
};

/* A slot that the loader fills late gets the same thunk again. */
static int take(struct changing *changing, size_t number, uint64_t value, uint64_t target)
{
    struct probing_program *session = changing->session;
    struct probing_outside *outside = session->outside;
    struct probing_outside_slot *slot = &outside->slots.items[number];
    if (!slot->target && outside->targets.count == outside->room)
        return 0;
    if (!slot->target) {
        slot->target = target;
        slot->index = (uint32_t)outside->targets.count;
        if (sprof_vec_push(&outside->targets, (struct probing_outside_target){.address = target}))
            return SPROF_ENOMEM;
        uint8_t thunk[ARCH_THUNK_BYTES];
        arch_thunk_write(thunk, thunk_of(session, slot->index), outside->first + slot->index,
                         session->process.hello.outside_enter, session->process.hello.outside_leave,
                         0, target);
        if (pwrite(changing->fd, thunk, sizeof thunk, (off_t)thunk_of(session, slot->index)) !=
            (ssize_t)sizeof thunk)
            return 0;
        session->process.shared->got_slots[slot->index] =
            (struct probe_got_slot){slot->address, value};
    }
    return slot->target == target &&
                   sprof_vec_push(&changing->changes, ((struct change){number, value}))
               ? SPROF_ENOMEM
               : 0;
}

static int list_changes(struct changing *changing, struct probing_mapped_files *files,
                        struct probing_imports *imports)
{
    struct probing_program *session = changing->session;
    struct probing_outside *outside = session->outside;
    int result = 0;
    for (size_t i = 0; i < outside->slots.count && !result; i++) {
        const struct probing_outside_slot *slot = &outside->slots.items[i];
        uint64_t value;
        if (!is_there(session, slot) ||
            target_read_memory(session->process.pid, slot->address, &value, sizeof value) !=
                sizeof value ||
            value == slot->seen || (slot->target && value == thunk_of(session, slot->index)))
            continue;
        if (!files->now.count)
            result = probing_mapped_files_read(files);
        if (!result && !imports->is_read)
            result = probing_imports_read(imports, files);
        const uint64_t target = result ? 0 : target_of(session, files, imports, slot, value);
        outside->slots.items[i].seen = value;
        if (target)
            result = take(changing, i, value, target);
    }
    return result;
}

/* All threads stand still, because the kernel may write eight bytes in parts. */
static void write_slots(void *context)
{
    struct changing *changing = context;
    struct probing_program *session = changing->session;
    for (size_t i = 0; i < changing->changes.count; i++) {
        const struct change *change = &changing->changes.items[i];
        struct probing_outside_slot *slot = &session->outside->slots.items[change->slot];
        const uint64_t thunk = thunk_of(session, slot->index);
        uint64_t value;
        if (pread(changing->fd, &value, sizeof value, (off_t)slot->address) == sizeof value &&
            value == change->before)
            (void)!pwrite(changing->fd, &thunk, sizeof thunk, (off_t)slot->address);
        slot->seen = 0;
    }
}

static void write_live(struct changing *changing)
{
    struct probing_program *session = changing->session;
    struct inject_stop stop = {.notes_sharers = &session->process.shared->sharing.has_processes};
    if (inject_stop_would_wait(session->process.pid) ||
        inject_stop_while(&stop, session->process.pid, write_slots, changing, NULL)) {
        for (size_t i = 0; i < changing->changes.count; i++)
            session->outside->slots.items[changing->changes.items[i].slot].seen = 0;
        return;
    }
    inject_stop_note(&stop, &session->process.stopped_ns);
}

static int place(struct probing_program *session, bool is_live)
{
    struct probing_mapped_files files = {.session = session};
    struct probing_imports imports = {.session = session};
    struct changing changing = {.session = session, .fd = session->way->open_code(session, NULL)};
    int result = changing.fd < 0 ? 0 : find_slots(session);
    if (!result && changing.fd >= 0)
        result = list_changes(&changing, &files, &imports);
    if (changing.changes.count && is_live)
        write_live(&changing);
    else if (changing.changes.count)
        write_slots(&changing);
    probing_outside_switch(session, session->outside->is_on);
    session->outside->is_new = true;
    if (changing.fd >= 0)
        close(changing.fd);
    sprof_vec_release(&changing.changes);
    probing_imports_release(&imports);
    probing_mapped_files_release(&files);
    return result;
}

int probing_outside_place(struct probing_program *session)
{
    return session->outside ? place(session, session->way->is_live) : 0;
}

int probing_outside_serve(struct probing_program *session)
{
    struct probing_outside *outside = session->outside;
    if (!outside || session->executable.is_replaced || session->is_out ||
        session->times.now_ns < outside->next_ns)
        return 0;
    outside->next_ns = session->times.now_ns + (outside->rounds++ < SOON ? SOON_NS : AGAIN_NS);
    return place(session, true);
}

void probing_outside_switch(struct probing_program *session, bool are_on)
{
    struct probing_outside *outside = session->outside;
    if (!outside)
        return;
    outside->is_on = are_on;
    for (size_t i = 0; i < outside->targets.count; i++)
        atomic_store(&session->process.shared->tiers[outside->first + i],
                     are_on && !outside->targets.items[i].is_off ? PROBE_FULL : PROBE_OFF);
}

void probing_outside_free(struct probing_program *session)
{
    struct probing_outside *outside = session->outside;
    if (!outside)
        return;
    for (size_t i = 0; i < outside->files.count; i++)
        plan_release(&outside->files.items[i].plan);
    for (size_t i = 0; i < PROBE_SLABS; i++)
        free(outside->read[i]);
    sprof_vec_release(&outside->files);
    sprof_vec_release(&outside->slots);
    sprof_vec_release(&outside->targets);
    free(outside);
    session->outside = NULL;
}
