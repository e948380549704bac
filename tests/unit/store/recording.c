/* The recording that the tests of the store and of reports share. */
#include "tests/unit/store/recording.h"

#include "tests/unit/store/recording_calls.h"
#include "unwind/unwind.h"

#include <string.h>

enum { A1 = 1, A2, A3, S1, S2, NOT_SAMPLED };
enum { PROG = 1, LIBS, KERNEL, NONE };

static const struct store_event event = {.id = 1,
                                         .run_id = 1,
                                         .name = "cpu-clock",
                                         .is_clock = true,
                                         .varying = false,
                                         .period = WEIGHT_NS};

static struct store_process processes[] = {
    {.id = 1, .run_id = 1, .pid = 100, .name = "prog", .command = "/bin/prog --fast"},
    {.id = 2,
     .run_id = 1,
     .parent_id = 1,
     .pid = 200,
     .start_ns = 5,
     .end_ns = 900,
     .name = "child"},
};

static struct store_thread threads[] = {
    {.id = 1, .process_id = 1, .tid = 100, .name = "prog", .samples = 5},
    {.id = 2,
     .process_id = 1,
     .tid = 101,
     .name = "worker",
     .samples = 1,
     .end_ns = 700,
     .cpu_time_ns = WEIGHT_NS,
     .cpu_time_known = true},
    {.id = 3,
     .process_id = 2,
     .tid = 200,
     .name = "child",
     .end_ns = 900,
     .cpu_time_ns = UNSAMPLED_NS,
     .cpu_time_known = true},
};

static const uint8_t build_id[] = {0x0a, 0xbc, 0xde, 0xf0};

static struct store_module modules[] = {
    {.id = PROG,
     .key = UINT64_MAX,
     .path = "/home/me/prog",
     .name = "prog",
     .build_id = {build_id, sizeof build_id},
     .kind = MODEL_KIND_APP,
     .main_executable = true},
    {.id = LIBS,
     .path = "/usr/lib/libs.so",
     .name = "libs.so",
     .kind = MODEL_KIND_SYSTEM,
     .problem = "deleted"},
    {.id = KERNEL, .path = "[kernel]", .name = "[kernel]", .kind = MODEL_KIND_KERNEL},
    {.id = NONE, .path = "[none]", .name = "[none]", .kind = MODEL_KIND_NONE, .process_id = 1},
};

static struct store_mapping mappings[] = {
    {.id = 1,
     .process_id = 1,
     .module_id = PROG,
     .start = 0x400000,
     .end = 0x402000,
     .file_offset = 0x1000},
    {.id = 2,
     .process_id = 1,
     .module_id = LIBS,
     .start = 0x7f0000000000,
     .end = 0x7f0000001000,
     .end_ns = 40},
    {.id = 3,
     .process_id = 1,
     .module_id = LIBS,
     .start = 0x7f1000000000,
     .end = 0x7f1000001000,
     .start_ns = 40},
    {.id = 4, .module_id = KERNEL, .start = 0xffffffff80000000, .end = 0xffffffffc0000000},
};

/* A2 at 0x1200 is inlined into A3. */
static struct store_frame frames[] = {
    {.id = 1,
     .module_id = PROG,
     .file_offset = 0x1000,
     .key = 1,
     .function_id = A1,
     .file = "main.c",
     .line = 10},
    {.id = 2,
     .module_id = PROG,
     .file_offset = 0x1100,
     .key = 2,
     .function_id = A2,
     .file = "main.c",
     .line = 20},
    {.id = 3,
     .module_id = LIBS,
     .file_offset = 0x500,
     .key = 3,
     .function_id = S1,
     .file = "sys.c",
     .line = 5},
    {.id = 4,
     .module_id = LIBS,
     .file_offset = 0x600,
     .key = 4,
     .function_id = S2,
     .file = "sys.c",
     .line = 9},
    {.id = 5,
     .module_id = PROG,
     .file_offset = 0x1200,
     .key = 5,
     .function_id = A2,
     .file = "main.c",
     .line = 21,
     .inline_parent_id = 7},
    {.id = 6, .module_id = NONE, .file_offset = 0, .key = 6, .function_id = NOT_SAMPLED},
    {.id = 7,
     .module_id = PROG,
     .file_offset = 0x1200,
     .key = 5,
     .function_id = A3,
     .file = "main.c",
     .line = 31,
     .inline_depth = 1},
};
enum { PHYSICAL_FRAMES = 6, ALL_FRAMES = 7 };

