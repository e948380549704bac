/* One input of a merge. */
#ifndef SPROF_STORE_MERGE_INPUT_H
#define SPROF_STORE_MERGE_INPUT_H

#include "store/statement.h"
#include "store/store.h"

/* What is in the output already, by content → id. */
struct merge_output {
    struct store *store;
    struct store_ids last;         /* the largest ids in use */
    struct sprof_map run_keys;     /* → 1 */
    struct sprof_map modules;      /* all that a module row says */
    struct sprof_map canonical;    /* module key → first module with it, which bears functions */
    struct sprof_map module_owner; /* module → the one that bears its functions */
    struct sprof_map functions, frames, nodes;
    struct sprof_map paths; /* parent << 32 | function */
    size_t runs, repeated;
    bool (*stopped)(void); /* as in struct store_merge_options */
    size_t rows;           /* written so far */
};

void merge_output_release(struct merge_output *output);

/* SPROF_ESTATE where the merge is to be stopped. */
int merge_check_stopped(const struct merge_output *output, struct sprof_error *error);

/* Copies what the output does not have, in the transaction that is open. Errors name `input`. On
 * failure the output holds a part of it. */
int merge_input(struct merge_output *output, struct store *input, struct sprof_error *error);

#endif
