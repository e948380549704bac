#include "symbolize/jit.h"

#include "symbolize/addresses.h"
#include "symbolize/builder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int jit_add(struct symbolize_jit *jit, struct jit_entry entry, const char *name, size_t length)
{
    if (jit->entries.count >= JIT_MAX_ENTRIES) {
        jit->bad_lines++;
        return 0;
    }
    entry.name = sprof_arena_copy(&jit->texts, name, length < JIT_MAX_NAME ? length : JIT_MAX_NAME);
    return entry.name ? sprof_vec_push(&jit->entries, entry) : SPROF_ENOMEM;
}

void symbolize_jit_free(struct symbolize_jit *jit)
{
    if (!jit)
        return;
    sprof_vec_release(&jit->entries);
    sprof_vec_release(&jit->lines);
    sprof_arena_release(&jit->texts);
    free(jit);
}

uint64_t symbolize_jit_bad_lines(const struct symbolize_jit *jit)
{
    return jit->bad_lines;
}

static int open_failed(const char *path, struct sprof_error *error)
{
    const int errnum = errno;
    if (errnum == ENOENT || errnum == ENOTDIR)
        return sprof_error_set(
            error, SPROF_ENOTFOUND, errnum,
            "there is no %s; the runtime must write it (node: --perf-basic-prof)", path);
    if (errnum == ELOOP)
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "%s is a symbolic link and was not followed", path);
    if (errnum == EACCES || errnum == EPERM)
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "cannot read %s: %s; run sprof as its owner, or as root", path,
                               strerror(errnum));
    return sprof_error_set(error, SPROF_EIO, errnum, "cannot read %s: %s", path, strerror(errnum));
}

/* O_NONBLOCK: a pipe in its place must not make sprof wait. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };

static int read_any(struct symbolize_jit *jit, int fd, const char *path, struct sprof_error *error)
{
    uint32_t magic = 0;
    if (pread(fd, &magic, sizeof magic, 0) == sizeof magic &&
        (magic == JIT_DUMP_MAGIC || magic == JIT_DUMP_OTHER_MAGIC))
        return jit_read_dump(jit, fd, path, error);
    return jit_read_perf_map(jit, fd, path, error);
}

/* Anybody may write into /tmp: only the process's own user, or root, speaks for it. */
static int check_owner(int fd, const char *path, const uid_t *uid, struct sprof_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return open_failed(path, error);
    if (!S_ISREG(status.st_mode))
        return sprof_error_set(error, SPROF_EFORMAT, 0, "%s is not a regular file", path);
    if (uid && status.st_uid != *uid && status.st_uid != 0)
        return sprof_error_set(error, SPROF_EPERMISSION, 0,
                               "%s belongs to user %u, not to the process's user %u, and was not "
                               "read",
                               path, (unsigned)status.st_uid, (unsigned)*uid);
    return 0;
}

/* Owns fd. */
static int open_fd(struct symbolize_jit **out, int fd, const char *path, const uid_t *uid,
                   struct sprof_error *error)
{
    struct symbolize_jit *jit = NULL;
    int code = check_owner(fd, path, uid, error);
    if (!code) {
        jit = calloc(1, sizeof *jit);
        code = jit ? read_any(jit, fd, path, error) : sprof_error_memory(error);
    }
    close(fd);
    if (code)
        symbolize_jit_free(jit);
    else
        *out = jit;
    return code;
}

int symbolize_jit_open_file(struct symbolize_jit **jit, const char *path, struct sprof_error *error)
{
    *jit = NULL;
    const int fd = open(path, OPEN_FLAGS);
    return fd < 0 ? open_failed(path, error) : open_fd(jit, fd, path, NULL, error);
}

/* Inside the process's root, whose symbolic links must not lead out of it. */
static int open_in_root(pid_t pid, const char *path)
{
    char root[64];
    snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
    const int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -1;
    const struct open_how how = {
        .flags = OPEN_FLAGS,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    const int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    const int errnum = errno;
    close(directory);
    errno = errnum;
    return fd;
}

int symbolize_jit_open(struct symbolize_jit **jit, pid_t pid, pid_t ns_pid, uid_t uid,
                       struct sprof_error *error)
{
    char path[64];
    *jit = NULL;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)(ns_pid > 0 ? ns_pid : pid));
    int fd = pid > 0 ? open_in_root(pid, path) : -1;
    if (fd < 0)
        fd = open(path, OPEN_FLAGS);
    return fd < 0 ? open_failed(path, error) : open_fd(jit, fd, path, &uid, error);
}

/* Newest entries first, each takes the addresses that are still free; `next` leads over those that
 * are taken (path halving), so that a file of overlapping entries costs no more than another. */
static size_t next_free(size_t *next, size_t i)
{
    while (next[i] != i) {
        next[i] = next[next[i]];
        i = next[i];
    }
    return i;
}

static void assign(const struct symbolize_jit *jit, const struct addresses *addresses, size_t *next,
                   uint32_t *entry_of)
{
    for (size_t e = jit->entries.count; e-- > 0;) {
        const struct jit_entry *entry = &jit->entries.items[e];
        size_t i = next_free(next, addresses_lower_bound(addresses, entry->start));
        while (i < addresses->count && addresses->items[i] - entry->start < entry->size) {
            entry_of[i] = (uint32_t)(e + 1);
            next[i] = i + 1;
            i = next_free(next, i);
        }
    }
}

/* The last line at or before the address. */
static struct jit_line line_of(const struct symbolize_jit *jit, const struct jit_entry *entry,
                               uint64_t address)
{
    struct jit_line best = {0};
    for (uint32_t i = 0; i < entry->line_count; i++) {
        const struct jit_line *line = &jit->lines.items[entry->line + i];
        const uint64_t at = line->address + entry->moved;
        if (at <= address && (!best.file || line->address >= best.address))
            best = *line;
    }
    return best;
}

static void add_chain(struct builder *builder, const struct symbolize_jit *jit, uint32_t number,
                      uint64_t address)
{
    builder_open_chain(builder);
    if (!number)
        return;
    const struct jit_entry *entry = &jit->entries.items[number - 1];
    const struct jit_line line = line_of(jit, entry, address);
    const uint64_t key = sprof_hash_mix(number);
    uint32_t function;
    if (!builder_find(builder, key, &function))
        function = builder_add(builder, key,
                               &(struct symbolize_function){.linkage_name = entry->name,
                                                            .start = entry->start,
                                                            .size = entry->size,
                                                            .named = true});
    builder_add_frame(builder, function, line.file, line.line);
}

int symbolize_jit(struct symbolize_result *result, const struct symbolize_jit *jit,
                  const uint64_t *addresses, size_t count, struct sprof_error *error)
{
    const struct addresses asked = {addresses, count};
    struct builder builder = {0};
    size_t *next = calloc(count + 1, sizeof *next);
    uint32_t *entry_of = calloc(count + 1, sizeof *entry_of);
    builder.failed = !next || !entry_of;
    for (size_t i = 0; i <= count && next; i++)
        next[i] = i;
    if (!builder.failed)
        assign(jit, &asked, next, entry_of);
    for (size_t i = 0; i < count && !builder.failed; i++)
        add_chain(&builder, jit, entry_of[i], addresses[i]);
    free(next);
    free(entry_of);
    return builder_finish(&builder, result, error);
}
