/* The functions of libcurl that are used. It brings two dozen libraries along, whose relocation
 * every start of sprof would pay: it is loaded by the commands that need it. */
#ifndef SPROF_FLEET_CURL_H
#define SPROF_FLEET_CURL_H

#include "base/base.h"

#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>

#define FLEET_CURL_FUNCTIONS(X)                                                                    \
    X(curl_global_init)                                                                            \
    X(curl_easy_init)                                                                              \
    X(curl_easy_setopt)                                                                            \
    X(curl_easy_getinfo)                                                                           \
    X(curl_easy_perform)                                                                           \
    X(curl_easy_strerror)                                                                          \
    X(curl_easy_cleanup)                                                                           \
    X(curl_slist_append)                                                                           \
    X(curl_slist_free_all)

struct fleet_curl {
    void *library;
#define FLEET_CURL_POINTER(name) __typeof__(&name) name;
    FLEET_CURL_FUNCTIONS(FLEET_CURL_POINTER)
#undef FLEET_CURL_POINTER
};

/* 0, or SPROF_EUNSUPPORTED where the library is missing. It stays loaded. */
int fleet_curl_load(struct fleet_curl *curl, struct sprof_error *error);

#endif
