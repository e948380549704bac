/* symbolize, inside: a result while it grows. Failures of memory are kept and reported once, at the
 * end. */
#ifndef SPROF_SYMBOLIZE_BUILDER_H
#define SPROF_SYMBOLIZE_BUILDER_H

#include "symbolize/symbolize.h"

struct builder {
    struct sprof_intern texts;
    struct sprof_map by_key; /* key of a function → its index */
    SPROF_VEC(struct symbolize_function) functions;
    SPROF_VEC(struct symbolize_frame) frames;
    SPROF_VEC(uint32_t) first;
    struct {
        const char *text, *copy;
    } files[64]; /* of the last frames, by the place of the text */
    bool failed;
};

/* True when a function with this key is there already. */
bool symbolize_builder_find(const struct builder *builder, uint64_t key, uint32_t *function);

/* Adds a function under a new key. Its texts are copied; a NULL `name` is the linkage name. */
uint32_t symbolize_builder_add(struct builder *builder, uint64_t key,
                               const struct symbolize_function *function);

/* Each address opens its chain, then adds frames from the innermost outwards. A file's text stays
 * where it is, unchanged, until symbolize_builder_finish. */
void symbolize_builder_open_chain(struct builder *builder);
void symbolize_builder_add_frame(struct builder *builder, uint32_t function, const char *file,
                                 uint32_t line);

/* The function around an address that has no name: the bounds where they are known, else the
 * address alone. Called "module+0xstart", without the module's directories. */
uint32_t symbolize_builder_add_unnamed(struct builder *builder, const char *module, uint64_t vaddr,
                                       const struct symbolize_bounds *bounds);

/* Moves everything into *result and leaves an empty builder. */
int symbolize_builder_finish(struct builder *builder, struct symbolize_result *result,
                             struct sprof_error *error);

/* Keys: a physical function is its start, an inlined one what it is called and where declared. */
uint64_t symbolize_builder_physical_key(uint64_t start);
uint64_t builder_inlined_key(const char *linkage_name, const char *file, uint32_t line);

#endif
