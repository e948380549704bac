/* The memory that a hostile target shares with sprof: what stands in the control page, in heads and
 * in rings comes from the input. Reading must end, stay within bounds, and name no process but the
 * one. */
#include "sampler/agent/sigprof_source.h"
#include "tests/fuzz/fuzz.h"

#include <unistd.h>

enum { CONTROL_BYTES = 96, SLOTS = 3, PID = 4242, BUFFER_BYTES = 65536 };

/* Takes bytes off the input; what is missing stays zero. */
static void take(const uint8_t **data, size_t *size, void *to, size_t wanted)
{
    const size_t bytes = wanted < *size ? wanted : *size;
    if (bytes)
        memcpy(to, *data, bytes);
    *data += bytes;
    *size -= bytes;
}

static void fill(struct sigprof_process *process, const uint8_t *data, size_t size)
{
    uint16_t heads[SLOTS] = {0};
    take(&data, &size, &process->shared->control, CONTROL_BYTES);
    take(&data, &size, heads, sizeof heads);
    for (size_t i = 0; i < SLOTS; i++) {
        process->shared->heads[i] = heads[i];
        take(&data, &size, &process->shared->slots[i], 24);
    }
    for (size_t i = 0; i < SLOTS; i++)
        take(&data, &size, (uint8_t *)process->shared + agent_ring_offset(i), size / (SLOTS - i));
}

static void check(const struct sigprof_source *source, const struct model_record *record)
{
    const uint8_t *buffer = source->buffer;
    FUZZ_REQUIRE(record->pid == PID);
    FUZZ_REQUIRE(record->type < MODEL_RECORD_TYPES && record->type != MODEL_RECORD_MMAP);
    if (record->type == MODEL_RECORD_SAMPLE && record->sample.stack_size) {
        FUZZ_REQUIRE(record->sample.stack >= buffer);
        FUZZ_REQUIRE(record->sample.stack + record->sample.stack_size <= buffer + BUFFER_BYTES);
    }
    if (record->type == MODEL_RECORD_FORK)
        FUZZ_REQUIRE(record->fork.parent_pid == PID && record->tid != PID);
    if (record->type == MODEL_RECORD_COMM)
        FUZZ_REQUIRE(!record->comm.exec && strlen(record->comm.name) < BUFFER_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct agent_hello hello = {.pid = 7, .time_ns = 1000};
    int memory_fd;
    struct sigprof_process *process = sigprof_process_new(getpid(), &hello, 4, &memory_fd);
    FUZZ_REQUIRE(process != NULL);
    close(memory_fd);
    process->pid = PID;
    fill(process, data, size);
    struct sigprof_source source = {.buffer = aligned_alloc(8, BUFFER_BYTES),
                                    .stopped = true,
                                    .horizon_ns = UINT64_MAX,
                                    .seen_ns = UINT64_C(1) << 40};
    FUZZ_REQUIRE(source.buffer != NULL);
    const int bare = sampler_layouts_add(&source.layouts, (struct sampler_layout){0});
    const int stack =
        sampler_layouts_add(&source.layouts, (struct sampler_layout){.has_stack = true});
    sampler_layouts_bind(&source.layouts, AGENT_EVENT_BARE, bare);
    sampler_layouts_bind(&source.layouts, AGENT_EVENT_STACK, stack);
    FUZZ_REQUIRE(sprof_vec_push(&source.processes, process) == 0);
    FUZZ_REQUIRE(sigprof_look_at_rings(&source) == 0);
    struct model_record *record;
    size_t taken = 0;
    while (sigprof_next_time(&source.base).state == SOURCE_RECORD) {
        FUZZ_REQUIRE(sigprof_take(&source.base, &record) == 0);
        check(&source, record);
        FUZZ_REQUIRE(++taken <= size + SLOTS); /* each is longer than a byte */
    }
    FUZZ_REQUIRE(sigprof_process_drained(process));
    sigprof_process_free(process);
    sprof_vec_release(&source.processes);
    sprof_vec_release(&source.heap);
    sampler_layouts_release(&source.layouts);
    sigprof_events_release(&source.events);
    free(source.buffer);
    return 0;
}
