/* Gives the unwinder the code regions of a process. */
#include "recording/spaces.h"

static enum unwind_region_kind region_kind(enum record_image_state state, bool hurried)
{
    switch (state) {
    case RECORD_IMAGE_READY: return UNWIND_REGION_TABLE;
    case RECORD_IMAGE_WAITING:
    case RECORD_IMAGE_IDLE: return hurried ? UNWIND_REGION_BARE : UNWIND_REGION_PENDING;
    case RECORD_IMAGE_BARE: break;
    }
    return UNWIND_REGION_BARE;
}

/* Code in anonymous memory has no file to open; a memfd has. */
static bool has_file(const struct model_module *module)
{
    return module->kind != MODEL_KIND_JIT || strncmp(module->identity.path, "/memfd:", 7) == 0;
}

static struct record_region make_region(struct record_spaces *spaces,
                                        const struct model_mapping *mapping, int pid)
{
    struct record_region made = {
        .region = {.start = mapping->start, .end = mapping->end, .kind = UNWIND_REGION_JIT},
        .mapping = mapping,
    };
    struct model_module *module = model_world_module_by_id(spaces->world, mapping->module);
    if (!has_file(module))
        return made;
    made.image = record_images_get(spaces->images, module, mapping, pid);
    made.region.kind = UNWIND_REGION_BARE;
    made.region.owner = made.image;
    return made;
}

/* Brings a region up to date with its image: asks for the table when it is needed for the first
 * time. */
static const struct unwind_region *use_region(struct record_spaces *spaces,
                                              struct record_region *found)
{
    if (!found->image)
        return &found->region;
    const enum record_image_state state = record_images_use(spaces->images, found->image);
    found->region.kind = region_kind(state, spaces->hurried);
    found->region.table = NULL;
    if (state != RECORD_IMAGE_READY)
        return &found->region;
    uint64_t vaddr;
    found->region.table = record_image_table(found->image);
    if (record_image_vaddr(found->image, found->mapping->file_offset, &vaddr))
        found->region.bias = found->mapping->start - vaddr;
    else
        found->region.kind = UNWIND_REGION_BARE;
    return &found->region;
}

static bool holds(const struct record_region *region, uint64_t address)
{
    return address >= region->region.start && address < region->region.end;
}

static const struct unwind_region *find_now(void *context, uint64_t address)
{
    struct record_space *space = context;
    struct record_region *regions = space->regions.items;
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
    struct record_space *space = context;
    const struct model_mapping *mapping =
        model_world_find_at(space->spaces->world, space->process, address, space->at_ns);
    if (!mapping)
        return NULL;
    space->scratch = make_region(space->spaces, mapping, space->process->pid);
    if (space->scratch.image)
        record_images_keep(space->spaces->images, space->scratch.image);
    return use_region(space->spaces, &space->scratch);
}

static int refresh(struct record_space *space, const struct model_process *process)
{
    struct record_spaces *spaces = space->spaces;
    space->regions.count = 0;
    if (sprof_vec_reserve(&space->regions, process->mapped.count))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < process->mapped.count; i++) {
        const size_t index = process->mapped.items[i] - 1 - spaces->world->first_mapping;
        space->regions.items[space->regions.count++] =
            make_region(spaces, spaces->world->mappings.items[index], process->pid);
    }
    space->generation = process->generation;
    space->last = 0;
    return 0;
}

static struct record_space *space_of(struct record_spaces *spaces,
                                     const struct model_process *process)
{
    const size_t index = process->id - 1 - spaces->world->first_process;
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

int record_spaces_get(struct record_spaces *spaces, const struct model_process *process,
                      struct unwind_space *out)
{
    struct record_space *space = space_of(spaces, process);
    if (!space)
        return SPROF_ENOMEM;
    if (space->generation != process->generation && refresh(space, process))
        return SPROF_ENOMEM;
    *out = (struct unwind_space){find_now, space, process->generation};
    return 0;
}

void record_spaces_get_past(struct record_spaces *spaces, const struct model_process *process,
                            uint64_t time_ns, struct unwind_space *out)
{
    spaces->past.spaces = spaces;
    spaces->past.process = process;
    spaces->past.at_ns = time_ns;
    *out = (struct unwind_space){find_past, &spaces->past, ++spaces->world->next_generation};
}

void record_spaces_release(struct record_spaces *spaces)
{
    for (size_t i = 0; i < spaces->items.count; i++) {
        if (!spaces->items.items[i])
            continue;
        sprof_vec_release(&spaces->items.items[i]->regions);
        free(spaces->items.items[i]);
    }
    sprof_vec_release(&spaces->items);
    *spaces = (struct record_spaces){0};
}
