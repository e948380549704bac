/* libunwind with the images' own search tables, read from the stopped process, as perf uses it. */
#include "tests/hard/oracle/oracle.h"

#include <elf.h>
#include <libunwind-x86_64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exported by libunwind for debuggers' sake, declared only in its internal headers. */
int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *di,
                                       unw_proc_info_t *info, int need_unwind_info, void *arg);

struct oracle_libunwind {
    unw_addr_space_t space;
    const struct oracle_target *target;
    bool missed; /* the last look-up found no call frame information */
};

/* Where the image that `map` belongs to begins in memory: its mapping of file offset 0. */
static const struct oracle_map *first_map(const struct oracle_target *target,
                                          const struct oracle_map *map)
{
    for (const struct oracle_map *first = map;; first--) {
        if (strcmp(first->path, map->path) != 0 || first->inode != map->inode)
            return NULL;
        if (first->offset == 0)
            return first;
        if (first == target->maps)
            return NULL;
    }
}

/* The address of .eh_frame_hdr, by the program headers in memory; 0 where there is none. */
static uint64_t search_table(const struct oracle_target *target, const struct oracle_map *first)
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[32];
    if (target_read(target, first->start, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum > 32 ||
        target_read(target, first->start + header.e_phoff, segments,
                    header.e_phnum * sizeof *segments))
        return 0;
    uint64_t bias = 0, table = 0;
    for (size_t i = 0; i < header.e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
            bias = first->start - segments[i].p_vaddr;
        if (segments[i].p_type == PT_GNU_EH_FRAME)
            table = segments[i].p_vaddr;
    }
    return table ? table + bias : 0;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need,
                          void *arg)
{
    struct oracle_libunwind *self = arg;
    const struct oracle_map *map = target_map(self->target, ip);
    const struct oracle_map *first =
        map && map->executable && map->path[0] ? first_map(self->target, map) : NULL;
    const uint64_t table = first ? search_table(self->target, first) : 0;
    uint8_t header[12];
    self->missed = true;
    if (!table || target_read(self->target, table, header, sizeof header) || header[0] != 1 ||
        header[2] != 0x03 || header[3] != 0x3b)
        return -UNW_ENOINFO;
    uint32_t entries;
    memcpy(&entries, header + 8, sizeof entries);
    unw_dyn_info_t image = {
        .start_ip = map->start,
        .end_ip = map->end,
        .format = UNW_INFO_FORMAT_REMOTE_TABLE,
        .u.rti = {.segbase = table, .table_data = table + sizeof header, .table_len = entries}};
    const int result = _Ux86_64_dwarf_search_unwind_table(space, ip, &image, info, need, arg);
    self->missed = result < 0;
    return result;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
    (void)space, (void)info, (void)arg;
}

static int no_dynamic_list(unw_addr_space_t space, unw_word_t *address, void *arg)
{
    (void)space, (void)address, (void)arg;
    return -UNW_ENOINFO;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                         void *arg)
{
    (void)space;
    const struct oracle_libunwind *self = arg;
    return write || target_read(self->target, address, value, sizeof *value) ? -UNW_EINVAL : 0;
}

static int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value,
                           int write, void *arg)
{
    (void)space;
    const struct oracle_libunwind *self = arg;
    if (write || number < 0 || number >= ARCH_REGISTERS)
        return -UNW_EBADREG;
    *value = self->target->registers.value[number];
    return 0;
}

struct oracle_libunwind *oracle_libunwind_new(void)
{
    static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                        .put_unwind_info = put_unwind_info,
                                        .get_dyn_info_list_addr = no_dynamic_list,
                                        .access_mem = access_memory,
                                        .access_reg = access_register};
    struct oracle_libunwind *self = calloc(1, sizeof *self);
    if (self) {
        self->space = unw_create_addr_space(&accessors, 0);
        unw_set_caching_policy(self->space, UNW_CACHE_NONE);
    }
    return self;
}

void oracle_libunwind_free(struct oracle_libunwind *self)
{
    unw_destroy_addr_space(self->space);
    free(self);
}

void oracle_libunwind_walk(struct oracle_libunwind *self, const struct oracle_target *target,
                           struct oracle_stack *stack)
{
    unw_cursor_t cursor;
    self->target = target;
    stack->count = 0;
    stack->guessing = ORACLE_NOWHERE;
    stack->error[0] = '\0';
    int result = unw_init_remote(&cursor, self->space, self);
    while (result >= 0 && stack->count < ORACLE_FRAMES) {
        unw_word_t ip = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        if (!ip)
            break;
        stack->pc[stack->count++] = ip;
        self->missed = false;
        result = unw_step(&cursor);
        if (self->missed && stack->guessing == ORACLE_NOWHERE)
            stack->guessing = stack->count - 1;
        if (result == 0)
            break;
    }
    if (result < 0)
        snprintf(stack->error, sizeof stack->error, "%s", unw_strerror(result));
}
