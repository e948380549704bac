/* Sets up one of several programs, from its agent's hello until its probes are placed. */
#include "trace/program.h"
#include "calls/calls.h"
#include "inject/inject.h"
#include "probing/probing.h"
#include "trace/drill/drilling.h"
#include "trace/governor.h"
#include "trace/load.h"
#include "trace/obstacles.h"

#include "agent/agent.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct trace_session *trace_program_make(struct trace_session *common,
                                         const struct probe_backend *backend, int fd, pid_t pid,
                                         const struct probe_hello *hello)
{
    struct trace_session *program = calloc(1, sizeof *program);
    char path[PATH_MAX], link[64];
    if (!program)
        return NULL;
    program->options = common->options;
    program->options.command = NULL;
    program->common = common;
    trace_session_join(program, common->trace, backend);
    program->recording = common->recording;
    program->run = common->run;
    program->event = common->event;
    program->mode = common->mode;
    program->paused = common->paused;
    program->process = INJECT_PROCESS_NONE;
    program->process.log = common->options.log;
    program->process.no_cache = common->options.no_cache;
    program->process.agent_fd = fd;
    program->times.ns_per_tick = 1;
    program->process.pid = pid;
    program->process.hello = *hello;
    program->times.start.ns = sprof_clock_monotonic_ns();
    const bool is_found = inject_program_file(pid, path);
    struct stat file;
    sprof_proc_shared_path(link, sizeof link, pid, "exe");
    if (!stat(link, &file)) {
        program->executable.device = file.st_dev;
        program->executable.inode = file.st_ino;
    }
    program->executable.path = sprof_arena_text(&program->arena, is_found ? path : "a program");
    return program;
}

void trace_program_release(struct trace_session *session)
{
    trace_loads_free(session);
    if (session->backend->free)
        session->backend->free(session);
    inject_process_release(&session->process);
    for (size_t i = 0; i < session->files.count; i++)
        plan_release(&session->files.items[i].plan);
    calls_figures_release(&session->calls);
    calls_values_release(&session->values);
    calls_keep_forget_load(&session->calls);
    calls_requests_release(&session->calls);
    calls_warnings_free(&session->calls);
    probing_points_free(&session->probing);
    probing_outside_free(&session->probing);
    sprof_vec_release(&session->files);
    sprof_vec_release(&session->probes);
    sprof_vec_release(&session->ranges);
    free(session->history.states);
    trace_below_program_free(session->below);
    calls_processes_release(&session->calls);
    sprof_arena_release(&session->arena);
}

void trace_program_free(struct trace_session *program)
{
    trace_program_release(program);
    free(program);
}

int trace_program_end(struct trace_session *common, size_t index, enum calls_collecting what)
{
    struct trace_session *program = trace_program_at(common->trace, index);
    struct calls_sums sums = {0};
    trace_loader_close(&program->loader);
    const int result = trace_collect_program(program, what);
    trace_drilling_program_ends(program);
    calls_program_add_up(&program->calls, &sums);
    calls_add_ended(&common->trace->ended.calls, &sums);
    trace_count_probes(program, &common->trace->ended_probes);
    common->trace->ended_probes.processes += program->processes.list.count;
    common->trace->ended.cpu_ns += calls_program_cpu_ns(&program->calls);
    common->trace->known_cost = calls_cost_of(&program->calls);
    if (program->process.stopped_ns > common->process.stopped_ns)
        common->process.stopped_ns = program->process.stopped_ns;
    common->trace->programs.items[index] =
        common->trace->programs.items[--common->trace->programs.count];
    trace_program_free(program);
    return result;
}

int trace_programs_poll(const struct trace_session *common, struct trace_polls *polls)
{
    int result = 0;
    for (size_t i = 0; i < common->trace->programs.count && !result; i++) {
        const struct trace_session *program = trace_program_at(common->trace, i);
        for (size_t k = 0; k < program->processes.list.count && !result; k++) {
            const struct pollfd end = {.fd = program->processes.list.items[k].fd, .events = POLLIN};
            if (end.fd >= 0)
                result = sprof_vec_push(&polls->list, end);
        }
    }
    return result;
}

