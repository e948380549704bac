/* Gives the unwinder the code regions of a process. */
#include "recording/spaces.h"

static enum unwind_region_kind region_kind(enum recording_image_state state, bool hurried)
{
    switch (state) {
    case RECORDING_IMAGE_READY: return UNWIND_REGION_TABLE;
    case RECORDING_IMAGE_WAITING:
    case RECORDING_IMAGE_IDLE: return hurried ? UNWIND_REGION_BARE : UNWIND_REGION_PENDING;
    case RECORDING_IMAGE_BARE: break;
    }
    return UNWIND_REGION_BARE;
}

/* Code in anonymous memory has no file to open; a memfd has. */
static bool has_file(const struct model_module *module)
{
    return module->kind != MODEL_KIND_JIT || strncmp(module->identity.path, "/memfd:", 7) == 0;
}

/* The nearest that lives of those that started a process; 0: none of the nearest does. A program
 * that forks and ends again and again has a chain as long as it likes, and frames of the past walk
 * it. */
static int ancestor_of(const struct recording_spaces *spaces, const struct model_process *process)
{
    enum { NEAREST = 32 };
    const struct model_process_table *table = spaces->process_table;
    for (int hops = 0; hops < NEAREST && process->parent > table->first_process; hops++) {
        process = table->processes.items[process->parent - 1 - table->first_process];
        if (!process->end_ns)
            return process->pid;
    }
    return 0;
}

static struct recording_region make_region(struct recording_spaces *spaces,
                                           const struct model_mapping *mapping,
                                           const struct model_process *process, int ancestor)
{
    struct recording_region made = {
        .region = {.start = mapping->start, .end = mapping->end, .kind = UNWIND_REGION_JIT},
        .mapping = mapping,
    };
    struct model_module *module =
        model_process_table_module_by_id(spaces->process_table, mapping->module);
    if (!has_file(module))
        return made;
    made.image = recording_images_get(spaces->images, module, mapping, process->pid, ancestor);
    made.region.kind = UNWIND_REGION_BARE;
    made.region.owner = made.image;
    made.region.holds_copies = !strcmp(module->identity.path, "[uprobes]");
    return made;
}

/* Brings a region up to date with its image: has the table built when it is needed for the first
 * time. */
static const struct unwind_region *use_region(struct recording_spaces *spaces,
                                              struct recording_region *found)
{
    if (!found->image)
        return &found->region;
    const enum recording_image_state state = recording_images_use(spaces->images, found->image);
    found->region.kind = region_kind(state, spaces->hurried);
    found->region.table = NULL;
    if (state != RECORDING_IMAGE_READY)
        return &found->region;
    uint64_t vaddr;
    found->region.table = recording_image_table(found->image);
    if (recording_image_vaddr(found->image, found->mapping->file_offset, &vaddr))
        found->region.bias = found->mapping->start - vaddr;
    else
        found->region.kind = UNWIND_REGION_BARE;
    return &found->region;
}

static bool holds(const struct recording_region *region, uint64_t address)
{
    return address >= region->region.start && address < region->region.end;
}

static const struct unwind_region *find_now(void *context, uint64_t address)
{
    struct recording_space *space = context;
    struct recording_region *regions = space->regions.items;
    if (space->last < space->regions.count && holds(&regions[space->last], address))
        return use_region(space->spaces, &regions[space->last]);
    size_t low = 0, high = space->regions.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (regions[middle].region.end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == space->regions.count || !holds(&regions[low], address))
        return NULL;
    space->last = low;
    return use_region(space->spaces, &regions[low]);
}

static const struct unwind_region *find_past(void *context, uint64_t address)
{
    struct recording_space *space = context;
    const struct model_mapping *mapping = model_process_table_find(
        space->spaces->process_table, space->process, address, space->at_ns);
    if (!mapping)
        return NULL;
    space->scratch = make_region(space->spaces, mapping, space->process,
                                 ancestor_of(space->spaces, space->process));
    if (space->scratch.image)
        recording_images_keep(space->spaces->images, space->scratch.image);
    return use_region(space->spaces, &space->scratch);
}

static int refresh(struct recording_space *space, const struct model_process *process)
{
    struct recording_spaces *spaces = space->spaces;
    const struct model_mappings *mappings = &spaces->process_table->mappings;
    const int ancestor = ancestor_of(spaces, process);
    space->regions.count = 0;
    if (sprof_vec_reserve(&space->regions, process->space.mapped.count))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < process->space.mapped.count; i++) {
        const size_t index = process->space.mapped.items[i] - 1 - mappings->first;
        space->regions.items[space->regions.count++] =
            make_region(spaces, mappings->rows.items[index], process, ancestor);
    }
    space->generation = process->space.generation;
    space->last = 0;
    return 0;
}

static struct recording_space *space_of(struct recording_spaces *spaces,
                                        const struct model_process *process)
{
    const size_t index = process->id - 1 - spaces->process_table->first_process;
    while (spaces->items.count <= index)
        if (sprof_vec_push(&spaces->items, NULL))
            return NULL;
    if (!spaces->items.items[index]) {
        spaces->items.items[index] = calloc(1, sizeof **spaces->items.items);
        if (spaces->items.items[index])
            spaces->items.items[index]->spaces = spaces;
    }
    return spaces->items.items[index];
}

int recording_spaces_get(struct recording_spaces *spaces, const struct model_process *process,
                         struct unwind_space *out)
{
    struct recording_space *space = space_of(spaces, process);
    if (!space)
        return SPROF_ENOMEM;
    if (space->generation != process->space.generation && refresh(space, process))
        return SPROF_ENOMEM;
    *out = (struct unwind_space){find_now, space, process->space.generation};
    return 0;
}

void recording_spaces_get_past(struct recording_spaces *spaces, const struct model_process *process,
                               uint64_t time_ns, struct unwind_space *out)
{
    spaces->past.spaces = spaces;
    spaces->past.process = process;
    spaces->past.at_ns = time_ns;
    *out = (struct unwind_space){find_past, &spaces->past,
                                 model_mappings_generation(&spaces->process_table->mappings)};
}

static const struct recording_region *outer(const struct unwind_region *region)
{
    return (const struct recording_region *)region;
}

bool recording_region_is_gone(const struct unwind_region *region)
{
    return outer(region)->mapping->end_ns != 0;
}

int recording_region_read(const struct unwind_region *region, uint64_t address, void *buffer,
                          size_t size)
{
    const struct model_mapping *mapping = outer(region)->mapping;
    const struct recording_image *image = outer(region)->image;
    if (!image || !recording_image_settled(image) || !image->image || region->end - address < size)
        return SPROF_EIO;
    const uint64_t offset = address - mapping->start + mapping->file_offset;
    return image_read(image->image, offset, buffer, size) == size ? 0 : SPROF_EIO;
}

void recording_spaces_release(struct recording_spaces *spaces)
{
    for (size_t i = 0; i < spaces->items.count; i++) {
        if (!spaces->items.items[i])
            continue;
        sprof_vec_release(&spaces->items.items[i]->regions);
        free(spaces->items.items[i]);
    }
    sprof_vec_release(&spaces->items);
    *spaces = (struct recording_spaces){0};
}
