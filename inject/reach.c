/* Explains by file modes why a process cannot read the agent's file. */
#include "inject/attach.h"
#include "inject/inside.h"

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { GROUPS_BYTES = 4096, MAY_READ = 4, MAY_ENTER = 1 };

struct reader {
    uid_t user;
    char groups[GROUPS_BYTES];
    bool may_all;
};

/* Real, effective, saved, and file access. */
static const char *last_of(const char *ids)
{
    const char *last = strrchr(ids, '\t');
    return last ? last + 1 : ids;
}

static void read_reader(struct reader *reader, pid_t pid)
{
    char ids[64], groups[GROUPS_BYTES - 2 * sizeof ids];
    *reader = (struct reader){0};
    inject_read_status(pid, "Uid", ids, sizeof ids);
    reader->user = (uid_t)strtoul(last_of(ids), NULL, 10);
    inject_read_status(pid, "Groups", groups, sizeof groups);
    inject_read_status(pid, "Gid", ids, sizeof ids);
    snprintf(reader->groups, sizeof reader->groups, " %s %s ", last_of(ids), groups);
    inject_read_status(pid, "CapEff", ids, sizeof ids);
    reader->may_all = strtoull(ids, NULL, 16) &
                      (UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH);
}

static bool may(const struct reader *reader, const char *path, unsigned what)
{
    struct stat status;
    char group[32];
    if (reader->may_all || stat(path, &status))
        return true;
    snprintf(group, sizeof group, " %u ", status.st_gid);
    const bool in_group = strstr(reader->groups, group);
    return status.st_mode >> (status.st_uid == reader->user ? 6 : in_group ? 3 : 0) & what;
}

/* The first closed directory, or the file. */
static bool find_closed(const struct reader *reader, const char *path, char closed[TARGET_PATH_MAX])
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(closed, TARGET_PATH_MAX, "%.*s", slash > path ? (int)(slash - path) : 1, path);
        if (!may(reader, closed, MAY_ENTER))
            return true;
    }
    snprintf(closed, TARGET_PATH_MAX, "%s", path);
    return !may(reader, path, MAY_READ);
}

bool inject_is_closed(const char *library, char closed[TARGET_PATH_MAX])
{
    const struct reader other = {.user = (uid_t)-1};
    return find_closed(&other, library, closed);
}

int inject_explain_closed(pid_t pid, const char *library, struct sprof_error *error)
{
    char closed[TARGET_PATH_MAX], number[32];
    struct reader reader;
    read_reader(&reader, pid);
    if (!find_closed(&reader, library, closed))
        return 0;
    const bool is_file = !strcmp(closed, library);
    const struct passwd *user = getpwuid(reader.user);
    snprintf(number, sizeof number, "%u", reader.user);
    return sprof_error_set(error, SPROF_EPERMISSION, EACCES,
                           "cannot trace process %d: its user (%s) may not %s %s%s%s\n"
                           "install sprof where that user may read it, or `chmod a+%c %s`",
                           (int)pid, user ? user->pw_name : number, is_file ? "read" : "enter",
                           closed, is_file ? "" : ", and has to load ", is_file ? "" : library,
                           is_file ? 'r' : 'x', closed);
}
