/* What a run is of, in the words of OpenTelemetry: service, version, host and other labels. */
#ifndef SPROF_REPORT_EXPORT_LABELS_H
#define SPROF_REPORT_EXPORT_LABELS_H

#include "report/export/export.h"

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
