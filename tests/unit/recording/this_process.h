/* A process table that holds this very process, and samples of it. */
#ifndef SPROF_TESTS_RECORD_THIS_PROCESS_H
#define SPROF_TESTS_RECORD_THIS_PROCESS_H

#include "model/model.h"
#include "recording/images.h"
#include "sampler/sampler.h"

enum { THIS_START_NS = 1000 };

/* Fills a process table with this process's executable mappings, as they are. */
void this_process_fill(struct model_process_table *table);
struct model_process *this_process_of(struct model_process_table *table);

/* The module of this process whose file name begins so; NULL where there is none. */
struct model_module *this_process_module(struct model_process_table *table, const char *name);
const struct model_mapping *this_process_mapping(const struct model_process_table *table,
                                                 const struct model_module *module);

/* A sample of the calling function: its registers, and a copy of the stack from there on, cut at
 * `stack_bytes`. Free `memory`. */
struct this_sample {
    struct model_sample sample;
    uint8_t *memory;
};
struct this_sample this_process_sample(size_t stack_bytes);

/* Waits for what is being built, at most `rounds` times; returns whether nothing is any more. */
bool this_process_settle(struct recording_images *images, int rounds);

#endif
