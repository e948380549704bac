/* The plan of a file: from the cache, or made. */
#include "plan/embedded.h"
#include "recording/recording.h"

#include <stdlib.h>

static bool find_cached(struct plan *plan, struct cache *cache, struct sprof_digest key)
{
    const struct sprof_bytes bytes = cache_get(cache, CACHE_PLAN, key);
    const bool found = bytes.data && plan_load(plan, bytes) == 0;
    free((void *)bytes.data);
    return found;
}

static void keep(const struct plan *plan, struct cache *cache, struct sprof_digest key)
{
    struct sprof_bytes bytes;
    if (!cache || plan_save(plan, &bytes))
        return;
    cache_put(cache, CACHE_PLAN, key, &bytes, 1);
    free((void *)bytes.data);
}

/* A file without a table has functions all the same, by its symbols; their stacks are not known. */
static int make(struct plan *plan, struct image *image, struct cache *cache,
                struct sprof_error *error)
{
    struct recording_built built = {0};
    if (!recording_find_built(&built, image, cache)) {
        const int code = recording_build(&built, image, cache, error);
        if (code == SPROF_ENOTFOUND || code == SPROF_EFORMAT)
            return sprof_error_set(
                error, SPROF_ENOTFOUND, 0,
                "%s has no call frame information, so that nothing is known of its "
                "functions' stacks: no probe is possible",
                image_path(image));
        if (code)
            return code;
    }
    const int code = plan_make(plan, image, built.table, error);
    unwind_table_free(built.table);
    return code;
}

int plan_open(struct plan *plan, const struct image_request *request, struct cache *cache,
              struct sprof_error *error)
{
    struct image *image;
    static const char *const sections[] = {
        ".text",   ".rodata", ".eh_frame", ".gcc_except_table", ".symtab",          ".strtab",
        ".dynsym", ".dynstr", ".rela.dyn", ".rela.plt",         PLAN_EMBEDDED_LIST, NULL};
    struct sprof_digest key = {0};
    *plan = (struct plan){0};
    int code = recording_open_image(&image, request, error);
    if (code)
        return code;
    if (image_is_cut_off(image)) {
        code = sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s is cut off: its headers name bytes behind its end\ncopy it "
                               "again, or build it anew",
                               image_path(image));
        image_free(image);
        return code;
    }
    if (cache)
        key = image_content(image, cache, sections, 1);
    if (!find_cached(plan, cache, key)) {
        code = make(plan, image, cache, error);
        if (!code && image_stayed_whole(image))
            keep(plan, cache, key);
    }
    image_free(image);
    return code;
}
