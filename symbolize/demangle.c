/* Demangling by libiberty, with bounds around it. A mangled name refers back to its own parts, so a
 * short one can stand for an endless text: the output is taken through a callback and left by a
 * jump when it grows too long. libiberty keeps its recursion limits. */
#include "symbolize/demangle.h"

#include "base/base.h"
#include "symbolize/symbolize.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_NAME = 64 * 1024,
    MAX_OUTPUT = 64 * 1024,
    /* Parameters distinguish overloads; the return type does not, and only templates carry it. */
    OPTIONS = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP,
};

struct output {
    struct sprof_str text;
    jmp_buf too_long;
};

static void collect(const char *piece, size_t size, void *opaque)
{
    struct output *output = opaque;
    if (size > MAX_OUTPUT - output->text.length ||
        sprof_str_append_bytes(&output->text, piece, size))
        longjmp(output->too_long, 1);
}

typedef int engine(const char *name, int options, demangle_callbackref callback, void *opaque);

static bool fill(struct output *output, engine *demangle, const char *name)
{
    if (setjmp(output->too_long))
        return false;
    return demangle(name, OPTIONS, collect, output) && output->text.length;
}

static char *run(engine *demangle, const char *name)
{
    struct output output = {0};
    if (fill(&output, demangle, name))
        return sprof_str_take(&output.text);
    sprof_str_release(&output.text);
    return NULL;
}

/* ada_demangle answers "<name>" for an unknown name. Ada is blind to case, GNAT writes small. */
static char *demangle_ada(const char *name)
{
    if (strncmp(name, "_ada_", 5) != 0 && (!islower((unsigned char)name[0]) || !strstr(name, "__")))
        return NULL;
    char *text = ada_demangle(name, 0);
    if (text && text[0] == '<') {
        free(text);
        text = NULL;
    }
    return text;
}

/* Rust's first mangling looks like C++ with a hash at its end: 17h and 16 hexadecimal digits. */
static bool may_be_rust(const char *name)
{
    return name[1] == 'R' || strstr(name, "17h");
}

/* == D == */

/* dlang_demangle takes no callback, and what its back references stand for may double with each of
 * them. So an upper bound of the work is added up first. */
struct d_work {
    uint64_t *until; /* [i]: of the first i bytes */
    uint64_t *of;    /* [i]: of the reference at i */
    size_t length;
};

/* Of real names (19 535 of D's own library) none comes near; it takes a tenth of a second. */
static const uint64_t most_d_work = 4 << 20;

/* "Q" and a number to the base 26, the last digit in small letters: so far back lies what is meant.
 * Returns false where it is no such reference. */
static bool find_d_reference(const char *name, size_t at, size_t *target)
{
    size_t i = at + 1, distance = 0;
    for (; isupper((unsigned char)name[i]) && distance <= at; i++)
        distance = distance * 26 + (size_t)(name[i] - 'A');
    if (!islower((unsigned char)name[i]))
        return false;
    distance = distance * 26 + (size_t)(name[i] - 'a');
    *target = at - distance;
    return distance && distance <= at;
}

/* Of a type whose end is plain: a basic one or a reference, perhaps with some of "array of",
 * "pointer to", "const" before it. UINT64_MAX for others. */
static uint64_t work_of_plain_type(const struct d_work *work, const char *name, size_t at)
{
    enum { PREFIXES_MAX = 64 };
    for (uint64_t count = 1; count < PREFIXES_MAX; count++, at++) {
        if (name[at] && strchr("AOxyP", name[at]))
            continue;
        if (name[at] == 'Q')
            return count + work->of[at];
        return islower((unsigned char)name[at]) ? count : UINT64_MAX;
    }
    return UINT64_MAX;
}

/* What a reference means ends before it, but for a name that may reach beyond, and of which further
 * references are refused. */
static uint64_t work_of_reference(const struct d_work *work, const char *name, size_t at,
                                  size_t target)
{
    const uint64_t most = work->until[at] - work->until[target] + (work->length - at);
    const uint64_t least = isdigit((unsigned char)name[target])
                               ? strtoul(name + target, NULL, 10)
                               : work_of_plain_type(work, name, target);
    return least < most ? least : most;
}

static bool fits(struct d_work *work, const char *name)
{
    for (size_t i = 0; i < work->length && work->until[i] <= most_d_work; i++) {
        size_t target;
        if (name[i] == 'Q' && find_d_reference(name, i, &target))
            work->of[i] = work_of_reference(work, name, i, target);
        work->until[i + 1] = work->until[i] + 1 + work->of[i];
    }
    return work->until[work->length] && work->until[work->length] <= most_d_work;
}

static bool is_d_work_bounded(const char *name)
{
    struct d_work work = {.length = strlen(name)};
    if (!strchr(name, 'Q'))
        return true;
    work.until = calloc(work.length + 1, sizeof *work.until);
    work.of = calloc(work.length + 1, sizeof *work.of);
    const bool is_bounded = work.until && work.of && fits(&work, name);
    free(work.until);
    free(work.of);
    return is_bounded;
}

static char *demangle_d(const char *name)
{
    char *text = is_d_work_bounded(name) ? dlang_demangle(name, OPTIONS) : NULL;
    if (text && strlen(text) > MAX_OUTPUT) {
        free(text);
        text = NULL;
    }
    return text;
}

/* == Names of all languages == */

/* For languages whose names have no dot: what a compiler appends to the name of a copy or a part,
 * ".constprop.0", stands behind the name as in C++, whose demangler does that by itself. */
static char *demangle_copy(char *demangle(const char *name), const char *name)
{
    const char *dot = strchr(name, '.');
    if (!dot || !islower((unsigned char)dot[1]))
        return demangle(name);
    char *bare = strndup(name, (size_t)(dot - name)), *text = bare ? demangle(bare) : NULL;
    struct sprof_str copy = {0};
    if (text)
        sprof_str_appendf(&copy, "%s [clone %s]", text, dot);
    free(bare);
    free(text);
    return copy.length ? sprof_str_take(&copy) : NULL;
}

char *symbolize_demangle_name(const char *name, bool ada)
{
    if (strnlen(name, MAX_NAME + 1) > MAX_NAME)
        return NULL;
    /* Rust's first mangling looks like C++ with a hash at its end, so Rust is tried first. */
    if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R')) {
        char *text = may_be_rust(name) ? run(rust_demangle_callback, name) : NULL;
        return text || name[1] == 'R' ? text : run(cplus_demangle_v3_callback, name);
    }
    if (!strncmp(name, "_GLOBAL_", 8))
        return run(cplus_demangle_v3_callback, name);
    if (name[0] == '_' && name[1] == 'D')
        return demangle_copy(demangle_d, name);
    if (ada || !strncmp(name, "_ada_", 5))
        return demangle_copy(demangle_ada, name);
    return NULL;
}

char *symbolize_demangle(const char *name)
{
    return symbolize_demangle_name(name, false);
}

static size_t underscores(const char *name)
{
    size_t count = 0;
    while (name[count] == '_' && count < MAX_NAME)
        count++;
    return count;
}

/* Of names without end only the beginning counts: a million symbols may be compared with one. */
int symbolize_demangle_compare_aliases(const char *left, const char *right)
{
    const size_t keys[][2] = {
        {underscores(left), underscores(right)},
        {strnlen(left, MAX_NAME), strnlen(right, MAX_NAME)},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return strncmp(left, right, MAX_NAME);
}
