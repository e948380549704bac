/* Naming, in three steps: derive_names.c goes through the modules, derive_modules.c sends one to
 * the symbolizer, derive_functions.c merges its answers into the recording's table of functions. */
#ifndef SPROF_RECORDING_DERIVE_NAMES_H
#define SPROF_RECORDING_DERIVE_NAMES_H

#include "recording/derive.h"
#include "symbolize/symbolize.h"

struct derive_levels {
    struct derive_level *items;
    size_t count, capacity;
};

/* The frames of one module, in order of lookup address. */
struct derive_job {
    struct derive_module *module;
    struct derive_frame **frames;
    size_t count;
    uint64_t *addresses; /* distinct, sorted */
    size_t address_count;
    const char *problem; /* of its debug information: the session's; NULL: none */
    bool asked;          /* `failed` and `result` are the symbolizer's answer */
    int failed;
    struct symbolize_result result;
    struct recording_session open;
};

/* Makes empty rows of functions up to an id. All return 0 or SPROF_ENOMEM. */
int recording_derive_extend_functions(struct derive *derive, uint32_t last);

/* Takes over a function that is stored. */
int recording_derive_keep_function(struct derive *derive, const struct derive_module *module,
                                   const struct store_function *function);

/* The id of a function of a module, found or added. */
int recording_derive_add_function(struct derive *derive, const struct derive_module *module,
                                  const struct symbolize_function *function, uint32_t *id);

/* … of an address of which nothing is known: it counts for its module as a whole. */
int recording_derive_add_nameless(struct derive *derive, const struct derive_module *module,
                                  uint32_t *id);

/* Gives a frame its chain and the rows for it: itself with the innermost function, then one a level
 * outwards. A chain with a name is not exchanged for one without. */
int recording_derive_add_chain(struct derive *derive, struct derive_frame *frame,
                               const struct derive_level *levels, uint32_t count);

/* Takes over the symbolizer's answer to job->addresses. */
int recording_derive_take_result(struct derive *derive, struct derive_job *job,
                                 const struct symbolize_result *result);

/* Whether the innermost function of a frame has a name. */
bool recording_derive_frame_is_named(const struct derive *derive, const struct derive_frame *frame);

/* What stands in for the content of a module whose file was never read. */
uint64_t recording_derive_path_key(const struct derive_module *module);

/* Opens the file of a module where it has one, and makes sure that it is the one that ran. */
void recording_derive_open_image(struct derive *derive, struct derive_module *module);

/* Sends a job whose module has a file to the symbolizer; several threads may do so at once for jobs
 * of different modules. */
void recording_derive_ask_file(struct derive *derive, struct derive_job *job);

/* Whether that is possible. */
bool recording_derive_has_file(const struct derive_job *job);

/* Names every frame of a job, which is sent to the symbolizer unless it was before. */
int recording_derive_name_module(struct derive *derive, struct derive_job *job);

#endif
