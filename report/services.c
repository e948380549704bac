/* Finds the services of a whole machine's processes by where they belonged. */
#include "report/services.h"

#include "report/dataset_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool report_run_is_of_machine(const struct store_run *run)
{
    return run->targets && !strncmp(run->targets, MODEL_TARGETS_ALL, strlen(MODEL_TARGETS_ALL));
}

/* == Builds == */

/* "" where the program has no build id. */
static int take_build(void *context, int columns, char *const *values, char *const *names)
{
    struct report_dataset *dataset = context;
    (void)columns;
    (void)names;
    const uint32_t id = values[0] ? (uint32_t)strtoul(values[0], NULL, 10) : 0;
    const uint32_t number = report_dataset_number(&dataset->numbers.processes, id);
    if (!number)
        return 0;
    const char *text = values[1] ? values[1] : "";
    const char *build = sprof_arena_copy(&dataset->arena, text, strlen(text));
    dataset->processes.items[number - 1].build = build;
    return build ? 0 : SPROF_ENOMEM;
}

int report_dataset_load_builds(struct report_dataset *dataset, struct store *store, uint32_t run_id,
                               struct sprof_error *error)
{
    char sql[350]; /* what was executed last comes last */
    snprintf(sql, sizeof sql,
             "SELECT p.id, substr(m.build_id, 1, %d) FROM module m JOIN mapping a ON a.module_id = "
             "m.id JOIN process p ON p.id = a.process_id WHERE m.main_executable AND p.run_id = "
             "%" PRIu32 " ORDER BY a.start_ns, a.id",
             REPORT_BUILD_DIGITS, run_id);
    return store_query(store, sql, take_build, dataset, error);
}

/* == Services == */

/* The end of a word without its ending; NULL: it has another one. */
static const char *without_ending(const char *word, size_t length, const char *ending)
{
    const size_t tail = strlen(ending);
    return length > tail && !strncmp(word + length - tail, ending, tail) ? word + length - tail
                                                                         : NULL;
}

/* The part of a cgroup's path that names the innermost unit, "/shop@2.service" → "shop"; NULL: it
 * is no service. What a session has started, as a desktop does, lies below its manager or in a
 * scope. */
static const char *find_unit(const char *cgroup, size_t *length)
{
    static const char manager[] = "user@";
    const char *unit = NULL;
    for (const char *part = cgroup; *part;) {
        part += *part == '/';
        const size_t part_length = strcspn(part, "/"), stem = strcspn(part, "@");
        const char *end = without_ending(part, part_length, ".service");
        if (end && strncmp(part, manager, strlen(manager)) != 0) {
            const size_t whole = (size_t)(end - part);
            unit = part;
            *length = stem && stem < whole ? stem : whole;
        } else if (end || without_ending(part, part_length, ".scope")) {
            unit = NULL;
        }
        part += part_length;
    }
    return unit;
}

static bool is_id(const char *name)
{
    enum { ID_DIGITS = 64 };
    return strspn(name, "0123456789abcdef") == ID_DIGITS && !name[ID_DIGITS];
}

/* A container in which systemd runs has units of its own. */
static const char *find_place(const struct report_process *process, unsigned without,
                              size_t *length)
{
    enum { ID_SHOWN = 12 };
    const char *container = without & REPORT_ROWS_CONTAINER || !strcmp(process->container, "?") ||
                                    !strcmp(process->container, "none")
                                ? NULL
                                : process->container;
    const char *unit = without & REPORT_ROWS_CGROUP ? NULL : find_unit(process->cgroup, length);
    const char *inside = container ? strstr(process->cgroup, container) : NULL;
    if (unit && (!container || (inside && inside < unit)))
        return unit;
    if (container)
        *length = is_id(container) ? ID_SHOWN : strlen(container);
    return container;
}

/* Threads of the kernel are one service for all CPUs: "kworker/1:0-events". */
static size_t program_length(const struct report_process *process)
{
    return process->command ? strlen(process->name) : strcspn(process->name, "/");
}

/* Of a process that has executed nothing its parent's program goes on, under the same name. */
static const char *find_build(const struct report_dataset *dataset, uint32_t number)
{
    const struct report_process *process = &dataset->processes.items[number - 1], *at = process;
    while (!at->build && at->parent) {
        at = &dataset->processes.items[at->parent - 1];
        if (process->name && at->name && strcmp(process->name, at->name) != 0)
            return "";
    }
    return at->build ? at->build : "";
}

struct report_service report_service_of(const struct report_dataset *dataset, uint32_t number,
                                        unsigned without)
{
    struct report_service service = {.build = ""};
    const struct report_process *process = &dataset->processes.items[number - 1];
    size_t length = 0;
    const char *name = find_place(process, without, &length);
    while (!name && !process->name && process->parent)
        process = &dataset->processes.items[process->parent - 1];
    if (!name && process->name && *process->name) {
        name = process->name;
        length = program_length(process);
    }
    if (!name || !length) {
        name = REPORT_SERVICE_MACHINE;
        length = strlen(name);
    }
    snprintf(service.name, sizeof service.name, "%.*s", (int)length, name);
    snprintf(service.build, sizeof service.build, "%s", find_build(dataset, number));
    return service;
}

bool report_service_takes(const struct report_dataset *dataset, uint32_t process,
                          const struct report_service_choice *choice)
{
    if (!choice)
        return true;
    const struct report_service service = report_service_of(dataset, process, choice->without);
    return (!choice->name || !strcmp(choice->name, service.name)) &&
           (!choice->build || !strcmp(choice->build, service.build));
}
