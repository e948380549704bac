/* Probes that are in a file: a copy of a program or library in which chosen functions lead over a
 * switch that is off. It does what the original does; a tracer turns switches into jumps to its
 * probes.
 *
 * The file has one more loaded segment, at its end, of two sections. ".sprof.text" holds, for each
 * function without a sled, its switch, a copy of what the function began with, and the way back;
 * and for each the far jump that its switch would be. ".sprof.probes" lists the functions. */
#ifndef SPROF_PLAN_EMBEDDED_H
#define SPROF_PLAN_EMBEDDED_H

#include "plan/function_plan.h"

#define PLAN_EMBEDDED_CODE ".sprof.text"
#define PLAN_EMBEDDED_LIST ".sprof.probes"
#define PLAN_EMBEDDED_MAGIC "sprof\0\0" /* eight bytes */

enum {
    PLAN_EMBEDDED_VERSION = 1,
    /* A switch is an instruction of a jump's length: off it compares, and no code reads the flags
     * at an entry; its operand is the distance of the jump. One byte turns one into the other. */
    PLAN_EMBEDDED_OFF = 0x3d,
};

/* In the list, behind its head. */
struct plan_embedded_function {
    uint64_t start, site; /* vaddr of the function, and of its switch */
    uint8_t displaced;    /* bytes from the switch to what it leads to while it is off */
    uint8_t entry_only;   /* as in a plan … */
    uint8_t why;          /* enum plan_reason */
    uint8_t mechanism;    /* enum plan_mechanism: what the original has there */
    uint32_t kept_bytes;  /* of the function's beginning in the original: */
    uint8_t kept[24];
};

struct plan_embedded_head {
    char magic[8];
    uint32_t version, count;
};

_Static_assert(sizeof(struct plan_embedded_function) == 48 &&
                   sizeof(struct plan_embedded_head) == 16,
               "nothing but what is named stands in files");
_Static_assert(PLAN_DISPLACED_MAX <= 24, "what is displaced is kept");

/* How many functions a list holds: none where it is of another version, or no list. */
size_t plan_embedded_count(struct sprof_bytes list);

/* One of them, by its index. The caller checks its content. */
struct plan_embedded_function plan_embedded_at(struct sprof_bytes list, size_t index);

/* The list of these functions, appended to `out`. Returns 0 or SPROF_ENOMEM. */
int plan_embedded_write(struct sprof_str *out, const struct plan_embedded_function *functions,
                        size_t count);

#endif
