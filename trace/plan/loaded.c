/* Tells the copy of a file that the program's loader has made from what else maps it: a program may
 * map any file as code, to read it, and below the copy that runs. */
#include "base/proc.h"
#include "image/image.h"
#include "target/target.h"
#include "trace/plan/plan.h"

#include <stdio.h>
#include <string.h>

bool trace_is_same_copy(const struct model_mmap *a, const struct model_mmap *b)
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
              trace_identity(&found) == trace_identity(file);
    if (maps)
        fclose(maps);
    return has;
}

/* Its loader reads what it is to do with a file (.dynamic) where it has mapped the file's data. */
static bool is_loaded(pid_t pid, const struct model_mmap *mapping)
{
    const struct image_request request = trace_request_of(pid, mapping);
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
           trace_identity(&other->file) == trace_identity(&others->mapping->file) &&
           !trace_is_same_copy(other, others->mapping) && is_loaded(others->pid, other);
}

bool trace_is_idle_copy(pid_t pid, const struct model_mmap *mapping)
{
    struct others others = {pid, mapping};
    return !is_loaded(pid, mapping) && target_each_mapping(pid, is_loaded_other, &others) == 1;
}
