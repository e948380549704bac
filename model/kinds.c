/* Decides which modules are application and which system. */
#include "model/kinds.h"

#include "model/path_names.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Kinds by path; the first match wins. Without FNM_PATHNAME a star crosses slashes. */
static const struct {
    const char *glob;
    enum model_kind kind;
} path_kinds[] = {
    {"\\[none\\]", MODEL_KIND_NONE},
    {"\\[unknown\\]", MODEL_KIND_NONE},
    {"\\[kernel\\]", MODEL_KIND_KERNEL},
    {"\\[anon:*", MODEL_KIND_JIT},
    {"\\[anon_shmem:*", MODEL_KIND_JIT},
    {"\\[heap\\]", MODEL_KIND_JIT},
    {"\\[stack*", MODEL_KIND_JIT},
    {"\\[*", MODEL_KIND_SYSTEM}, /* [vdso], [vsyscall], [uprobes] */
    {"", MODEL_KIND_JIT},
    {"//*", MODEL_KIND_JIT},
    {"/memfd:*", MODEL_KIND_JIT},
    {"/dev/zero*", MODEL_KIND_JIT},
    {"/SYSV*", MODEL_KIND_JIT},
    {"anon_inode:*", MODEL_KIND_JIT},
    {"/lib/*", MODEL_KIND_SYSTEM},
    {"/lib[!/]*/*", MODEL_KIND_SYSTEM},
    {"/usr/lib/*", MODEL_KIND_SYSTEM},
    {"/usr/lib[!/]*/*", MODEL_KIND_SYSTEM},
};

/* The dynamic loader lies where its maker put it. */
static const char *const loader_names[] = {
    "ld-linux*.so*", "ld-musl-*.so*", "ld-[0-9]*.so*", "ld.so", "ld.so.*", "ld64.so*",
};

/* "start", musl's thread start, is missing on purpose: too many programs have a function of their
 * own by that name, and in a shared musl it is system code anyway. */
static const char *const startup_names[] = {
    "_start",
    "_start_c",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "__libc_start_main_stage2",
    "libc_start_main_stage2",
    "generic_start_main",
    "generic_start_main.isra.0",
    "start_thread",
    "clone",
    "__clone",
    "clone3",
    "__clone3",
    "__clone_internal",
    "_dl_start_user",
    NULL,
};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && path[0] != '[' ? slash + 1 : path;
}

bool model_path_is_loader(const char *path)
{
    for (size_t i = 0; i < sizeof loader_names / sizeof *loader_names; i++)
        if (!fnmatch(loader_names[i], file_name(path), 0))
            return true;
    return false;
}

const char *const *model_library_versions(const char *glob)
{
    static const char *const none[] = {NULL}, *const bare[] = {".so", ".so.*", NULL},
                             *const with_suffix[] = {".*", NULL};
    if (strncmp(file_name(glob), "lib", 3) != 0)
        return none;
    return strstr(glob, ".so") ? with_suffix : bare;
}

bool model_path_matches(const char *glob, const char *path)
{
    char longer[PATH_MAX];
    bool matches = !fnmatch(glob, path, 0) || !fnmatch(glob, file_name(path), 0);
    for (const char *const *end = model_library_versions(glob); *end && !matches; end++) {
        snprintf(longer, sizeof longer, "%s%s", glob, *end);
        matches = !fnmatch(longer, path, 0) || !fnmatch(longer, file_name(path), 0);
    }
    return matches;
}

static enum model_kind kind_by_path(const char *path)
{
    for (size_t i = 0; i < sizeof path_kinds / sizeof *path_kinds; i++)
        if (!fnmatch(path_kinds[i].glob, path, 0))
            return path_kinds[i].kind;
    return model_path_is_loader(path) ? MODEL_KIND_SYSTEM : MODEL_KIND_APP;
}

static enum model_kind kind_by_rules(const struct model_kind_rules *rules, const char *path,
                                     enum model_kind kind)
{
    for (size_t i = rules->count; i-- > 0;) {
        const struct model_kind_rule *rule = &rules->items[i];
        if (model_path_matches(rule->glob, path))
            return rule->kind;
    }
    return kind;
}

/* A program may be executed from memory that has no file, as code made at run time has. */
static bool is_program(const char *path, enum model_kind by_path)
{
    static const char memory[] = "/memfd:";
    return by_path == MODEL_KIND_SYSTEM || !strncmp(path, memory, sizeof memory - 1);
}

enum model_kind model_kind_of(const struct model_kind_rules *rules, const char *path,
                              bool main_executable, bool in_kernel)
{
    const enum model_kind by_path = in_kernel ? MODEL_KIND_KERNEL : kind_by_path(path);
    /* "[none]" holds sprof's own entries, such as "[not sampled]": they are not code. */
    if (by_path == MODEL_KIND_KERNEL || !strcmp(path, MODEL_MODULE_NONE))
        return by_path;
    const enum model_kind kind =
        main_executable && is_program(path, by_path) ? MODEL_KIND_APP : by_path;
    return rules ? kind_by_rules(rules, path, kind) : kind;
}

bool model_is_startup_name(const char *linkage_name)
{
    if (!linkage_name)
        return false;
    for (const char *const *name = startup_names; *name; name++)
        if (!strcmp(*name, linkage_name))
            return true;
    return false;
}

const char *const *model_startup_names(void)
{
    return startup_names;
}
