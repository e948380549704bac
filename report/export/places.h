/* The functions, mappings and addresses that stacks need, with their texts, numbered from 1 as they
 * are met; 0 is for none. profile.proto and the profiles of OTLP write them alike. */
#ifndef SPROF_REPORT_EXPORT_PLACES_H
#define SPROF_REPORT_EXPORT_PLACES_H

#include "report/export/export.h"

/* Texts are numbers in `texts`; 0: "". */
struct export_function {
    uint32_t name, system_name, file, line;
};

struct export_mapping {
    uint32_t module; /* its number in the dataset */
    uint32_t file, build_id;
    uint64_t start, end, file_offset; /* end 0: it was mapped nowhere */
};

/* An address with the functions that are inlined there, innermost first. */
struct export_location {
    uint32_t mapping;
    uint64_t address;
    uint32_t first_line, line_count; /* in `lines` */
};

struct export_line {
    uint32_t function, line;
};

struct export_places {
    struct report_dataset *dataset;
    struct sprof_intern texts;
    SPROF_VEC(struct export_function) functions;
    SPROF_VEC(struct export_mapping) mappings;
    SPROF_VEC(struct export_location) locations;
    SPROF_VEC(struct export_line) lines;
    SPROF_VEC(uint32_t) stack;           /* locations of the stack at hand, innermost first */
    uint32_t *function_ids, *module_ids; /* [number in the dataset] → number here */
    struct sprof_map location_ids;       /* first and last frame → number */
};

/* The caller releases, also on failure. Returns 0 or SPROF_ENOMEM. */
int report_export_places_open(struct export_places *places, struct report_dataset *dataset);
void report_export_places_release(struct export_places *places);

/* The number of a text; that of "" and NULL is 0. */
int report_export_text(struct export_places *places, const char *text, uint32_t *number);

/* Fills `stack` with the locations of a stack of the dataset. Returns 0, SPROF_ENOMEM, or
 * SPROF_EFORMAT where a frame leads nowhere. */
int report_export_stack(struct export_places *places, const struct report_stack *stack);

/* The most lines that a location has. */
size_t report_export_most_lines(const struct export_places *places);

/* What the samples and weights of a dataset are, in words that both formats have. */
struct export_measures {
    const char *counted, *weighed, *unit; /* of the weights; counts have the unit "count" */
};
struct export_measures report_export_measures(const struct report_dataset *dataset);

#endif
