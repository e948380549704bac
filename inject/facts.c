/* Reads rights and locks of a process in /proc/PID/status. */
#include "inject/attach.h"
#include "inject/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void inject_read_status(pid_t pid, const char *name, char *value, size_t size)
{
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    *value = '\0';
    while (file && fgets(line, sizeof line, file)) {
        const size_t length = strlen(name);
        if (strncmp(line, name, length) || line[length] != ':')
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(value, size, "%s", line + length + 1 + strspn(line + length + 1, " \t"));
    }
    if (file)
        fclose(file);
}

enum inject_seccomp inject_seccomp_of(pid_t pid, pid_t tid)
{
    char path[64], line[256];
    unsigned mode = INJECT_SECCOMP_NOT;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Seccomp: %u", &mode) == 1)
            break;
    if (file)
        fclose(file);
    return (enum inject_seccomp)mode;
}

static bool has_seccomp(pid_t pid, enum inject_seccomp from, enum inject_seccomp to)
{
    struct sprof_id_list threads = {0};
    bool has = sprof_proc_threads(pid, &threads) != 0;
    for (size_t i = 0; i < threads.count && !has; i++) {
        const enum inject_seccomp mode = inject_seccomp_of(pid, (pid_t)threads.items[i]);
        has = mode >= from && mode <= to;
    }
    sprof_vec_release(&threads);
    return has;
}

bool inject_is_filtered(pid_t pid)
{
    return has_seccomp(pid, INJECT_SECCOMP_STRICT, INJECT_SECCOMP_FILTER);
}

bool inject_is_strict(pid_t pid)
{
    return has_seccomp(pid, INJECT_SECCOMP_STRICT, INJECT_SECCOMP_STRICT);
}

const char *inject_lock_advice(pid_t pid)
{
    char locked[64];
    inject_read_status(pid, "VmLck", locked, sizeof locked);
    return strtoull(locked, NULL, 10)
               ? "\nit locks its memory: after mlockall all that is loaded counts, see `ulimit -l`"
               : "";
}