/* Returns its parent if that has a row, else the command. */
static pid_t known_parent(const struct trace_session *common, pid_t pid)
{
    struct sprof_proc_status status;
    if (sprof_proc_status_read(pid, &status))
        for (size_t i = 0; i < common->trace->programs.count; i++)
            if (calls_process_find(&trace_program_at(common->trace, i)->calls, status.parent))
                return status.parent;
    return common->process.pid;
}

/* Writes rows of the process and its mappings. Two programs of one process have two rows. */
static int note_process(struct trace_session *program, bool was_known)
{
    struct trace_session *common = program->common;
    struct model_record record = {.type = MODEL_RECORD_FORK,
                                  .time_ns = sprof_clock_monotonic_ns(),
                                  .pid = program->process.pid,
                                  .tid = program->process.pid,
                                  .cpu = -1};
    struct target_snapshot snapshot = {0};
    const struct model_record *mapped;
    char name[16];
    int result = 0;
    record.fork.parent_pid = record.fork.parent_tid = known_parent(common, program->process.pid);
    if (was_known)
        result =
            recording_replace_process(program->recording, program->process.pid, record.time_ns);
    else if (program->process.pid != common->process.pid)
        result = recording_event(program->recording, &record);
    sprof_proc_comm(program->process.pid, program->process.pid, name);
    record.type = MODEL_RECORD_COMM;
    record.comm.exec = true;
    record.comm.name = sprof_arena_text(&program->arena, name);
    if (!result)
        result = recording_event(program->recording, &record);
    if (!result)
        result = target_snapshot_process(&snapshot, program->process.pid, record.time_ns);
    while (!result && (mapped = target_snapshot_next(&snapshot)))
        if (mapped->type == MODEL_RECORD_MMAP)
            result = recording_event(program->recording, mapped);
    target_snapshot_release(&snapshot);
    return result ? SPROF_ENOMEM : 0;
}

static int check_program(const struct trace_session *program, struct sprof_error *error)
{
    char path[PATH_MAX];
    sprof_proc_shared_path(path, sizeof path, program->process.pid, "exe");
    enum agent_file kind = agent_check_file(path);
    if (kind == AGENT_FILE_LOADER && inject_program_file(program->process.pid, path))
        kind = agent_check_file(path);
    return kind == AGENT_FILE_GO || kind == AGENT_FILE_SANITIZER
               ? trace_refuse(kind, program->executable.path, error)
               : 0;
}

int trace_program_begin(struct trace_session *program, bool was_known, struct sprof_error *error)
{
    struct trace_session *common = program->common;
    if (calls_process_add(&program->calls, program->process.pid))
        return sprof_error_memory(error);
    int result = inject_hello_check(&program->process, error);
    if (!result)
        result = check_program(program, error);
    if (!result && note_process(program, was_known))
        result = sprof_error_memory(error);
    if (!result)
        result = probing_choose(&program->probing, error);
    if (result)
        return result;
    if (common->trace->programs.count)
        common->trace->known_cost = calls_cost_of(&trace_program_at(common->trace, 0)->calls);
    calls_program_note_modules(&program->calls);
    result = program->backend->place(program, error);
    if (result)
        return result; /* the caller lets the waiting agent go */
    close(program->process.agent_fd);
    program->process.agent_fd = -1;
    if (program->mode == TRACE_COVERAGE && calls_coverage_begin(&program->calls))
        result = sprof_error_memory(error);
    trace_govern_anew(program);
    program->governor.cpu_ns = calls_program_cpu_ns(&program->calls);
    return result;
}

void trace_count_probes(const struct trace_session *session, struct trace_result *result)
{
    result->refused += session->counts.refused;
    for (size_t i = 0; i < session->probes.count; i++) {
        const struct probing_probe *probe = &session->probes.items[i];
        result->probes += probe->is_chosen;
        result->entry_only += probe->is_chosen && probe->tier != PROBE_FULL;
        result->governed_count += probe->is_chosen && probe->governed == PROBING_GOVERNED_COUNT;
        result->governed_off += probe->is_chosen && probe->governed == PROBING_GOVERNED_OFF;
    }
}
