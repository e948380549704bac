/* Finds the libraries of sprof that are loaded into targets. */
#include "target/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In a build directory nothing is installed: the target `sprof` builds all that it needs. */
static int explain_missing(const char *directory, const char *name, struct sprof_error *error)
{
    char cache[TARGET_PATH_MAX];
    snprintf(cache, sizeof cache, "%s/CMakeCache.txt", directory);
    if (!access(cache, F_OK))
        return sprof_error_set(error, SPROF_EUNSUPPORTED, ENOENT,
                               "a part of sprof is not built: there is no %s/libexec/sprof/%s\n"
                               "build it with `cmake --build %s --target sprof`",
                               directory, name, directory);
    return sprof_error_set(error, SPROF_EUNSUPPORTED, ENOENT,
                           "a part of sprof is not installed: there is no %s/../libexec/sprof/%s\n"
                           "install sprof with `cmake --install`, which puts it there",
                           directory, name);
}

int target_find_library(const char *name, char path[TARGET_PATH_MAX], struct sprof_error *error)
{
    static const char *const places[] = {"/libexec/sprof/", "/../libexec/sprof/"};
    char self[TARGET_PATH_MAX / 2] = "", closed[TARGET_PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) > 0 && strrchr(self, '/'))
        *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, TARGET_PATH_MAX, "%s%s%s", self, places[i], name);
        if (access(path, R_OK)) {
            if (errno == EACCES)
                snprintf(closed, sizeof closed, "%s", path);
            continue;
        }
        return path[strcspn(path, ": ")]
                   ? sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                     "%s cannot be preloaded: a colon or a blank in its path\n"
                                     "install sprof elsewhere",
                                     path)
                   : 0;
    }
    if (*closed)
        return sprof_error_set(error, SPROF_EPERMISSION, EACCES,
                               "a part of sprof may not be read by you: %s\n"
                               "have its owner `chmod -R a+rX` what was installed, or install "
                               "sprof where all may read it",
                               closed);
    return explain_missing(self, name, error);
}