static struct store_node nodes[] = {
    {.id = 1, .frame_id = 1, .depth = 1},
    {.id = 2, .parent_id = 1, .frame_id = 2, .depth = 2},
    {.id = 3, .parent_id = 2, .frame_id = 3, .depth = 3},
    {.id = 4, .parent_id = 3, .frame_id = 4, .depth = 4},
    {.id = 5, .parent_id = 1, .frame_id = 5, .depth = 2},
    {.id = 6, .parent_id = 5, .frame_id = 3, .depth = 3},
    {.id = 7, .parent_id = 6, .frame_id = 4, .depth = 4, .found_by = MODEL_BY_SCAN, .guessed = 1},
    {.id = 8, .frame_id = 6, .depth = 1},
};

static struct store_node_path node_paths[] = {{1, 1}, {2, 2}, {3, 3}, {4, 4},
                                              {5, 6}, {6, 7}, {7, 8}, {8, 9}};

#define SAMPLE(thread, node, time, ...)                                                            \
    {                                                                                              \
        .run_id = 1, .event_id = 1, .thread_id = thread, .node_id = node, .time_ns = time,         \
        .weight = WEIGHT_NS, .count = 1, .cpu = 0, .user_stack = true, __VA_ARGS__                 \
    }
static struct store_sample samples[] = {
    SAMPLE(1, 1, 10, .end_reason = MODEL_END_ROOT),
    SAMPLE(1, 2, 20, .end_reason = MODEL_END_ROOT),
    SAMPLE(1, 4, 30, .end_reason = MODEL_END_ROOT, .stitched = true),
    SAMPLE(1, 4, 50, .end_reason = MODEL_END_ROOT),
    SAMPLE(2, 5, 60, .end_reason = MODEL_END_TRUNCATED),
    SAMPLE(1, 7, 55, .end_reason = MODEL_END_ROOT),
    {.run_id = 1,
     .event_id = 1,
     .thread_id = 3,
     .node_id = 8,
     .time_ns = 900,
     .weight = UNSAMPLED_NS,
     .cpu = -1,
     .end_reason = MODEL_END_NO_STACK},
};

static struct store_ledger ledger[] = {
    {.run_id = 1, .event_id = 1, .second = 0, .expected_cpu_ns = 4 * WEIGHT_NS, .delivered = 4},
    {.run_id = 1,
     .event_id = 1,
     .second = 1,
     .expected_cpu_ns = 5 * WEIGHT_NS,
     .delivered = 2,
     .lost = 3,
     .throttled = 1,
     .unexplained = -1},
};

static struct store_counter counters[] = {
    {.run_id = 1, .name = "unwind.cache_hits", .value = 75},
    {.run_id = 1, .name = "unwind.cache_misses", .value = 25},
};

static const uint8_t registers[17 * 8] = {1}, stack[] = {0, 1, 2, 0, 255};
static struct store_failed failed[] = {
    {.run_id = 1,
     .thread_id = 2,
     .time_ns = 60,
     .end_reason = MODEL_END_TRUNCATED,
     .registers = {registers, sizeof registers},
     .stack = {stack, sizeof stack}},
};

