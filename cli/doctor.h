/* What `sprof doctor` found, and how it is written. */
#ifndef SPROF_CLI_DOCTOR_H
#define SPROF_CLI_DOCTOR_H

#include "doctor/doctor.h"

/* A second of the target. */
struct cli_doctor_measured {
    bool is_there; /* else nothing was measured */
    uint64_t samples, lost, user_stacks, whole_stacks, frames, named_frames;
    SPROF_VEC(const char *) notes; /* what else reports would say of it */
    struct sprof_arena texts;
};

struct cli_doctor {
    struct doctor_facts facts;
    struct doctor_points points;
    struct doctor_modules modules;
    struct cli_doctor_measured measured;
    bool works, has_target;
};

/* Writes it for people, or as JSON. 0 or SPROF_ENOMEM. */
int cli_doctor_show(FILE *out, const struct cli_doctor *found, bool as_json);

/* Records a second of processes or of a command, which is ended then, and notes what came of it;
 * where that fails, as a bad point. 0 or SPROF_ENOMEM. */
int cli_doctor_measure(struct cli_doctor *found, const pid_t *pids, size_t pid_count,
                       char *const *command);

#endif
