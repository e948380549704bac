/* Finds control groups of version 2, and which one a process is in. */
#include "target/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOUNTS_BYTES_MAX = 16 << 20, CGROUPS_BYTES_MAX = 64 << 10 };

/* == Mounts == */

/* A mount of a hierarchy: `point` is in the file system, `root` in the hierarchy. */
struct mount {
    char root[TARGET_PATH_MAX], point[TARGET_PATH_MAX], type[32];
};

/* proc(5): number, parent, device, root, point, options, optional fields, "-", type … */
static bool parse_mount(const char *line, struct mount *mount)
{
    const char *end = strchrnul(line, '\n'), *dash = strstr(line, " - ");
    return dash && dash < end &&
           sscanf(line, "%*d %*d %*s %4095s %4095s", mount->root, mount->point) == 2 &&
           sscanf(dash, " - %31s", mount->type) == 1;
}

/* Calls `each` for the mounts of a type, until it returns true, which is returned. */
static bool find_mount(const char *type, bool (*each)(void *, const struct mount *), void *context)
{
    struct sprof_str text = {0};
    struct mount mount;
    bool found = false;
    if (!sprof_proc_read("/proc/self/mountinfo", MOUNTS_BYTES_MAX, &text) && text.text)
        for (const char *line = text.text; *line && !found; line = strchrnul(line, '\n')) {
            line += *line == '\n';
            found = parse_mount(line, &mount) && !strcmp(mount.type, type) && each(context, &mount);
        }
    sprof_str_release(&text);
    return found;
}

static bool take_first(void *context, const struct mount *mount)
{
    *(struct mount *)context = *mount;
    return true;
}

/* == Cgroups == */

static uint32_t count_names(const char *path)
{
    uint32_t count = 0;
    for (; *path; path++)
        count += *path != '/' && (path[1] == '/' || !path[1]);
    return count;
}

struct wanted {
    const char *path;
    char where[TARGET_PATH_MAX];
};

static bool has_path(void *context, const struct mount *mount)
{
    struct wanted *wanted = context;
    char directory[2 * TARGET_PATH_MAX];
    struct stat status;
    snprintf(directory, sizeof directory, "%s/%s", mount->point, wanted->path);
    if (stat(directory, &status) || !S_ISDIR(status.st_mode))
        return false;
    snprintf(wanted->where, sizeof wanted->where, "%s", mount->point);
    return true;
}

static int explain_missing(const char *path, const struct mount *mount, struct sprof_error *error)
{
    struct wanted wanted = {.path = path};
    if (find_mount("cgroup", has_path, &wanted))
        return sprof_error_set(error, SPROF_ENOTFOUND, ENOENT,
                               "`%.200s` is a cgroup of version 1 (in %.200s): its samples cannot "
                               "be chosen\nname the cgroup of version 2, which the line `0::` of "
                               "/proc/PID/cgroup shows",
                               path, wanted.where);
    return sprof_error_set(error, SPROF_ENOTFOUND, ENOENT,
                           "there is no cgroup `%.200s` below %.200s\nrun `cat /proc/PID/cgroup`: "
                           "the line `0::` has the path of a process's cgroup",
                           path, mount->point);
}

int target_cgroup_find(const char *path, struct target_cgroup *cgroup, struct sprof_error *error)
{
    struct mount mount;
    struct stat status;
    if (!find_mount("cgroup2", take_first, &mount))
        return sprof_error_set(error, SPROF_EUNSUPPORTED, ENOENT,
                               "no cgroup2 hierarchy is mounted here, which --cgroup needs\nrun "
                               "`sudo mount -t cgroup2 none /sys/fs/cgroup/unified`");
    const size_t point = strlen(mount.point);
    if (!strncmp(path, mount.point, point) && (path[point] == '/' || !path[point]))
        path += point;
    path += strspn(path, "/");
    snprintf(cgroup->directory, sizeof cgroup->directory, "%.2000s/%.2000s", mount.point, path);
    if (strstr(path, "..") || stat(cgroup->directory, &status) || !S_ISDIR(status.st_mode))
        return explain_missing(path, &mount, error);
    cgroup->id = status.st_ino;
    cgroup->level = count_names(mount.root) + count_names(path);
    return 0;
}

void target_cgroup_of(pid_t pid, char *path, size_t size)
{
    char file[64];
    struct sprof_str text = {0};
    snprintf(file, sizeof file, "/proc/%d/cgroup", pid);
    *path = '\0';
    if (!sprof_proc_read(file, CGROUPS_BYTES_MAX, &text) && text.text) {
        const char *line = strncmp(text.text, "0::", 3) ? strstr(text.text, "\n0::") : text.text;
        line = line ? line + (*line == '\n') + 3 : "";
        snprintf(path, size, "%.*s", (int)strcspn(line, "\n"), line);
    }
    sprof_str_release(&text);
}

bool target_cgroup_has(const struct target_cgroup *cgroup, pid_t pid)
{
    char path[TARGET_PATH_MAX];
    struct target_cgroup own;
    target_cgroup_of(pid, path, sizeof path);
    for (char *end; *path && !target_cgroup_find(path, &own, NULL); *end = '\0') {
        if (own.id == cgroup->id)
            return true;
        if (own.level <= cgroup->level || !(end = strrchr(path, '/')))
            break;
    }
    return false;
}