static struct store_function functions[] = {
    {.id = A1,
     .module_id = PROG,
     .key = 101,
     .name = "A1",
     .start = 0x1000,
     .size = 0x100,
     .file = "main.c",
     .line = 8,
     .named = true},
    {.id = A2,
     .module_id = PROG,
     .key = 102,
     .name = "A2",
     .linkage_name = "_Z2A2v",
     .start = 0x1100,
     .size = 0x100,
     .file = "main.c",
     .line = 18,
     .named = true},
    {.id = A3,
     .module_id = PROG,
     .key = 103,
     .name = "A3",
     .start = 0x1200,
     .size = 0x100,
     .file = "main.c",
     .line = 30,
     .named = true},
    {.id = S1, .module_id = LIBS, .key = 104, .name = "S1", .start = 0x500, .size = 0x80},
    {.id = S2,
     .module_id = LIBS,
     .key = 105,
     .name = "S2",
     .start = 0x600,
     .size = 0x80,
     .named = true},
    {.id = NOT_SAMPLED, .module_id = NONE, .key = 106, .name = "[not sampled]", .named = true},
};

static struct model_path paths[] = {
    {.id = 1, .function = A1, .depth = 1},
    {.id = 2, .parent = 1, .function = A2, .depth = 2},
    {.id = 3, .parent = 2, .function = S1, .depth = 3},
    {.id = 4, .parent = 3, .function = S2, .depth = 4},
    {.id = 5, .parent = 1, .function = A3, .depth = 2},
    {.id = 6, .parent = 5, .function = A2, .depth = 3},
    {.id = 7, .parent = 6, .function = S1, .depth = 4},
    {.id = 8, .parent = 7, .function = S2, .depth = 5},
    {.id = 9, .function = NOT_SAMPLED, .depth = 1},
};

#define COST(id_, exclusive_, inclusive_)                                                          \
    {                                                                                              \
        .run_id = 1, .event_id = 1, .id = id_, .costs = {                                          \
            {exclusive_, (exclusive_) * (uint64_t)WEIGHT_NS},                                      \
            {inclusive_, (inclusive_) * (uint64_t)WEIGHT_NS}                                       \
        }                                                                                          \
    }
#define UNSAMPLED_COST(id_)                                                                        \
    {                                                                                              \
        .run_id = 1, .event_id = 1, .id = id_, .costs = { {0, UNSAMPLED_NS}, {0, UNSAMPLED_NS} }   \
    }
#define EDGE(caller_, callee_, samples_)                                                           \
    {                                                                                              \
        .run_id = 1, .event_id = 1, .edge = {                                                      \
            caller_,                                                                               \
            callee_,                                                                               \
            {samples_, (samples_) * (uint64_t)WEIGHT_NS}                                           \
        }                                                                                          \
    }

static struct store_cost path_costs[] = {
    COST(1, 1, 6), COST(2, 1, 3), COST(3, 0, 2), COST(4, 2, 2),     COST(5, 0, 2),
    COST(6, 1, 2), COST(7, 0, 1), COST(8, 1, 1), UNSAMPLED_COST(9),
};
static struct store_cost function_costs[] = {
    COST(A1, 1, 6), COST(A2, 2, 5), COST(A3, 0, 2),
    COST(S1, 0, 3), COST(S2, 3, 3), UNSAMPLED_COST(NOT_SAMPLED),
};
static struct store_cost module_costs[] = {
    COST(PROG, 3, 6),
    COST(LIBS, 3, 3),
    UNSAMPLED_COST(NONE),
};
static struct store_edge_cost edge_costs[] = {
    EDGE(A1, A2, 3), EDGE(A1, A3, 2), EDGE(A2, S1, 3), EDGE(A3, A2, 2), EDGE(S1, S2, 3),
};

/* By the ids of frames. */
static struct store_cost line_costs[] = {
    COST(1, 1, 6), COST(2, 1, 3), COST(3, 0, 3),     COST(4, 3, 3),
    COST(5, 1, 2), COST(7, 0, 2), UNSAMPLED_COST(6),
};

#define SAMPLES(samples_)                                                                          \
    {                                                                                              \
        samples_, (samples_) * (uint64_t)WEIGHT_NS                                                 \
    }
static struct store_thread_cost thread_costs[] = {
    {1, 1, 1, SAMPLES(5)}, {1, 1, 2, SAMPLES(1)}, {1, 1, 3, {0, UNSAMPLED_NS}}};
