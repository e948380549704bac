/* Finds where a process belongs: its user, its cgroup and its container. */
#include "target/target.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

enum { CGROUPS_BYTES_MAX = 64 << 10, ID_DIGITS = 64 };

/* == Containers == */

static bool is_name_end(char c)
{
    return !c || c == '/' || c == '\n';
}

/* Sixty-four digits that stand alone: "docker-ID.scope", "/docker/ID", "cri-containerd:ID". */
static bool find_id(const char *text, char name[TARGET_CONTAINER_MAX])
{
    for (const char *at = text; *at;) {
        const size_t digits = strspn(at, "0123456789abcdef");
        const bool begins = at == text || !isalnum((unsigned char)at[-1]);
        if (begins && digits == ID_DIGITS && !isalnum((unsigned char)at[digits])) {
            memcpy(name, at, ID_DIGITS);
            name[ID_DIGITS] = '\0';
            return true;
        }
        at += digits + (at[digits] != '\0');
    }
    return false;
}

/* "/lxc.payload.NAME", "/lxc/NAME", "machine-NAME.scope" (systemd-nspawn). */
static bool find_name(const char *text, char name[TARGET_CONTAINER_MAX])
{
    static const char *const prefixes[] = {"/lxc.payload.", "/lxc/", "/machine-"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *at = strstr(text, prefixes[i]);
        size_t length = 0;
        for (at = at ? at + strlen(prefixes[i]) : ""; !is_name_end(at[length]);)
            length++;
        if (length >= 6 && !memcmp(at + length - 6, ".scope", 6))
            length -= 6;
        if (!length || length >= TARGET_CONTAINER_MAX)
            continue;
        memcpy(name, at, length);
        name[length] = '\0';
        return true;
    }
    return false;
}

bool target_container_find(const char *cgroups, char name[TARGET_CONTAINER_MAX])
{
    return find_id(cgroups, name) || find_name(cgroups, name);
}

/* == Processes == */

static const char *name_of_user(uint32_t uid, struct target_user *last, struct sprof_arena *arena)
{
    char buffer[4096];
    struct passwd entry, *found = NULL;
    if (!last->is_known || last->uid != uid) {
        *last = (struct target_user){.is_known = true, .uid = uid};
        if (!getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) && found &&
            strlen(found->pw_name) < sizeof last->name)
            strcpy(last->name, found->pw_name);
    }
    return last->name[0] ? sprof_arena_text(arena, last->name) : NULL;
}

int target_origin_read(struct target_origin *origin, pid_t pid, struct target_user *last,
                       struct sprof_arena *arena)
{
    char path[64], container[TARGET_CONTAINER_MAX];
    struct sprof_str text = {0};
    uid_t uid;
    *origin = (struct target_origin){0};
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    if (!sprof_proc_uid_read(pid, &uid) || sprof_proc_read(path, CGROUPS_BYTES_MAX, &text)) {
        sprof_str_release(&text);
        return SPROF_ENOTFOUND;
    }
    origin->uid = uid;
    origin->user = name_of_user(uid, last, arena);
    const char *lines = text.text ? text.text : "";
    const char *unified = strncmp(lines, "0::", 3) ? strstr(lines, "\n0::") : lines;
    if (unified) {
        unified += (*unified == '\n') + 3;
        origin->cgroup = sprof_arena_copy(arena, unified, strcspn(unified, "\n"));
    }
    const bool contained = target_container_find(lines, container);
    if (contained)
        origin->container = sprof_arena_text(arena, container);
    const bool failed = (unified && !origin->cgroup) || (contained && !origin->container);
    sprof_str_release(&text);
    return failed ? SPROF_ENOMEM : 0;
}
