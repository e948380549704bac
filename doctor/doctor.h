/* doctor: what will work here before anything is recorded, and what helps where it does not.
 *
 * Facts of the machine and of this process become points, each with what was found and, where
 * something is missing, the command that cures it. Modules are checked for what names and unwinding
 * need. How samples would be taken is tried out: events are opened and closed again. */
#ifndef SPROF_DOCTOR_DOCTOR_H
#define SPROF_DOCTOR_DOCTOR_H

#include "base/base.h"
#include "report/report.h"

#include <stdbool.h>
#include <sys/types.h>

/* == Points == */

enum doctor_state {
    DOCTOR_GOOD, /* all works */
    DOCTOR_LESS, /* recording works, and something is missing from it */
    DOCTOR_BAD,  /* recording does not work */
};

/* "good", "less", "bad". Static. */
const char *doctor_state_name(enum doctor_state state);

struct doctor_point {
    const char *topic, *name; /* static; topic: "recording", "kernel", "process" */
    enum doctor_state state;
    const char *found; /* the points' own */
    const char *cure;  /* NULL: nothing helps, or nothing is missing */
};

/* Zero is valid and empty. */
struct doctor_points {
    SPROF_VEC(struct doctor_point) list;
    struct sprof_arena texts;
    bool failed; /* memory ran out: some are missing */
};

/* Adds a point; doctor_cure says what helps for the last one. */
void doctor_find(struct doctor_points *points, const char *topic, const char *name,
                 enum doctor_state state, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void doctor_cure(struct doctor_points *points, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_points_release(struct doctor_points *points);

/* == Facts == */

/* Where sprof runs: it decides which commands can change anything. */
enum doctor_place { DOCTOR_ON_HOST, DOCTOR_IN_CONTAINER, DOCTOR_IN_KUBERNETES };

/* Of capabilities(7), those that recordings need; bits of struct doctor_facts. */
enum doctor_capability {
    DOCTOR_SYS_PTRACE = 19,
    DOCTOR_SYS_ADMIN = 21,
    DOCTOR_SYSLOG = 34,
    DOCTOR_PERFMON = 38,
    DOCTOR_BPF = 39,
};

enum { DOCTOR_UNKNOWN = -99 }; /* a setting that this kernel does not have, or does not show */

struct doctor_facts {
    struct report_distribution distribution;
    enum doctor_place place;
    char host_name[65]; /* in Kubernetes, the name of the pod */
    char release[65];   /* of the kernel */
    /* Below /proc/sys. */
    long paranoid, kptr_restrict, max_sample_rate, mlock_kb, ptrace_scope, unprivileged_bpf;
    bool shows_kernel_addresses; /* /proc/kallsyms does */
    bool has_pmu, has_tracepoints;
    unsigned cpus;
    /* Of this process. */
    uid_t uid; /* effective */
    uint64_t capabilities;
    bool has_seccomp_filter;
    uint64_t open_files, open_files_most, locked_bytes; /* limits; UINT64_MAX: none */
    /* Of its cgroup. */
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
    double cpu_limit;      /* in CPUs; 0: none */
};

/* `root` is "" for this machine, else a directory that stands for /. What cannot be read is
 * unknown. */
void doctor_facts_read(struct doctor_facts *facts, const char *root);

/* Adds the points that follow from the facts. */
void doctor_check_facts(struct doctor_points *points, const struct doctor_facts *facts);

/* == Tries == */

/* Opens what `sprof record` would open with `-p` of these processes (none: left out), with a
 * command and with `-a`, closes it again, and adds a point for each. Returns whether the first of
 * them works: it alone is bad where it does not, the others only less. */
bool doctor_try(struct doctor_points *points, const pid_t *pids, size_t pid_count);

/* == Modules == */

struct doctor_module {
    const char *name, *path; /* name: without directories */
    const char *build_id;    /* lower-case hexadecimal; NULL: none */
    const char *problem;     /* why the file cannot be read; NULL: it can */
    const char *call_frames; /* ".eh_frame", …; NULL: none, stacks are followed by guesses */
    const char *symbols; /* ".symtab", "debug file", ".gnu_debugdata"; NULL: exported ones alone */
    const char *lines;   /* debug information: "own", "debug file", "cache of debuginfod"; NULL:
                            none */
    uint64_t samples;    /* that it is in; 0 also where none were taken */
    const char *cure;    /* NULL: nothing is missing */
};

/* Zero is valid and empty. */
struct doctor_modules {
    SPROF_VEC(struct doctor_module) list;
    struct sprof_arena texts;
};

/* Adds the file of a path, or the samples to those that it has already; `pid`: a live process that
 * has it mapped, 0: none. `root` is for package managers' files, as in report_cure_append. Returns
 * 0 or SPROF_ENOMEM. */
int doctor_check_module(struct doctor_modules *modules, const char *root, const char *path,
                        pid_t pid, uint64_t samples);

/* Adds all that a live process has mapped. Returns 0 or SPROF_ENOMEM. */
int doctor_check_process(struct doctor_modules *modules, const char *root, pid_t pid);
void doctor_modules_release(struct doctor_modules *modules);

#endif
