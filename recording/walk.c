/* Walks the stack of a sample, and keeps what it finds. */
#include "recording/walk.h"

#include "recording/stack.h"

#include <string.h>

enum {
    KNOWN_SLOTS = 1 << 15,
    TRAILS = 16,
    FRAME_POINTERS_MAX = 127, /* as many as the kernel follows: kernel.perf_event_max_stack */
};

static struct model_module *pseudo_module(struct model_process_table *table, const char *name)
{
    const struct sprof_file_id identity = {.path = name};
    struct model_module *module = model_process_table_module(table, &identity, false, 0);
    if (module)
        module->kind = MODEL_KIND_NONE;
    return module;
}

int recording_walk_init(struct recording_walk *walk, struct model_process_table *table,
                        struct recording_images *images, const struct model_view *view)
{
    *walk = (struct recording_walk){.process_table = table};
    walk->spaces = (struct recording_spaces){.process_table = table, .images = images};
    walk->walker = unwind_walker_new(0);
    walk->known = calloc(KNOWN_SLOTS, sizeof *walk->known);
    walk->trails = calloc(TRAILS, sizeof *walk->trails);
    const struct model_module *none = pseudo_module(table, MODEL_MODULE_NONE);
    const struct model_module *unknown = pseudo_module(table, MODEL_MODULE_UNKNOWN);
    const struct sprof_file_id kernel_identity = {.path = MODEL_MODULE_KERNEL};
    const struct model_module *kernel =
        model_process_table_module(table, &kernel_identity, true, 0);
    if (!walk->walker || !walk->known || !walk->trails || !none || !unknown || !kernel ||
        recording_walk_add_view(walk, 0, view))
        return SPROF_ENOMEM;
    walk->kernel_module = kernel->id;
    walk->none_module = none->id;
    walk->unknown_module = unknown->id;
    return 0;
}

int recording_walk_add_view(struct recording_walk *walk, uint64_t from_ns,
                            const struct model_view *view)
{
    return sprof_vec_push(&walk->modes, ((struct recording_moded){from_ns, *view}));
}

void recording_walk_release(struct recording_walk *walk)
{
    model_stacks_release(&walk->stacks);
    recording_spaces_release(&walk->spaces);
    unwind_walker_free(walk->walker);
    free(walk->known);
    sprof_vec_release(&walk->modes);
    sprof_vec_release(&walk->line);
    sprof_vec_release(&walk->line_found_by);
    sprof_vec_release(&walk->line_is_app);
    free(walk->trails);
    *walk = (struct recording_walk){0};
}

/* == Addresses → frames == */

struct frame_place {
    const struct model_process *process; /* NULL: the kernel */
    uint64_t past_ns;
    uint32_t generation; /* 0: the kernel's */
    struct recording_outcome *outcome;
};

/* After a fork, parent and child may make other code at the same addresses. */
static const struct model_module *own_module(struct recording_walk *walk,
                                             const struct frame_place *place,
                                             const struct model_module *found)
{
    if (!place->process || !found->process || found->process == place->process->id)
        return found;
    place->outcome->inherited_code = true;
    return model_process_table_module(walk->process_table, &found->identity, false,
                                      place->process->id);
}

static int find_frame(struct recording_walk *walk, const struct frame_place *place,
                      uint64_t address, uint32_t *frame)
{
    struct recording_known *known =
        &walk->known[sprof_hash_pair(place->generation, address) & (KNOWN_SLOTS - 1)];
    if (known->frame && known->address == address && known->generation == place->generation) {
        *frame = known->frame;
        return 0;
    }
    const struct model_mapping *mapping =
        model_process_table_find(walk->process_table, place->process, address, place->past_ns);
    uint32_t module = walk->kernel_module;
    uint64_t offset = address - walk->kernel_start;
    if (mapping) {
        const struct model_module *found =
            model_process_table_module_by_id(walk->process_table, mapping->module);
        if (found->owner)
            recording_images_identify(walk->spaces.images, found->owner);
        /* Code without a file keeps its addresses, as perf maps do; a memfd may hold an ELF file or
         * be memory like any other. */
        const struct recording_image *image = found->owner;
        const bool has_file = found->kind != MODEL_KIND_JIT ||
                              (image && recording_image_settled(image) && image->image);
        offset = has_file ? address - mapping->start + mapping->file_offset : address;
        if (!has_file && !(found = own_module(walk, place, found)))
            return SPROF_ENOMEM;
        module = found->id;
    } else if (place->process) {
        place->outcome->unknown_code = true;
        module = walk->unknown_module;
        offset = address;
    }
    if (model_stacks_frame(&walk->stacks, module, offset, frame))
        return SPROF_ENOMEM;
    if (mapping)
        *known = (struct recording_known){address, place->generation, *frame};
    return 0;
}

static int add_to_line(struct recording_walk *walk, const struct frame_place *place,
                       uint64_t address, enum model_found_by found_by)
{
    uint32_t frame;
    if (find_frame(walk, place, address, &frame) || sprof_vec_push(&walk->line, frame) ||
        sprof_vec_push(&walk->line_found_by, (uint8_t)found_by))
        return SPROF_ENOMEM;
    return 0;
}

