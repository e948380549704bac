/* Allocates islands: memory near a file for copied instructions. */
#include "inject/inject.h"
#include "probing/probes.h"
#include "probing/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    PAGE = 4096,
    ISLAND_TRIES = 8,
    REACH = 0x7fff0000,       /* of a jump, with a reserve */
    LOWEST_ADDRESS = 0x10000, /* vm.mmap_min_addr */
    HEAP_ROOM = 1 << 30,      /* for a heap after a program's end */
};

struct gaps {
    SPROF_VEC(uint64_t) ends; /* pairs: begin, end */
};

static int read_gaps(pid_t pid, struct gaps *gaps)
{
    char path[64], line[512];
    uint64_t free_from = LOWEST_ADDRESS;
    int result = 0;
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && !result && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx", &start, &end) != 2)
            continue;
        if (start > free_from &&
            (sprof_vec_push(&gaps->ends, free_from) || sprof_vec_push(&gaps->ends, start)))
            result = SPROF_ENOMEM;
        free_from = end;
    }
    if (maps)
        fclose(maps);
    return result;
}

static bool reaches(uint64_t from, uint64_t size, uint64_t low, uint64_t high)
{
    const uint64_t first = from < low ? from : low, last = from + size > high ? from + size : high;
    return last - first < REACH;
}

/* Prefers the nearest gap below the code. Above, it leaves room for a heap. Returns 0 if there is
 * none. */
static uint64_t find_room(const struct gaps *gaps, uint64_t size, uint64_t low, uint64_t high)
{
    uint64_t above = 0;
    for (size_t i = gaps->ends.count; i >= 2; i -= 2) {
        const uint64_t begin = gaps->ends.items[i - 2], end = gaps->ends.items[i - 1];
        if (end <= low && end - begin >= size && reaches(end - size, size, low, high))
            return end - size;
    }
    /* `high` may lie behind the code. */
    const uint64_t behind = (high + PAGE - 1) / PAGE * PAGE;
    for (size_t i = 0; i < gaps->ends.count && !above; i += 2) {
        const uint64_t end = gaps->ends.items[i + 1];
        const uint64_t begin = gaps->ends.items[i] > behind ? gaps->ends.items[i] : behind;
        if (end <= begin)
            continue;
        const uint64_t at = begin + (end - begin > 2 * (uint64_t)HEAP_ROOM ? HEAP_ROOM : 0);
        if (end - at >= size && reaches(at, size, low, high))
            above = at;
    }
    return above;
}

int probing_make_island(struct probing_program *program, struct probing_file *file, uint64_t bytes,
                        uint64_t low, uint64_t high, struct sprof_error *error)
{
    if (file->island && reaches(file->island, file->island_bytes, low, high))
        return 0;
    if (file->island)
        program->way->ask(program, PROBE_UNMAP, file->island, file->island_bytes, -1);
    file->island_bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    int64_t at = -EEXIST; /* the program may have mapped something there meanwhile */
    for (int tries = 0; tries < ISLAND_TRIES && at == -EEXIST; tries++) {
        struct gaps gaps = {0};
        if (read_gaps(program->process.pid, &gaps))
            return sprof_error_memory(error);
        file->island = find_room(&gaps, file->island_bytes, low, high);
        sprof_vec_release(&gaps.ends);
        if (file->island)
            inject_owner_add_island(&program->process, file->island, file->island_bytes);
        at = file->island ? program->way->ask(program, PROBE_MAP_ISLAND, file->island,
                                              file->island_bytes, -1)
                          : -ENOMEM;
        if (at == (int64_t)file->island && at)
            return 0;
        inject_owner_drop_island(&program->process, file->island);
    }
    file->island = 0;
    return sprof_error_set(error, SPROF_ELIMIT, at < 0 ? (int)-at : 0,
                           "there is no room for probes near %s in the command: %s", file->path,
                           strerror(at < 0 ? (int)-at : EEXIST));
}

int probing_make_island_of(struct probing_program *program, struct probing_file *file,
                           struct sprof_error *error)
{
    const struct probing_probe *probes = program->probes.items + file->first;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < file->count; i++) {
        const uint64_t site = probes[i].function->site;
        low = site < low ? site : low;
        high = site > high ? site : high;
    }
    return probing_make_island(program, file, file->count * PROBING_ISLAND_EACH, file->bias + low,
                               file->bias + high + PAGE, error);
}

int probing_make_islands(struct probing_program *program, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < program->files.count && !result; i++)
        if (program->files.items[i].count)
            result = probing_make_island_of(program, &program->files.items[i], error);
    return result;
}
