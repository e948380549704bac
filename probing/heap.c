/* Finds allocator functions for the heap check and bytes by function, and writes their operations
 * and limits for the agent. */
#include "probing/heap.h"
#include "plan/plan.h"
#include "probing/probes.h"
#include "probing/program.h"

#include <stdlib.h>
#include <string.h>

enum { MALLOC, FREE, USABLE }; /* order in `functions` */

/* Functions of C, C++ and jemalloc. */
static const struct {
    const char *name;
    enum probe_heap_operation operation;
} functions[] = {
    {"malloc", PROBE_HEAP_ALLOCATE},
    {"free", PROBE_HEAP_FREE},
    {"malloc_usable_size", PROBE_HEAP_NONE},
    {"calloc", PROBE_HEAP_ALLOCATE_ARRAY},
    {"realloc", PROBE_HEAP_REALLOCATE},
    {"reallocarray", PROBE_HEAP_REALLOCATE_ARRAY},
    {"memalign", PROBE_HEAP_ALLOCATE_ALIGNED},
    {"aligned_alloc", PROBE_HEAP_ALLOCATE_ALIGNED},
    {"valloc", PROBE_HEAP_ALLOCATE},
    {"pvalloc", PROBE_HEAP_ALLOCATE},
    {"posix_memalign", PROBE_HEAP_PUT},
    {"cfree", PROBE_HEAP_FREE},
    {"free_sized", PROBE_HEAP_FREE},
    {"free_aligned_sized", PROBE_HEAP_FREE},
    {"_Znwm", PROBE_HEAP_ALLOCATE},
    {"_Znam", PROBE_HEAP_ALLOCATE},
    {"_ZnwmRKSt9nothrow_t", PROBE_HEAP_ALLOCATE},
    {"_ZnamRKSt9nothrow_t", PROBE_HEAP_ALLOCATE},
    {"_ZnwmSt11align_val_t", PROBE_HEAP_ALLOCATE},
    {"_ZnamSt11align_val_t", PROBE_HEAP_ALLOCATE},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", PROBE_HEAP_ALLOCATE},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", PROBE_HEAP_ALLOCATE},
    {"_ZdlPv", PROBE_HEAP_FREE},
    {"_ZdaPv", PROBE_HEAP_FREE},
    {"_ZdlPvm", PROBE_HEAP_FREE},
    {"_ZdaPvm", PROBE_HEAP_FREE},
    {"_ZdlPvRKSt9nothrow_t", PROBE_HEAP_FREE},
    {"_ZdaPvRKSt9nothrow_t", PROBE_HEAP_FREE},
    {"_ZdlPvSt11align_val_t", PROBE_HEAP_FREE},
    {"_ZdaPvSt11align_val_t", PROBE_HEAP_FREE},
    {"_ZdlPvmSt11align_val_t", PROBE_HEAP_FREE},
    {"_ZdaPvmSt11align_val_t", PROBE_HEAP_FREE},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", PROBE_HEAP_FREE},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", PROBE_HEAP_FREE},
    {"mallocx", PROBE_HEAP_ALLOCATE},
    {"dallocx", PROBE_HEAP_FREE},
    {"sdallocx", PROBE_HEAP_FREE},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* vaddrs; 0: missing */
struct probing_allocator {
    uint32_t number; /* 0: glibc, whose headers are readable */
    uint64_t usable;
    uint64_t starts[FUNCTIONS];
};

/* == What is wanted == */

static bool is_wanted(const struct trace_options *options)
{
    return options->warn.heap_count || options->heap;
}

static const char *option_of(const struct trace_options *options)
{
    return options->warn.heap_count ? "heap-check" : "heap";
}

int probing_heap_check_options(const struct trace_options *options, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < options->warn.heap_count && !result; i++) {
        struct plan_expressions *expressions = NULL;
        result = plan_expressions_make(&expressions, &options->warn.heap[i].function, 1, error);
        plan_expressions_free(expressions);
    }
    return result;
}

/* == Allocators == */

/* Returns false for unknown sizes of blocks, or an unreadable file. */
static bool find_functions(const struct image_request *request, uint64_t starts[FUNCTIONS])
{
    const char *names[FUNCTIONS + 1] = {0};
    struct image_symbol symbols[FUNCTIONS] = {0};
    struct image *image;
    if (image_open(&image, request, NULL))
        return false;
    for (size_t i = 0; i < FUNCTIONS; i++)
        names[i] = functions[i].name;
    image_find_symbols(image, names, symbols);
    image_free(image);
    for (size_t i = 0; i < FUNCTIONS; i++)
        starts[i] = symbols[i].vaddr;
    return starts[MALLOC] && starts[FREE] && starts[USABLE];
}

bool probing_heap_is_allocator(const struct probing_program *program,
                               const struct image_request *file)
{
    uint64_t starts[FUNCTIONS];
    return is_wanted(&program->options) && find_functions(file, starts);
}

bool probing_is_glibc(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return !strncmp(name, "libc.so.6", 9) || !strncmp(name, "libc-2.", 7);
}

