/* Which compilers made a file, and which of their options leaves room for probes. Debug information
 * says so for each unit; without any, a file has notes of all that took part (.comment, which also
 * names those of objects that are linked in with nothing of theirs), and sections that only one
 * makes. */
#include "cli/producers.h"

#include "image/image.h"
#include "plan/plan.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where there is no option, functions have probes all the same: their first instructions are moved.
 */
static const struct producer {
    const char *comment; /* a text in .comment begins so; NULL: none does */
    const char *unit;    /* is in the producer of a unit */
    const char *section; /* a section of this name is there; NULL: none is */
    const char *text;
    bool takes_room; /* bytes of room stand behind the text */
} producers[] = {
    {"rustc version", "rustc version", NULL,
     "rustc has no such option but nightly's, and functions are probed by moving their first "
     "instructions: rustc -Zpatchable-function-entry=",
     true},
    {"ldc version", "LDC ", NULL,
     "ldc2 -fxray-instrument -fxray-instruction-threshold=1 leaves room, as clang's does", false},
    {"flang", "flang", NULL,
     "flang has no such option; functions are probed by moving their first instructions", false},
    {NULL, "Go cmd/compile", ".gopclntab",
     "go has no such option, and its stacks move: `sprof trace` has the kernel count its calls",
     false},
    {NULL, "Free Pascal", ".fpcdata",
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

/* == Units == */

/* What made units, without its options: "GNU C17 12.2.0". */
struct maker {
    char *name;
    size_t units;
};

struct makers {
    SPROF_VEC(struct maker) list;
    bool failed;
};

/* Options follow behind a blank and a sign. */
static size_t name_length(const char *producer)
{
    const char *options = strstr(producer, " -");
    return options ? (size_t)(options - producer) : strlen(producer);
}

static void note_unit(void *context, const char *producer)
{
    struct makers *makers = context;
    const size_t length = name_length(producer);
    for (size_t i = 0; i < makers->list.count; i++) {
        struct maker *maker = &makers->list.items[i];
        if (strlen(maker->name) == length && !memcmp(maker->name, producer, length)) {
            maker->units++;
            return;
        }
    }
    const struct maker maker = {strndup(producer, length), 1};
    if (!maker.name || sprof_vec_push(&makers->list, maker)) {
        free(maker.name);
        makers->failed = true;
    }
}

static bool any_unit_of(const struct makers *makers, const char *text)
{
    for (size_t i = 0; i < makers->list.count; i++)
        if (strstr(makers->list.items[i].name, text))
            return true;
    return false;
}

/* rustc and flang say what they are behind the name of clang. */
static bool any_unit_of_clang(const struct makers *makers)
{
    for (size_t i = 0; i < makers->list.count; i++) {
        const char *name = makers->list.items[i].name;
        if (strstr(name, "clang version") && !strstr(name, "rustc") && !strstr(name, "flang"))
            return true;
    }
    return false;
}

static void print_makers(const char *module, const struct makers *makers)
{
    printf("%s: made by ", module);
    for (size_t i = 0; i < makers->list.count; i++) {
        const struct maker *maker = &makers->list.items[i];
        printf("%s%s (%zu unit%s)", i ? " · " : "", maker->name, maker->units,
               maker->units == 1 ? "" : "s");
    }
    putchar('\n');
}

/* Of the compilers of C and its kin, but for the one that is asked for; each names its driver. */
static void print_relatives(const char *module, const struct makers *makers, const char *compiler,
                            int room)
{
    static const struct {
        const char *unit, *driver;
    } relatives[] = {{"GNU Fortran", "gfortran"}, {"GNU Ada", "gnatmake"}, {"GNU D", "gdc"}};
    const bool asks_gcc = !strcmp(compiler, "gcc");
    const char *option = "-fpatchable-function-entry";
    if (asks_gcc && any_unit_of_clang(makers))
        printf("%s: clang %s=%d, for its units\n", module, option, room);
    if (!asks_gcc && (any_unit_of(makers, "GNU C") || any_unit_of(makers, "GNU GIMPLE")))
        printf("%s: gcc %s=%d, for its units\n", module, option, room);
    for (size_t i = 0; i < sizeof relatives / sizeof *relatives; i++)
        if (any_unit_of(makers, relatives[i].unit))
            printf("%s: %s %s=%d, for its units\n", module, relatives[i].driver, option, room);
}

static void release(struct makers *makers)
{
    for (size_t i = 0; i < makers->list.count; i++)
        free(makers->list.items[i].name);
    sprof_vec_release(&makers->list);
}

/* == Both == */

static bool is_of(const struct producer *producer, struct image *image, struct sprof_bytes comment,
                  const struct makers *makers)
{
    return makers->list.count  ? any_unit_of(makers, producer->unit)
           : producer->comment ? has_comment(comment, producer->comment)
                               : image_has_section(image, producer->section);
}

void cli_print_producers(const char *module, const char *path, const char *compiler, int room)
{
    struct image *image;
    struct makers makers = {0};
    const struct image_request request = {.file = {.path = path}};
    if (!path || image_open(&image, &request, NULL))
        return;
    const struct sprof_bytes comment = image_section(image, ".comment", NULL);
    plan_each_producer(image, note_unit, &makers);
    if (makers.list.count && !makers.failed)
        print_makers(module, &makers);
    for (size_t i = 0; i < sizeof producers / sizeof *producers; i++) {
        if (!is_of(&producers[i], image, comment, &makers))
            continue;
        printf("%s: %s", module, producers[i].text);
        if (producers[i].takes_room)
            printf("%d", room);
        putchar('\n');
    }
    print_relatives(module, &makers, compiler, room);
    release(&makers);
    image_free(image);
}
