/* The lines of source files. */
#ifndef SPROF_REPORT_SOURCE_TEXT_H
#define SPROF_REPORT_SOURCE_TEXT_H

#include "base/base.h"
#include "image/image.h"

/* A file's lines: clean, tabs expanded, in the arena. Zero is a valid empty value. */
struct report_source {
    SPROF_VEC(const char *) lines; /* [line - 1] */
    bool changed;                  /* written after the time given */
};

/* Where sources are, and for which readers. */
struct report_source_places {
    const char *root, *directory;
    const struct image_source_users *users; /* whose programs name them; NULL or none: anyone's */
};

/* Reads a source file: below `root` (NULL: none), as named, else below `directory` (NULL: none)
 * with as much of its path as there is there. `since_ns` since 1970. At most a million lines
 * and 64 MiB, 1 MiB of them in one line, also with tabs expanded: else SPROF_ELIMIT. Returns 0,
 * SPROF_ENOMEM, or a code with *error filled that names the file and the cure. The caller releases,
 * also on failure. */
int report_source_read(struct report_source *source, struct sprof_arena *arena, const char *path,
                       const struct report_source_places *places, uint64_t since_ns,
                       struct sprof_error *error);
void report_source_release(struct report_source *source);

#endif
