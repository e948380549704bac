/* Figures of calls through GOT slots. */
#ifndef SPROF_CALLS_OUTSIDE_H
#define SPROF_CALLS_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calls_program;

/* `ends`: the slab is given back. */
int calls_outside_read(struct calls_program *program, uint32_t slab, bool ends);

/* Whether the number of a function is one of these. */
bool calls_outside_has(const struct calls_program *program, uint32_t function);

/* Finds the stack node of such a function below `caller`. Returns 0, SPROF_ENOTFOUND, SPROF_ENOMEM.
 */
int calls_outside_node(struct calls_program *program, uint32_t function, uint32_t caller,
                       uint32_t *node);

int calls_outside_write(struct calls_program *program);

int calls_outside_clear(struct calls_program *program);

/* Returns ticks. */
double calls_outside_spent(const struct calls_program *program);

/* Switches off probes of the shortest calls until the rest costs at most `limit_ns` since the last
 * time. Returns that cost. *lowered: switched off. */
double calls_outside_lower(struct calls_program *program, double limit_ns, size_t *lowered);

#endif
