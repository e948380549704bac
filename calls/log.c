/* The log: reads calls from threads' rings, joins starts and ends, and packs blocks. The command
 * can overwrite rings, so everything is checked. */
#include "calls/log.h"
#include "calls/keep.h"
#include "calls/keep_rules.h"
#include "calls/program.h"
#include "calls/remarks.h"
#include "calls/states.h"

#include <string.h>
#include <sys/stat.h>

enum {
    WAITING_BLOCKS = 512, /* if more wait, calls stay in rings */
    FLUSH_BLOCKS = 16,
    WAITING_KEPT = 1 << 17, /* also for rows */
    FLUSH_KEPT = 1 << 12,
    FLUSH_KEPT_NS = 500000000, /* if fewer wait */
    OPEN_CALLS = 1 << 20,      /* per thread */
    STUCK_NS = 1000000000,     /* then a unit stays unfilled */
    SIZE_NS = 20000000,
};

void calls_log_begin(struct calls_program *program)
{
    const uint32_t depth = program->options.depth ? program->options.depth : UINT32_MAX;
    atomic_store(&program->process.shared->log.depth, depth);
    atomic_store(&program->process.shared->log.reach,
                 depth < PROBE_LOG_DEPTH_MAX ? depth : PROBE_LOG_DEPTH_MAX);
}

/* == Rows == */

/* No call ends before its callees. */
static uint64_t duration_of(const struct calls_program *program, struct calls_thread *thread,
                            const struct calls_open_call *call, uint64_t ticks)
{
    const uint64_t end_ns = calls_time_of(program, call->begin + ticks);
    uint64_t until_ns = call->start_ns + 1;
    until_ns = until_ns < end_ns ? end_ns : until_ns;
    until_ns = until_ns < thread->last_ns ? thread->last_ns : until_ns;
    thread->last_ns = until_ns;
    return until_ns - call->start_ns;
}

/* Blocks name functions by nodes, because several programs use the same probe numbers. */
static int name_function(struct calls_program *program, struct probing_probe *probe)
{
    const struct store_call_function row = {program->run->id, probe->node, probe->node};
    probe->is_logged = true;
    return sprof_vec_push(&recording_batch(program->recording)->call_functions, row) ? SPROF_ENOMEM
                                                                                     : 0;
}

static int put_block(struct calls_program *program, struct calls_thread *thread)
{
    struct store_call_packer *packer = &thread->packer;
    const struct store_call_block row = {
        .run_id = program->run->id,
        .thread_id = thread->shares ? program->threads.others.row : thread->row,
        .calls = packer->calls,
        .first_ns = packer->first_ns,
        .bytes = {(const uint8_t *)sprof_arena_copy(recording_batch_arena(program->recording),
                                                    (const char *)packer->bytes, packer->size),
                  packer->size},
    };
    store_call_packer_clear(packer);
    return !row.bytes.data || sprof_vec_push(&recording_batch(program->recording)->call_blocks, row)
               ? SPROF_ENOMEM
               : 0;
}

static int put_call(struct calls_program *program, struct calls_thread *thread,
                    const struct calls_open_call *call, uint64_t ticks, uint64_t self_and_apart,
                    enum store_exit exit)
{
    const uint64_t self = self_and_apart & ~PROBE_LOG_APART;
    const bool is_over = ticks || exit < STORE_EXIT_THREAD_END || exit == STORE_EXIT_TAIL_CUT;
    struct probing_probe *probe = &program->probes.items[call->function];
    uint32_t node;
    int result = calls_node_of(program, call->function, 0, &node);
    if (!result && !probe->is_logged)
        result = name_function(program, probe);
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    const uint64_t duration_ns = is_over ? duration_of(program, thread, call, ticks) : 0,
                   self_ns = is_over ? calls_length_of(program, self) : 0;
    struct store_call row = {
        .start_ns = call->start_ns,
        .duration_ns = duration_ns,
        .self_ns = self_ns < duration_ns ? self_ns : duration_ns,
        .function = node,
        .depth = call->depth,
        .exit = (uint8_t)exit,
    };
    if (duration_ns && self == self_and_apart) {
        const struct calls_call_states states = calls_states_between(
            program, thread, row.start_ns, row.start_ns + duration_ns, duration_ns);
        row.has_states = states.is_known;
        row.waiting_ns = states.waiting_ns;
        row.ready_ns = states.ready_ns;
    }
    memcpy(row.words, call->arguments, sizeof row.words);
    program->log.logged++;
    if (store_call_pack(&thread->packer, &row))
        return SPROF_ENOMEM;
    return thread->packer.calls == STORE_BLOCK_CALLS ? put_block(program, thread) : 0;
}

