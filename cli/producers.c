/* Which compilers a file names in its own notes (.comment), or by sections that only they make, and
 * which of their options leaves room for probes. Debug information is not needed. */
#include "cli/producers.h"

#include "image/image.h"

#include <stdio.h>
#include <string.h>

/* Where there is no option, functions have probes all the same: their first instructions are moved.
 */
static const struct producer {
    const char *comment; /* a text in .comment begins so; NULL: none does */
    const char *section; /* a section of this name is there; NULL: none is */
    const char *text;
    bool takes_room; /* bytes of room stand behind the text */
} producers[] = {
    {"rustc version", NULL,
     "rustc has no such option but nightly's, and functions are probed by moving their first "
     "instructions: rustc -Zpatchable-function-entry=",
     true},
    {"ldc version", NULL,
     "ldc2 -fxray-instrument -fxray-instruction-threshold=1 leaves room, as clang's does", false},
    {"flang", NULL,
     "flang has no such option; functions are probed by moving their first instructions", false},
    {NULL, ".gopclntab",
     "go has no such option, and its stacks move: `sprof trace` has the kernel count its calls",
     false},
    {NULL, ".fpcdata",
     "fpc has no such option; functions are probed by moving their first instructions", false},
};

static bool has_comment(struct sprof_bytes comment, const char *begin)
{
    const size_t length = strlen(begin);
    const char *text = (const char *)comment.data;
    for (size_t at = 0; at + length <= comment.size;) {
        if (!memcmp(text + at, begin, length))
            return true;
        const char *end = memchr(text + at, '\0', comment.size - at);
        at = end ? (size_t)(end - text) + 1 : comment.size;
    }
    return false;
}

void cli_print_producers(const char *module, const char *path, int room)
{
    struct image *image;
    const struct image_request request = {.file = {.path = path}};
    if (!path || image_open(&image, &request, NULL))
        return;
    const struct sprof_bytes comment = image_section(image, ".comment", NULL);
    for (size_t i = 0; i < sizeof producers / sizeof *producers; i++) {
        const struct producer *producer = &producers[i];
        if (producer->comment ? !has_comment(comment, producer->comment)
                              : !image_has_section(image, producer->section))
            continue;
        printf("%s: %s", module, producer->text);
        if (producer->takes_room)
            printf("%d", room);
        putchar('\n');
    }
    image_free(image);
}
