/* Plans of all files that a live process runs. */
#include "plan/process_plan.h"
#include "base/file.h"
#include "model/kinds.h"
#include "recording/recording.h"
#include "target/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What bytes of a process are read by. */
struct reader {
    pid_t pid;
    int fd;                           /* -1: none */
    const struct plan_put_in *put_in; /* NULL: nothing */
};

struct survey {
    struct reader reader;
    struct cache *cache;
    bool (*wants)(void *context, const struct image_request *file);
    int (*module)(void *context, struct plan_module *module);
    void *context;
    SPROF_VEC(uint64_t) seen;            /* digests of paths, devices and inodes */
    SPROF_VEC(struct model_mmap) mapped; /* without paths */
    bool generated;
};

static size_t read_process(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct reader *reader = context;
    const size_t have = reader->fd >= 0 ? sprof_file_read(reader->fd, address, buffer, size)
                                        : target_read_memory(reader->pid, address, buffer, size);
    if (reader->put_in)
        reader->put_in->restore(reader->put_in->context, address, buffer, have);
    return have;
}

bool plan_is_generated(pid_t pid, const struct model_mmap *mapping)
{
    static const char memfd[] = "/memfd:";
    const char *path = mapping->file.path;
    char first[SELFMAG];
    if (!path || !strncmp(path, "[stack", 6) ||
        model_kind_of(NULL, path, false, false) != MODEL_KIND_JIT)
        return false;
    return strncmp(path, memfd, sizeof memfd - 1) != 0 ||
           target_read_memory(pid, mapping->address - mapping->file_offset, first, sizeof first) !=
               sizeof first ||
           memcmp(first, ELFMAG, SELFMAG) != 0;
}

static bool is_file(const struct sprof_file_id *file)
{
    return file->path && file->path[0] == '/' && strncmp(file->path, "//", 2) != 0;
}

static int note_mapping(void *context, const struct model_mmap *mapping)
{
    struct survey *survey = context;
    struct model_mmap noted = *mapping;
    noted.file.path = NULL;
    return sprof_vec_push(&survey->mapped, noted) ? SPROF_ENOMEM : 0;
}

/* Whether the process has the file as code a second time, and runs the other one. */
static bool is_idle(const struct survey *survey, const struct model_mmap *mapping)
{
    for (size_t i = 0; i < survey->mapped.count; i++) {
        const struct model_mmap *other = &survey->mapped.items[i];
        if (plan_identity(&other->file) == plan_identity(&mapping->file) &&
            !plan_is_same_copy(other, mapping))
            return plan_is_idle_copy(survey->reader.pid, mapping);
    }
    return false;
}

/* A library has several executable mappings at times, all of one bias. */
static bool was_seen(struct survey *survey, const struct sprof_file_id *file)
{
    const uint64_t key =
        sprof_hash_mix(sprof_hash_bytes(file->path, strlen(file->path)) ^ file->inode);
    for (size_t i = 0; i < survey->seen.count; i++)
        if (survey->seen.items[i] == key)
            return true;
    return sprof_vec_push(&survey->seen, key) != 0;
}

struct search {
    struct image_request *request;
    uint64_t identity;
};

static int find_mapping(void *context, const struct model_mmap *mapping)
{
    const struct search *search = context;
    if (!mapping->file.path || plan_identity(&mapping->file) != search->identity)
        return 0;
    *search->request = plan_request_of(search->request->pid, mapping);
    return 1;
}

int plan_request_find(struct image_request *request, pid_t pid, uint64_t identity, const char *path)
{
    struct search search = {request, identity};
    *request = (struct image_request){.pid = pid};
    const int result = target_each_mapping(pid, find_mapping, &search);
    request->file.path = path;
    return result < 0 ? result : 0;
}

/* address - vaddr of a mapping, by the file. */
static uint64_t bias_of(const struct image_request *request, const struct model_mmap *mapping)
{
    struct image *image;
    uint64_t vaddr = mapping->file_offset;
    if (recording_open_image(&image, request, NULL))
        return 0;
    image_vaddr_of_mapping(image, mapping->file_offset, &vaddr);
    image_free(image);
    return mapping->address - vaddr;
}

