/* A fixture's addresses and their names. */
#ifndef SPROF_TESTS_UNIT_SYMBOLIZE_NAMING_H
#define SPROF_TESTS_UNIT_SYMBOLIZE_NAMING_H

#include "symbolize/symbolize.h"
#include "tests/unit/image/fixture.h"

struct naming {
    struct image *image;
    SPROF_VEC(uint64_t) addresses;
    struct symbolize_result result;
};

static inline struct image *naming_image(const char *path)
{
    struct image *image = NULL;
    struct sprof_error error = {0};
    const struct image_request request = {.file.path = path};
    CU_ASSERT_EQUAL(image_open(&image, &request, &error), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    return image;
}

static inline int naming_compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Adds the hexadecimal numbers at the beginning of each line of a text, sorts, drops twins. */
static inline void naming_add_lines(struct naming *naming, const char *text)
{
    while (text && *text) {
        char *end;
        const uint64_t address = strtoull(text, &end, 16);
        if (end != text)
            CU_ASSERT_EQUAL(sprof_vec_push(&naming->addresses, address), 0);
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    uint64_t *items = naming->addresses.items;
    size_t kept = 0;
    if (items)
        qsort(items, naming->addresses.count, sizeof *items, naming_compare);
    for (size_t i = 0; i < naming->addresses.count; i++)
        if (!kept || items[kept - 1] != items[i])
            items[kept++] = items[i];
    naming->addresses.count = kept;
}

/* Every instruction of the file's code. */
static inline void naming_add_instructions(struct naming *naming, struct fixture *fixture,
                                           const char *file)
{
    char command[512];
    snprintf(command, sizeof command,
             "objdump -d -j .text --no-show-raw-insn %s | sed -n 's/^ *\\([0-9a-f]*\\):.*/\\1/p'",
             file);
    char *text = fixture_output(fixture, command);
    naming_add_lines(naming, text);
    free(text);
}

static inline void naming_run(struct naming *naming, const struct symbolize_bounds *bounds,
                              const char *debug_directory)
{
    const struct symbolize_options options = {.debug_directory = debug_directory,
                                              .no_debuginfod = true};
    CU_ASSERT_EQUAL_FATAL(symbolize_image(&naming->result, naming->image, naming->addresses.items,
                                          naming->addresses.count, bounds, &options, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(naming->result.address_count, naming->addresses.count);
}

static inline bool naming_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* How many of two answers to the same addresses differ in anything; 0: none. */
static inline size_t naming_differences(const struct naming *left, const struct naming *right)
{
    const struct symbolize_result *a = &left->result, *b = &right->result;
    size_t count = a->address_count != b->address_count || a->frame_count != b->frame_count;
    for (size_t i = 0; !count && i <= a->address_count; i++)
        count += a->first[i] != b->first[i];
    for (size_t i = 0; !count && i < a->frame_count; i++) {
        const struct symbolize_frame *x = &a->frames[i], *y = &b->frames[i];
        const struct symbolize_function *f = &a->functions[x->function],
                                        *g = &b->functions[y->function];
        count += x->line != y->line || !naming_same_text(x->file, y->file) ||
                 !naming_same_text(f->name, g->name) ||
                 !naming_same_text(f->linkage_name, g->linkage_name) ||
                 !naming_same_text(f->file, g->file) || f->start != g->start ||
                 f->size != g->size || f->line != g->line || f->named != g->named;
    }
    return count;
}

static inline void naming_close(struct naming *naming)
{
    symbolize_result_release(&naming->result);
    sprof_vec_release(&naming->addresses);
    image_free(naming->image);
    *naming = (struct naming){0};
}

/* The physical function of an address, which must have been asked for. */
static inline const struct symbolize_function *naming_function(const struct naming *naming,
                                                               uint64_t address)
{
    for (size_t i = 0; i < naming->addresses.count; i++)
        if (naming->addresses.items[i] == address) {
            const uint32_t end = naming->result.first[i + 1];
            CU_ASSERT_TRUE_FATAL(end > naming->result.first[i]);
            return &naming->result.functions[naming->result.frames[end - 1].function];
        }
    CU_FAIL_FATAL("the address was not asked for");
    return NULL;
}

/* The address of a symbol, by nm. */
static inline uint64_t naming_nm(const struct fixture *fixture, const char *file,
                                 const char *symbol)
{
    char command[256];
    snprintf(command, sizeof command, "nm %s | awk '$3 == \"%s\" {print $1}'", file, symbol);
    char *text = fixture_output(fixture, command);
    const uint64_t address = strtoull(text, NULL, 16);
    CU_ASSERT_NOT_EQUAL(address, 0);
    free(text);
    return address;
}

#endif