/* == Frames → a node == */

int recording_walk_child(struct recording_walk *walk, uint32_t parent, uint32_t module,
                         uint64_t offset, uint32_t *node)
{
    uint32_t frame;
    *node = 0;
    if (model_stacks_frame(&walk->stacks, module, offset, &frame))
        return SPROF_ENOMEM;
    return model_stacks_node(&walk->stacks, parent, frame, MODEL_BY_CFI, 0, node);
}

int recording_walk_pseudo(struct recording_walk *walk, enum model_pseudo which, uint32_t *node)
{
    return recording_walk_child(walk, 0, walk->none_module, (uint64_t)which, node);
}

static bool is_app_code(const struct recording_walk *walk, uint32_t id)
{
    const struct model_frame *frame = &walk->stacks.frames.items[id - 1 - walk->stacks.first_frame];
    const struct model_module *module =
        model_process_table_module_by_id(walk->process_table, frame->module);
    const struct recording_image *image = module->owner;
    return model_kind_is_app(module->kind) &&
           !(image && recording_image_is_startup(image, frame->offset));
}

static int cut_line(struct recording_walk *walk, size_t *first, size_t *last, bool *kept)
{
    const size_t count = walk->line.count;
    if (sprof_vec_reserve(&walk->line_is_app, count))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        walk->line_is_app.items[i] = is_app_code(walk, walk->line.items[count - 1 - i]);
    *kept = model_view_cut(&walk->view, walk->line_is_app.items, count, first, last);
    return 0;
}

static bool is_dropped(const struct recording_walk *walk, size_t index)
{
    return walk->view.mode == MODEL_MODE_APP && walk->view.drop_interior &&
           !walk->line_is_app.items[index];
}

/* By process and stack: most threads stay within the same few hundred kilobytes of theirs. */
static struct recording_trail *trail_of(struct recording_walk *walk,
                                        const struct model_process *process,
                                        const struct model_sample *sample)
{
    enum { STACK_SHIFT = 20 };
    const uint64_t stack = sample->register_count ? sample->registers[ARCH_SP] >> STACK_SHIFT : 0;
    return &walk->trails[(stack ^ (process ? (uint64_t)process->pid : 0)) % TRAILS];
}

/* Root first; only some modes need a cut. */
static int insert_line(struct recording_walk *walk, struct recording_trail *trail,
                       struct recording_outcome *outcome)
{
    const size_t count = walk->line.count;
    size_t first = 0, last = count - 1;
    bool kept = count > 0;
    const bool cuts = walk->view.mode != MODEL_MODE_FULL && !walk->pc_only;
    if (cuts && cut_line(walk, &first, &last, &kept))
        return SPROF_ENOMEM;
    if (!kept)
        return recording_walk_pseudo(walk, MODEL_PSEUDO_OUTSIDE, &outcome->node);
    uint32_t node = 0;
    uint32_t guessed = 0;
    size_t depth = 0;
    for (size_t i = first; i <= last; i++) {
        const uint8_t found_by = walk->line_found_by.items[count - 1 - i];
        guessed += found_by == MODEL_BY_SCAN;
        if (cuts && is_dropped(walk, i))
            continue;
        const bool is_kept = depth < sizeof trail->nodes / sizeof *trail->nodes;
        uint32_t next = is_kept ? trail->nodes[depth] : 0;
        if (model_stacks_node(&walk->stacks, node, walk->line.items[count - 1 - i], found_by,
                              guessed, &next))
            return SPROF_ENOMEM;
        if (is_kept)
            trail->nodes[depth] = next;
        node = next;
        depth++;
    }
    outcome->node = node;
    return 0;
}

/* == The walk == */

static int add_kernel(struct recording_walk *walk, const struct model_sample *sample,
                      struct frame_place place)
{
    place.process = NULL;
    place.generation = 0;
    place.past_ns = 0;
    walk->saw_kernel = true;
    if (!sample->kernel_chain_count)
        return sample->in_kernel ? add_to_line(walk, &place, sample->ip, MODEL_BY_KERNEL) : 0;
    for (size_t i = 0; i < sample->kernel_chain_count; i++)
        if (add_to_line(walk, &place, sample->kernel_chain[i] - (i > 0), MODEL_BY_KERNEL))
            return SPROF_ENOMEM;
    return 0;
}

