/* A flat table while it is made: by_key_costs.c adds up its rows, by_key.c shows them. */
#ifndef SPROF_REPORT_BY_KEY_H
#define SPROF_REPORT_BY_KEY_H

#include "report/command_text.h"
#include "report/dataset.h"

/* One row and its sums. */
struct key_row {
    uint32_t thread, event, phase, fields; /* of a cost of it; the row's where they are keys */
    int32_t cpu;
    uint32_t module, function, frame;
    struct model_costs costs;
};

/* Which rows are shown, and what was left out so far. */
struct key_cut {
    size_t most;        /* rows */
    bool largest_first; /* … or in another order, for which all must be there */
    double min_percent;
    uint64_t least;         /* rows with a smaller value have no place any more */
    size_t dropped;         /* rows that were left out */
    struct model_cost cost; /* exclusive, of these */
};

/* Whether another function of its module looks like that of a row, and what distinguishes them:
 * their declarations, or where they begin. */
enum report_likeness { REPORT_UNLIKE, REPORT_ALIKE, REPORT_ALIKE_FILES };

struct by_key {
    struct report_dataset *dataset;
    enum report_key keys[REPORT_KEYS];
    size_t key_count;
    bool of_samples, of_frames; /* there are keys of that sort */
    bool inclusive;             /* sorted and cut by inclusive */
    bool without_inclusive;     /* of calls whose paths were not measured */
    SPROF_VEC(struct key_row) rows;
    struct key_cut cut;
    size_t few_rows;                 /* those that were left when some were dropped */
    uint32_t *labels;                /* frame → number of its keys' values; 0: not set yet */
    struct sprof_map numbers;        /* hash of the values → number */
    SPROF_VEC(uint32_t) row_of;      /* label → row + 1 of the group at work, … */
    SPROF_VEC(uint32_t) seen;        /* … the cost it was last counted for, by `counted` */
    uint32_t counted;                /* costs so far */
    struct report_commands commands; /* of the rows, where they are shown */
    unsigned char *alike;            /* of each row, enum report_likeness; NULL: all are unlike */
};

/* What distinguishes rows with the same name: programs of one name in several places, and builds of
 * one file. */
struct report_namesakes {
    bool paths, builds;
};

/* Looks for such rows, of functions or of modules alone. */
struct report_namesakes report_namesakes_find(const struct by_key *by, bool functions);

/* Sets `alike`. 0 or SPROF_ENOMEM. */
int report_namesakes_mark(struct by_key *by);

/* Whether a key is the same for the whole stack. */
bool report_key_is_of_sample(enum report_key key);

/* The part of a dataset that a key needs besides costs by thread or stack; 0: none. */
unsigned report_key_part(enum report_key key);

/* The slot of a key that is a field. */
static inline enum report_field_slot report_key_slot(enum report_key key)
{
    return key == REPORT_LOCK     ? REPORT_SLOT_LOCK
           : key == REPORT_HOLDER ? REPORT_SLOT_HOLDER
                                  : REPORT_SLOT_FIELD;
}

/* The value of such a key, as a number that is the same where the value is. */
uint64_t report_key_of_sample(const struct report_dataset *dataset, enum report_key key,
                              const struct report_cost *cost);

/* Where a process (its number) belonged, of the key user, cgroup or container. */
const char *report_key_of_process(const struct report_dataset *dataset, enum report_key key,
                                  uint32_t process);

bool report_by_key_has(const struct by_key *by, enum report_key key);

/* Fills the rows from what the dataset has loaded for these keys: see report_keys_parts. 0 or a
 * negative code. */
int report_by_key_add(struct by_key *by);

/* Drops the rows that cannot be shown: too small ones, and where the largest come first, those
 * below the last that still has a place. 0 or SPROF_ENOMEM. */
int report_by_key_drop(struct by_key *by);

/* Notes that a row is not shown. */
void report_by_key_drop_row(struct by_key *by, const struct key_row *row);

void report_by_key_release(struct by_key *by);

#endif
