/* Distinguishes the copy of a file that the program's loader has made from what else maps it: a
 * program may map any file as code, to read it, and below the copy that runs. */
#include "base/proc.h"
#include "image/image.h"
#include "plan/process_plan.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

bool plan_is_same_copy(const struct model_mmap *a, const struct model_mmap *b)
{
    return a->address - a->file_offset == b->address - b->file_offset;
}

/* Whether data of that file is mapped there, from that place in it. */
static bool has_data(pid_t pid, const struct sprof_file_id *file, uint64_t address, uint64_t offset)
{
    char path[64], line[512], rights[8];
    unsigned long start, end, from;
    struct sprof_file_id found;
    bool has = false;
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && !has && fgets(line, sizeof line, maps))
        has = sscanf(line, "%lx-%lx %7s %lx %x:%x %lu", &start, &end, rights, &from,
                     &found.device_major, &found.device_minor, &found.inode) == 7 &&
              start <= address && address < end && address - start + from == offset &&
              (rights[2] != 'x' || rights[1] == 'w') &&
              plan_identity(&found) == plan_identity(file);
    if (maps)
        fclose(maps);
    return has;
}

/* Its loader reads what it is to do with a file (.dynamic) where it has mapped the file's data. */
static bool is_loaded(pid_t pid, const struct model_mmap *mapping)
{
    const struct image_request request = plan_request_of(pid, mapping);
    struct image_extent dynamic = {0};
    uint64_t vaddr = mapping->file_offset;
    struct image *image;
    if (image_open(&image, &request, NULL))
        return false;
    const bool has = image_section_extent(image, ".dynamic", &dynamic) &&
                     image_vaddr_of_mapping(image, mapping->file_offset, &vaddr);
    image_free(image);
    return has &&
           has_data(pid, &mapping->file, mapping->address - vaddr + dynamic.vaddr, dynamic.offset);
}

struct others {
    pid_t pid;
    const struct model_mmap *mapping;
};

/* 1: that is another copy of the file, and a loaded one. */
static int is_loaded_other(void *context, const struct model_mmap *other)
{
    const struct others *others = context;
    return other->file.path &&
           plan_identity(&other->file) == plan_identity(&others->mapping->file) &&
           !plan_is_same_copy(other, others->mapping) && is_loaded(others->pid, other);
}

bool plan_is_idle_copy(pid_t pid, const struct model_mmap *mapping)
{
    struct others others = {pid, mapping};
    return !is_loaded(pid, mapping) && target_each_mapping(pid, is_loaded_other, &others) == 1;
}

uint64_t plan_identity(const struct sprof_file_id *file)
{
    const uint64_t device = (uint64_t)file->device_major << 32 | file->device_minor;
    return sprof_hash_mix(sprof_hash_mix(device) ^ file->inode);
}

struct image_request plan_request_of(pid_t pid, const struct model_mmap *mapping)
{
    return (struct image_request){.file = mapping->file,
                                  .pid = pid,
                                  .map_start = mapping->address,
                                  .map_end = mapping->address + mapping->size};
}