static struct store_thread_node_cost thread_node_costs[] = {
    {1, 1, 1, 1, SAMPLES(1), 0}, {1, 1, 1, 2, SAMPLES(1), 0}, {1, 1, 1, 4, SAMPLES(2), 0},
    {1, 1, 1, 7, SAMPLES(1), 0}, {1, 1, 2, 5, SAMPLES(1), 0}, {1, 1, 3, 8, {0, UNSAMPLED_NS}, 0}};
static struct store_slot_cost slot_costs[] = {
    {1, 1, 0, 1, 1, SAMPLES(1)}, {1, 1, 0, 1, 2, SAMPLES(1)}, {1, 1, 0, 1, 4, SAMPLES(2)},
    {1, 1, 0, 1, 7, SAMPLES(1)}, {1, 1, 0, 2, 5, SAMPLES(1)}, {1, 1, 0, 3, 8, {0, UNSAMPLED_NS}}};
static struct store_place_cost place_costs[] = {
    {1, 1, 1, -1, 3, {0, UNSAMPLED_NS}, 0},
    {1, 1, 1, 0, 1, SAMPLES(5), 0},
    {1, 1, 1, 0, 2, SAMPLES(1), 0},
};
static const struct store_place_entry unsampled_entries[] = {{8, 3, {0, UNSAMPLED_NS}}},
                                      sampled_entries[] = {{1, 1, SAMPLES(1)},
                                                           {2, 1, SAMPLES(1)},
                                                           {4, 1, SAMPLES(2)},
                                                           {5, 2, SAMPLES(1)},
                                                           {7, 1, SAMPLES(1)}};
static struct store_event_cost event_costs[] = {{.run_id = 1,
                                                 .event_id = 1,
                                                 .cost = {6, 6 * WEIGHT_NS + UNSAMPLED_NS},
                                                 .squares = 6.0 * WEIGHT_NS * WEIGHT_NS,
                                                 .has_node_costs = true,
                                                 .slot_ns = 100000000}};
static struct store_sample_summary sample_summaries[] = {{.run_id = 1,
                                                          .first_sample = 1,
                                                          .last_sample = 6,
                                                          .disorder_ns = 5,
                                                          .samples = 6,
                                                          .user_stacks = 6,
                                                          .whole_stacks = 4,
                                                          .stitched = 1,
                                                          .guessed_frames = 1,
                                                          .frames = 17,
                                                          .named_frames = 14}};

struct store_run example_run(void)
{
    return (struct store_run){.id = 1,
                              .key = 0xfedcba9876543210,
                              .state = STORE_RECORDING,
                              .sprof_version = "0.1.0",
                              .host = "host",
                              .kernel = "Linux 6.18",
                              .architecture = "x86_64",
                              .cpus = 2,
                              .command = "prog --fast",
                              .working_directory = "/home/me",
                              .mode = "full",
                              .app_interior = "keep",
                              .module_rules = "app *prog*\nsystem *libs*",
                              .source = "perf per CPU, filtered",
                              .frequency_hz = 997,
                              .stack_bytes = 65528,
                              .stack_bytes_wanted = 65528,
                              .ring_bytes = 1 << 20,
                              .start_realtime_ns = UINT64_C(1790000000000000000),
                              .start_monotonic_ns = 12345,
                              .duration_ns = 2000000000,
                              .own_cpu_ns = 20000000,
                              .target_cpu_ns = 6 * WEIGHT_NS,
                              .recorder_pid = 4,
                              .recorder_start = 5,
                              .boot_id = "not this boot",
                              .wait_status = 256};
}

/* A vector that borrows an array: only for writing. */
#define BORROW(array)                                                                              \
    {                                                                                              \
        (array), sizeof(array) / sizeof *(array), 0                                                \
    }

