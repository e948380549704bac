/* Makes a large recording with stacks of a plausible shape, for bench/report:
 *     bench_report_recording FILE SAMPLES PAIRS
 * PAIRS is about the number of pairs of thread and stack node that have samples, and of call paths.
 */
#include "base/base.h"
#include "recording/recording.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, PROCESSES = 2, MODULES = 40, DEPTH = 60, BATCH = 100000, PERIOD_NS = 1000000 };

struct shape {
    uint64_t samples, run;
    uint32_t nodes, functions;
    uint32_t *depths; /* [node id] */
};

static uint64_t random_at(uint64_t number)
{
    return sprof_hash_mix(number + UINT64_C(0x9e3779b97f4a7c15));
}

static void must(int result, const struct sprof_error *error)
{
    if (!result)
        return;
    fprintf(stderr, "bench_report_recording: %s\n", error->message);
    exit(1);
}

#define PUSH(vec, ...) must(sprof_vec_push(vec, __VA_ARGS__), &(struct sprof_error){0})

static void add_run(struct store_batch *batch, const struct shape *shape)
{
    static struct store_run run;
    run = (struct store_run){.id = 1,
                             .key = random_at(shape->run),
                             .state = STORE_RECORDED,
                             .sprof_version = "bench",
                             .cpus = THREADS,
                             .command = "bench",
                             .mode = "full",
                             .app_interior = "keep",
                             .source = "bench",
                             .frequency_hz = 1000,
                             .duration_ns = shape->samples / THREADS * PERIOD_NS,
                             .target_cpu_ns = shape->samples * PERIOD_NS,
                             .wait_status = -1};
    batch->run = &run;
    PUSH(&batch->events,
         (struct store_event){
             .id = 1, .run_id = 1, .name = "cpu-clock", .is_clock = true, .period = PERIOD_NS});
    PUSH(&batch->phases, (struct store_phase){.id = 1,
                                              .run_id = 1,
                                              .end_ns = run.duration_ns / 2,
                                              .mode = "full",
                                              .app_interior = "keep"});
    PUSH(&batch->phases, (struct store_phase){.id = 2,
                                              .run_id = 1,
                                              .start_ns = run.duration_ns / 2,
                                              .mode = "full",
                                              .app_interior = "keep",
                                              .mark = "second half"});
    for (uint32_t i = 1; i <= PROCESSES; i++)
        PUSH(&batch->processes,
             (struct store_process){.id = i, .run_id = 1, .pid = 90 + (int)i, .name = "b"});
    for (uint32_t i = 1; i <= THREADS; i++)
        PUSH(&batch->threads,
             (struct store_thread){
                 .id = i, .process_id = 1 + i % PROCESSES, .tid = 99 + (int)i, .name = "worker"});
}

/* Functions, frames and a tree of stacks: most nodes go on from the one before, others branch off.
 */
