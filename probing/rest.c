/* Puts probes to rest: their functions get their original bytes. Copies, thunks and tables stay for
 * threads in them and for later jumps. */
#include "inject/inject.h"
#include "probing/probes.h"
#include "probing/program.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { STOP_SHARE = 100 /* threads stand still at most 1/STOP_SHARE of the time */ };
#define AGAIN_NS UINT64_C(1000000000) /* between attempts */

/* == Resting == */

/* The governor's probes are due at once. Mode coverage removes probes instead. */
static bool is_due(const struct probing_program *program, const struct probing_probe *probe,
                   bool is_quiet)
{
    const bool is_governed =
        probe->governed == PROBING_GOVERNED_OFF && program->mode != TRACE_COVERAGE;
    return probe->off_ns &&
           (is_governed || program->times.now_ns - probe->off_ns >= program->options.rest_ns) &&
           probing_may_rest(program, probe, is_quiet);
}

static struct inject_changed changed_by(const struct probing_program *program,
                                        const struct probing_probe *probe)
{
    struct inject_changed changed = {.address = program->files.items[probe->file].bias +
                                                probe->function->site};
    memcpy(changed.jump, probe->jump, sizeof changed.jump);
    memcpy(changed.original, probe->function->original, sizeof changed.original);
    return changed;
}

struct taking {
    struct probing_program *program;
    struct inject_changes changes;
    struct inject_stop stop;
    int memory_fd;
    bool is_done;
};

static bool is_back(const struct taking *taking, const struct probing_probe *probe)
{
    const struct inject_changed changed = changed_by(taking->program, probe);
    uint8_t there[PLAN_JUMP_BYTES];
    return pread(taking->memory_fd, there, sizeof there, (off_t)changed.address) !=
               (ssize_t)sizeof there ||
           memcmp(there, changed.jump, sizeof there) != 0;
}

void probing_note_rest(struct probing_probe *probe)
{
    probe->rests = true;
    probe->off_ns = 0;
    if (!probe->is_passed || !probe->pass_at)
        return;
    const uint8_t passes = probe->jump[probe->pass_at];
    probe->jump[probe->pass_at] = probe->pass_byte;
    probe->pass_byte = passes;
    probe->is_passed = false;
}

static int list_due(struct taking *taking)
{
    const struct probing_program *program = taking->program;
    const bool is_quiet = probing_is_quiet(program);
    for (size_t i = 0; i < program->probes.count; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        if (is_due(program, probe, is_quiet) &&
            sprof_vec_push(&taking->changes, changed_by(program, probe)))
            return SPROF_ENOMEM;
    }
    inject_changes_sort(&taking->changes);
    return 0;
}

static void take_stopped(void *context)
{
    struct taking *taking = context;
    taking->is_done = inject_changes_restore(&taking->changes, taking->memory_fd);
}

static int take_back(struct taking *taking)
{
    struct probing_program *program = taking->program;
    const int result =
        inject_stop_while(&taking->stop, program->process.pid, take_stopped, taking, NULL);
    if (result)
        return result;
    inject_stop_note(&taking->stop, &program->process.stopped_ns);
    program->resting.next_ns =
        sprof_clock_monotonic_ns() + taking->stop.longest_ns * (STOP_SHARE - 1);
    const bool is_quiet = probing_is_quiet(program);
    for (size_t i = 0; i < program->probes.count; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        if (is_due(program, probe, is_quiet) && (taking->is_done || is_back(taking, probe)))
            probing_note_rest(probe);
    }
    return 0;
}

static void rest(struct probing_program *program)
{
    struct taking taking = {.program = program,
                            .stop.notes_sharers = &program->process.shared->sharing.has_processes};
    program->resting.next_ns = program->times.now_ns + AGAIN_NS;
    if (inject_stop_would_wait(program->process.pid))
        return;
    taking.memory_fd = fcntl(program->process.code_fd, F_DUPFD_CLOEXEC, 0);
    if (taking.memory_fd >= 0 && !list_due(&taking) && !take_back(&taking))
        program->resting.at_once = program->paused;
    inject_close(&taking.memory_fd);
    sprof_vec_release(&taking.changes);
}

