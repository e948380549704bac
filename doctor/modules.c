/* Checks what the files of a program have for names and for unwinding. */
#include "doctor/doctor.h"

#include "image/image.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool has_any(struct image *image, const char *const *sections, const char **found)
{
    for (; *sections; sections++)
        if (image_has_section(image, *sections)) {
            *found = *sections;
            return true;
        }
    return false;
}

/* The file that debuginfod's client has kept of a build id. (debuginfod_find_debuginfo(3)) */
static bool is_in_debuginfod_cache(const char *build_id)
{
    char path[1024];
    const char *given = getenv("DEBUGINFOD_CACHE_PATH");
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (given && *given)
        length = snprintf(path, sizeof path, "%s/%s/debuginfo", given, build_id);
    else if (cache && *cache)
        length = snprintf(path, sizeof path, "%s/debuginfod_client/%s/debuginfo", cache, build_id);
    else if (home)
        length =
            snprintf(path, sizeof path, "%s/.cache/debuginfod_client/%s/debuginfo", home, build_id);
    return length > 0 && length < (int)sizeof path && !access(path, R_OK);
}

static void check_names(struct doctor_module *module, struct image *image)
{
    static const char *const lines[] = {".debug_info", ".zdebug_info", NULL};
    static const char *const symbols[] = {".symtab", ".gopclntab", ".gnu_debugdata", NULL};
    struct image *debug = NULL;
    const char *section;
    has_any(image, symbols, &module->symbols);
    if (has_any(image, lines, &section))
        module->lines = "own";
    if ((!module->lines || !module->symbols) && !image_open_debug(&debug, image, NULL)) {
        if (!module->lines && has_any(debug, lines, &section))
            module->lines = "debug file";
        if (has_any(debug, symbols, &section))
            module->symbols = "debug file";
    }
    if (module->build_id && !module->lines && is_in_debuginfod_cache(module->build_id)) {
        module->lines = "cache of debuginfod";
        module->symbols = module->symbols ? module->symbols : module->lines;
    }
    image_free(debug);
}

static const char *hexadecimal(struct sprof_arena *texts, struct sprof_bytes bytes)
{
    char *text = bytes.size ? sprof_arena_alloc(texts, bytes.size * 2 + 1) : NULL;
    for (size_t i = 0; text && i < bytes.size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes.data[i]);
    return text;
}

/* What helps a module; NULL where nothing is missing. Returns 0 or SPROF_ENOMEM. */
static int find_cure(struct doctor_modules *modules, struct doctor_module *module, const char *root,
                     bool is_program)
{
    if (module->symbols && module->lines)
        return 0;
    const size_t length = sprof_file_path_length(module->path);
    const char *path = sprof_arena_copy(&modules->texts, module->path, length);
    if (!path)
        return SPROF_ENOMEM;
    const struct report_unnamed unnamed = {
        .name = path + (module->name - module->path),
        .path = path,
        .build_id = module->build_id,
        .kind = is_program ? MODEL_KIND_APP : MODEL_KIND_SYSTEM,
        .lacks = module->symbols ? "debug information" : NULL,
    };
    struct sprof_str text = {0};
    int result = report_cure_append(&text, root, &unnamed);
    if (!result && !(module->cure = sprof_arena_text(&modules->texts, text.text)))
        result = SPROF_ENOMEM;
    sprof_str_release(&text);
    return result;
}

static int check_file(struct doctor_modules *modules, struct doctor_module *module,
                      const char *root, const struct image_request *request)
{
    static const char *const tables[] = {".eh_frame", ".debug_frame", ".gopclntab", NULL};
    struct image *image = NULL;
    struct sprof_error error = {0};
    int result = image_open(&image, request, &error);
    if (result && result != SPROF_ENOMEM) {
        error.message[strcspn(error.message, "\n")] = '\0';
        module->problem = sprof_arena_text(&modules->texts, error.message);
        return module->problem ? 0 : SPROF_ENOMEM;
    }
    if (result)
        return result;
    module->build_id = hexadecimal(&modules->texts, image_build_id(image));
    has_any(image, tables, &module->call_frames);
    check_names(module, image);
    result = find_cure(modules, module, root, image_is_executable(image));
    image_free(image);
    return result;
}

static int add_module(struct doctor_modules *modules, const char *root,
                      const struct image_request *request, uint64_t samples)
{
    const char *path = request->file.path;
    for (size_t i = 0; i < modules->list.count; i++)
        if (!strcmp(modules->list.items[i].path, path)) {
            modules->list.items[i].samples += samples;
            return 0;
        }
    const char *slash = strrchr(path, '/');
    struct doctor_module module = {.path = sprof_arena_text(&modules->texts, path),
                                   .samples = samples};
    if (!module.path)
        return SPROF_ENOMEM;
    module.name = slash ? module.path + (slash - path) + 1 : module.path;
    const int result = check_file(modules, &module, root, request);
    return result ? result : sprof_vec_push(&modules->list, module);
}

int doctor_check_module(struct doctor_modules *modules, const char *root, const char *path,
                        pid_t pid, uint64_t samples)
{
    const struct image_request request = {.file = {.path = path}, .pid = pid};
    return add_module(modules, root, &request, samples);
}

struct mapped {
    struct doctor_modules *modules;
    const char *root;
    pid_t pid;
};

static int check_mapping(void *context, const struct model_mmap *mapping)
{
    const struct mapped *mapped = context;
    const char *path = mapping->file.path;
    if (!path || path[0] != '/' || path[1] == '/' || !strncmp(path, "/memfd:", 7))
        return 0; /* no file: the vdso, code made at run time */
    const struct image_request request = {.file = mapping->file,
                                          .pid = mapped->pid,
                                          .map_start = mapping->address,
                                          .map_end = mapping->address + mapping->size};
    return add_module(mapped->modules, mapped->root, &request, 0);
}

int doctor_check_process(struct doctor_modules *modules, const char *root, pid_t pid)
{
    struct mapped mapped = {.modules = modules, .root = root, .pid = pid};
    return target_each_mapping(pid, check_mapping, &mapped);
}

void doctor_modules_release(struct doctor_modules *modules)
{
    sprof_vec_release(&modules->list);
    sprof_arena_release(&modules->texts);
}
