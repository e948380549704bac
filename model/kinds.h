/* The kinds of modules, for the reader of a profile, and which functions only start a program. */
#ifndef SPROF_MODEL_KINDS_H
#define SPROF_MODEL_KINDS_H

#include "base/base.h"
#include "model/vocabulary.h"

#include <stdbool.h>

/* --app-module GLOB and --system-module GLOB in the order given; the last that matches wins. */
struct model_kind_rule {
    enum model_kind kind; /* MODEL_KIND_APP or MODEL_KIND_SYSTEM */
    const char *glob;     /* see model_path_matches */
};
struct model_kind_rules {
    const struct model_kind_rule *items;
    size_t count;
};

/* The kind of a module by its path as the target sees it. System: below /lib*, /usr/lib*,
 * /usr/libexec, "[vdso]", "[vsyscall]", ld.so by any path; kernel: "[kernel]" and names in brackets
 * flagged so by `in_kernel`; jit: "//anon" and its like ("[anon:…]", "[heap]", "[stack]",
 * "/memfd:…",
 * "/dev/zero", "/SYSV…"); a process's main executable is app wherever it lies. Rules apply last, to
 * everything but the kernel. */
enum model_kind model_kind_of(const struct model_kind_rules *rules, const char *path,
                              bool main_executable, bool in_kernel);

/* Whether a glob (fnmatch(3), without FNM_PATHNAME) is for a module by its path or file name. */
bool model_path_matches(const char *glob, const char *path);

/* The name of a library may lack its version. What then stands behind such a glob in others that
 * are for it, too: "libc" and "libc.so" are for libc.so.6. Ends with NULL. */
const char *const *model_library_versions(const char *glob);

/* Whether a function of this linkage name is start-up code (DESIGN §2): _start, libc's callers of
 * main, the thread start of libc, clone; glibc and musl. Such a function is never application. */
bool model_is_startup_name(const char *linkage_name);

/* The start-up names, NULL-terminated: for looking up their addresses. */
const char *const *model_startup_names(void);

#endif
