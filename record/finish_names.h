/* Naming, in three steps: finish_names.c goes through the modules, finish_modules.c asks the
 * symbolizer about one, finish_functions.c merges its answers into the recording's table of
 * functions. */
#ifndef SPROF_RECORD_FINISH_NAMES_H
#define SPROF_RECORD_FINISH_NAMES_H

#include "record/finish.h"
#include "symbolize/symbolize.h"

/* One level of an inline chain. */
struct level {
    uint32_t function;
    const char *file;
    uint32_t line;
};
struct levels {
    struct level *items;
    size_t count, capacity;
};

/* The frames of one module, in order of lookup address. */
struct job {
    struct finish_module *module;
    struct finish_frame **frames;
    size_t count;
    uint64_t *addresses; /* distinct, sorted */
    size_t address_count;
};

/* The id of a function of a module, found or added. All return 0 or SPROF_ENOMEM. */
int finish_add_function(struct finish *finish, const struct finish_module *module,
                        const struct symbolize_function *function, uint32_t *id);

/* … of an address of which nothing is known: it counts for its module as a whole. */
int finish_add_nameless(struct finish *finish, const struct finish_module *module, uint32_t *id);

/* The rows of one physical frame: itself with the innermost function, then one a level outwards. */
int finish_add_chain(struct finish *finish, struct finish_frame *frame, const struct level *levels,
                     uint32_t count);

/* Takes over the symbolizer's answer to job->addresses. */
int finish_take_result(struct finish *finish, struct job *job,
                       const struct symbolize_result *result);

/* What stands in for the content of a module whose file was never read. */
uint64_t finish_path_key(const struct finish_module *module);

/* Opens the file of a module where it has one, and makes sure that it is the one that ran. */
void finish_open_image(struct finish *finish, struct finish_module *module);

/* Names every frame of a job. */
int finish_name_module(struct finish *finish, struct job *job);

#endif