static bool note_off(struct probing_program *program, size_t number, bool is_quiet)
{
    struct probing_probe *probe = &program->probes.items[number];
    const bool is_off = probe->is_placed && !probe->is_restored && !probe->rests &&
                        !probing_is_wanted(program, number);
    probe->off_ns = !is_off ? 0 : probe->off_ns ? probe->off_ns : program->times.now_ns;
    return is_due(program, probe, is_quiet);
}

static bool is_any_due(struct probing_program *program)
{
    size_t due = 0;
    if (program->options.rest_ns == TRACE_NEVER || program->process.code_fd <= 0)
        return false;
    const bool is_quiet = probing_is_quiet(program);
    for (size_t i = 0; i < program->probes.count; i++)
        due += note_off(program, i, is_quiet);
    return due > 0;
}

void probing_rest_refresh(struct probing_program *program)
{
    if (is_any_due(program) && program->times.now_ns >= program->resting.next_ns)
        rest(program);
    if (program->resting.asleep && program->times.now_ns >= program->resting.next_wake_ns)
        probing_wake(program);
}

void probing_rest_now(struct probing_program *program)
{
    if (is_any_due(program))
        rest(program);
}

/* == Waking == */

static size_t count_asleep(const struct probing_program *program)
{
    size_t count = 0;
    for (size_t i = 0; i < program->probes.count && !program->executable.is_replaced; i++)
        count += program->probes.items[i].rests && program->probes.items[i].is_placed &&
                 probing_is_wanted(program, i);
    return count;
}

void probing_wake(struct probing_program *program)
{
    struct sprof_error why = {0};
    const size_t before = program->resting.asleep;
    program->resting.asleep = count_asleep(program);
    if (!program->resting.asleep)
        return;
    program->resting.stopped_ns = 0;
    program->resting.woken_ns = sprof_clock_monotonic_ns();
    const bool is_gone = probing_place_woken(program, &why) == SPROF_ENOTFOUND;
    program->resting.asleep = is_gone ? 0 : count_asleep(program);
    program->resting.next_wake_ns = sprof_clock_monotonic_ns() + AGAIN_NS;
    if (program->resting.asleep && !before)
        sprof_log_message(
            program->options.log, SPROF_LOG_WARNING,
            "the probes of %zu function%s rest, and are not in place yet: %s; sprof tries again",
            program->resting.asleep, sprof_plural(program->resting.asleep),
            why.code ? why.message : "threads stand where they would be");
    else if (before && !program->resting.asleep && !is_gone)
        sprof_log_message(program->options.log, SPROF_LOG_NOTE,
                          "the probes that rested are in place");
}

uint64_t probing_woken_ns(const struct probing_program *program, uint64_t since_ns)
{
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < program->group->programs.count; i++) {
        const struct probing_resting *resting = &program->group->programs.items[i]->resting;
        if (resting->woken_ns >= since_ns && resting->stopped_ns > longest_ns)
            longest_ns = resting->stopped_ns;
    }
    return longest_ns;
}

int probing_check_awake(const struct probing_program *program, struct sprof_error *error)
{
    size_t asleep = 0;
    for (size_t i = 0; i < program->group->programs.count; i++)
        asleep += program->group->programs.items[i]->resting.asleep;
    return asleep
               ? sprof_error_set(
                     error, SPROF_ESTATE, 0,
                     "calls are being measured, but not yet those of %zu function%s whose probes "
                     "rested: threads could not be stopped, or stand where the probes would be, or "
                     "the program has put other code there; sprof tries again each second",
                     asleep, sprof_plural(asleep))
               : 0;
}
