/* Reads memory and mappings of a process that probes leave. */
#include "inject/leaving.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool inject_leaving_is_ours(const struct inject_leaving *leaving, uint64_t address)
{
    for (size_t i = 0; i < leaving->ours.count; i++)
        if (inject_span_holds(&leaving->ours.items[i], address))
            return true;
    return false;
}

bool inject_leaving_read(const struct inject_leaving *leaving, uint64_t address, void *to,
                         size_t size)
{
    return pread(leaving->memory_fd, to, size, (off_t)address) == (ssize_t)size;
}

bool inject_leaving_write(const struct inject_leaving *leaving, uint64_t address, const void *from,
                          size_t size)
{
    return pwrite(leaving->memory_fd, from, size, (off_t)address) == (ssize_t)size;
}

/* == What there is == */

/* adjacent islands are one mapping */
static void see_coming(struct inject_leaving *leaving, const struct inject_span *mapped)
{
    for (size_t i = 0; i < leaving->coming.count; i++) {
        struct inject_coming *coming = &leaving->coming.items[i];
        coming->is_there |= mapped->start <= coming->span.start && coming->span.end <= mapped->end;
    }
}

int inject_leaving_read_maps(struct inject_leaving *leaving)
{
    const struct inject_process *process = leaving->process;
    char path[64], line[4608];
    int result = 0;
    leaving->ours.count = leaving->writable.count = leaving->texts.count = 0;
    sprof_proc_shared_path(path, sizeof path, process->pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && !result && fgets(line, sizeof line, maps)) {
        struct inject_text_pages mapped = {0};
        struct inject_span span;
        struct sprof_file_id *file = &mapped.file;
        char rights[8];
        int path_at = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &span.start, &span.end, rights,
                   &mapped.offset, &file->device_major, &file->device_minor, &file->inode,
                   &path_at) < 7)
            continue;
        const bool is_records =
            span.start >= PROBE_RECORDS && span.start < PROBE_RECORDS + PROBE_RECORDS_BYTES;
        if (rights[2] == 'x' &&
            (strstr(line, PROBE_LIBRARY_STEM) || inject_span_holds(&span, process->hello.thunks)))
            result = sprof_vec_push(&leaving->ours, span);
        if (!strcmp(rights, "r-xp") && !mapped.offset && !file->inode)
            see_coming(leaving, &span);
        if (rights[2] == 'x' && line[path_at] == '/') {
            line[strcspn(line, "\n")] = '\0';
            mapped.span = span;
            file->path = sprof_arena_text(&leaving->arena, line + path_at);
            result = !file->path || sprof_vec_push(&leaving->texts, mapped);
        }
        if (strstr(line, "[stack]"))
            leaving->stack = span;
        if (!result && rights[1] == 'w' && rights[3] == 'p' && !is_records)
            result = sprof_vec_push(&leaving->writable, span);
    }
    if (maps)
        fclose(maps);
    for (size_t i = 0; i < leaving->islands.count && !result; i++)
        result = sprof_vec_push(&leaving->ours, leaving->islands.items[i]);
    return result ? SPROF_ENOMEM : 0;
}

int inject_text_open(const struct inject_leaving *leaving, const struct inject_text_pages *text,
                     struct image **image, struct sprof_error *error)
{
    const struct image_request request = {.file = text->file,
                                          .pid = leaving->process->pid,
                                          .map_start = text->span.start,
                                          .map_end = text->span.end};
    return image_open(image, &request, error);
}

int inject_leaving_open(struct inject_leaving *leaving, struct sprof_error *error)
{
    char path[64];
    const pid_t pid = leaving->process->pid;
    sprof_proc_shared_path(path, sizeof path, pid, "mem");
    leaving->memory_fd = open(path, O_RDWR | O_CLOEXEC);
    sprof_proc_shared_path(path, sizeof path, pid, "pagemap");
    leaving->pages_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (leaving->memory_fd >= 0 && leaving->pages_fd >= 0)
        return 0;
    const int errnum = errno;
    if (inject_memory_is_gone(pid))
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has ended", (int)pid);
    return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                           "the probes in process %d are off, and stay: its memory may not be "
                           "written any more (%s), as when it has changed its user, or forbids it "
                           "(prctl PR_SET_DUMPABLE)\nas root `sprof ctl -p %d detach` takes them "
                           "out",
                           (int)pid, strerror(errnum), (int)pid);
}

void inject_leaving_release(struct inject_leaving *leaving)
{
    if (leaving->memory_fd >= 0)
        close(leaving->memory_fd);
    if (leaving->pages_fd >= 0)
        close(leaving->pages_fd);
    sprof_vec_release(&leaving->changes);
    sprof_vec_release(&leaving->islands);
    sprof_vec_release(&leaving->ours);
    sprof_vec_release(&leaving->coming);
    sprof_vec_release(&leaving->writable);
    sprof_vec_release(&leaving->texts);
    sprof_vec_release(&leaving->copies);
    sprof_vec_release(&leaving->known_files);
    sprof_arena_release(&leaving->arena);
}