/* == Units == */

/* A header of the log, in a ring with kept calls or without. */
static uint64_t log_header(bool keeps, uint64_t header)
{
    return keeps ? header & ~((uint64_t)PROBE_LOG_BESIDE << PROBE_LOG_DEPTH_AT) : header;
}

/* Time before a clear does not count. The agent notes this at the end of the call, or of one below
 * it. */
static uint64_t begin_of(const struct calls_program *program, const uint64_t *unit)
{
    return unit[1] < program->times.cleared.ticks ? program->times.cleared.ticks : unit[1];
}

/* Whether the call ended before a clear. The thread runs while its cells and ring are read. */
static bool was_cleared(const struct calls_thread *thread, uint32_t function, uint64_t position,
                        uint64_t ticks)
{
    const uint64_t *cell =
        position < thread->cleared_head ? sprof_map_get(&thread->index, function) : NULL;
    return cell && ticks < thread->cells.items[*cell].cleared_ticks;
}

static int take_begin(struct calls_program *program, struct calls_thread *thread, uint64_t header,
                      const uint64_t *first, const uint64_t *second, uint64_t position)
{
    const uint64_t begin = begin_of(program, first);
    struct calls_open_call call = {
        .begin = begin,
        .start_ns = calls_time_of(program, begin),
        .function = PROBE_LOG_FUNCTION(header),
        .depth = PROBE_LOG_DEPTH(header),
        .arguments = {first[2], first[3], second[0], second[1], second[2], second[3]},
    };
    if (call.start_ns <= thread->last_ns) /* kept calls have their row in the log by its start */
        call.start_ns = thread->last_ns + 1;
    thread->last_ns = call.start_ns;
    if (PROBE_LOG_KIND(header) == PROBE_LOG_ONLY)
        return was_cleared(thread, call.function, position, first[1])
                   ? 0
                   : put_call(program, thread, &call, 0, 0, STORE_EXIT_UNSEEN);
    if (thread->open.count >= OPEN_CALLS)
        return 0;
    return sprof_vec_push(&thread->open, call);
}

/* With coroutines it may not be the last one. */
static int take_end(struct calls_program *program, struct calls_thread *thread, uint64_t header,
                    const uint64_t *unit, uint64_t position)
{
    const uint64_t begin = begin_of(program, unit);
    size_t at = thread->open.count;
    while (at && (thread->open.items[at - 1].begin != begin ||
                  thread->open.items[at - 1].depth != PROBE_LOG_DEPTH(header) ||
                  thread->open.items[at - 1].function != PROBE_LOG_FUNCTION(header)))
        at--;
    if (!at)
        return 0; /* begun before the log */
    struct calls_open_call call = thread->open.items[at - 1];
    call.begin = unit[1]; /* unit[2] counts from there */
    memmove(&thread->open.items[at - 1], &thread->open.items[at],
            (thread->open.count - at) * sizeof call);
    thread->open.count--;
    return was_cleared(thread, call.function, position, unit[1] + unit[2])
               ? 0
               : put_call(program, thread, &call, unit[2], unit[3], calls_log_exit(header));
}

static bool is_known(const struct calls_program *program, uint64_t header)
{
    const uint32_t function = PROBE_LOG_FUNCTION(header);
    return function < program->probes.count &&
           (program->probes.items[function].is_chosen ||
            program->probes.items[function].tier == PROBE_REMARK);
}

/* A signal handler may have jumped out of the probe. */
static bool is_stuck(const struct calls_program *program, struct calls_thread *thread,
                     uint64_t position)
{
    if (thread->waits_for != position + 1) {
        thread->waits_for = position + 1;
        thread->waits_since_ns = program->times.now_ns;
    }
    return thread->is_over || program->times.now_ns - thread->waits_since_ns > STUCK_NS;
}

static int take_remark(struct calls_program *program, struct calls_thread *thread,
                       const struct probe_remark *unit, size_t bytes)
{
    const struct probe_remark remark = *unit; /* the program can change it */
    if (remark.kind != PROBE_CALL_ID)
        return calls_remark_take(program, thread, unit, bytes);
    return remark.number ? calls_keep_ask(program, thread, remark.number, remark.value) : 0;
}

