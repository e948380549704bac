/* sprof's own walk, with tables as the recorder builds them. */
#include "recording/build.h"
#include "tests/hard/oracle/oracle.h"

#include <stdlib.h>
#include <string.h>

struct file {
    uint64_t inode;
    uint32_t device_major, device_minor;
    char *path;
    struct image *image;
    struct unwind_table *table;
};

struct oracle_sprof {
    struct unwind_walker *walker;
    struct file *files;
    size_t file_count;
    struct unwind_region *regions;
    size_t region_count;
    uint32_t generation;
    const struct oracle_target *target;
};

struct oracle_sprof *oracle_sprof_new(void)
{
    struct oracle_sprof *sprof = calloc(1, sizeof *sprof);
    if (sprof)
        sprof->walker = unwind_walker_new(ORACLE_FRAMES);
    return sprof;
}

void oracle_sprof_free(struct oracle_sprof *sprof)
{
    for (size_t i = 0; i < sprof->file_count; i++) {
        unwind_table_free(sprof->files[i].table);
        image_free(sprof->files[i].image);
        free(sprof->files[i].path);
    }
    unwind_walker_free(sprof->walker);
    free(sprof->files);
    free(sprof->regions);
    free(sprof);
}

static struct file *find_file(struct oracle_sprof *sprof, const struct oracle_map *map)
{
    for (size_t i = 0; i < sprof->file_count; i++) {
        struct file *file = &sprof->files[i];
        if (file->inode == map->inode && file->device_major == map->device_major &&
            file->device_minor == map->device_minor && strcmp(file->path, map->path) == 0)
            return file;
    }
    return NULL;
}

static struct file *open_file(struct oracle_sprof *sprof, const struct oracle_map *map)
{
    struct file *file = find_file(sprof, map);
    if (file)
        return file;
    struct file *grown = realloc(sprof->files, (sprof->file_count + 1) * sizeof *grown);
    if (!grown)
        abort();
    sprof->files = grown;
    file = &grown[sprof->file_count++];
    *file = (struct file){.inode = map->inode,
                          .device_major = map->device_major,
                          .device_minor = map->device_minor,
                          .path = strdup(map->path)};
    const struct image_request request = {.file.path = file->path,
                                          .pid = sprof->target->pid,
                                          .map_start = map->start,
                                          .map_end = map->end,
                                          .file.device_major = map->device_major,
                                          .file.device_minor = map->device_minor,
                                          .file.inode = map->inode};
    struct recording_built built = {0};
    if (recording_open_image(&file->image, &request, NULL) == 0)
        recording_build(&built, file->image, NULL, NULL);
    file->table = built.table;
    return file;
}

static struct unwind_region make_region(struct oracle_sprof *sprof, const struct oracle_map *map)
{
    struct unwind_region region = {.start = map->start, .end = map->end, .kind = UNWIND_REGION_JIT};
    if (!map->path[0] || map->path[0] == '[') {
        if (strcmp(map->path, "[vdso]") != 0)
            return region;
    }
    const struct file *file = open_file(sprof, map);
    uint64_t vaddr = 0;
    region.kind = UNWIND_REGION_BARE;
    if (!file->table)
        return region;
    if (image_vaddr_of_offset(file->image, map->offset, &vaddr)) {
        region.bias = map->start - vaddr;
    } else {
        /* The mapping begins at a page, up to a page before its segment does. */
        const struct image_segment *segments;
        const size_t count = image_text_segments(file->image, &segments);
        size_t i = 0;
        while (i < count && (segments[i].offset < map->offset ||
                             segments[i].offset - map->offset >= map->end - map->start))
            i++;
        if (i == count)
            return region;
        region.bias = map->start + (segments[i].offset - map->offset) - segments[i].vaddr;
    }
    region.kind = UNWIND_REGION_TABLE;
    region.table = file->table;
    return region;
}

static void update_regions(struct oracle_sprof *sprof)
{
    const struct oracle_target *target = sprof->target;
    if (sprof->generation == target->generation)
        return;
    sprof->generation = target->generation;
    free(sprof->regions);
    sprof->regions = calloc(target->map_count + 1, sizeof *sprof->regions);
    sprof->region_count = 0;
    for (size_t i = 0; sprof->regions && i < target->map_count; i++)
        if (target->maps[i].executable)
            sprof->regions[sprof->region_count++] = make_region(sprof, &target->maps[i]);
}

static const struct unwind_region *find_region(void *context, uint64_t address)
{
    const struct oracle_sprof *sprof = context;
    for (size_t i = 0; i < sprof->region_count; i++)
        if (address >= sprof->regions[i].start && address < sprof->regions[i].end)
            return &sprof->regions[i];
    return NULL;
}

static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return target_read(context, address, buffer, size);
}

void oracle_sprof_walk(struct oracle_sprof *sprof, const struct oracle_target *target,
                       struct oracle_stack *stack)
{
    sprof->target = target;
    update_regions(sprof);
    const struct unwind_space space = {find_region, sprof, target->generation};
    const struct unwind_memory memory = {.slice = target->slice,
                                         .slice_address = target->registers.value[ARCH_SP],
                                         .slice_size = target->slice_size,
                                         .read = read_memory,
                                         .context = (void *)(uintptr_t)target};
    const struct unwind_stack found =
        unwind_walk(sprof->walker, &space, &memory, &target->registers);
    stack->count = found.count;
    stack->end = found.end;
    stack->switched = found.switched;
    stack->guessing = ORACLE_NOWHERE;
    for (size_t i = 0; i < found.count; i++) {
        stack->pc[i] = found.frames[i].address;
        stack->found_by[i] = found.frames[i].found_by;
        if (found.frames[i].found_by == MODEL_BY_SCAN && stack->guessing == ORACLE_NOWHERE)
            stack->guessing = i - 1;
    }
}
