/* What a run is of, in the words of OpenTelemetry: service, version, host and other labels. */
#ifndef SPROF_REPORT_EXPORT_LABELS_H
#define SPROF_REPORT_EXPORT_LABELS_H

#include "report/export/export.h"

/* What OpenTelemetry calls where a process belongs. */
#define EXPORT_LABEL_USER "process.owner"
#define EXPORT_LABEL_CGROUP "process.linux.cgroup"
#define EXPORT_LABEL_CONTAINER "container.id"

/* "NAME=VALUE", borrowed. */
struct export_label {
    const char *text;
    size_t name_length;
    const char *value;
};

/* Zero is valid: nothing is labelled. */
struct export_labels {
    const char *service, *version, *host;  /* NULL: by what was recorded */
    SPROF_VEC(struct export_label) others; /* sorted */
    uint64_t key;                          /* of the others; 0: none */
};

/* SPROF_EUSAGE where a label is none. The caller releases, also on failure. */
int report_export_labels(struct export_labels *labels, const struct report_labels *given,
                         struct sprof_error *error);
bool report_export_label_has_name(const struct export_label *label, const char *name);
/* The key of labels and one more behind them. */
uint64_t report_export_label_key(uint64_t key, const struct export_label *label);
void report_export_labels_release(struct export_labels *labels);

/* By the labels, else by the program that ran: its module's name, and the beginning of its build id
 * as its version. "": not known. */
struct export_identity {
    const char *service, *host;
    const char *version; /* NULL: `build` */
    char build[13];
};
struct export_identity report_export_identity(const struct export_labels *labels,
                                              const struct report_dataset *dataset);
const char *report_export_version(const struct export_identity *identity);

#endif