/* Returns the units read, 0 if the next is unfilled, or a negative code. */
static int take_entry(struct calls_program *program, struct calls_thread *thread,
                      const struct counters_ring *ring, uint64_t position, uint64_t head)
{
    const bool keeps = calls_keeps(program);
    uint64_t header;
    const uint32_t units = counters_ring_entry(ring, position, head, keeps, &header);
    const uint64_t *first = counters_ring_unit(ring, position);
    int result = 0;
    if (!units)
        return is_stuck(program, thread, position) ? 1 : 0;
    const bool is_kept = keeps && !PROBE_LOG_IS_BESIDE(header);
    header = is_kept ? header : log_header(keeps, header);
    if (is_known(program, header) && is_kept && PROBE_LOG_KIND(header) == PROBE_LOG_ONLY)
        result = take_remark(program, thread, (const struct probe_remark *)first,
                             (units - PROBE_KEPT_UNITS) * PROBE_UNIT_BYTES);
    else if (is_known(program, header) && is_kept)
        result = calls_keep_take(program, thread, (const struct probe_kept *)first,
                                 units - PROBE_KEPT_UNITS);
    else if (is_known(program, header))
        result = PROBE_LOG_KIND(header) == PROBE_LOG_END
                     ? take_end(program, thread, header, first, position)
                     : take_begin(program, thread, header, first,
                                  first + PROBE_UNIT_BYTES / sizeof *first, position);
    for (uint32_t i = 0; i < units && keeps; i++) /* old values must not look like headers */
        *counters_ring_unit(ring, position + i) = 0;
    return result ? result : (int)units;
}

static struct counters_ring ring_of(const struct calls_program *program, uint32_t slab)
{
    const struct counters_pages pages = calls_pages(program);
    return counters_ring_of(&pages, slab);
}

static int read_ring(struct calls_program *program, struct calls_thread *thread,
                     const struct counters_ring *ring, uint64_t head, bool *done)
{
    const struct store_batch *batch = recording_batch(program->recording);
    uint64_t position = counters_ring_tail(ring, head);
    int taken = 1;
    *done = head == position;
    if (*done) {
        counters_ring_read(ring, position);
        return 0;
    }
    if (calls_compare_clocks(program) || calls_states_read(program)) /* gaps end before calls */
        return SPROF_ENOMEM;
    while (position != head && taken > 0 && batch->call_blocks.count < WAITING_BLOCKS &&
           batch->kept_calls.count < WAITING_KEPT) {
        taken = take_entry(program, thread, ring, position, head);
        position += taken > 0 ? (uint64_t)taken : 0;
    }
    counters_ring_read(ring, position);
    *done = position == head;
    return taken < 0 ? taken : 0;
}

int calls_log_read(struct calls_program *program, struct calls_thread *thread, uint32_t slab)
{
    const struct counters_ring ring = ring_of(program, slab);
    bool done;
    return read_ring(program, thread, &ring, counters_ring_head(&ring), &done);
}

int calls_log_end(struct calls_program *program, struct calls_thread *thread, uint32_t slab,
                  bool is_last)
{
    struct sprof_error ignored = {0};
    const struct counters_ring ring = ring_of(program, slab);
    const uint64_t head = counters_ring_head(&ring);
    bool done = false;
    int result = 0;
    thread->is_over = true;
    while (!done && !result) {
        result = read_ring(program, thread, &ring, head, &done);
        if (!done && !result &&
            (recording_flush(program->recording, &ignored) ||
             recording_wait_written(program->recording, &ignored)))
            break; /* the next flush reports the error */
    }
    for (size_t i = 0; i < thread->open.count && !result; i++)
        result = put_call(program, thread, &thread->open.items[i], 0, 0,
                          is_last ? STORE_EXIT_OPEN : STORE_EXIT_THREAD_END);
    if (!result)
        result = calls_keep_end(program, thread, is_last ? STORE_EXIT_OPEN : STORE_EXIT_THREAD_END);
    thread->open.count = 0;
    if (!result && !is_last)
        result = calls_remarks_end(program, thread);
    return result || !thread->packer.calls ? result : put_block(program, thread);
}

void calls_log_note_clear(const struct calls_program *program, struct calls_thread *thread,
                          uint32_t slab)
{
    const struct counters_ring ring = ring_of(program, slab);
    thread->cleared_head = program->log.has_rings ? counters_ring_head(&ring) : 0;
}

