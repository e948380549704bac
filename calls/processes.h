/* The processes of a traced program. Functions that return int return 0 or SPROF_ENOMEM. */
#ifndef SPROF_CALLS_PROCESSES_H
#define SPROF_CALLS_PROCESSES_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct calls_trace;
struct calls_program;

/* A process that executed the program, or a fork of it. */
struct calls_process {
    pid_t pid;
    int fd;            /* pidfd; -1: none */
    bool is_over;      /* it ended or executed another program */
    bool has_executed; /* seen before the other program connected */
    bool is_out;       /* it lives without probes and may need memory that they used */
    bool is_back;      /* all jumps are back (mode coverage) */
    uint64_t cpu_ns;
    uint64_t before_ns; /* before the trace */
};

/* The processes seen so far. The first executed the program. */
struct calls_processes {
    SPROF_VEC(struct calls_process) list;
    struct sprof_map by_pid;   /* values are indices of the newest process */
    struct sprof_map by_inner; /* number in another pid namespace → pid */
};

int calls_process_add(struct calls_program *program, pid_t pid);

/* Also writes rows. */
int calls_process_add_forked(struct calls_program *program, pid_t pid);

/* NULL: not seen. */
struct calls_process *calls_process_find(const struct calls_program *program, pid_t pid);

/* Finds the process of an agent's record, or adds it as a new fork. A program can forge the number,
 * so without --children the known process is returned. 0: out of memory. */
pid_t calls_process_seen(struct calls_program *program, uint32_t pid);

/* Converts to sprof's pid namespace. */
pid_t calls_process_thread(const struct calls_program *program, pid_t pid, uint32_t number);

/* Reads a process's mappings; `maps` owns the text. NULL: it ended or is not readable. */
const char *calls_maps_read(pid_t pid, struct sprof_str *maps);

bool calls_maps_hold_program(const char *maps, const struct calls_program *program);

bool calls_program_is_mapped(const struct calls_program *program, pid_t pid);

/* Whether a process shares its parent's memory, as between vfork and exec. Threads of the parent
 * can run the same code then, even while this process is stopped. */
bool calls_has_parents_memory(pid_t pid);

/* Whether a process of the program now runs another file. */
bool calls_executed_other(const struct calls_program *program, pid_t pid);

bool calls_processes_are_over(struct calls_program *program);

uint64_t calls_program_cpu_ns(struct calls_program *program);
uint64_t calls_command_cpu_ns(struct calls_trace *trace);

/* Reads CPU times, except of sprof's children. After a process ends, its last one stays. */
void calls_processes_refresh(struct calls_program *program);

void calls_processes_release(struct calls_program *program);

#endif
