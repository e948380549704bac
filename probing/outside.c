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

static bool is_possible(const struct probing_program *program)
{
    const struct probing_way *way = program->way;
    return way->has_agent && !way->only_embedded && !program->options.all_points &&
           program->options.mode != TRACE_COVERAGE && !program->options.no_outside &&
           !program->untimed.runtime && !program->untimed.copier;
}

void probing_outside_number(struct probing_program *program)
{
    const uint32_t most = (program->capacity - (uint32_t)program->probes.count) / 2;
    const uint32_t room = most < PROBE_OUTSIDE ? most : PROBE_OUTSIDE;
    if (!is_possible(program) || !room)
        return;
    struct probing_outside *outside = program->outside = calloc(1, sizeof *outside);
    if (!outside)
        return;
    outside->room = room;
    outside->first = program->capacity - room;
    program->process.shared->first_outside = outside->first;
}

uint32_t probing_outside_room(const struct probing_program *program)
{
    return program->outside ? program->outside->room : 0;
}

/* == What slots lead to == */

/* Files outside the trace are planned here. */
static const struct probing_file *find_file(struct probing_program *program,
                                            const struct probing_mapped *mapped)
{
    struct probing_outside *outside = program->outside;
    for (size_t i = 0; i < program->files.count; i++)
        if (program->files.items[i].plan.function_count &&
            probing_mapped_is_of(mapped, &program->files.items[i]))
            return &program->files.items[i];
    for (size_t i = 0; i < outside->files.count; i++)
        if (probing_mapped_is_of(mapped, &outside->files.items[i]))
            return &outside->files.items[i];
    const struct model_mmap mapping = probing_mapped_as_model(mapped);
    struct plan_module module = {.path = mapped->file.path};
    struct cache *cache = program->options.no_cache ? NULL : cache_open(NULL);
    plan_mapping(&module, program->process.pid, &mapping, cache);
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

static bool has_probe(const struct probing_program *program, const struct probing_file *file,
                      const struct plan_function *function)
{
    for (size_t i = file->first; i < file->first + file->count; i++)
        if (program->probes.items[i].function == function)
            return true;
    return false;
}

/* Whether its calls count as outside and can be measured. */
static bool is_callee(struct probing_program *program, const struct probing_mapped_files *files,
                      uint64_t address)
{
    const struct probing_mapped *mapped = mapped_at(files, address);
    const struct probing_file *file = mapped ? find_file(program, mapped) : NULL;
    if (!file || file->is_chosen || file->plan.is_loader || file->plan.sanitized)
        return false;
    const struct plan_function *function = plan_find(&file->plan, address - file->bias);
    return function && function->start == address - file->bias && probing_may_be_called(function) &&
           !has_probe(program, file, function);
}

static uint64_t target_of(struct probing_program *program, const struct probing_mapped_files *files,
                          const struct probing_imports *imports,
                          const struct probing_outside_slot *slot, uint64_t value)
{
    const struct probing_mapped *mapped = mapped_at(files, value);
    const struct probing_file *own = &program->files.items[slot->file];
    if (!mapped)
        return 0;
    const bool is_filled = !probing_mapped_is_of(mapped, own);
    const uint64_t target = is_filled ? value : probing_imports_find(imports, slot);
    return target && is_callee(program, files, target) ? target : 0;
}

/* == Slots == */

static int find_slots(struct probing_program *program)
{
    struct probing_outside *outside = program->outside;
    int result = 0;
    for (; outside->files_seen < program->files.count && !result; outside->files_seen++) {
        const struct probing_file *file = &program->files.items[outside->files_seen];
        if (probing_is_measured(file))
            result = probing_imports_slots(program, (uint32_t)outside->files_seen, &outside->slots);
    }
    return result;
}

static bool is_there(const struct probing_program *program, const struct probing_outside_slot *slot)
{
    return !slot->was_loaded || program->files.items[slot->file].is_loaded;
}

static uint64_t thunk_of(const struct probing_program *program, uint32_t index)
{
    return program->process.hello.thunks +
           (uint64_t)(program->outside->first + index) * ARCH_THUNK_BYTES;
}

struct change {
    size_t slot;
    uint64_t before;
};

struct changing {
    struct probing_program *program;
    int fd;
    SPROF_VEC(struct change) changes;
};

/* A slot that the loader fills late gets the same thunk again. */
static int take(struct changing *changing, size_t number, uint64_t value, uint64_t target)
{
    struct probing_program *program = changing->program;
    struct probing_outside *outside = program->outside;
    struct probing_outside_slot *slot = &outside->slots.items[number];
    if (!slot->target && outside->targets.count == outside->room)
        return 0;
    if (!slot->target) {
        slot->target = target;
        slot->index = (uint32_t)outside->targets.count;
        if (sprof_vec_push(&outside->targets, (struct probing_outside_target){.address = target}))
            return SPROF_ENOMEM;
        uint8_t thunk[ARCH_THUNK_BYTES];
        arch_thunk_write(thunk, thunk_of(program, slot->index), outside->first + slot->index,
                         program->process.hello.outside_enter, program->process.hello.outside_leave,
                         0, target);
        if (pwrite(changing->fd, thunk, sizeof thunk, (off_t)thunk_of(program, slot->index)) !=
            (ssize_t)sizeof thunk)
            return 0;
        program->process.shared->got_slots[slot->index] =
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
    struct probing_program *program = changing->program;
    struct probing_outside *outside = program->outside;
    int result = 0;
    for (size_t i = 0; i < outside->slots.count && !result; i++) {
        const struct probing_outside_slot *slot = &outside->slots.items[i];
        uint64_t value;
        if (!is_there(program, slot) ||
            target_read_memory(program->process.pid, slot->address, &value, sizeof value) !=
                sizeof value ||
            value == slot->seen || (slot->target && value == thunk_of(program, slot->index)))
            continue;
        if (!files->now.count)
            result = probing_mapped_files_read(files);
        if (!result && !imports->is_read)
            result = probing_imports_read(imports, files);
        const uint64_t target = result ? 0 : target_of(program, files, imports, slot, value);
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
    struct probing_program *program = changing->program;
    for (size_t i = 0; i < changing->changes.count; i++) {
        const struct change *change = &changing->changes.items[i];
        struct probing_outside_slot *slot = &program->outside->slots.items[change->slot];
        const uint64_t thunk = thunk_of(program, slot->index);
        uint64_t value;
        if (pread(changing->fd, &value, sizeof value, (off_t)slot->address) == sizeof value &&
            value == change->before)
            (void)!pwrite(changing->fd, &thunk, sizeof thunk, (off_t)slot->address);
        slot->seen = 0;
    }
}

static void write_live(struct changing *changing)
{
    struct probing_program *program = changing->program;
    struct inject_stop stop = {.notes_sharers = &program->process.shared->sharing.has_processes};
    if (inject_stop_would_wait(program->process.pid) ||
        inject_stop_while(&stop, program->process.pid, write_slots, changing, NULL)) {
        for (size_t i = 0; i < changing->changes.count; i++)
            program->outside->slots.items[changing->changes.items[i].slot].seen = 0;
        return;
    }
    inject_stop_note(&stop, &program->process.stopped_ns);
}

static int place(struct probing_program *program, bool is_live)
{
    struct probing_mapped_files files = {.program = program};
    struct probing_imports imports = {.program = program};
    struct changing changing = {.program = program, .fd = program->way->open_code(program, NULL)};
    int result = changing.fd < 0 ? 0 : find_slots(program);
    if (!result && changing.fd >= 0)
        result = list_changes(&changing, &files, &imports);
    if (changing.changes.count && is_live)
        write_live(&changing);
    else if (changing.changes.count)
        write_slots(&changing);
    probing_outside_switch(program, program->outside->is_on);
    program->outside->is_new = true;
    if (changing.fd >= 0)
        close(changing.fd);
    sprof_vec_release(&changing.changes);
    probing_imports_release(&imports);
    probing_mapped_files_release(&files);
    return result;
}

int probing_outside_place(struct probing_program *program)
{
    return program->outside ? place(program, program->way->is_live) : 0;
}

int probing_outside_serve(struct probing_program *program)
{
    struct probing_outside *outside = program->outside;
    if (!outside || program->executable.is_replaced || program->is_out ||
        program->times.now_ns < outside->next_ns)
        return 0;
    outside->next_ns = program->times.now_ns + (outside->rounds++ < SOON ? SOON_NS : AGAIN_NS);
    return place(program, true);
}

void probing_outside_switch(struct probing_program *program, bool are_on)
{
    struct probing_outside *outside = program->outside;
    if (!outside)
        return;
    outside->is_on = are_on;
    for (size_t i = 0; i < outside->targets.count; i++)
        atomic_store(&program->process.shared->tiers[outside->first + i],
                     are_on && !outside->targets.items[i].is_off ? PROBE_FULL : PROBE_OFF);
}

void probing_outside_free(struct probing_program *program)
{
    struct probing_outside *outside = program->outside;
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
    program->outside = NULL;
}
