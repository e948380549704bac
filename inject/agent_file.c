/* Finds the agent's file, and its mapping in a process. */
#include "image/image.h"
#include "inject/attach.h"
#include "inject/inside.h"

#include "agent/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int inject_sees(pid_t pid, const char *file)
{
    char root[64], there[TARGET_PATH_MAX + sizeof root];
    struct stat ours, theirs;
    sprof_proc_shared_path(root, sizeof root, pid, "root");
    snprintf(there, sizeof there, "%s%s", root, file);
    if (stat(root, &theirs))
        return -1;
    return !stat(file, &ours) && !stat(there, &theirs) && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

bool inject_is_raw(pid_t pid)
{
    char path[64];
    sprof_proc_shared_path(path, sizeof path, pid, "exe");
    return inject_raw_is_for(path);
}

int inject_find_agent(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error)
{
    char full[TARGET_PATH_MAX];
    const int result = target_find_library(
        inject_is_raw(pid) ? PROBE_MAPPED_LIBRARY : PROBE_LIBRARY, library, error);
    if (!result && realpath(library, full))
        snprintf(library, TARGET_PATH_MAX, "%s", full);
    return result;
}

int inject_find_library(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error)
{
    const int result = inject_find_agent(pid, library, error);
    if (!result && inject_sees(pid, library) != 1)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "cannot trace process %d: it does not see %s, as in a container\n"
                               "run sprof in there",
                               (int)pid, library);
    return result;
}

bool inject_has_mapping(pid_t pid, const char *part)
{
    char path[64], line[TARGET_PATH_MAX + 256];
    bool has = false;
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && !has && fgets(line, sizeof line, maps))
        has = strstr(line, part);
    if (maps)
        fclose(maps);
    return has;
}

/* True: Boehm's collector is there. It reads the data of all libraries that were loaded when it
 * started, and the borrowed thread may be one of its own, which it does not stop. */
bool inject_has_collector(pid_t pid)
{
    return inject_has_mapping(pid, "/libgc.so.");
}

uint64_t inject_find_base(pid_t pid, const char *library)
{
    char path[64], line[TARGET_PATH_MAX + 256], rights[8];
    uint64_t first = 0, base = 0;
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && !base && fgets(line, sizeof line, maps)) {
        unsigned long start, offset;
        const char *name = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        if (!name || strcmp(name, library) != 0 ||
            sscanf(line, "%lx-%*x %7s %lx", &start, rights, &offset) != 3)
            continue;
        first = offset ? first : start;
        base = rights[2] == 'x' || !strcmp(rights, "---p") ? first : 0;
    }
    if (maps)
        fclose(maps);
    return base;
}

uint64_t inject_find_asked(pid_t pid, const char *library)
{
    static const char *const names[] = {PROBE_ASKED, NULL};
    struct image_symbol symbol = {0};
    struct image *image;
    const struct image_request request = {.file = {.path = library}};
    const uint64_t base = inject_find_base(pid, library);
    if (!base || image_open(&image, &request, NULL))
        return 0;
    image_find_symbols(image, names, &symbol);
    image_free(image);
    return symbol.vaddr ? base + symbol.vaddr : 0;
}

bool inject_agent_stays(const struct inject_process *process)
{
    char path[64], line[TARGET_PATH_MAX + 256];
    const uint64_t thunks = process->hello.thunks;
    bool has = false;
    sprof_proc_shared_path(path, sizeof path, process->pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && !has && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        has = sscanf(line, "%lx-%lx", &start, &end) == 2 && strstr(line, PROBE_LIBRARY_STEM) &&
              (!thunks || (thunks >= start && thunks < end));
    }
    if (maps)
        fclose(maps);
    return has;
}
