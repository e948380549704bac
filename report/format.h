/* What a format is given to write. */
#ifndef SPROF_REPORT_FORMAT_H
#define SPROF_REPORT_FORMAT_H

#include "report/dataset.h"
#include "report/table.h"

/* Content of one kind. Fields that a kind does not have are zero. */
struct report_content {
    enum report_kind kind;
    unsigned columns; /* width of text, never 0 */
    bool color, verbose;
    struct report_dataset *dataset; /* all but REPORT_ROWS; its arena takes texts made on the way */
    const struct table *table;      /* REPORT_TABLE */
    struct store *store;            /* REPORT_SAMPLES, REPORT_ROWS */
    size_t limit;                   /* REPORT_SAMPLES: so many; 0: all */
    uint32_t run_id;                /* of a format that reads the store; 0: all runs */
    const char *sql;                /* REPORT_ROWS: a statement */
    struct report_labels labels;    /* REPORT_PROFILE */
    const enum report_key *keys;    /* … what samples are of, where the format has it as labels */
    size_t key_count;
    uint64_t numbers; /* REPORT_ROWS: bit i, column i is of numbers; 0: not known */
};

/* One sample as report_each_sample gives it, valid during the call. */
struct report_sample {
    const struct store_sample_row *row;
    const char *process, *thread, *event; /* clean, never NULL */
    uint32_t thread_number;
    const struct report_stack *stack;
};

/* Calls `put` for the selected samples in time order, as many as the content's limit allows, until
 * it returns non-zero. Returns that, 0, or a negative code. */
int report_each_sample(const struct report_content *content,
                       int (*put)(void *context, const struct report_sample *sample), void *context,
                       struct sprof_error *error);

/* One frame of a sample's stack in words. */
struct report_place {
    const char *function; /* NULL: not symbolized */
    const char *module;
    const char *file; /* NULL unknown */
    uint32_t line;
    uint64_t address;   /* in the process, or the offset in the module */
    bool address_known; /* false: the offset */
    bool inlined;
};
struct report_place report_sample_place(const struct report_dataset *dataset,
                                        const struct report_sample *sample, size_t index);

/* Writes the content in the style's format and closes the output. Returns 0 or a negative code with
 * *error filled. */
int report_content_write(FILE *out, const struct report_content *content,
                         const struct report_style *style, struct sprof_error *error);

/* The formats of report/formats.c. */
int report_text_write(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_text_samples(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_text_rows(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_csv_write(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_markdown_write(FILE *out, const struct report_content *content,
                          struct sprof_error *error);
int report_json_write(FILE *out, const struct report_content *content, struct sprof_error *error);

#endif
