/* Finds code for system calls, and the unwinder, in a process without a loader. */
#include "inject/raw.h"
#include "inject/attach.h"
#include "inject/raw_inside.h"
#include "inject/stop.h"

#include "agent/agent.h"
#include "plan/plan.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE = 64 << 10,
    OVERLAP = 16, /* covers the sought code */
    PAGE = 4096,
    STACK_BYTES = 16 << 10,
};

/* They hold locks that registering tables needs, or read the tables. */
static const char *const busy[] = {"malloc",
                                   "calloc",
                                   "realloc",
                                   "free",
                                   "memalign",
                                   "posix_memalign",
                                   "aligned_alloc",
                                   "_int_malloc",
                                   "_int_free",
                                   "_int_realloc",
                                   "_int_memalign",
                                   "malloc_consolidate",
                                   "sysmalloc",
                                   "__libc_malloc",
                                   "__libc_free",
                                   "__libc_calloc",
                                   "__libc_realloc",
                                   "dl_iterate_phdr",
                                   "__dl_iterate_phdr",
                                   "_Unwind_Find_FDE",
                                   "search_object",
                                   "init_object",
                                   "__register_frame_info",
                                   "__register_frame_info_bases",
                                   "__register_frame_info_table",
                                   "__register_frame_info_table_bases",
                                   "__deregister_frame_info",
                                   "__deregister_frame_info_bases",
                                   "fork",
                                   "__libc_fork",
                                   NULL};

/* == Ways == */

struct pattern {
    const uint8_t *bytes;
    size_t size;
    uint64_t *found; /* 0: not found yet */
};

static void search_piece(const uint8_t *code, size_t size, uint64_t address,
                         struct pattern patterns[2])
{
    for (size_t i = 0; i < 2; i++) {
        const uint8_t *at =
            *patterns[i].found ? NULL : memmem(code, size, patterns[i].bytes, patterns[i].size);
        if (at)
            *patterns[i].found = address + (uint64_t)(at - code);
    }
}

