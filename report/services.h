/* The services and builds of the processes of a whole machine. */
#ifndef SPROF_REPORT_SERVICES_H
#define SPROF_REPORT_SERVICES_H

#include "report/dataset.h"

/* The service of what no process is known for. */
#define REPORT_SERVICE_MACHINE "machine"

enum { REPORT_SERVICE_MAX = 256, REPORT_BUILD_DIGITS = 12 };

struct report_service {
    char name[REPORT_SERVICE_MAX];
    char build[REPORT_BUILD_DIGITS + 1]; /* of its program; "": not known */
};

/* Whether a run recorded all programs of a machine, or those that a filter chose. */
bool report_run_is_of_machine(const struct store_run *run);

/* Reads which builds the processes of a run executed. */
int report_dataset_load_builds(struct report_dataset *dataset, struct store *store, uint32_t run_id,
                               struct sprof_error *error);

/* The service of a process (its number): its systemd unit or its container, whichever is the inner
 * one, else its program. Of a unit the instance is left out, of a container's id all but 12 digits.
 * `without`: enum report_rows_label, places that say nothing here. */
struct report_service report_service_of(const struct report_dataset *dataset, uint32_t process,
                                        unsigned without);

/* Whether the process is of the service that a selection chooses. */
bool report_service_takes(const struct report_dataset *dataset, uint32_t process,
                          const struct report_service_choice *choice);

#endif
