/* Finds tracefs, and the tracepoints in it. */
#include "sampler/perf/tracefs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES = 320, NUMBER_BYTES = 32, FORMAT_BYTES = 16 << 10 };

/* == Opening == */

static int open_events(int directory, const char *path)
{
    const int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Where it is mounted by custom: as itself, or inside debugfs. */
static int open_mounted(void)
{
    const int fd = open_events(AT_FDCWD, "/sys/kernel/tracing/events");
    return fd != -ENOENT ? fd : open_events(AT_FDCWD, "/sys/kernel/debug/tracing/events");
}

/* A mount in no directory ends with its descriptors (Linux 5.2, fsopen(2)). */
static int open_detached(void)
{
#if defined SYS_fsopen && defined SYS_fsconfig && defined SYS_fsmount
    enum { CLOSE_ON_EXEC = 1, CREATE = 6 }; /* FSOPEN_, FSMOUNT_CLOEXEC; FSCONFIG_CMD_CREATE */
    const int context = (int)syscall(SYS_fsopen, "tracefs", CLOSE_ON_EXEC);
    if (context < 0)
        return -errno;
    int mount = -1;
    if (!syscall(SYS_fsconfig, context, CREATE, NULL, NULL, 0))
        mount = (int)syscall(SYS_fsmount, context, CLOSE_ON_EXEC, 0);
    int result = mount < 0 ? -errno : 0;
    close(context);
    if (!result) {
        result = open_events(mount, "events");
        close(mount);
    }
    return result;
#else
    return -ENOSYS;
#endif
}

int perf_tracefs_open(struct perf_tracefs *tracefs, struct sprof_error *error)
{
    int fd = open_mounted();
    if (fd == -ENOENT)
        fd = open_detached();
    tracefs->events_fd = fd < 0 ? -1 : fd;
    if (fd >= 0)
        return 0;
    if (fd == -EACCES || fd == -EPERM)
        return sprof_error_set(error, SPROF_EPERMISSION, -fd,
                               "only root may read which tracepoints there are (tracefs: %s)\n"
                               "run sprof as root: `sudo sprof …`",
                               strerror(-fd));
    if (fd == -ENOSYS)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, -fd,
                               "tracefs, which has the tracepoints, is not mounted\n"
                               "run `sudo mount -t tracefs tracefs /sys/kernel/tracing`");
    return sprof_error_set(error, SPROF_EUNSUPPORTED, -fd,
                           "this kernel has no tracepoints, or hides them here (tracefs: %s)\nrun "
                           "sprof on the host, on a kernel built with CONFIG_FTRACE=y",
                           strerror(-fd));
}

void perf_tracefs_close(struct perf_tracefs *tracefs)
{
    if (tracefs->events_fd >= 0)
        close(tracefs->events_fd);
    tracefs->events_fd = -1;
}

/* == Reading == */

/* A file of a tracepoint, as a path below `events`; false: the name is not of its form. */
static bool make_path(const char *name, const char *file, char path[PATH_BYTES])
{
    const char *colon = strchr(name, ':');
    if (!colon || strchr(name, '/') || *name == '.' || colon[1] == '.')
        return false;
    return snprintf(path, PATH_BYTES, "%.*s/%s/%s", (int)(colon - name), name, colon + 1, file) <
           PATH_BYTES;
}