int probing_heap_find(struct probing_program *program, struct sprof_error *error)
{
    uint32_t count = 1;
    for (size_t i = 0; i < program->files.count && is_wanted(&program->options); i++) {
        struct probing_file *file = &program->files.items[i];
        struct probing_allocator allocator = {0};
        struct image_request request;
        if (plan_request_find(&request, program->process.pid, file->identity, file->path))
            return sprof_error_memory(error);
        if (!find_functions(&request, allocator.starts))
            continue;
        if (!probing_is_glibc(file->path))
            allocator.number = count++;
        if (count > PROBE_HEAP_ALLOCATORS)
            return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                   "--%s: the program has more than %d allocators",
                                   option_of(&program->options), PROBE_HEAP_ALLOCATORS - 1);
        allocator.usable = file->bias + allocator.starts[USABLE];
        file->allocator = sprof_arena_alloc(&program->arena, sizeof allocator);
        if (!file->allocator)
            return sprof_error_memory(error);
        *file->allocator = allocator;
    }
    return 0;
}

static bool is_needed(const struct trace_options *options, size_t function)
{
    const enum probe_heap_operation operation = functions[function].operation;
    return operation && (operation != PROBE_HEAP_FREE || options->warn.heap_count);
}

uint8_t probing_heap_operation(const struct trace_options *options, const struct probing_file *file,
                               const struct plan_function *function)
{
    for (size_t i = 0; i < FUNCTIONS && file->allocator; i++)
        if (file->allocator->starts[i] == function->start && is_needed(options, i) &&
            !function->entry_only)
            return (uint8_t)(file->allocator->number << PROBE_HEAP_SHIFT |
                             (uint32_t)functions[i].operation);
    return 0;
}

/* == Probes == */

static bool is_probed(const struct probing_program *program, const struct probing_file *file,
                      uint64_t start)
{
    for (size_t i = file->first; i < file->first + file->count; i++)
        if (program->probes.items[i].function->start == start && program->probes.items[i].operation)
            return true;
    return false;
}

int probing_heap_check_probes(struct probing_program *program, struct sprof_error *error)
{
    bool is_there = false;
    for (size_t f = 0; f < program->files.count && is_wanted(&program->options); f++) {
        const struct probing_file *file = &program->files.items[f];
        for (size_t i = 0; i < FUNCTIONS && file->allocator; i++)
            if (is_needed(&program->options, i) && file->allocator->starts[i] &&
                !is_probed(program, file, file->allocator->starts[i]))
                return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                       "--%s is not possible: %s of %s cannot have a probe that "
                                       "sees it return: `sprof probes %s --function '^%s$'` says "
                                       "why",
                                       option_of(&program->options), functions[i].name, file->path,
                                       file->path, functions[i].name);
        is_there |= file->allocator != NULL;
    }
    if (is_wanted(&program->options) && !is_there)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "--%s is not possible: no file of the program has malloc, free and "
                               "malloc_usable_size",
                               option_of(&program->options));
    return 0;
}

/* *limit: bytes + 1; 0: not checked. */
static int find_limit(const struct trace_options *options, struct plan_expressions *const *each,
                      const struct plan_function *function, uint64_t *limit,
                      struct sprof_error *error)
{
    *limit = 0;
    for (size_t i = 0; i < options->warn.heap_count; i++) {
        const int found = plan_expressions_match(each[i], function, error);
        if (found < 0)
            return found;
        if (found && (!*limit || options->warn.heap[i].bytes + 1 < *limit))
            *limit = options->warn.heap[i].bytes + 1;
    }
    return 0;
}

static int set_probes(struct probing_program *program, size_t first,
                      struct plan_expressions *const *each, struct sprof_error *error)
{
    struct probe_heap *heap = &program->process.shared->heap;
    int result = 0;
    for (size_t i = first; i < program->probes.count && !result; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        uint64_t limit = 0;
        if (probe->is_chosen && probe->tier == PROBE_FULL)
            result = find_limit(&program->options, each, probe->function, &limit, error);
        if (limit)
            atomic_store(&heap->limits[i], limit);
        if (probe->operation)
            heap->operations[i] = probe->operation;
    }
    return result;
}

bool probing_heap_measures_allocators(const struct probing_program *program)
{
    for (size_t i = 0; i < program->probes.count && is_wanted(&program->options); i++)
        if (program->probes.items[i].operation && program->probes.items[i].is_chosen)
            return true;
    return false;
}

int probing_heap_begin(struct probing_program *program, size_t first, struct sprof_error *error)
{
    const struct trace_options *options = &program->options;
    struct plan_expressions **each;
    int result = 0;
    if (!is_wanted(options))
        return 0;
    each = calloc(options->warn.heap_count + 1, sizeof *each);
    for (size_t i = 0; i < options->warn.heap_count && each && !result; i++)
        result = plan_expressions_make(&each[i], &options->warn.heap[i].function, 1, error);
    for (size_t i = 0; i < program->files.count; i++) {
        const struct probing_allocator *allocator = program->files.items[i].allocator;
        if (allocator && allocator->number)
            program->process.shared->heap.usable[allocator->number] = allocator->usable;
    }
    if (!each)
        result = sprof_error_memory(error);
    if (!result)
        result = set_probes(program, first, each, error);
    program->process.shared->heap.are_checked = options->warn.heap_count > 0;
    if (!result && !atomic_load(&program->process.shared->heap.epoch))
        atomic_store(&program->process.shared->heap.epoch, 1);
    const bool is_all = !first && !options->children && !probing_has_others(program); /* so far */
    for (size_t i = 0; i < options->warn.heap_count && is_all && !result; i++)
        result = probing_report_unfound(program, "heap-check", options->warn.heap[i].function,
                                        each[i], true, error);
    for (size_t i = 0; i < options->warn.heap_count && each; i++)
        plan_expressions_free(each[i]);
    free(each);
    return result;
}
