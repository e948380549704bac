/* One module's addresses: which symbolizer has names for them, and the names. */
#include "recording/build.h"
#include "recording/derive_names.h"
#include "recording/namer.h"
#include "recording/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* == Images == */

uint64_t recording_derive_path_key(const struct derive_module *module)
{
    return sprof_hash_pair(sprof_hash_text(module->row.path ? module->row.path : ""),
                           module->row.process_id);
}

static void open_file(struct derive *derive, struct derive_module *module)
{
    if (module->image || module->owned_image || !module->row.path)
        return;
    struct image_request request = {
        .file.path = module->row.path, .pid = module->pid, .root = derive->source->root};
    if (module->row.build_id.size <= sizeof request.file.build_id && module->row.build_id.size) {
        memcpy(request.file.build_id, module->row.build_id.data, module->row.build_id.size);
        request.file.build_id_size = (uint8_t)module->row.build_id.size;
    }
    struct sprof_error why = {0};
    if (recording_open_image(&module->owned_image, &request, &why) == 0) {
        module->image = module->owned_image;
        module->row.problem = NULL;
    } else if (!module->row.problem) {
        module->row.problem = sprof_arena_text(&derive->arena, why.message);
    }
}

void recording_derive_open_image(struct derive *derive, struct derive_module *module)
{
    open_file(derive, module);
    if (!module->image)
        return;
    const uint64_t key = image_key(module->image);
    if (!module->row.key || module->row.key == recording_derive_path_key(module))
        module->row.key = key;
    if (module->row.key == key)
        return;
    /* Without a build id, the file found now may be another than the one that ran. */
    module->image = NULL;
    module->row.problem =
        sprof_arena_text(&derive->arena, "the file was replaced since it was recorded");
}

static bool find_bounds(void *context, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
    struct derive_module *module = context;
    const struct unwind_table *table = module->known_table ? module->known_table : module->table;
    if (!table && module->image && !module->bounds_tried) {
        module->bounds_tried = true;
        struct recording_built built;
        if (!recording_find_built(&built, module->image, module->cache))
            recording_build(&built, module->image, module->cache, NULL);
        table = module->table = built.table;
    }
    struct unwind_range range;
    if (!table || !unwind_table_function(table, vaddr, &range))
        return false;
    *start = range.start;
    *end = range.end;
    return true;
}

/* == One module == */

static int compare_lookup(const void *a, const void *b)
{
    const struct derive_frame *const *left = a, *const *right = b;
    return ((*left)->lookup > (*right)->lookup) - ((*left)->lookup < (*right)->lookup);
}

static int sort_job(struct derive_job *job)
{
    qsort(job->frames, job->count, sizeof *job->frames, compare_lookup);
    job->addresses = malloc((job->count + 1) * sizeof *job->addresses);
    if (!job->addresses)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < job->count; i++)
        if (!i || job->frames[i]->lookup != job->frames[i - 1]->lookup)
            job->addresses[job->address_count++] = job->frames[i]->lookup;
    return 0;
}

typedef int symbolize_job(struct derive *derive, struct derive_job *job,
                          struct symbolize_result *result);

static int symbolize_pseudo(struct derive *derive, struct derive_job *job,
                            struct symbolize_result *result)
{
    static const struct symbolize_function functions[] = {
        [0] = {.name = MODEL_MODULE_UNKNOWN, .linkage_name = MODEL_MODULE_UNKNOWN},
        [MODEL_PSEUDO_OUTSIDE] = {.name = MODEL_OUTSIDE,
                                  .linkage_name = MODEL_OUTSIDE,
                                  .named = true},
        [MODEL_PSEUDO_NOT_SAMPLED] = {.name = MODEL_NOT_SAMPLED,
                                      .linkage_name = MODEL_NOT_SAMPLED,
                                      .named = true},
        [MODEL_PSEUDO_IDLE] = {.name = MODEL_IDLE, .linkage_name = MODEL_IDLE, .named = true},
        [MODEL_PSEUDO_WAITING] = {.name = MODEL_WAITING,
                                  .linkage_name = MODEL_WAITING,
                                  .named = true},
        [MODEL_PSEUDO_READY] = {.name = MODEL_READY, .linkage_name = MODEL_READY, .named = true},
    };
    (void)result;
    const bool unknown = strcmp(job->module->row.name, MODEL_MODULE_UNKNOWN) == 0;
    for (size_t i = 0; i < job->count; i++) {
        const uint64_t offset = job->frames[i]->offset;
        const bool listed = !unknown && offset < sizeof functions / sizeof *functions;
        struct derive_level level = {0};
        if (recording_derive_add_function(derive, job->module, &functions[listed ? offset : 0],
                                          &level.function) ||
            recording_derive_add_chain(derive, job->frames[i], &level, 1))
            return SPROF_ENOMEM;
    }
    return 1;
}

/* What was prepared, or kept, or a new one. */
static int open_session(struct derive *derive, const struct derive_module *module,
                        struct recording_session *open)
{
    const struct recording_derive_source *source = derive->source;
    const struct symbolize_options options = {.cache = source->cache, .log = source->log};
    if (source->namer && image_fd(module->image) >= 0 &&
        !recording_namer_take(source->namer, module->image, open))
        return 0;
    if (source->early && recording_early_take(source->early, module->row.id, module->image, open))
        return 0;
    return symbolize_session_open(&open->session, module->image, &options, NULL);
}

