/* What unwinding a real program costs: records a command, keeps every sample, and walks them all in
 * the order in which they came, with caches as cold and tables as absent as they were then; and
 * does so several times, because one time is a matter of luck here. bench_arrival COMMAND [ARG …]
 */
#include "recording/parts.h"
#include "sampler/sampler.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 9 };

/* A record with copies of what it points to. */
struct kept {
    struct model_record record;
    char *name;
    uint8_t *stack;
    uint64_t *chain;
};

struct bench {
    struct sampler *sampler;
    struct recording recording; /* only its table, images and walk are used */
    SPROF_VEC(struct kept) kept;
    uint8_t ring[1 << 16];
    uint64_t walks, frames, waits, walk_ns, clock_ns;
};

static void *copy(const void *bytes, size_t size)
{
    void *memory = malloc(size + 1);
    if (!memory)
        exit(1);
    return size ? memcpy(memory, bytes, size) : memory;
}

static void keep(struct bench *bench, const struct model_record *record)
{
    struct kept kept = {.record = *record};
    const char *name = record->type == MODEL_RECORD_MMAP   ? record->mapping.file.path
                       : record->type == MODEL_RECORD_COMM ? record->comm.name
                                                           : NULL;
    if (name)
        kept.name = copy(name, strlen(name) + 1);
    if (record->type == MODEL_RECORD_MMAP)
        kept.record.mapping.file.path = kept.name;
    if (record->type == MODEL_RECORD_COMM)
        kept.record.comm.name = kept.name;
    if (record->type == MODEL_RECORD_SAMPLE) {
        struct model_sample *sample = &kept.record.sample;
        sample->stack = kept.stack = copy(sample->stack, sample->stack_size);
        sample->kernel_chain = kept.chain =
            copy(sample->kernel_chain, sample->kernel_chain_count * sizeof *sample->kernel_chain);
    }
    if (sprof_vec_push(&bench->kept, kept))
        exit(1);
}

static void record_command(struct bench *bench, char **command)
{
    const struct sampler_options options = {.capture = SAMPLER_CAPTURE_FULL, .command = command};
    struct sprof_error error;
    const struct model_record *record;
    int status;
    if (sampler_open(&bench->sampler, &options, &error) || sampler_start(bench->sampler, &error)) {
        fprintf(stderr, "bench_arrival: %s\n", error.message);
        exit(1);
    }
    while (!sampler_targets_ended(bench->sampler, &status)) {
        while (sampler_next(bench->sampler, &record) == 0)
            keep(bench, record);
        sampler_wait(bench->sampler, 100, -1);
    }
    sampler_stop(bench->sampler);
    while (sampler_next(bench->sampler, &record) == 0)
        keep(bench, record);
}

/* What two looks at the clock cost by themselves. */
static uint64_t clock_ns(void)
{
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        const uint64_t begin_ns = sprof_clock_monotonic_ns();
        const uint64_t took_ns = sprof_clock_monotonic_ns() - begin_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return least_ns;
}

static void walk_one(struct bench *bench, const struct model_record *record)
{
    struct recording *recording = &bench->recording;
    const struct model_process *process =
        model_process_table_process(&recording->process_table, record->pid, record->time_ns);
    const struct model_sample *sample = &record->sample;
    if (!process || !sample->register_count || !sample->stack_size)
        return;
    /* The kernel has just copied the stack when its record arrives: here we do. */
    memcpy(bench->ring, sample->stack, sample->stack_size);
    const struct unwind_memory memory = {.slice = bench->ring,
                                         .slice_address = sample->registers[ARCH_SP],
                                         .slice_size = sample->stack_size};
    struct unwind_registers registers;
    memcpy(registers.value, sample->registers, sizeof registers.value);
    for (;;) {
        struct unwind_space space;
        if (recording_spaces_get(&recording->walk.spaces, process, &space))
            exit(1);
        const uint64_t begin_ns = sprof_clock_monotonic_ns();
        const struct unwind_stack stack =
            unwind_walk(recording->walk.walker, &space, &memory, &registers);
        const uint64_t took_ns = sprof_clock_monotonic_ns() - begin_ns;
        if (stack.end != MODEL_END_PENDING) {
            bench->walks++;
            bench->frames += stack.count;
            bench->walk_ns += took_ns - bench->clock_ns;
            return;
        }
        bench->waits++;
        recording_images_wait(&recording->images);
        recording_images_collect(&recording->images);
    }
}

/* Walks everything, starting from nothing; returns nanoseconds a frame. */
static double walk_all(struct bench *bench, struct unwind_counters *counters)
{
    static const struct model_view view = {.mode = MODEL_MODE_FULL};
    struct recording *recording = &bench->recording;
    memset(recording, 0, sizeof *recording);
    bench->walks = bench->frames = bench->waits = bench->walk_ns = 0;
    if (recording_images_init(&recording->images, SIZE_MAX, NULL, NULL) ||
        recording_walk_init(&recording->walk, &recording->process_table, &recording->images, &view))
        exit(1);
    recording_lookups_init(&recording->lookups, recording->images.done_fd);
    for (size_t i = 0; i < bench->kept.count; i++) {
        const struct model_record *record = &bench->kept.items[i].record;
        if (record->type == MODEL_RECORD_SAMPLE)
            walk_one(bench, record);
        else if (record->type == MODEL_RECORD_MMAP || record->type == MODEL_RECORD_COMM ||
                 record->type == MODEL_RECORD_FORK || record->type == MODEL_RECORD_EXIT)
            recording_event(recording, record);
    }
    *counters = unwind_walker_counters(recording->walk.walker);
    recording_lookups_release(&recording->lookups);
    recording_walk_release(&recording->walk);
    recording_images_release(&recording->images);
    model_process_table_release(&recording->process_table);
    return (double)bench->walk_ns / (double)bench->frames;
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct unwind_counters counters;
    double frame_ns[ROUNDS];
    if (argc < 2)
        return 2;
    record_command(&bench, argv + 1);
    bench.clock_ns = clock_ns();
    for (size_t i = 0; i < ROUNDS; i++)
        frame_ns[i] = walk_all(&bench, &counters);
    qsort(frame_ns, ROUNDS, sizeof *frame_ns, ascending);
    printf("%lu stacks, %lu frames, %.1f %% of the rules cached, %lu waits for tables: "
           "%.1f ns a frame, median of %d times (%.1f to %.1f)\n",
           bench.walks, bench.frames,
           100.0 * (double)counters.cache_hits /
               (double)(counters.cache_hits + counters.cache_misses),
           bench.waits, frame_ns[ROUNDS / 2], ROUNDS, frame_ns[0], frame_ns[ROUNDS - 1]);
    sampler_free(bench.sampler);
    for (size_t i = 0; i < bench.kept.count; i++) {
        free(bench.kept.items[i].name);
        free(bench.kept.items[i].stack);
        free(bench.kept.items[i].chain);
    }
    sprof_vec_release(&bench.kept);
    return 0;
}