int perf_tracefs_id(const struct perf_tracefs *tracefs, const char *name, uint64_t *id)
{
    char path[PATH_BYTES], text[NUMBER_BYTES] = "";
    if (!make_path(name, "id", path))
        return -ENOENT;
    const int fd = openat(tracefs->events_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    const ssize_t size = read(fd, text, sizeof text - 1);
    const int errnum = errno;
    close(fd);
    if (size < 0)
        return -errnum;
    char *end;
    *id = strtoull(text, &end, 10);
    return end == text ? -ENOENT : 0;
}

/* == Fields == */

/* What the bytes of a field are; false: arrays of numbers, and what is larger. */
static bool classify(const char *type, const char *end, unsigned size, bool is_signed,
                     enum model_field_kind *kind)
{
    const char *array = memchr(type, '[', (size_t)(end - type));
    const bool is_number = !array && (size == 1 || size == 2 || size == 4 || size == 8);
    if (array && !strncmp(type, "__data_loc char", 15))
        *kind = MODEL_FIELD_TEXT_AT;
    else if (array && !strncmp(type, "char ", 5))
        *kind = MODEL_FIELD_TEXT;
    else
        *kind = memchr(type, '*', (size_t)(end - type)) ? MODEL_FIELD_POINTER
                : is_signed                             ? MODEL_FIELD_SIGNED
                                                        : MODEL_FIELD_NUMBER;
    return is_number || *kind == MODEL_FIELD_TEXT_AT || *kind == MODEL_FIELD_TEXT;
}

/* One line of a format: "field:unsigned int bytes;	offset:28;	size:4;	signed:0;", or
 * "field:char comm[16];	…", or "field:__data_loc char[] name;	…". */
static bool read_field(const char *line, struct model_field *field)
{
    unsigned offset, size, is_signed;
    const char *type = strstr(line, "field:"), *end = type ? strchr(type, ';') : NULL;
    if (!end || end > strchrnul(line, '\n') ||
        sscanf(end, "; offset:%u; size:%u; signed:%u;", &offset, &size, &is_signed) != 3)
        return false;
    type += strlen("field:");
    const char *last = end[-1] == ']' ? memrchr(type, '[', (size_t)(end - type)) : end;
    const char *first = last;
    while (first > type && (isalnum((unsigned char)first[-1]) || first[-1] == '_'))
        first--;
    const int length =
        snprintf(field->name, sizeof field->name, "%.*s", (int)(last - first), first);
    field->offset = (uint16_t)offset;
    field->bytes = (uint16_t)size;
    return length > 0 && length < (int)sizeof field->name && offset <= UINT16_MAX - 8 &&
           size <= UINT16_MAX && classify(type, end, size, is_signed, &field->kind);
}

int perf_fields_parse(const char *format, struct model_fields *fields)
{
    struct model_field field;
    for (const char *line = format; *line; line += *line == '\n') {
        if (read_field(line, &field) && strncmp(field.name, "common_", 7) != 0 &&
            sprof_vec_push(fields, field))
            return SPROF_ENOMEM;
        line = strchrnul(line, '\n');
    }
    return 0;
}

int perf_tracefs_fields(const struct perf_tracefs *tracefs, const char *tracepoint,
                        struct model_fields *fields)
{
    char path[PATH_BYTES], text[FORMAT_BYTES] = "";
    const int fd = make_path(tracepoint, "format", path)
                       ? openat(tracefs->events_fd, path, O_RDONLY | O_CLOEXEC)
                       : -1;
    for (size_t used = 0; fd >= 0 && used < sizeof text - 1;) {
        const ssize_t size = read(fd, text + used, sizeof text - 1 - used);
        if (size <= 0)
            break;
        used += (size_t)size;
    }
    if (fd >= 0)
        close(fd);
    return perf_fields_parse(text, fields);
}

static bool is_number(const struct model_field *field)
{
    return field->kind != MODEL_FIELD_TEXT && field->kind != MODEL_FIELD_TEXT_AT;
}

static int no_field(const struct model_fields *fields, const char *tracepoint, const char *name,
                    struct sprof_error *error)
{
    struct sprof_suggestions near = {0};
    struct sprof_str text = {0}, all = {0};
    for (size_t i = 0; i < fields->count; i++)
        if (is_number(&fields->items[i])) {
            sprof_str_appendf(&all, "%s%s", all.length ? ", " : "", fields->items[i].name);
            sprof_suggest_offer(&near, name, fields->items[i].name);
        }
    sprof_suggest_append(&text, &near);
    if (!text.length)
        sprof_str_appendf(&text, "; it has %.300s", all.text ? all.text : "none");
    const int result =
        sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` has no field `%.60s` that is a number%s",
                        tracepoint, name, text.text ? text.text : "");
    sprof_str_release(&text);
    sprof_str_release(&all);
    return result;
}

int perf_fields_find_number(const struct model_fields *fields, const char *tracepoint,
                            const char *name, struct model_field *found, struct sprof_error *error)
{
    for (size_t i = 0; i < fields->count; i++)
        if (is_number(&fields->items[i]) && !strcmp(fields->items[i].name, name)) {
            *found = fields->items[i];
            return 0;
        }
    return no_field(fields, tracepoint, name, error);
}

/* == Names == */

static int add_name(struct perf_tracepoints *names, const char *system, const char *name)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "%s:%s", system, name);
    if (text.failed || sprof_vec_push(names, text.text)) {
        sprof_str_release(&text);
        return SPROF_ENOMEM;
    }
    return 0;
}

static bool fits(const char *pattern, const struct dirent *entry)
{
    return entry->d_name[0] != '.' && entry->d_type == DT_DIR &&
           !fnmatch(pattern, entry->d_name, 0);
}

/* Tracepoints are directories with an id; those of tracefs itself ("ftrace") have no events. */
static int match_in(const struct perf_tracefs *tracefs, const char *system, const char *pattern,
                    struct perf_tracepoints *names)
{
    const int fd = open_events(tracefs->events_fd, system);
    DIR *directory = fd < 0 || !strcmp(system, "ftrace") ? NULL : fdopendir(fd);
    int result = 0;
    if (!directory && fd >= 0)
        close(fd);
    for (struct dirent *entry; !result && directory && (entry = readdir(directory));)
        if (fits(pattern, entry))
            result = add_name(names, system, entry->d_name);
    if (directory)
        closedir(directory);
    return result;
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

int perf_tracefs_match(const struct perf_tracefs *tracefs, const char *pattern,
                       struct perf_tracepoints *names)
{
    const char *colon = strchr(pattern, ':');
    char systems[PATH_BYTES];
    if (!colon || snprintf(systems, sizeof systems, "%.*s", (int)(colon - pattern), pattern) >=
                      (int)sizeof systems)
        return 0;
    const int fd = open_events(tracefs->events_fd, ".");
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    int result = 0;
    if (!directory && fd >= 0)
        close(fd);
    for (struct dirent *entry; !result && directory && (entry = readdir(directory));)
        if (fits(systems, entry))
            result = match_in(tracefs, entry->d_name, colon + 1, names);
    if (directory)
        closedir(directory);
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, compare);
    return result;
}

void perf_tracepoints_release(struct perf_tracepoints *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    sprof_vec_release(names);
}