static int symbolize_file(struct derive *derive, struct derive_job *job,
                          struct symbolize_result *result)
{
    struct derive_module *module = job->module;
    for (size_t i = 0; i < job->count; i++) {
        struct derive_frame *frame = job->frames[i];
        if (!module->image || !image_vaddr_of_offset(module->image, frame->offset, &frame->lookup))
            frame->lookup = frame->offset;
        else
            frame->lookup = image_before_move(module->image, frame->lookup);
    }
    if (sort_job(job))
        return SPROF_ENOMEM;
    const struct symbolize_bounds bounds = {find_bounds, module};
    module->cache = derive->source->cache;
    /* Without a file and its tables functions are not distinguished: they count for the module. */
    if (!module->image && !module->known_table)
        return 0;
    if (!module->image)
        return symbolize_without_image(result, module->row.name, job->addresses, job->address_count,
                                       &bounds, NULL);
    int failed = open_session(derive, module, &job->open);
    if (failed)
        return failed;
    failed = symbolize_session_ask(job->open.session, result, job->addresses, job->address_count,
                                   &bounds, NULL);
    job->problem = symbolize_session_problem(job->open.session);
    return failed;
}

/* Once for all modules of the kernel: to open it may take tens of milliseconds. */
static void open_kernel(struct derive *derive)
{
    struct recording_kernel_opening *begun = derive->source->kernel;
    if (derive->kernel || derive->kernel_error.code)
        return;
    if (!begun || !recording_kernel_opening_take(begun, &derive->kernel, &derive->kernel_error))
        symbolize_kernel_open(&derive->kernel, NULL, &derive->kernel_error);
}

static int symbolize_kernel_frames(struct derive *derive, struct derive_job *job,
                                   struct symbolize_result *result)
{
    struct derive_module *module = job->module;
    for (size_t i = 0; i < job->count; i++)
        job->frames[i]->lookup =
            job->frames[i]->offset - module->kernel_offset + module->kernel_start;
    if (sort_job(job))
        return SPROF_ENOMEM;
    if (module->other_boot) {
        module->row.problem = "recorded before the last boot: kernel addresses have no names";
        return 0;
    }
    open_kernel(derive);
    if (derive->kernel)
        return symbolize_kernel(result, derive->kernel, job->addresses, job->address_count, NULL);
    module->row.problem = sprof_arena_text(&derive->arena, derive->kernel_error.message);
    return 0;
}

/* See symbolize_jit. */
static uint64_t jit_address(const struct derive *derive, const struct derive_frame *frame)
{
    const uint64_t *older = sprof_map_get(&derive->older, frame->id);
    return frame->offset | (older ? *older << SYMBOLIZE_JIT_ADDRESS_BITS : 0);
}

static int symbolize_jit_frames(struct derive *derive, struct derive_job *job,
                                struct symbolize_result *result)
{
    struct symbolize_jit *jit = NULL;
    struct sprof_error why = {0};
    for (size_t i = 0; i < job->count; i++)
        job->frames[i]->lookup = jit_address(derive, job->frames[i]);
    if (sort_job(job))
        return SPROF_ENOMEM;
    const int failed_open = recording_derive_open_jit(derive, job->module, &jit, &why);
    if (!failed_open && symbolize_jit_is_cut(jit))
        job->module->row.problem = "its perf map or jitdump is so long that only the beginning was "
                                   "read: restart the program to begin a new one";
    else if (why.message[0])
        job->module->row.problem = sprof_arena_text(&derive->arena, why.message);
    const int failed =
        jit ? symbolize_jit(result, jit, job->addresses, job->address_count, NULL) : 0;
    symbolize_jit_free(jit);
    return failed;
}

static symbolize_job *job_kind(const struct derive_module *module)
{
    switch (module->row.kind) {
    case MODEL_KIND_NONE: return symbolize_pseudo;
    case MODEL_KIND_KERNEL: return symbolize_kernel_frames;
    case MODEL_KIND_JIT: return module->image ? symbolize_file : symbolize_jit_frames;
    case MODEL_KIND_APP:
    case MODEL_KIND_SYSTEM: break;
    }
    return symbolize_file;
}

/* An answer without chains: there is no map of JIT code, or the kernel hides its addresses. */
static bool is_empty(const struct symbolize_result *result)
{
    return !result->first;
}

static int name_nothing(struct derive *derive, struct derive_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        struct derive_level level = {0};
        if (recording_derive_add_nameless(derive, job->module, &level.function) ||
            recording_derive_add_chain(derive, job->frames[i], &level, 1))
            return SPROF_ENOMEM;
    }
    return 0;
}

bool recording_derive_has_file(const struct derive_job *job)
{
    return job->count && job->module->image && job_kind(job->module) == symbolize_file;
}

void recording_derive_ask_file(struct derive *derive, struct derive_job *job)
{
    job->asked = true;
    job->failed = symbolize_file(derive, job, &job->result);
}

int recording_derive_name_module(struct derive *derive, struct derive_job *job)
{
    if (!job->asked)
        job->failed = job_kind(job->module)(derive, job, &job->result);
    int failed = job->failed;
    if (failed == 0)
        failed = is_empty(&job->result) ? name_nothing(derive, job)
                                        : recording_derive_take_result(derive, job, &job->result);
    symbolize_result_release(&job->result);
    return failed < 0 ? failed : 0;
}
