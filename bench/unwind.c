/* What unwinding costs: building tables, warm and cold frames; libunwind, libdwfl and libdw on the
 * same stacks in the same run. */
#include "bench/unwind_stack.h"
#include "tests/unit/unwind/elf_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_FRAMES = 100, COLD_FRAMES = 100000, PEER_FRAMES = 2000, FRAMES_MAX = 1 << 17 };

static double now_ns(void)
{
    return (double)sprof_clock_monotonic_ns();
}

/* ---- Building ---------------------------------------------------------------------------------
 */

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
           facts.functions, facts.rows, facts.rules, facts.odd_rows,
           (double)facts.bytes / (1 << 20), best / 1e6, row_ns, peer_ns, peer_ns / row_ns);
    unwind_table_free(table);
    elf_source_close(&file);
}

/* ---- Walking ----------------------------------------------------------------------------------
 */

static const struct unwind_region *find_region(void *context, uint64_t address)
{
    const struct unwind_region *region = context;
    return address >= region->start && address < region->end ? region : NULL;
}

struct walk_bench {
    struct unwind_walker *walker;
    struct unwind_space space;
    struct unwind_memory memory;
    const struct bench_stack *stack;
};

/* The best nanoseconds a frame; `cold`: every walk is in an address space of its own. */
static double walk_ns(struct walk_bench *bench, int rounds, int walks, bool cold)
{
    double best = 0;
    for (int round = 0; round < rounds; round++) {
        const double start = now_ns();
        for (int i = 0; i < walks; i++) {
            bench->space.generation += cold;
            const struct unwind_stack walked =
                unwind_walk(bench->walker, &bench->space, &bench->memory, &bench->stack->registers);
            if (walked.end != UNWIND_END_ROOT || walked.count != bench->stack->frames) {
                printf("walked %zu of %zu frames, end %s\n", walked.count, bench->stack->frames,
                       unwind_end_text(walked.end));
                exit(1);
            }
        }
        const double took = (now_ns() - start) / walks / (double)bench->stack->frames;
        best = round && best < took ? best : took;
    }
    return best;
}

static void print_peer(const char *name, struct bench_peer peer, double own, size_t frames)
{
    printf("  %-10s %7.0f ns a frame, 1 : %-5.0f (%zu of %zu frames agree)\n", name,
           peer.ns_per_frame, peer.ns_per_frame / own, peer.agreeing, frames);
}

static void bench_walk(const char *path)
{
    struct elf_source file;
    struct unwind_table *table = NULL;
    if (elf_source_open(&file, path))
        return;
    file.source.entry_vaddr = 0;
    if (unwind_table_build(&table, &file.source, NULL)) {
        elf_source_close(&file);
        return;
    }
    const uint64_t bias = file.fixed ? 0 : UINT64_C(0x7f0000000000);
    struct unwind_region region = {.start = file.text[0].start + bias,
                                   .end = file.text[file.source.text_count - 1].end + bias,
                                   .bias = bias,
                                   .kind = UNWIND_REGION_TABLE,
                                   .table = table};
    static const struct {
        const char *name;
        size_t frames;
        bool cold;
        int walks;
    } kinds[] = {{"warm", WARM_FRAMES, false, 20000}, {"cold", COLD_FRAMES, true, 3}};
    for (size_t i = 0; i < 2; i++) {
        struct bench_stack stack;
        if (bench_stack_make(&stack, table, bias, kinds[i].frames, 12345))
            break;
        struct walk_bench bench = {
            .walker = unwind_walker_new(FRAMES_MAX),
            .space = {.find = find_region, .context = &region, .generation = 1},
            .memory = {.slice = stack.bytes,
                       .slice_address = BENCH_STACK,
                       .slice_size = stack.size},
            .stack = &stack};
        const double own = walk_ns(&bench, 7, kinds[i].walks, kinds[i].cold);
        printf("%s, %s, %zu frames\n  %-10s %7.1f ns a frame\n", strrchr(path, '/') + 1,
               kinds[i].name, stack.frames, "sprof", own);
        unwind_walker_free(bench.walker);
        const size_t peer_frames = stack.frames < PEER_FRAMES ? stack.frames : PEER_FRAMES;
        stack.frames = peer_frames;
        print_peer("libunwind", bench_libunwind(&stack, path, 5), own, peer_frames);
        print_peer("libdwfl", bench_libdwfl(&stack, path, 5), own, peer_frames);
        bench_stack_free(&stack);
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
    printf("%-26s %8s %9s %5s %5s %6s %7s %7s %7s\n", "building", "FDEs", "rows", "rules", "odd",
           "MiB", "ms", "ns/row", "libdw");
    for (size_t i = 0; i < count; i++)
        bench_build(paths[i]);
    for (size_t i = count < 3 ? 0 : count - 3; i < count; i++)
        bench_walk(paths[i]);
    return 0;
}
