/* Finds the mappings that stack pointers are in, on a thread of its own: reading /proc/PID/maps may
 * take milliseconds, or wait for a process that changes its mappings. */
#ifndef SPROF_SAMPLER_STACK_MAPPING_H
#define SPROF_SAMPLER_STACK_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_mapper;

struct stack_mapping {
    pid_t pid, tid;
    uint64_t stack_pointer;
    uint64_t low, end; /* both 0: there is no such mapping, or it may not be known */
};

/* NULL where no thread can be had. */
struct stack_mapper *sampler_stack_mapper_new(void);

/* Waits for the thread. */
void sampler_stack_mapper_free(struct stack_mapper *mapper);

/* Queues the question for the mapping of a thread's stack pointer, unless that thread's answer is
 * not taken yet, or too many are waiting. */
void sampler_stack_mapper_ask(struct stack_mapper *mapper, pid_t pid, pid_t tid,
                              uint64_t stack_pointer);

/* The next answer, or false. Both never wait for /proc. */
bool sampler_stack_mapper_take(struct stack_mapper *mapper, struct stack_mapping *mapping);

/* Looks in the text of a /proc/PID/maps. The stack that a process begins with can grow far below
 * its mapping. */
bool sampler_stack_mapping_find(const char *maps, uint64_t stack_pointer, uint64_t *low,
                                uint64_t *end);

#endif
