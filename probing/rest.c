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
static bool is_due(const struct probing_program *session, const struct probing_probe *probe)
{
    const bool is_governed =
        probe->governed == PROBING_GOVERNED_OFF && session->mode != TRACE_COVERAGE;
    return probe->off_ns &&
           (is_governed || session->times.now_ns - probe->off_ns >= session->options.rest_ns) &&
           probing_may_rest(session, probe);
}

static struct inject_changed changed_by(const struct probing_program *session,
                                        const struct probing_probe *probe)
{
    struct inject_changed changed = {.address = session->files.items[probe->file].bias +
                                                probe->function->site};
    memcpy(changed.jump, probe->jump, sizeof changed.jump);
    memcpy(changed.original, probe->function->original, sizeof changed.original);
    return changed;
}

struct taking {
    struct probing_program *session;
    struct inject_changes changes;
    struct inject_stop stop;
    int memory_fd;
    bool is_done;
};

static bool is_back(const struct taking *taking, const struct probing_probe *probe)
{
    const struct inject_changed changed = changed_by(taking->session, probe);
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
    const struct probing_program *session = taking->session;
    for (size_t i = 0; i < session->probes.count; i++) {
        const struct probing_probe *probe = &session->probes.items[i];
        if (is_due(session, probe) && sprof_vec_push(&taking->changes, changed_by(session, probe)))
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
    struct probing_program *session = taking->session;
    const int result =
        inject_stop_while(&taking->stop, session->process.pid, take_stopped, taking, NULL);
    if (result)
        return result;
    inject_stop_note(&taking->stop, &session->process.stopped_ns);
    session->resting.next_ns =
        sprof_clock_monotonic_ns() + taking->stop.longest_ns * (STOP_SHARE - 1);
    for (size_t i = 0; i < session->probes.count; i++) {
        struct probing_probe *probe = &session->probes.items[i];
        if (is_due(session, probe) && (taking->is_done || is_back(taking, probe)))
            probing_note_rest(probe);
    }
    return 0;
}

static void rest(struct probing_program *session)
{
    struct taking taking = {.session = session,
                            .stop.notes_sharers = &session->process.shared->sharing.has_processes};
    session->resting.next_ns = session->times.now_ns + AGAIN_NS;
    if (inject_stop_would_wait(session->process.pid))
        return;
    taking.memory_fd = fcntl(session->process.code_fd, F_DUPFD_CLOEXEC, 0);
    if (taking.memory_fd >= 0 && !list_due(&taking) && !take_back(&taking))
        session->resting.at_once = session->paused;
    inject_close(&taking.memory_fd);
    sprof_vec_release(&taking.changes);
}

static bool note_off(struct probing_program *session, size_t number)
{
    struct probing_probe *probe = &session->probes.items[number];
    const bool is_off = probe->is_placed && !probe->is_restored && !probe->rests &&
                        !probing_is_wanted(session, number);
    probe->off_ns = !is_off ? 0 : probe->off_ns ? probe->off_ns : session->times.now_ns;
    return is_due(session, probe);
}

static bool is_any_due(struct probing_program *session)
{
    size_t due = 0;
    if (session->options.rest_ns == TRACE_NEVER || session->process.code_fd <= 0)
        return false;
    for (size_t i = 0; i < session->probes.count; i++)
        due += note_off(session, i);
    return due > 0;
}

void probing_rest_refresh(struct probing_program *session)
{
    if (is_any_due(session) && session->times.now_ns >= session->resting.next_ns)
        rest(session);
    if (session->resting.asleep && session->times.now_ns >= session->resting.next_wake_ns)
        probing_wake(session);
}

void probing_rest_now(struct probing_program *session)
{
    if (is_any_due(session))
        rest(session);
}

/* == Waking == */

static size_t count_asleep(const struct probing_program *session)
{
    size_t count = 0;
    for (size_t i = 0; i < session->probes.count && !session->executable.is_replaced; i++)
        count += session->probes.items[i].rests && session->probes.items[i].is_placed &&
                 probing_is_wanted(session, i);
    return count;
}

void probing_wake(struct probing_program *session)
{
    struct sprof_error why = {0};
    const size_t before = session->resting.asleep;
    session->resting.asleep = count_asleep(session);
    if (!session->resting.asleep)
        return;
    session->resting.stopped_ns = 0;
    session->resting.woken_ns = sprof_clock_monotonic_ns();
    const bool is_gone = probing_place_woken(session, &why) == SPROF_ENOTFOUND;
    session->resting.asleep = is_gone ? 0 : count_asleep(session);
    session->resting.next_wake_ns = sprof_clock_monotonic_ns() + AGAIN_NS;
    if (session->resting.asleep && !before)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "the probes of %zu function%s rest, and are not in place yet: %s; it is "
                          "tried again",
                          session->resting.asleep, sprof_plural(session->resting.asleep),
                          why.code ? why.message : "threads stand where they would be");
    else if (before && !session->resting.asleep && !is_gone)
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "the probes that rested are in place");
}

uint64_t probing_woken_ns(const struct probing_program *session, uint64_t since_ns)
{
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < session->group->programs.count; i++) {
        const struct probing_resting *resting = &session->group->programs.items[i]->resting;
        if (resting->woken_ns >= since_ns && resting->stopped_ns > longest_ns)
            longest_ns = resting->stopped_ns;
    }
    return longest_ns;
}

int probing_check_awake(const struct probing_program *session, struct sprof_error *error)
{
    size_t asleep = 0;
    for (size_t i = 0; i < session->group->programs.count; i++)
        asleep += session->group->programs.items[i]->resting.asleep;
    return asleep ? sprof_error_set(error, SPROF_ESTATE, 0,
                                    "calls are being measured, but not yet those of %zu function%s "
                                    "whose probes rested: threads could not be stopped, or stand "
                                    "where the probes would be, or the program has put other code "
                                    "there; it is tried again each second",
                                    asleep, sprof_plural(asleep))
                  : 0;
}
