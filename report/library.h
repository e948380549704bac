/* Which functions are those of standard libraries and runtimes: not the program's own. */
#ifndef SPROF_REPORT_LIBRARY_H
#define SPROF_REPORT_LIBRARY_H

#include <stdbool.h>

/* Whether a module is a library that comes with a compiler or the C library: libc, libm, libstdc++,
 * the dynamic loader, Rust's libstd, sanitizers. `name` is its file's name. */
bool report_module_is_standard(const char *name);

/* Whether a demangled name is that of a standard library's or a runtime's function: in `std` or
 * `__gnu_cxx` of C++, in Rust's `core`, `alloc` and `std`, Go's runtime, an entry of the procedure
 * linkage table. Instances of its templates are, also of a program's types. */
bool report_name_is_standard(const char *name);

#endif