static void plan_by(struct plan_module *module, struct reader *reader,
                    const struct model_mmap *mapping, struct cache *cache)
{
    const struct image_request request = plan_request_of(reader->pid, mapping);
    module->identity = plan_identity(&mapping->file);
    module->address = mapping->address;
    if (plan_open(&module->plan, &request, cache, &module->error))
        return;
    module->bias = bias_of(&request, mapping);
    module->differing = plan_compare(&module->plan, module->bias, read_process, reader);
    plan_count(&module->plan);
}

/* Code that can be executed and not be read is read by this only. */
static int open_memory(pid_t pid)
{
    char path[64];
    sprof_proc_shared_path(path, sizeof path, pid, "mem");
    return open(path, O_RDONLY | O_CLOEXEC);
}

void plan_mapping(struct plan_module *module, pid_t pid, const struct model_mmap *mapping,
                  struct cache *cache)
{
    struct reader reader = {pid, open_memory(pid), NULL};
    plan_by(module, &reader, mapping, cache);
    if (reader.fd >= 0)
        close(reader.fd);
}

static int compare_mapping(void *context, const struct model_mmap *mapping)
{
    const struct model_mmap *wanted = context;
    return mapping->address == wanted->address && mapping->file.inode == wanted->file.inode;
}

/* `path`: of the file, whether it is still there or not. */
static int take_file(struct survey *survey, const struct model_mmap *mapping, const char *path)
{
    struct image_request request = plan_request_of(survey->reader.pid, mapping);
    request.file.path = path;
    if (survey->wants && !survey->wants(survey->context, &request))
        return 0;
    struct plan_module module = {.path = path};
    plan_by(&module, &survey->reader, mapping, survey->cache);
    /* It may have been unloaded meanwhile, and something else be there. */
    const bool is_gone = (module.differing || module.error.code) &&
                         !target_each_mapping(survey->reader.pid, compare_mapping, (void *)mapping);
    const int result = is_gone ? 0 : survey->module(survey->context, &module);
    plan_release(&module.plan);
    return result;
}

static int take_mapping(void *context, const struct model_mmap *mapping)
{
    struct survey *survey = context;
    const struct plan_put_in *put_in = survey->reader.put_in;
    if (put_in && put_in->is(put_in->context, mapping))
        return 0;
    const bool is_generated = plan_is_generated(survey->reader.pid, mapping);
    survey->generated |= is_generated;
    if (is_generated || !is_file(&mapping->file))
        return 0;
    if (is_idle(survey, mapping) || was_seen(survey, &mapping->file))
        return 0;
    char *path = strndup(mapping->file.path, sprof_file_path_length(mapping->file.path));
    const int result = path ? take_file(survey, mapping, path) : SPROF_ENOMEM;
    free(path);
    return result;
}

int plan_process(pid_t pid, int memory_fd, struct cache *cache, const struct plan_put_in *put_in,
                 bool (*wants)(void *context, const struct image_request *file),
                 int (*module)(void *context, struct plan_module *module), void *context,
                 bool *runs_generated_code, struct sprof_error *error)
{
    struct survey survey = {.reader = {pid, memory_fd, put_in},
                            .cache = cache,
                            .wants = wants,
                            .module = module,
                            .context = context};
    int code = target_check(pid, false, error);
    if (code)
        return code;
    const int refused = memory_fd < 0 ? target_may_read(pid) : 0;
    if (refused)
        return target_explain_reading(pid, refused, "looked into", "…", error);
    const int opened_fd = memory_fd < 0 ? open_memory(pid) : -1;
    if (opened_fd >= 0)
        survey.reader.fd = opened_fd;
    code = target_each_mapping(pid, note_mapping, &survey);
    if (!code)
        code = target_each_mapping(pid, take_mapping, &survey);
    if (opened_fd >= 0)
        close(opened_fd);
    if (!code && !survey.seen.count)
        code = sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d shows no executable mappings",
                               (int)pid);
    *runs_generated_code = survey.generated;
    sprof_vec_release(&survey.seen);
    sprof_vec_release(&survey.mapped);
    return code;
}
