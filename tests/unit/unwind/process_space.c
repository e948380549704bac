#include "tests/unit/unwind/process_space.h"

#include "tests/unit/unwind/elf_source.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { PAGE = 4096, VDSO_BYTES_MAX = 64 << 10 };

static int read_process(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    const struct iovec local = {buffer, size}, remote = {(void *)(uintptr_t)address, size};
    const bool whole = process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
    return whole ? 0 : SPROF_EIO;
}

int process_space_read(void *process, uint64_t address, void *buffer, size_t size)
{
    return read_process(((const struct process_space *)process)->pid, address, buffer, size);
}

size_t process_space_copy(pid_t pid, uint64_t address, uint8_t *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const size_t page_left = PAGE - (size_t)((address + done) % PAGE);
        const size_t wanted = page_left < size - done ? page_left : size - done;
        if (read_process(pid, address + done, buffer + done, wanted))
            break;
        done += wanted;
    }
    return done;
}

static const struct unwind_region *find_region(void *context, uint64_t address)
{
    const struct process_space *process = context;
    for (size_t i = 0; i < process->count; i++)
        if (address >= process->regions[i].start && address < process->regions[i].end)
            return &process->regions[i];
    return NULL;
}

/* The bias of an executable mapping of a file at an offset. */
static uint64_t bias_of(const char *path, uint64_t start, uint64_t offset)
{
    struct elf_source file;
    uint64_t bias = 0;
    size_t count = 0;
    if (elf_source_open(&file, path))
        return 0;
    elf_getphdrnum(file.elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        gelf_getphdr(file.elf, (int)i, &header);
        const uint64_t low = header.p_offset / PAGE * PAGE;
        if (header.p_type == PT_LOAD && header.p_flags & PF_X && offset >= low &&
            offset < header.p_offset + header.p_filesz)
            bias = start - offset - (header.p_vaddr - header.p_offset);
    }
    elf_source_close(&file);
    return bias;
}

/* The vdso is nowhere but in memory. */
static struct unwind_table *vdso_table(struct process_space *process, uint64_t start, uint64_t end)
{
    struct elf_source file;
    struct unwind_table *table = NULL;
    const size_t size = end - start < VDSO_BYTES_MAX ? (size_t)(end - start) : VDSO_BYTES_MAX;
    char *bytes = malloc(VDSO_BYTES_MAX);
    if (bytes && process_space_copy(process->pid, start, (uint8_t *)bytes, size) == size &&
        !elf_source_memory(&file, bytes, size)) {
        unwind_table_build(&table, &file.source, NULL);
        elf_source_close(&file);
    }
    free(bytes);
    return table;
}

static struct unwind_table *image_table(struct process_space *process, const char *path,
                                        uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < process->image_count; i++)
        if (!strcmp(process->images[i].path, path))
            return process->images[i].table;
    if (process->image_count == PROCESS_IMAGES)
        return NULL;
    struct unwind_table *table =
        path[0] == '/' ? elf_source_table(path) : vdso_table(process, start, end);
    snprintf(process->images[process->image_count].path, PROCESS_PATH, "%s", path);
    process->images[process->image_count++].table = table;
    return table;
}

static struct unwind_region region_of(struct process_space *process, const char *line)
{
    unsigned long start, end, offset;
    char mode[8], path[PROCESS_PATH] = "";
    struct unwind_region region = {0};
    if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255[^\n]", &start, &end, mode, &offset, path) < 4 ||
        mode[2] != 'x')
        return region;
    region = (struct unwind_region){
        .start = start, .end = end, .kind = UNWIND_REGION_JIT, .bias = start};
    if (path[0] != '/' && strcmp(path, "[vdso]") != 0)
        return region;
    region.table = image_table(process, path, start, end);
    region.kind = region.table ? UNWIND_REGION_TABLE : UNWIND_REGION_BARE;
    if (path[0] == '/')
        region.bias = bias_of(path, start, offset);
    return region;
}

static bool is_same(const struct unwind_region *left, const struct unwind_region *right)
{
    return left->start == right->start && left->end == right->end && left->kind == right->kind &&
           left->bias == right->bias && left->table == right->table;
}

bool process_space_update(struct process_space *process, pid_t pid)
{
    char path[64];
    size_t count = 0;
    bool changed = process->pid != pid;
    process->pid = pid;
    process->space.find = find_region;
    process->space.context = process;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    if (!maps)
        return false;
    for (char line[1024]; fgets(line, sizeof line, maps);) {
        const struct unwind_region region = region_of(process, line);
        if (region.end && count < PROCESS_REGIONS) {
            changed |= count >= process->count || !is_same(&process->regions[count], &region);
            process->regions[count++] = region;
        }
    }
    fclose(maps);
    changed |= count != process->count;
    process->count = count;
    process->space.generation += changed;
    return count != 0;
}

void process_space_release(struct process_space *process)
{
    for (size_t i = 0; i < process->image_count; i++)
        unwind_table_free(process->images[i].table);
    *process = (struct process_space){0};
}
