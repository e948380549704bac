/* Finds the files that a recording needs. */
#include "archive/archive.h"

#include "image/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const off_t largest_source = 64 << 20;

struct collecting {
    struct archive_files *files;
    struct archive_counts *counts;
    struct sprof_arena *arena;
    const struct sprof_log *log;
    struct sprof_map used;    /* modules with frames */
    struct sprof_intern seen; /* paths that were looked at */
    const char *source_directory;
    bool sources;
};

static int tell_missing(struct collecting *collecting, const char *path, const char *why)
{
    archive_tell_missing(collecting->counts, collecting->log, path, why);
    return 0;
}

/* Whether a path is looked at for the first time: *first. 0 or SPROF_ENOMEM. */
static int see(struct collecting *collecting, const char *path, bool *first)
{
    uint32_t number;
    const size_t before = collecting->seen.count;
    if (sprof_intern_put(&collecting->seen, path, &number))
        return SPROF_ENOMEM;
    *first = collecting->seen.count > before;
    return 0;
}

/* Takes the descriptor. */
static int add(struct collecting *collecting, const char *path, int descriptor, size_t *count)
{
    struct stat facts;
    struct archive_file file = {.path = sprof_arena_text(collecting->arena, path),
                                .descriptor = descriptor};
    if (fstat(descriptor, &facts)) {
        const int errnum = errno;
        close(descriptor);
        return tell_missing(collecting, path, strerror(errnum));
    }
    file.size = (uint64_t)facts.st_size;
    if (!file.path || sprof_vec_push(&collecting->files->items, file)) {
        close(descriptor);
        return SPROF_ENOMEM;
    }
    ++*count;
    return 0;
}

/* Adds an ELF file. It was looked at by its name, which may lead elsewhere by now, or nowhere. */
static int add_elf(struct collecting *collecting, const char *path, size_t *count)
{
    static const uint8_t elf[] = {0x7f, 'E', 'L', 'F'};
    const struct image_source_access access = {.is_by_rights = true};
    uint8_t begin[sizeof elf];
    const int fd = image_source_open(path, &access);
    if (fd < 0)
        return tell_missing(collecting, path, strerror(-fd));
    if (sprof_file_read(fd, 0, begin, sizeof begin) == sizeof begin &&
        !memcmp(begin, elf, sizeof elf))
        return add(collecting, path, fd, count);
    close(fd);
    return tell_missing(collecting, path, "it was replaced meanwhile");
}

/* == Binaries == */

static int add_debug_file(struct collecting *collecting, const char *path)
{
    bool first = false;
    const int result = archive_path_is_clean(path) ? see(collecting, path, &first) : 0;
    return result || !first ? result : add_elf(collecting, path, &collecting->counts->debug_files);
}

/* What dwz moved out of the image or its debug file; links lead there with `..`. */
static int add_alternate(struct collecting *collecting, struct image *image, struct image *file)
{
    struct image *alternate;
    struct sprof_error why = {0};
    if (image_open_alternate(&alternate, image, file, &why))
        return tell_missing(collecting, image_alternate_name(file), why.message);
    char *path = alternate ? realpath(image_path(alternate), NULL) : NULL;
    const int result = path ? add_debug_file(collecting, path) : 0;
    free(path);
    image_free(alternate);
    return result;
}

static int add_debug(struct collecting *collecting, struct image *image)
{
    struct image *debug;
    int result = add_alternate(collecting, image, image);
    if (result || image_open_debug(&debug, image, NULL))
        return result;
    result = add_debug_file(collecting, image_path(debug));
    if (!result)
        result = add_alternate(collecting, image, debug);
    image_free(debug);
    return result;
}

static int take_module(void *context, const struct store_module *module)
{
    struct collecting *collecting = context;
    struct image_request request = {.file = {.path = module->path}};
    struct sprof_error why = {0};
    struct image *image;
    bool first;
    const bool is_file = module->kind == MODEL_KIND_APP || module->kind == MODEL_KIND_SYSTEM;
    if (!is_file || !module->path || *module->path != '/' ||
        !sprof_map_get(&collecting->used, module->id))
        return 0;
    if (!archive_path_is_clean(module->path))
        return tell_missing(collecting, module->name ? module->name : "a module",
                            "its path holds a line's end, or parts such as `..`");
    if (module->build_id.size && module->build_id.size <= sizeof request.file.build_id) {
        memcpy(request.file.build_id, module->build_id.data, module->build_id.size);
        request.file.build_id_size = (uint8_t)module->build_id.size;
    }
    if (image_open(&image, &request, &why))
        return tell_missing(collecting, module->path, why.message);
    int result = 0;
    if (module->key && image_key(image) != module->key)
        tell_missing(collecting, module->path, "the file was replaced since it was recorded");
    else if ((result = see(collecting, module->path, &first)) == 0 && first)
        result = add_elf(collecting, module->path, &collecting->counts->binaries) ||
                         add_debug(collecting, image)
                     ? SPROF_ENOMEM
                     : 0;
    image_free(image);
    return result;
}

/* == Sources == */

static int take_source(struct collecting *collecting, const char *path)
{
    struct stat facts;
    bool first;
    if (!collecting->sources || !path)
        return 0;
    if (see(collecting, path, &first))
        return SPROF_ENOMEM;
    if (!first)
        return 0;
    if (strchr(path, '\n'))
        return tell_missing(collecting, path, "its path holds a line's end");
    if (!archive_path_is_clean(path))
        return 0;
    const struct image_source_access access = {.named = collecting->source_directory};
    const int fd = image_source_open(path, &access);
    if (fd == -EPERM)
        return tell_missing(collecting, path,
                            "not all users may read this source: name its directory with --source");
    if (fd == -EMFILE || fd == -ENFILE)
        return tell_missing(collecting, path, "too many files are open: raise `ulimit -n`");
    if (fd < 0 && fd != -EINVAL)
        return 0; /* libraries rarely come with theirs */
    const bool is_text = fd >= 0 && !fstat(fd, &facts) && facts.st_size <= largest_source;
    if (is_text)
        return add(collecting, path, fd, &collecting->counts->sources);
    if (fd >= 0)
        close(fd);
    return tell_missing(collecting, path, "it is no text file");
}

static int take_function(void *context, const struct store_function *function)
{
    return take_source(context, function->file);
}

static int take_frame(void *context, const struct store_frame *frame)
{
    struct collecting *collecting = context;
    return sprof_map_put(&collecting->used, frame->module_id, 1)
               ? SPROF_ENOMEM
               : take_source(collecting, frame->file);
}

int archive_collect(struct archive_files *files, struct archive_counts *counts,
                    struct sprof_arena *arena, struct store *store, bool sources,
                    const char *source_directory, const struct sprof_log *log,
                    struct sprof_error *error)
{
    *counts = (struct archive_counts){0};
    struct rlimit limit;
    struct collecting collecting = {.files = files,
                                    .counts = counts,
                                    .arena = arena,
                                    .log = log,
                                    .source_directory = source_directory,
                                    .sources = sources};
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max; /* all are held open */
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    int result = store_each_frame(store, take_frame, &collecting, error);
    if (!result)
        result = store_each_function(store, take_function, &collecting, error);
    if (!result)
        result = store_each_module(store, take_module, &collecting, error);
    sprof_map_release(&collecting.used);
    sprof_intern_release(&collecting.seen);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}