static void add_code(struct store_batch *batch, struct store_derived *derived,
                     struct sprof_arena *arena, struct shape *shape)
{
    char text[64];
    for (uint32_t i = 1; i <= MODULES; i++) {
        snprintf(text, sizeof text, "/gone/lib%u.so", i);
        PUSH(&batch->modules,
             (struct store_module){.id = i,
                                   .key = random_at(i),
                                   .path = sprof_arena_text(arena, text),
                                   .name = sprof_arena_text(arena, text + 6),
                                   .kind = i % 2 ? MODEL_KIND_APP : MODEL_KIND_SYSTEM});
    }
    for (uint32_t i = 1; i <= shape->functions; i++) {
        snprintf(text, sizeof text, "space::function_number_%u(int, char const*)", i);
        PUSH(&derived->functions,
             (struct store_function){.id = i,
                                     .module_id = 1 + i % MODULES,
                                     .key = random_at(i),
                                     .name = sprof_arena_text(arena, text),
                                     .linkage_name = sprof_arena_text(arena, text + 7),
                                     .start = 4096 + 256 * (uint64_t)i,
                                     .size = 256,
                                     .file = "source/file.cc",
                                     .line = i,
                                     .named = true});
        for (uint32_t k = 0; k < 2; k++)
            PUSH(&derived->frames,
                 (struct store_frame){.id = 2 * i - 1 + k,
                                      .module_id = 1 + i % MODULES,
                                      .file_offset = 4096 + 256 * (uint64_t)i + 16 * k,
                                      .function_id = i,
                                      .file = "source/file.cc",
                                      .line = i + k});
    }
    for (uint32_t id = 1; id <= shape->nodes; id++) {
        const uint64_t random = random_at(id);
        uint32_t parent = id > 1 && random % 4 ? id - 1 : (uint32_t)(random >> 8) % id;
        if (parent && shape->depths[parent] >= DEPTH)
            parent = (uint32_t)(random >> 8) % (id < 50 ? id : 50);
        shape->depths[id] = parent ? shape->depths[parent] + 1 : 1;
        PUSH(&batch->nodes,
             (struct store_node){.id = id,
                                 .parent_id = parent,
                                 .frame_id = 1 + (uint32_t)(random >> 20) % (2 * shape->functions),
                                 .depth = shape->depths[id]});
    }
}

/* A few stacks are hot, most are rare; each belongs to one thread or two. */
static struct store_sample sample_at(const struct shape *shape, uint64_t number)
{
    const uint64_t random = random_at(~number ^ shape->run << 40);
    const uint64_t range = random % 4 ? shape->nodes : 1 + shape->nodes / 1000;
    const uint32_t node = 1 + (uint32_t)((random >> 8) % range);
    return (struct store_sample){.run_id = 1,
                                 .event_id = 1,
                                 .thread_id = 1 + node % THREADS,
                                 .node_id = node,
                                 .time_ns = number * (PERIOD_NS / THREADS) +
                                            random % (PERIOD_NS / THREADS),
                                 .weight = PERIOD_NS,
                                 .count = 1,
                                 .cpu = (int)(number % THREADS),
                                 .user_stack = true};
}

static void write_samples(struct store *store, const struct shape *shape)
{
    struct store_batch batch = {0};
    struct sprof_error error = {0};
    for (uint64_t i = 0; i < shape->samples; i++) {
        PUSH(&batch.samples, sample_at(shape, i));
        if (batch.samples.count < BATCH && i + 1 < shape->samples)
            continue;
        must(store_write(store, &batch, &error), &error);
        batch.samples.count = 0;
    }
    store_batch_release(&batch);
}

int main(int count, char **arguments)
{
    if (count != 4 && count != 5) {
        fprintf(stderr, "usage: bench_report_recording FILE SAMPLES PAIRS [RUN]\n");
        return 2;
    }
    struct shape shape = {.samples = strtoull(arguments[2], NULL, 10),
                          .run = count == 5 ? strtoull(arguments[4], NULL, 10) : 1,
                          .nodes = (uint32_t)strtoul(arguments[3], NULL, 10)};
    struct store *store;
    struct store_batch batch = {0};
    struct store_derived derived = {0};
    struct sprof_arena arena = {0};
    struct sprof_error error = {0};
    shape.functions = shape.nodes / 10 + 1;
    shape.depths = calloc(shape.nodes + 1, sizeof *shape.depths);
    if (!shape.depths || !shape.nodes || !shape.samples)
        return 2;
    must(store_create(&store, arguments[1], &error), &error);
    add_run(&batch, &shape);
    add_code(&batch, &derived, &arena, &shape);
    must(store_write(store, &batch, &error), &error);
    must(store_write_derived(store, &derived, &error), &error);
    write_samples(store, &shape);
    must(store_close(store, &error), &error);
    const struct recording_derive_options options = {0};
    must(recording_derive(arguments[1], &options, &error), &error);
    store_batch_release(&batch);
    store_derived_release(&derived);
    sprof_arena_release(&arena);
    free(shape.depths);
    return 0;
}
