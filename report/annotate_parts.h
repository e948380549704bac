/* What the files that annotate functions share among themselves. */
#ifndef SPROF_REPORT_ANNOTATE_PARTS_H
#define SPROF_REPORT_ANNOTATE_PARTS_H

#include "report/dataset.h"
#include "report/function_search.h"
#include "report/machine_code.h"

#include "symbolize/symbolize.h"

/* A line of the function. */
struct annotated_line {
    const char *file;
    uint32_t line;
    uint32_t inlined; /* a function inlined there; 0: none */
    size_t seen;      /* the cost it was last counted for, + 1 */
    struct model_costs costs;
};

/* The machine code of one physical function. */
struct annotated_code {
    uint32_t function;
    uint64_t start, end;
    struct report_instructions instructions;
    struct annotated_instruction {
        size_t seen;
        struct model_costs costs;
    } * costs;                     /* [instruction] */
    struct symbolize_result names; /* of each instruction's address */
};

/* One function, or the parts and copies of one, with what its lines and instructions cost. */
struct annotation {
    struct report_dataset *dataset;
    const struct report_annotate_options *options;
    struct report_function_set set;
    bool *in_set; /* [function] */
    struct model_costs all;
    struct sprof_map line_indexes; /* hash of file and line → index + 1 */
    SPROF_VEC(struct annotated_line) lines;
    struct image *image; /* NULL: cannot be read */
    uint32_t module;
    SPROF_VEC(struct annotated_code) codes;
    struct sprof_str notes; /* what could not be shown, and why */
    struct table *table;    /* borrowed */
};

/* Adds a sentence about what cannot be shown. */
void report_annotation_note(struct annotation *annotation, const char *text);

/* Begins the table of one function whose costs were counted, or of the `count` hottest ones. 0 or
 * SPROF_ENOMEM. */
int report_annotation_begin(struct annotation *annotation, size_t count);

/* Adds the rows of a function: its name where `named`, then its lines and instructions. 0 or
 * SPROF_ENOMEM. */
int report_annotation_add(struct annotation *annotation, bool named);

#endif
