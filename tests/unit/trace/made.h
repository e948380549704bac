/* A program of hand-made functions: tests write its shared memory as its agent would. */
#ifndef TESTS_UNIT_TRACE_MADE_H
#define TESTS_UNIT_TRACE_MADE_H

#include "trace/tracing.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Zero is a valid start. It is large, and must not move. */
struct made {
    struct trace_session session;
    struct trace trace;
    struct sprof_log log;
    struct sprof_str said; /* what was reported, a line each */
};

static inline void made_note(void *context, enum sprof_log_level level, const char *text)
{
    (void)level;
    sprof_str_appendf(context, "%s\n", text);
}

/* Makes a program without functions, with shared memory for so many, and one thread: the test. */
static inline void made_begin(struct made *made, const struct probe_backend *backend,
                              uint32_t capacity)
{
    struct trace_session *session = &made->session;
    const uint64_t slab_bytes = probe_slab_bytes(capacity),
                   bytes = probe_shared_bytes(1, slab_bytes);
    const struct recording_options options = {.view = {.mode = MODEL_MODE_FULL}, .no_cache = true};
    *made = (struct made){.log = {.message = made_note}};
    made->log.context = &made->said;
    session->common = session;
    session->trace = &made->trace;
    session->backend = backend;
    session->options.log = &made->log;
    session->options.no_cache = true;
    session->slab_count = session->trace->phase = 1;
    session->capacity = capacity;
    session->times.ns_per_tick = 1;
    session->process = INJECT_PROCESS_NONE;
    session->process.pid = getpid();
    session->process.memory_fd = memfd_create("made", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(session->process.memory_fd, (off_t)bytes), 0);
    session->process.shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, session->process.memory_fd, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(session->process.shared, MAP_FAILED);
    session->process.shared_bytes = bytes;
    session->process.shared->slab_bytes = slab_bytes;
    session->process.shared->slab_count = 1;
    session->process.shared->slabs_used = 1;
    CU_ASSERT_EQUAL_FATAL(recording_open(&session->recording, &options, NULL), 0);
    session->run = recording_run(session->recording);
    struct trace_thread *thread = session->threads.of_slab[0] = calloc(1, sizeof *thread);
    CU_ASSERT_PTR_NOT_NULL_FATAL(thread);
    thread->pid = thread->tid = getpid();
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made->trace.programs, session), 0);
}

/* Adds a file with these functions, by start. They are borrowed, and have no probes yet. */
static inline void made_file(struct made *made, const char *path, uint64_t bias,
                             struct plan_function *functions, size_t count)
{
    const struct trace_file file = {.path = path,
                                    .bias = bias,
                                    .module = 1 + (uint32_t)made->session.files.count,
                                    .is_chosen = true,
                                    .first = made->session.probes.count,
                                    .plan = {.functions = functions, .function_count = count}};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made->session.files, file), 0);
}

/* Adds a probe of the last file. It is borrowed until another one is added. */
static inline struct trace_probe *made_probe(struct made *made, struct trace_probe probe)
{
    struct trace_session *session = &made->session;
    probe.file = (uint32_t)session->files.count - 1;
    probe.thunk = (uint32_t)session->probes.count;
    session->files.items[probe.file].count++;
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->probes, probe), 0);
    return &session->probes.items[session->probes.count - 1];
}

/* made_begin, with a file of so many functions, each of which has a probe. */
static inline void made_begin_with(struct made *made, const struct probe_backend *backend,
                                   struct plan_function *functions, size_t count)
{
    made_begin(made, backend, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        functions[i] = (struct plan_function){.name = "f", .start = 0x100 * (i + 1)};
    made_file(made, "/app/program", 0, functions, count);
    for (size_t i = 0; i < count; i++)
        made_probe(made, (struct trace_probe){
                             .function = &functions[i], .tier = PROBE_FULL, .is_chosen = true});
}

static inline struct probe_stat *made_stat(const struct made *made, uint32_t number)
{
    const struct counters_pages pages = trace_pages(&made->session);
    return (struct probe_stat *)counters_slab_stats(&pages, 0) + number;
}

static inline uint8_t made_tier(const struct made *made, size_t number)
{
    return atomic_load(&made->session.process.shared->tiers[number]);
}

/* Whether this was reported; forgets what was. */
static inline bool made_said(struct made *made, const char *part)
{
    const bool is = made->said.text && strstr(made->said.text, part);
    sprof_str_release(&made->said);
    return is;
}

static inline void made_end(struct made *made)
{
    struct trace_session *session = &made->session;
    trace_figures_release(session);
    trace_processes_release(session);
    trace_history_release(&made->trace.history);
    sprof_vec_release(&session->probes);
    sprof_vec_release(&session->files);
    sprof_vec_release(&session->ranges);
    sprof_vec_release(&made->trace.programs);
    recording_free(session->recording);
    sprof_arena_release(&session->arena);
    free(session->history.states);
    munmap(session->process.shared, session->process.shared_bytes);
    close(session->process.memory_fd);
    sprof_str_release(&made->said);
}

#endif
