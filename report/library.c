/* Recognizes functions of standard libraries and runtimes by the names of modules and scopes. */
#include "report/library.h"

#include <stddef.h>
#include <string.h>

/* Up to a digit, a dot or a minus behind it, as in "libc.so.6", "libc-2.31.so", "ld-linux-x86-64".
 */
static const char *const modules[] = {
    "libc",      "libm",         "libpthread",  "libdl",        "librt",     "libmvec",
    "libgcc_s",  "libstdc++",    "libsupc++",   "libc++",       "libc++abi", "libatomic",
    "libasan",   "libtsan",      "libubsan",    "ld-linux",     "ld-musl",   "ld.so",
    "ld",        "libstd",       "libgfortran", "libquadmath",  "libgo",     "libunwind",
    "libresolv", "libnss_files", "libnsl",      "libthread_db",
};

/* Scopes, each with what stands behind it in a name. hashbrown is what std's maps are made of. */
static const char *const scopes[] = {
    "std::",         "__gnu_cxx::", "__cxxabiv1::", "__cxx11::", "core::",      "alloc::",
    "runtime.",      "runtime/",    "internal/",    "__rust_",   "__rdl_",      "rust_begin_unwind",
    "__libc_start_", "_start",      "__gthread_",   "__rustc::", "hashbrown::",
};

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

bool report_module_is_standard(const char *name)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        const char *end = name + strlen(modules[i]);
        if (begins(name, modules[i]) && (!*end || strchr(".-_", *end)))
            return true;
    }
    return false;
}

static bool is_in_scope(const char *name)
{
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if (begins(name, scopes[i]))
            return true;
    return false;
}

/* "<T as Trait>::f" of Rust belongs to the crate of T; of a T without a crate, as u64 or a
 * parameter, to that of the trait. */
static const char *crate_of(const char *subject)
{
    const char *trait = strstr(subject, " as "), *scope = strstr(subject, "::");
    return trait && scope && scope > trait ? trait + strlen(" as ") : subject;
}

static const char *subject_of(const char *name)
{
    static const char *const before[] = {"<", "&", "*", "[", "(", "mut ", "const ", "dyn "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (begins(name, before[i]))
            return subject_of(name + strlen(before[i]));
    return name;
}

/* Where the name begins: what an instance of a template of C++ returns stands before it. */
static const char *behind_result(const char *name)
{
    static const char word[] = "operator";
    const char *start = name;
    int depth = 0;
    for (const char *at = name; *at && !(*at == '(' && !depth); at++) {
        if (!depth && begins(at, word))
            break;
        depth += *at == '<' || *at == '[' || *at == '(';
        depth -= *at == '>' || *at == ']' || *at == ')';
        if (*at == ' ' && !depth)
            start = at + 1;
    }
    return start;
}

bool report_name_is_standard(const char *name)
{
    const size_t length = strlen(name);
    if (length > 4 && !strcmp(name + length - 4, "@plt"))
        return true;
    return is_in_scope(*name == '<' ? crate_of(subject_of(name)) : behind_result(name));
}
