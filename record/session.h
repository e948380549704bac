/* A sampling session: a source of samples, the recording that it feeds, and the ledger between
 * them. */
#ifndef SPROF_RECORD_SESSION_H
#define SPROF_RECORD_SESSION_H

#include "control/control.h"
#include "record/governor.h"
#include "record/ledger.h"
#include "record/record.h"
#include "recording/recording.h"
#include "sampler/sampler.h"

#include <signal.h>
#include <stdatomic.h>

/* Events that were replaced, or whose rate was changed: where they are of threads, each thread had
 * up to a period left over when they ended. */
struct record_past_events {
    uint64_t from_ns, to_ns, period_ns;
};

/* The time of all CPUs of the machine since boot, and of it what they had work; 0: not known. */
struct record_machine_time {
    uint64_t all_ns, busy_ns;
};

/* Where idle time of CPUs is booked. */
struct record_idle {
    uint32_t event, thread, node; /* event 0: none was booked yet */
    struct sprof_map booked_ns;   /* CPU → what of its idle time was booked, or does not count */
};

/* One of the recording's events, and the ledger of its samples. */
struct record_event {
    struct store_event row; /* as given to the recording */
    struct record_ledger ledger;
    bool user_excluded;
    bool is_wait;
    const struct model_field *fields; /* the sampler's */
    size_t field_count;
};

struct record_session {
    struct record_options options; /* copies of the caller's pointers */
    struct sampler *sampler;
    struct recording *recording;
    struct store_run *run;                 /* the recording's */
    SPROF_VEC(struct record_event) events; /* as the sampler numbers them; at least one */
    const char *event_names;               /* of all of them, with commas */
    struct sprof_arena arena;              /* texts of run and event */
    SPROF_VEC(pid_t) own_processes;        /* instead of the whole machine */
    uint64_t start_ns;                     /* CLOCK_MONOTONIC of the run's time 0 */
    _Atomic uint64_t end_ns;               /* 0: no end set */
    _Atomic uint64_t cut_ns;               /* samples from then on are another recording's */
    uint64_t off_ns;                       /* when all sources had been stopped */
    uint64_t exit_ns, sample_ns;           /* the last end of a target's thread, the last sample */
    bool targets_ended;                    /* that has ended the recording */
    uint64_t stop_ns;                      /* when to pause; 0: no deadline */
    uint64_t next_flush_ns;
    uint64_t own_cpu_start_ns;
    uint64_t waited_start_ns, waited_ns; /* of the thread that empties rings: for a CPU */
    struct record_machine_time machine_start, machine_end;
    uint64_t ready_ns; /* of the target, see sampler_ready_ns */
    struct record_governor governor;
    uint64_t stack_bytes;   /* copied with the samples that count */
    const char *mark;       /* of the phase at hand; NULL: none */
    struct model_view view; /* the mode of what is recorded now */
    struct control_server control;
    uint64_t cleared_samples;    /* of the sampler's count, those taken before the last clear */
    struct sprof_map cpu_before; /* id of a thread that was there when what counts began (a delay
                                    ended, or all was cleared) → what it had used by then, in ns */
    SPROF_VEC(struct record_past_events) past_events;
    struct record_idle idle;
    uint64_t events_from_ns; /* since when those at hand are */
    bool paused, ended;      /* as commands have it */
    bool was_paused;         /* a part of the run was not recorded */
    atomic_bool interrupted; /* by a signal handler, or another thread */
};

/* The first event whose samples' weights add up to the CPU time of the targets, which others have
 * no sum to be held against; NULL: none. */
struct record_event *record_clock(struct record_session *session);

/* Fills the run's row with what is known before the start, and the events. The texts are the
 * session's. Returns 0 or SPROF_ENOMEM. */
int record_describe(struct record_session *session, struct sprof_error *error);

/* How samples are taken, for the run's row: what a command is let go without may be refused later.
 * Returns 0 or SPROF_ENOMEM. */
int record_describe_source(struct record_session *session);

/* Adds rows for what no sample stands for: CPU time of threads that were never sampled, what short
 * ones had left over after their last sample and all when events were replaced, and in equal parts
 * on those that ended, `unseen_ns` of their ends. Returns 0 or SPROF_ENOMEM. */
int record_book_unsampled(struct record_session *session, uint64_t unseen_ns);

/* The events at hand are replaced by others at `changed_ns`. Returns 0 or
 * SPROF_ENOMEM. */
int record_note_past_events(struct record_session *session, uint64_t changed_ns);

/* machine.c: where the whole machine may not be sampled, begins with the command, or with all
 * processes of this user, and says so. `error` holds why it may not, which stays where there is
 * nothing else to sample either. Returns as sampler_begin. */
int record_begin_own(struct record_session *session, struct sampler_options *options,
                     struct sprof_error *error);

/* machine.c: what of the machine is sampled, as options; the session's. */
const char *record_machine_text(struct record_session *session);

/* warnings.c: says what of the targets was not recorded, and what helps. */
void record_warn(const struct record_session *session, const struct record_result *result);

/* unsampled.c: what threads have used up to now counts for nothing. Returns 0 or SPROF_ENOMEM. */
int record_forget_cpu_time(struct record_session *session);

/* account.c: books what the targets and sprof itself have used up to now; a recorder that is killed
 * leaves it, too. Returns 0 or SPROF_ENOMEM. */
int record_account(struct record_session *session, uint64_t now_ns);

/* idle.c: books what CPUs were idle up to now, which is `time_ns` in the run; `counts` is false in
 * a delay. Returns 0 or SPROF_ENOMEM. */
int record_book_idle(struct record_session *session, uint64_t time_ns, bool counts);

/* account.c: what the recording has used so far, and that as a fraction of the targets' CPU time.
 */
struct record_use record_used(struct record_session *session);
double record_overhead(struct record_session *session);

/* account.c: gives the ledgers' seconds to the database. Returns 0 or SPROF_ENOMEM. */
int record_write_ledgers(struct record_session *session);

/* account.c: the last account, once no sample waits any more: also of what the counters have not
 * seen of processes' ends, of what no sample stands for, and of the sources' counters. Returns 0 or
 * SPROF_ENOMEM. */
int record_conclude(struct record_session *session, struct sprof_error *error);

/* account.c: the machine's as it is now. */
struct record_machine_time record_machine_time(void);

/* What samples must carry for a mode. */
enum sampler_capture record_capture(const struct model_view *view);

/* account.c: what was recorded before `time_ns` (CLOCK_MONOTONIC) no longer counts, as if the
 * recording had been delayed until then. Returns 0 or SPROF_ENOMEM. */
int record_clear(struct record_session *session, uint64_t time_ns);

/* command.c: begins paused, where that was asked for (0 or SPROF_ENOMEM); carries out the commands
 * that have come in, and the pause whose time has come. */
int record_begin_paused(struct record_session *session);
int record_serve_commands(struct record_session *session, struct sprof_error *error);

/* command.c: the rate, or the slice, changes by itself, which is a phase of the same mark. Returns
 * 0, or fails as sampler_set_rate and sampler_set_slice. */
int record_change_rate(struct record_session *session, uint64_t frequency_hz,
                       struct sprof_error *error);
int record_change_slice(struct record_session *session, size_t stack_bytes,
                        struct sprof_error *error);

#endif