void calls_log_clear(struct calls_program *program, uint64_t now_ns)
{
    const uint64_t run_ns = now_ns - program->run->start_monotonic_ns;
    program->log.logged = 0;
    calls_keep_clear(program);
    for (size_t i = 0; i < PROBE_SLABS; i++) {
        struct calls_thread *thread = program->threads.of_slab[i];
        if (thread)
            store_call_packer_clear(&thread->packer);
        uint64_t least_ns = run_ns; /* starts differ */
        for (size_t k = 0; thread && k < thread->open.count; k++) {
            struct calls_open_call *call = &thread->open.items[k];
            if (call->start_ns < least_ns)
                call->start_ns = least_ns;
            least_ns = call->start_ns + 1;
            if (thread->last_ns < call->start_ns)
                thread->last_ns = call->start_ns;
            if (call->begin < program->times.cleared.ticks)
                call->begin = program->times.cleared.ticks;
        }
    }
}

/* == What is not logged == */

static int put_unlogged(struct calls_program *program, uint32_t number, uint32_t second)
{
    struct probing_probe *probe = &program->probes.items[number];
    uint32_t node;
    const int result = calls_node_of(program, number, 0, &node);
    if (probe->unlogged_second != second)
        probe->unlogged_in_second = 0;
    probe->unlogged_second = second;
    probe->unlogged_in_second += probe->sums.unlogged - probe->unlogged_written;
    probe->unlogged_written = probe->sums.unlogged;
    const struct store_probe_ledger row = {
        .run_id = program->run->id,
        .second = second,
        .node_id = node,
        .not_logged = probe->unlogged_in_second,
    };
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    return sprof_vec_push(&recording_batch(program->recording)->probe_ledger, row) ? SPROF_ENOMEM
                                                                                   : 0;
}

int calls_log_serve(struct calls_program *program)
{
    const uint64_t run_ns = program->times.now_ns - program->run->start_monotonic_ns;
    int result = calls_keep_serve(program);
    for (size_t i = 0; i < PROBE_SLABS && program->log.has_rings && !result; i++)
        if (program->threads.of_slab[i] && program->threads.of_slab[i]->packer.calls)
            result = put_block(program, program->threads.of_slab[i]);
    for (uint32_t i = 0; i < program->probes.count && program->log.has_rings && !result; i++)
        if (program->probes.items[i].sums.unlogged > program->probes.items[i].unlogged_written)
            result = put_unlogged(program, i, (uint32_t)(run_ns / 1000000000));
    return result;
}

static uint64_t bytes_of(const char *path, const char *behind)
{
    struct sprof_str text = {0};
    struct stat status = {0};
    sprof_str_appendf(&text, "%s%s", path, behind);
    const bool is_known = !text.failed && !stat(text.text, &status);
    sprof_str_release(&text);
    return is_known ? (uint64_t)status.st_size : 0;
}

static void check_size(struct calls_program *program)
{
    const struct trace_options *options = &program->options;
    if (!options->max_size || program->mode != TRACE_LOG ||
        program->times.now_ns < program->log.next_size_ns ||
        !atomic_load(&program->process.shared->log.reach))
        return;
    program->log.next_size_ns = program->times.now_ns + SIZE_NS;
    if (bytes_of(options->output, "") + bytes_of(options->output, "-wal") < options->max_size)
        return;
    atomic_store(&program->process.shared->log.reach, 0);
    sprof_log_message(options->log, SPROF_LOG_WARNING,
                      "%s has reached its largest size: further calls are counted and timed, and "
                      "have no rows of their own",
                      options->output);
}

/* Kept calls are written soon, to outlive sprof. */
static bool are_kept_due(struct calls_program *program)
{
    struct calls_kept *kept = &program->all->kept;
    if (!recording_batch(program->recording)->kept_calls.count ||
        program->times.now_ns < kept->flush_ns || recording_is_writing(program->recording))
        return false;
    kept->flush_ns = program->times.now_ns + FLUSH_KEPT_NS;
    return true;
}

bool calls_log_wants_flush(struct calls_program *program)
{
    check_size(program);
    return recording_batch(program->recording)->call_blocks.count >= FLUSH_BLOCKS ||
           recording_batch(program->recording)->kept_calls.count >= FLUSH_KEPT ||
           are_kept_due(program);
}
