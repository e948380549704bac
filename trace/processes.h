/* trace, inside: the processes of a program: which of them live, and their CPU time. */
#ifndef SPROF_TRACE_PROCESSES_H
#define SPROF_TRACE_PROCESSES_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct trace;
struct trace_session;

/* A process of the program: it executed it, or was forked from such a process. */
struct trace_process {
    pid_t pid;
    int fd;             /* pidfd: readable when it has ended; -1: none */
    bool is_over;       /* it has ended, or executed another program */
    bool has_executed;  /* that was seen before the other program connected */
    bool is_out;        /* it lives on without probes, and may need what was mapped for them */
    bool is_back;       /* all jumps are back: see coverage.c */
    uint64_t cpu_ns;    /* when last read */
    uint64_t before_ns; /* used before the trace began */
};

/* Those that were seen; the first one executed the program. */
struct trace_processes {
    SPROF_VEC(struct trace_process) list;
    struct sprof_map by_pid;   /* the newest of that number, as an index of the list */
    struct sprof_map by_inner; /* number in another pid namespace → pid */
};

/* A process runs the program from now on. Returns 0 or SPROF_ENOMEM. */
int trace_process_add(struct trace_session *session, pid_t pid);

/* The same, with rows, of one that was forked from the program's. */
int trace_process_add_forked(struct trace_session *session, pid_t pid);

/* NULL: it was not seen. */
struct trace_process *trace_process_find(const struct trace_session *session, pid_t pid);

/* A process of which something has been measured, as the agent says: it may be new, if it was
 * forked. The program can write anything there, so without --children it is the one that is known.
 * 0: out of memory. */
pid_t trace_process_seen(struct trace_session *session, uint32_t pid);

/* The number of one of its threads, as the agent says, for us. */
pid_t trace_process_thread(const struct trace_session *session, pid_t pid, uint32_t number);

/* The mappings of a live process, held by `maps`; NULL: it has ended, or may not be read. */
const char *trace_maps_read(pid_t pid, struct sprof_str *maps);

/* Whether these mappings have the program's shared memory. */
bool trace_maps_hold_program(const char *maps, const struct trace_session *program);

/* Whether a process that lives has the program's shared memory. */
bool trace_program_is_mapped(const struct trace_session *session, pid_t pid);

/* Whether a process is between vfork and exec: it has its parent's code, whose other threads run
 * while the parent is stopped. */
bool trace_has_parents_memory(pid_t pid);

/* Whether none of those that were seen lives. */
bool trace_processes_are_over(struct trace_session *session);

/* What the processes of one program, or of all, have used of the CPU since the trace began. */
uint64_t trace_program_cpu_ns(struct trace_session *program);
uint64_t trace_command_cpu_ns(struct trace *trace);

/* Reads the CPU time of a process that is no child of sprof: once it has ended, the last value that
 * was read stays. */
void trace_processes_refresh(struct trace_session *program);

void trace_processes_release(struct trace_session *session);

#endif