int example_write_raw(struct store *store, const struct store_run *run)
{
    struct store_frame raw[PHYSICAL_FRAMES];
    for (size_t i = 0; i < PHYSICAL_FRAMES; i++)
        raw[i] = (struct store_frame){.id = frames[i].id,
                                      .module_id = frames[i].module_id,
                                      .file_offset = frames[i].file_offset};
    struct store_phase phases[] = {{.id = 1,
                                    .run_id = 1,
                                    .end_ns = 2000000000,
                                    .mode = run->mode,
                                    .frame = run->frame,
                                    .app_interior = run->app_interior}};
    const struct store_batch batch = {
        .run = run,
        .events = {(struct store_event *)&event, 1, 0},
        .phases = BORROW(phases),
        .processes = BORROW(processes),
        .threads = BORROW(threads),
        .modules = BORROW(modules),
        .mappings = BORROW(mappings),
        .frames = BORROW(raw),
        .nodes = BORROW(nodes),
        .samples = BORROW(samples),
        .ledger = BORROW(ledger),
        .counters = BORROW(counters),
        .failed = BORROW(failed),
        .call_costs = BORROW(call_costs),
        .entry_coverages = BORROW(entry_coverages),
        .phase_options = BORROW(phase_options),
        .selections = BORROW(selections),
        .probe_events = BORROW(probe_events),
        .probes = BORROW(probes),
        .call_untimeds = BORROW(call_untimeds),
        .call_tail_cuts = BORROW(call_tail_cuts),
        .call_outsides = BORROW(call_outsides),
        .outside_costs = BORROW(outside_costs),
        .call_stacks = BORROW(call_stacks),
        .call_heaps = BORROW(call_heaps),
        .request_parts = BORROW(request_parts),
        .call_blocks = BORROW(call_blocks),
        .call_functions = BORROW(call_functions),
        .probe_ledger = BORROW(probe_ledger),
        .keep_rules = BORROW(keep_rules),
        .keep_spans = BORROW(keep_spans),
        .kept_calls = BORROW(kept_calls),
        .call_values = BORROW(call_values),
        .warnings = BORROW(warnings),
        .wakes = BORROW(wakes),
        .event_fields = BORROW(event_fields),
        .sample_fields = BORROW(sample_fields),
        .sampled_users = BORROW(sampled_users),
        .process_origins = BORROW(process_origins),
    };
    return store_write(store, &batch, NULL);
}

/* The bytes are the packer's. */
static struct store_place_block pack_block(struct store_place_packer *packer, int32_t cpu,
                                           const struct store_place_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        must(!store_place_pack(packer, &entries[i]));
    return (struct store_place_block){.run_id = 1,
                                      .event_id = 1,
                                      .phase = 1,
                                      .cpu = cpu,
                                      .entries = packer->entries,
                                      .bytes = {packer->bytes.items, packer->bytes.count}};
}
#define PACK_BLOCK(packer, cpu, entries)                                                           \
    pack_block(packer, cpu, entries, sizeof(entries) / sizeof *(entries))

int example_write_derived(struct store *store)
{
    uint32_t run = 1;
    struct store_place_packer packers[2] = {{.entries = 0}};
    struct store_place_block place_blocks[] = {PACK_BLOCK(&packers[0], -1, unsampled_entries),
                                               PACK_BLOCK(&packers[1], 0, sampled_entries)};
    const struct store_derived derived = {
        .runs = {&run, 1, 0},
        .functions = BORROW(functions),
        .frames = BORROW(frames),
        .modules = BORROW(modules),
        .paths = BORROW(paths),
        .node_paths = BORROW(node_paths),
        .path_costs = BORROW(path_costs),
        .function_costs = BORROW(function_costs),
        .module_costs = BORROW(module_costs),
        .edge_costs = BORROW(edge_costs),
        .line_costs = BORROW(line_costs),
        .thread_costs = BORROW(thread_costs),
        .thread_node_costs = BORROW(thread_node_costs),
        .slot_costs = BORROW(slot_costs),
        .place_costs = BORROW(place_costs),
        .place_blocks = BORROW(place_blocks),
        .call_latencies = BORROW(call_latencies),
        .lock_names = BORROW(lock_names),
        .coverages = BORROW(coverages),
        .event_costs = BORROW(event_costs),
        .sample_summaries = BORROW(sample_summaries),
    };
    const int status = store_write_derived(store, &derived, NULL);
    store_place_packer_release(&packers[0]);
    store_place_packer_release(&packers[1]);
    return status;
}