static int search_mapping(struct inject_raw *raw, const struct model_mmap *mapping)
{
    static const uint8_t system_call[] = {0x0f, 0x05, 0xc3},
                         signal_return[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    struct pattern patterns[] = {{system_call, sizeof system_call, &raw->ways.system_call},
                                 {signal_return, sizeof signal_return, &raw->ways.signal_return}};
    uint8_t *code = malloc(PIECE);
    if (!code)
        return SPROF_ENOMEM;
    for (uint64_t at = 0; at < mapping->size; at += PIECE - OVERLAP) {
        const uint64_t left = mapping->size - at;
        const size_t got = target_read_memory(raw->pid, mapping->address + at, code,
                                              left < PIECE ? (size_t)left : PIECE);
        search_piece(code, got, mapping->address + at, patterns);
        if (got < PIECE)
            break;
    }
    free(code);
    return 0;
}

/* == What unwinds == */

/* Without symbols: an unwinder beside a loader needs dl_iterate_phdr. */
static bool may_hide_unwinder(struct image *image)
{
    const struct sprof_bytes names = image_section(image, ".dynstr", NULL);
    return !image_has_section(image, ".symtab") && image_is_executable(image) &&
           (!image_has_section(image, ".interp") ||
            memmem(names.data, names.size, "dl_iterate_phdr", sizeof "dl_iterate_phdr"));
}

static void find_unwinder(struct inject_raw *raw, struct image *image, uint64_t bias)
{
    static const char *const names[] = {"_Unwind_RaiseException", "__register_frame_info",
                                        "__deregister_frame_info", NULL};
    struct image_symbol found[3];
    image_find_symbols(image, names, found);
    raw->has_hidden_unwinder |= may_hide_unwinder(image);
    /* a file may have several code mappings */
    if (!found[0].vaddr || bias + found[0].vaddr == raw->unwinder)
        return;
    raw->unwinder = bias + found[0].vaddr;
    raw->unwinders++;
    if (found[1].vaddr && found[2].vaddr) {
        raw->register_tables = bias + found[1].vaddr;
        raw->forget_tables = bias + found[2].vaddr;
    }
}

static int find_busy(struct inject_raw *raw, struct image *image, uint64_t bias)
{
    struct image_symbol found[sizeof busy / sizeof *busy];
    image_find_symbols(image, busy, found);
    for (size_t i = 0; busy[i]; i++) {
        const struct inject_raw_range range = {bias + found[i].vaddr,
                                               bias + found[i].vaddr + found[i].size};
        if (found[i].vaddr && sprof_vec_push(&raw->busy, range))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int read_mapping(void *context, const struct model_mmap *mapping)
{
    struct inject_raw *raw = context;
    struct image *image;
    const bool is_file = mapping->file.path && *mapping->file.path == '/' &&
                         mapping->file.path[1] != '/' &&
                         !strstr(mapping->file.path, PROBE_LIBRARY_STEM);
    if (!is_file)
        return 0;
    int result = search_mapping(raw, mapping);
    const struct image_request request = plan_request_of(raw->pid, mapping);
    if (result || image_open(&image, &request, NULL))
        return result;
    uint64_t vaddr = mapping->file_offset;
    image_vaddr_of_mapping(image, mapping->file_offset, &vaddr);
    find_unwinder(raw, image, mapping->address - vaddr);
    result = find_busy(raw, image, mapping->address - vaddr);
    image_free(image);
    return result;
}

/* == Opening == */

bool inject_raw_is_for(const char *path)
{
    const enum agent_file kind = agent_check_file(path);
    return kind == AGENT_FILE_STATIC || (kind == AGENT_FILE_GOOD && image_has_foreign_loader(path));
}

static const char *obstacle_of(const struct inject_raw *raw)
{
    if (raw->has_hidden_unwinder)
        return "has no symbols, which would show what unwinds its exceptions";
    if (raw->unwinders > 1)
        return "has several unwinders of exceptions, of which sprof can prepare one alone for "
               "probes";
    return raw->unwinders && !raw->register_tables ? "has an unwinder of exceptions that is not "
                                                     "libgcc's, and cannot be prepared for probes"
                                                   : NULL;
}

const char *inject_raw_obstacle(pid_t pid, const char *path)
{
    struct inject_raw raw = {.pid = pid};
    struct image *image;
    const struct image_request request = {.file = {.path = path}};
    if (pid)
        target_each_mapping(pid, read_mapping, &raw);
    else if (!image_open(&image, &request, NULL)) {
        find_unwinder(&raw, image, 0);
        image_free(image);
    }
    sprof_vec_release(&raw.busy);
    return obstacle_of(&raw);
}

int inject_raw_open(struct inject_raw **out, pid_t pid, struct cache *cache,
                    struct sprof_error *error)
{
    struct inject_raw *raw = *out = calloc(1, sizeof *raw);
    if (!raw)
        return sprof_error_memory(error);
    raw->pid = pid;
    int result = target_each_mapping(pid, read_mapping, raw) ||
                         inject_stacks_open(&raw->stacks, pid, cache, NULL, NULL)
                     ? sprof_error_memory(error)
                     : 0;
    const char *obstacle = obstacle_of(raw);
    if (!result && obstacle)
        result = sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                 "cannot put probes into process %d: it %s\n`--backend uprobe`, as "
                                 "root, has the kernel count its calls",
                                 (int)pid, obstacle);
    if (!result && (!raw->ways.system_call || !raw->ways.signal_return)) {
        raw->ways.system_call = raw->ways.signal_return = 0;
        result = inject_entry_code_find(&raw->ways.entry, pid, error);
    }
    if (result) {
        inject_raw_free(raw);
        *out = NULL;
    }
    return result;
}

void inject_raw_free(struct inject_raw *raw)
{
    if (!raw)
        return;
    sprof_vec_release(&raw->busy);
    inject_stacks_free(raw->stacks);
    free(raw);
}

const struct inject_ways *inject_raw_ways(const struct inject_raw *raw)
{
    return &raw->ways;
}

/* == Threads == */

static bool is_busy(const struct inject_raw *raw, uint64_t address)
{
    for (size_t i = 0; i < raw->busy.count; i++)
        if (address - raw->busy.items[i].start < raw->busy.items[i].end - raw->busy.items[i].start)
            return true;
    return false;
}

/* Any word may be a return address, so some threads are refused needlessly. Unused pages hold none.
 */
static bool may_be_busy(const struct inject_raw *raw, uint64_t at)
{
    uint64_t words[STACK_BYTES / sizeof(uint64_t)] = {0};
    for (size_t i = 0, size; i < sizeof words; i += size, at += size) {
        const size_t left = sizeof words - i;
        size = PAGE - at % PAGE < left ? PAGE - at % PAGE : left;
        target_read_existing(raw->pid, at, (uint8_t *)words + i, size);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_busy(raw, words[i]))
            return true;
    return false;
}

const char *inject_raw_unfit(const struct inject_raw *raw, const struct arch_remote *registers)
{
    if (!raw->register_tables)
        return NULL;
    const struct unwind_stack stack = inject_stacks_walk(raw->stacks, registers, NULL);
    bool is_unfit = is_busy(raw, arch_remote_pc(registers));
    for (size_t i = 1; i < stack.count && !is_unfit; i++)
        is_unfit = is_busy(raw, unwind_frame_lookup_address(&stack.frames[i]));
    if (!is_unfit && inject_stacks_doubt(&stack))
        is_unfit = may_be_busy(raw, arch_remote_sp(registers));
    return is_unfit ? "may be in malloc, or looks for tables of an exception" : NULL;
}