static int add_user(struct recording_walk *walk, const struct model_sample *sample,
                    struct frame_place place, const struct unwind_space *space,
                    struct recording_outcome *outcome)
{
    struct recording_stack beyond = {.pid = place.process->pid, .sample = sample, .space = space};
    const struct unwind_memory memory = {
        .calls = sample->calls,
        .call_count = sample->call_count,
        .slice = sample->stack,
        .tail = sample->tail,
        .slice_address = sample->registers[ARCH_SP],
        .tail_address = sample->tail_address,
        .slice_size = sample->stack_size,
        .tail_size = sample->tail_with_sample ? sample->tail_size : 0,
        .read = recording_stack_read,
        .context = &beyond,
    };
    struct unwind_registers registers;
    memcpy(registers.value, sample->registers, sizeof registers.value);
    const uint64_t begin_ns = sprof_clock_monotonic_ns();
    const struct unwind_stack stack = unwind_walk(walk->walker, space, &memory, &registers);
    walk->walk_ns += sprof_clock_monotonic_ns() - begin_ns;
    outcome->end = stack.end;
    outcome->stitched = stack.stitched;
    outcome->extent = recording_stack_extent(sample, &stack);
    outcome->unknown_code |= stack.outside && stack.end != MODEL_END_ROOT;
    if (stack.end == MODEL_END_PENDING)
        return 0;
    /* Where the walk could not go on but frame pointers do, their frames are marked as such; the
     * stack is not whole for that. */
    uint64_t callers[FRAME_POINTERS_MAX];
    const size_t more = recording_stack_callers(sample, &stack, callers, FRAME_POINTERS_MAX);
    for (size_t i = 0; i < stack.count; i++) {
        const struct unwind_frame *frame = &stack.frames[i];
        if (frame->found_by == MODEL_BY_SCAN) {
            outcome->guessed = true;
            outcome->unknown_code |= stack.outside != 0;
        }
        if (add_to_line(walk, &place, unwind_frame_lookup_address(frame),
                        (enum model_found_by)frame->found_by))
            return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < more && space->find(space->context, callers[i] - 1); i++)
        if (add_to_line(walk, &place, callers[i] - 1, MODEL_BY_FP))
            return SPROF_ENOMEM;
    return 0;
}

static int add_pc(struct recording_walk *walk, const struct model_sample *sample,
                  struct frame_place place)
{
    return sample->in_kernel ? add_kernel(walk, sample, place)
                             : add_to_line(walk, &place, sample->ip, MODEL_BY_CFI);
}

/* While execve replaces a program, the registers still speak of the one that is gone. Its code may
 * be unknown already, or its stack unreadable in the middle of a system call: nothing else makes it
 * so, for the call itself has just touched it. */
static bool has_user_stack(const struct model_sample *sample, const struct unwind_space *space)
{
    if (!sample->in_kernel)
        return true;
    if (!sample->register_count ||
        (!sample->stack_size && arch_may_be_in_system_call(sample->registers)))
        return false;
    return space->find(space->context, sample->registers[ARCH_PC]) != NULL;
}

static int make_line(struct recording_walk *walk, const struct model_sample *sample,
                     const struct frame_place *place, const struct unwind_space *space,
                     struct recording_outcome *outcome)
{
    outcome->end = MODEL_END_NO_STACK;
    if (walk->pc_only)
        return add_pc(walk, sample, *place);
    if (walk->view.mode == MODEL_MODE_FULL && add_kernel(walk, sample, *place))
        return SPROF_ENOMEM;
    outcome->user_stack = has_user_stack(sample, space);
    outcome->unknown_code |= !outcome->user_stack && sample->register_count;
    if (outcome->user_stack && sample->register_count && !sample->is_32bit)
        return add_user(walk, sample, *place, space, outcome);
    if (outcome->user_stack)
        outcome->end = MODEL_END_NO_CFI;
    return sample->in_kernel ? 0 : add_to_line(walk, place, sample->ip, MODEL_BY_CFI);
}

static int walk_in(struct recording_walk *walk, const struct frame_place *place,
                   const struct unwind_space *space, const struct model_sample *sample,
                   uint64_t time_ns, struct recording_outcome *outcome)
{
    size_t mode = walk->modes.count - 1;
    while (walk->modes.items[mode].from_ns > time_ns)
        mode--;
    walk->view = walk->modes.items[mode].view;
    walk->pc_only = walk->view.mode == MODEL_MODE_PC && !walk->view.frame_app;
    walk->line.count = walk->line_found_by.count = 0;
    struct recording_trail *trail = trail_of(walk, place->process, sample);
    const int result = make_line(walk, sample, place, space, outcome);
    if (result || outcome->end == MODEL_END_PENDING)
        return result;
    return insert_line(walk, trail, outcome);
}

int recording_walk_sample(struct recording_walk *walk, const struct model_process *process,
                          const struct model_sample *sample, uint64_t time_ns,
                          struct recording_outcome *outcome)
{
    *outcome = (struct recording_outcome){.end = MODEL_END_NO_STACK};
    if (sample->pseudo)
        return recording_walk_pseudo(walk, sample->pseudo, &outcome->node);
    struct unwind_space space;
    if (recording_spaces_get(&walk->spaces, process, &space))
        return SPROF_ENOMEM;
    const struct frame_place place = {process, 0, space.generation, outcome};
    return walk_in(walk, &place, &space, sample, time_ns, outcome);
}

int recording_walk_past(struct recording_walk *walk, const struct model_process *process,
                        const struct model_sample *sample, uint64_t time_ns,
                        struct recording_outcome *outcome)
{
    *outcome = (struct recording_outcome){0};
    struct unwind_space space;
    recording_spaces_get_past(&walk->spaces, process, time_ns, &space);
    const struct frame_place place = {process, time_ns, space.generation, outcome};
    return walk_in(walk, &place, &space, sample, time_ns, outcome);
}
