/* What unwinding costs: building tables, warm and cold frames; libunwind, libdwfl and libdw on the
 * same stacks in the same run. */
#include "bench/unwind_stack.h"
#include "tests/unit/unwind/elf_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEER_FRAMES = 2000, FRAMES_MAX = 1 << 17 };

static double now_ns(void)
{
    return (double)sprof_clock_own_cpu_ns();
}

/* == Building == */

static void bench_build(const char *path)
{
    struct elf_source file;
    struct unwind_table *table = NULL;
    struct sprof_error error = {0};
    double best = 0;
    if (elf_source_open(&file, path))
        return;
    for (int round = 0; round < 5; round++) {
        unwind_table_free(table);
        const double start = now_ns();
        if (unwind_table_build(&table, &file.source, &error)) {
            printf("%s: %s\n", path, error.message);
            elf_source_close(&file);
            return;
        }
        const double took = now_ns() - start;
        best = round && best < took ? best : took;
    }
    const struct unwind_table_facts facts = unwind_table_facts(table);
    const double row_ns = best / (double)facts.rows;
    const double peer_ns = bench_libdw_row_ns(table, path, 20000);
    const char *name = strrchr(path, '/') + 1;
    printf("%-26.26s %8zu %9zu %5zu %5zu %6.1f %7.1f %7.1f %7.0f  1 : %.0f\n", name,
           facts.functions, facts.rows, facts.rules, facts.complex_rows,
           (double)facts.bytes / (1 << 20), best / 1e6, row_ns, peer_ns, peer_ns / row_ns);
    unwind_table_free(table);
    elf_source_close(&file);
}

/* == Walking == */

static const struct unwind_region *find_region(void *context, uint64_t address)
{
    const struct unwind_region *region = context;
    return address >= region->start && address < region->end ? region : NULL;
}

enum kind { WARM, COLD, LIVE, KINDS };

/* What is measured: in a cold walk the address space is a new one each time; in a live one the
 * slice is next to nothing and the rest of the stack is read. */
static const struct {
    const char *name;
    size_t frames;
    int walks;
} kinds[KINDS] = {[WARM] = {"warm", 100, 20000},
                  [COLD] = {"cold", 100000, 3},
                  [LIVE] = {"warm, beyond the slice", 1000, 1000}};

struct walk_bench {
    enum kind kind;
    struct bench_stack stack;
    struct unwind_region region;
    struct unwind_space space;
    struct unwind_walker *walker;
};

/* The stack and zeros behind it; everywhere else, calls. */
static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct bench_stack *stack = context;
    const uint64_t offset = address - BENCH_STACK;
    if (offset >= stack->size) {
        memset(buffer, 0xe8, size);
        return 0;
    }
    const size_t left = stack->size - offset, part = left < size ? left : size;
    memcpy(buffer, stack->bytes + offset, part);
    memset((char *)buffer + part, 0, size - part);
    return 0;
}

static void walk_once(struct walk_bench *bench)
{
    struct bench_stack *stack = &bench->stack;
    const bool live = bench->kind == LIVE;
    const struct unwind_memory memory = {.slice = stack->bytes,
                                         .slice_address = BENCH_STACK,
                                         .slice_size = live ? 64 : stack->size,
                                         .read = live ? read_memory : NULL,
                                         .context = stack};
    bench->space.generation += bench->kind == COLD;
    const struct unwind_stack walked =
        unwind_walk(bench->walker, &bench->space, &memory, &stack->registers);
    /* What is read live is not believed to be a root because it is zero. */
    if (walked.end != (live ? MODEL_END_TRUNCATED : MODEL_END_ROOT) ||
        walked.count != stack->frames) {
        printf("walked %zu of %zu frames, end %s\n", walked.count, stack->frames,
               model_end_text(walked.end));
        exit(1);
    }
}

/* The best nanoseconds a frame of seven rounds. */
static double walk_ns(struct walk_bench *bench)
{
    const double frames = (double)kinds[bench->kind].walks * (double)bench->stack.frames;
    double best = 0;
    for (int round = 0; round < 7; round++) {
        const double start = now_ns();
        for (int i = 0; i < kinds[bench->kind].walks; i++)
            walk_once(bench);
        const double took = (now_ns() - start) / frames;
        best = round && best < took ? best : took;
    }
    return best;
}

static void print_peer(const char *name, struct bench_peer peer, double own, size_t frames)
{
    printf("  %-10s %7.0f ns a frame, 1 : %-5.0f (%zu of %zu frames agree)\n", name,
           peer.ns_per_frame, peer.ns_per_frame / own, peer.agreeing, frames);
}

static void bench_kind(struct walk_bench *bench, const struct unwind_table *table, const char *path)
{
    struct bench_stack *stack = &bench->stack;
    bench->walker = unwind_walker_new(FRAMES_MAX);
    if (bench->walker &&
        !bench_stack_make(stack, table, bench->region.bias, kinds[bench->kind].frames, 12345)) {
        const double own = walk_ns(bench);
        printf("%s, %s, %zu frames\n  %-10s %7.1f ns a frame\n", strrchr(path, '/') + 1,
               kinds[bench->kind].name, stack->frames, "sprof", own);
        stack->frames = stack->frames < PEER_FRAMES ? stack->frames : PEER_FRAMES;
        print_peer("libunwind", bench_libunwind(stack, path, 5), own, stack->frames);
        print_peer("libdwfl", bench_libdwfl(stack, path, 5), own, stack->frames);
    }
    bench_stack_free(stack);
    unwind_walker_free(bench->walker);
}

static void bench_walk(const char *path)
{
    struct elf_source file;
    struct unwind_table *table = NULL;
    if (elf_source_open(&file, path))
        return;
    file.source.entry_vaddr = 0; /* frames in it are as good as others */
    if (!unwind_table_build(&table, &file.source, NULL)) {
        const uint64_t bias = file.fixed ? 0 : UINT64_C(0x7f0000000000);
        for (enum kind kind = 0; kind < KINDS; kind++) {
            struct walk_bench bench = {.kind = kind};
            bench.region =
                (struct unwind_region){.start = file.text[0].start + bias,
                                       .end = file.text[file.source.text_count - 1].end + bias,
                                       .bias = bias,
                                       .kind = UNWIND_REGION_TABLE,
                                       .table = table};
            bench.space = (struct unwind_space){
                .find = find_region, .context = &bench.region, .generation = 1};
            bench_kind(&bench, table, path);
        }
    }
    unwind_table_free(table);
    elf_source_close(&file);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"/lib/x86_64-linux-gnu/libc.so.6",
                                        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                                        "/usr/lib/x86_64-linux-gnu/libx265.so.199",
                                        SPROF_BENCH_CC1PLUS,
                                        "/usr/bin/node",
                                        "/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1"};
    const char *const *paths = argc > 1 ? (const char *const *)argv + 1 : usual;
    const size_t count = argc > 1 ? (size_t)argc - 1 : sizeof usual / sizeof usual[0];
    printf("%-26s %8s %9s %5s %5s %6s %7s %7s %7s\n", "building", "FDEs", "rows", "rules",
           "complex", "MiB", "ms", "ns/row", "libdw");
    for (size_t i = 0; i < count; i++)
        bench_build(paths[i]);
    for (size_t i = count < 3 ? 0 : count - 3; i < count; i++)
        bench_walk(paths[i]);
    return 0;
}
