/* Loads libarchive. */
#include "archive/libarchive.h"

#include <dlfcn.h>

static const char name[] = "libarchive.so.13";

int libarchive_load(struct libarchive *libarchive, struct sprof_error *error)
{
    bool complete = true;
    *libarchive = (struct libarchive){.library = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
    if (libarchive->library) {
#define LIBARCHIVE_FIND(function)                                                                  \
    libarchive->function = (__typeof__(&function))dlsym(libarchive->library, #function);           \
    complete = complete && libarchive->function;
        LIBARCHIVE_FUNCTIONS(LIBARCHIVE_FIND)
#undef LIBARCHIVE_FIND
        if (complete)
            return 0;
    }
    const char *why = dlerror();
    sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                    "archives need libarchive, which cannot be loaded (%s); install it (Debian: "
                    "libarchive13)",
                    why ? why : name);
    libarchive_release(libarchive);
    return SPROF_EUNSUPPORTED;
}

void libarchive_release(struct libarchive *libarchive)
{
    if (libarchive->library)
        dlclose(libarchive->library);
    *libarchive = (struct libarchive){0};
}
