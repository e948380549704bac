/* Loads libcurl, of whichever TLS library. */
#include "fleet/curl.h"

#include <dlfcn.h>
#include <stdbool.h>

static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

static bool load(struct fleet_curl *curl, const char *name)
{
    bool complete = true;
    *curl = (struct fleet_curl){.library = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
    if (!curl->library)
        return false;
#define FIND(function)                                                                             \
    curl->function = (__typeof__(&function))dlsym(curl->library, #function);                       \
    complete = complete && curl->function;
    FLEET_CURL_FUNCTIONS(FIND)
#undef FIND
    return complete && !curl->curl_global_init(CURL_GLOBAL_DEFAULT);
}

int fleet_curl_load(struct fleet_curl *curl, struct sprof_error *error)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (load(curl, names[i]))
            return 0;
    const char *why = dlerror();
    return sprof_error_set(
        error, SPROF_EUNSUPPORTED, 0,
        "to reach a receiver needs libcurl, which cannot be loaded (%s); install "
        "it (Debian: libcurl4)",
        why ? why : names[0]);
}
