/* What every function, source line and address of a recording cost, for one event at a time. Stacks
 * count as they were recorded, and each only once for what it holds several times. */
#ifndef SPROF_REPORT_HTML_LINE_COSTS_H
#define SPROF_REPORT_HTML_LINE_COSTS_H

#include "report/dataset.h"

/* A source line of a function. */
struct html_place {
    uint32_t function; /* number in the dataset */
    uint32_t file;     /* index in files */
    uint32_t line;
    uint32_t inlined; /* a function inlined there; 0: none */
    struct model_costs costs;
    uint32_t open; /* how often it is in the stack at hand */
};

/* An address in a module, or a function inlined there; as struct report_frame. */
struct html_frame {
    uint32_t function; /* number; 0: not symbolized */
    uint32_t outer;    /* number; 0: the physical function itself */
    uint32_t depth;    /* of inlining, growing outwards */
    uint32_t place;    /* index + 1; 0: its line is unknown */
    uint64_t file_offset;
    uint32_t instruction; /* of an innermost frame: index + 1, as the caller sets it; 0: none */
};

struct html_instruction {
    struct model_costs costs;
    uint32_t open;
};

struct html_node {
    uint32_t parent, frame; /* numbers */
    uint32_t child, sibling;
    struct model_cost own, all;
};

/* An event whose costs are shown: database ids. */
struct html_source_event {
    uint32_t run, event;
    bool by_weight;
    bool calls; /* it counts calls, not samples */
};

/* Zero is a valid empty value. */
struct html_line_costs {
    SPROF_VEC(struct html_frame) frames;
    SPROF_VEC(struct html_node) nodes;
    SPROF_VEC(struct html_place) places;
    SPROF_VEC(const char *) files;                   /* paths, in the dataset's arena */
    SPROF_VEC(struct html_instruction) instructions; /* the caller's: those to be counted */
    struct model_costs *functions;                   /* [number - 1] */
    uint32_t *open_functions;                        /* [number - 1] */
    size_t function_count;
    bool calls; /* what is counted now: what is inlined at a function's entry was not called */
    struct report_row_numbers frame_numbers, node_numbers;
    struct sprof_map place_indexes, file_indexes; /* index + 1 */
};

/* Reads frames and stacks; the dataset must hold all functions. The caller releases, also on
 * failure. */
int report_html_lines_load(struct html_line_costs *lines, struct report_dataset *dataset,
                           struct store *store, struct sprof_error *error);
void report_html_lines_release(struct html_line_costs *lines);

/* The index of a file; UINT32_MAX when out of memory. */
uint32_t report_html_lines_file(struct html_line_costs *lines, struct report_dataset *dataset,
                                const char *path);

/* Sets all costs to those of an event of a run. */
int report_html_lines_count(struct html_line_costs *lines, struct store *store,
                            const struct html_source_event *event, struct sprof_error *error);

#endif
