/* Finds the program in a dynamic loader's arguments. */
#include "agent/agent.h"

#include <stdbool.h>
#include <string.h>

/* Of glibc and musl; the value is the next argument, or joined by `=`. */
static const char *const with_value[] = {"--library-path",
                                         "--glibc-hwcaps-prepend",
                                         "--glibc-hwcaps-mask",
                                         "--inhibit-rpath",
                                         "--audit",
                                         "--preload",
                                         "--argv0",
                                         NULL};

/* These run no program. */
static const char *const without_program[] = {
    "--list", "--verify", "--list-tunables", "--list-diagnostics", "--help", "--version", NULL};

static bool is_one_of(const char *argument, const char *const *names)
{
    while (*names && strcmp(*names, argument) != 0)
        names++;
    return *names;
}

const char *agent_loaded_program(char *const *arguments)
{
    for (char *const *at = arguments && *arguments ? arguments + 1 : NULL; at && *at; at++) {
        if (strcmp(*at, "--") == 0)
            return at[1];
        if (strncmp(*at, "--", 2) != 0)
            return *at;
        if (is_one_of(*at, without_program) || (is_one_of(*at, with_value) && !*++at))
            return NULL;
    }
    return NULL;
}
