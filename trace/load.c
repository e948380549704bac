/* Follows libraries that a program loads and unloads. Its loader waits in the agent
 * (agent/probe/loaded.c), so probes are placed before a library's code runs. */
#include "trace/load.h"
#include "base/file.h"
#include "calls/calls.h"
#include "probing/probing.h"
#include "trace/governor.h"
#include "trace/policies.h"

#include "agent/agent.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct trace_loads {
    struct trace_session *session;
    struct probing_mapped_files mapped;
    SPROF_VEC(uint32_t)
    files; /* loaded ones; in a running process including those of the start */
};

/* == Unloaded libraries == */

/* Writes nothing, because other memory may be mapped there. */
static void forget_file(struct trace_session *session, struct probing_file *file)
{
    file->is_loaded = false;
    for (size_t i = file->first; i < file->first + file->count; i++)
        session->probes.items[i].is_placed = session->probes.items[i].rests = false;
    probing_forget_sites(&session->probing, file->first, file->count);
}

/* A program may move its code into large pages, for example. The copy has the jumps, which must be
 * removed, too. */
static bool has_jumps(const struct trace_session *session, const struct probing_file *file)
{
    for (size_t i = file->first; i < file->first + file->count; i++) {
        const struct probing_probe *probe = &session->probes.items[i];
        const uint64_t site = file->bias + probe->function->site;
        uint8_t there[PLAN_JUMP_BYTES];
        if (!probe->is_placed || probe->rests)
            continue;
        const size_t got =
            session->process.code_fd > 0
                ? sprof_file_read(session->process.code_fd, site, there, sizeof there)
                : target_read_memory(session->process.pid, site, there, sizeof there);
        if (got != sizeof there)
            return false;
        if (!memcmp(there, probe->jump, sizeof there))
            return true;
    }
    return false;
}

static void forget_gone(struct trace_loads *loads)
{
    struct trace_session *session = loads->session;
    for (size_t i = 0; i < loads->files.count; i++) {
        struct probing_file *file = &session->files.items[loads->files.items[i]];
        bool is_there = false;
        for (size_t k = 0; k < loads->mapped.now.count && file->is_loaded; k++)
            is_there |= loads->mapped.now.items[k].address == file->loaded_at &&
                        probing_mapped_is_of(&loads->mapped.now.items[k], file);
        if (file->is_loaded && !is_there && !has_jumps(session, file))
            forget_file(session, file);
    }
}

/* == Loaded libraries == */

/* The loader would overwrite probes. */
static bool has_text_relocations(const struct image_request *request)
{
    struct image *image;
    bool has = false;
    if (image_open(&image, request, NULL))
        return true;
    const struct sprof_bytes dynamic = image_section(image, ".dynamic", NULL);
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.size; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, dynamic.data + at, sizeof entry);
        has |=
            entry.d_tag == DT_TEXTREL || (entry.d_tag == DT_FLAGS && entry.d_un.d_val & DF_TEXTREL);
    }
    image_free(image);
    return has;
}

/* Libraries keep numbers and figures. */
static struct probing_file *find_known(struct trace_loads *loads, const struct plan_module *module)
{
    for (size_t i = 0; i < loads->files.count; i++) {
        struct probing_file *file = &loads->session->files.items[loads->files.items[i]];
        bool is_equal = !file->is_loaded && !strcmp(file->path, module->path) &&
                        file->plan.function_count == module->plan.function_count;
        for (size_t k = 0; is_equal && k < module->plan.function_count; k++) {
            const struct plan_function *a = &file->plan.functions[k],
                                       *b = &module->plan.functions[k];
            is_equal = a->start == b->start && a->site == b->site && a->mechanism == b->mechanism &&
                       !memcmp(a->original, b->original, sizeof a->original);
        }
        if (is_equal)
            return file;
    }
    return NULL;
}

static int note_mapping(struct trace_session *session, const struct probing_mapped *mapped,
                        struct probing_file *file)
{
    uint64_t offset;
    const struct model_record record = {
        .type = MODEL_RECORD_MMAP,
        .time_ns = sprof_clock_monotonic_ns(),
        .pid = session->process.pid,
        .tid = session->process.pid,
        .cpu = -1,
        .mapping = {mapped->address, mapped->size, mapped->file_offset, mapped->file}};
    if (recording_event(session->recording, &record))
        return SPROF_ENOMEM;
    file->module = recording_module_at(session->recording, session->process.pid, mapped->address,
                                       record.time_ns, &offset);
    file->offset = offset - (mapped->address - file->bias);
    return file->module ? 0 : SPROF_ENOMEM;
}

static void say_loaded(const struct trace_session *session, const struct probing_file *file)
{
    const double seconds = (double)(sprof_clock_monotonic_ns() - session->times.start.ns) / 1e9;
    size_t chosen = 0;
    for (size_t i = file->first; i < file->first + file->count; i++)
        chosen += session->probes.items[i].is_chosen;
    if (!chosen)
        return;
    sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                      session->loader.is_serving
                          ? "%s was loaded after %.3f s: %zu probe%s, from its constructors on"
                          : "%s was loaded while probes were put in: after %.3f s it has %zu, too",
                      file->path, seconds, chosen, sprof_plural(chosen));
}

static int place_new(struct trace_loads *loads, struct plan_module *module,
                     const struct probing_mapped *mapped, struct sprof_error *error)
{
    struct trace_session *session = loads->session;
    struct probing_file *file = find_known(loads, module);
    const bool is_new = !file;
    int result = 0;
    if (is_new) {
        result = probing_choose_module(&session->probing, module, error);
        const uint32_t number = (uint32_t)session->files.count - 1;
        if (!result && sprof_vec_push(&loads->files, number))
            result = sprof_error_memory(error);
        if (result)
            return result;
        file = &session->files.items[number];
    }
    file->identity = module->identity;
    file->bias = module->bias;
    file->loaded_at = mapped->address;
    if (!file->count)
        return 0;
    if (note_mapping(session, mapped, file))
        return sprof_error_memory(error);
    if (is_new && probing_ranges_extend(&session->probing, file->first))
        return sprof_error_memory(error);
    if (is_new && (result = trace_policies_probes_added(session, file->first, error)))
        return result;
    result = session->loader.is_serving ? probing_place_file(&session->probing, file, error)
                                        : probing_place_live_file(&session->probing, file, error);
    file->is_loaded = !result;
    if (!result && session->mode == TRACE_COVERAGE && calls_coverage_begin(&session->calls))
        return sprof_error_memory(error);
    probing_switch(&session->probing);
    trace_govern_anew(session);
    if (is_new && !result)
        say_loaded(session, file);
    return result;
}

static bool is_known(const struct trace_loads *loads, const struct probing_mapped *mapped)
{
    for (size_t i = 0; i < loads->files.count; i++) {
        const struct probing_file *file = &loads->session->files.items[loads->files.items[i]];
        if (file->is_loaded && file->loaded_at == mapped->address &&
            probing_mapped_is_of(mapped, file))
            return true;
    }
    return false;
}

static int take_new(struct trace_loads *loads, struct probing_mapped *mapped, struct cache *cache)
{
    struct trace_session *session = loads->session;
    struct sprof_error error = {0};
    struct plan_module module = {.path = mapped->file.path};
    const struct model_mmap mapping = probing_mapped_as_model(mapped);
    const struct image_request request = plan_request_of(session->process.pid, &mapping);
    if (probing_stack_copier_came(&session->probing, &mapping))
        probing_switch(&session->probing);
    if (!probing_wants(&session->probing, &request) || is_known(loads, mapped))
        return 0;
    plan_mapping(&module, session->process.pid, &mapping, cache);
    if (module.error.code)
        error = module.error;
    else if (module.plan.is_loader || has_text_relocations(&request))
        sprof_error_set(&error, SPROF_EUNSUPPORTED, 0,
                        "%s changes its own code when it is loaded: it gets no probes",
                        mapped->file.path);
    else if (probing_mapped_files_is_linked(&loads->mapped, module.bias))
        place_new(loads, &module, mapped, &error);
    else
        mapped->is_early = !session->loader.is_serving;
    plan_release(&module.plan);
    if (error.code && error.code != SPROF_ENOMEM)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING, "not traced: %s", error.message);
    return error.code == SPROF_ENOMEM ? SPROF_ENOMEM : 0;
}

static int take(struct trace_loads *loads)
{
    const struct trace_session *session = loads->session;
    struct cache *cache = NULL;
    int result = probing_mapped_files_read(&loads->mapped);
    if (!result)
        result = probing_mapped_files_read_linked(&loads->mapped);
    if (result)
        return result;
    forget_gone(loads);
    for (size_t i = 0; i < loads->mapped.now.count && !result; i++) {
        if (probing_mapped_files_had(&loads->mapped, &loads->mapped.now.items[i]) ||
            probing_mapped_files_has_other(&loads->mapped, i))
            continue;
        if (!cache && !session->options.no_cache)
            cache = cache_open(NULL);
        result = take_new(loads, &loads->mapped.now.items[i], cache);
    }
    if (cache)
        cache_free(cache, 0);
    probing_mapped_files_keep(&loads->mapped);
    return result;
}

int trace_loads_serve(struct trace_session *session, struct sprof_error *error)
{
    const int waits = trace_loader_take(&session->loader);
    if (waits <= 0)
        return waits ? sprof_error_memory(error) : 0;
    const int result = take(session->loads);
    trace_loader_done(&session->loader);
    return result ? sprof_error_memory(error) : 0;
}

int trace_loads_catch_up(struct trace_session *session, struct sprof_error *error)
{
    if (!session->loads)
        return 0;
    if (!session->hook.at)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "libraries that process %d loads later are not traced: nothing could be "
                          "put into its loader",
                          (int)session->process.pid);
    return take(session->loads) ? sprof_error_memory(error) : 0;
}

/* == Beginning and end == */

static int open_loads(struct trace_session *session, struct sprof_error *error)
{
    struct trace_loads *loads = session->loads = calloc(1, sizeof *loads);
    if (!loads)
        return sprof_error_memory(error);
    loads->session = session;
    loads->mapped.program = &session->probing;
    if (probing_mapped_files_read(&loads->mapped))
        return sprof_error_memory(error);
    probing_mapped_files_keep(&loads->mapped);
    return 0;
}

int trace_loads_note(struct trace_session *session, struct sprof_error *error)
{
    return open_loads(session, error);
}

/* Libraries of the start keep their figures when they are loaded again. */
static int know_files(struct trace_loads *loads)
{
    struct trace_session *session = loads->session;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    int result = probing_mapped_files_read(&loads->mapped);
    for (uint32_t i = 0; i < session->files.count && !result; i++) {
        struct probing_file *file = &session->files.items[i];
        for (size_t k = 0; k < loads->mapped.now.count && !result && !file->is_loaded; k++) {
            /* dlmopen can map a file twice */
            if (loads->mapped.now.items[k].address != file->loaded_at ||
                !probing_mapped_is_of(&loads->mapped.now.items[k], file))
                continue;
            uint64_t offset;
            file->is_loaded = true;
            file->module = recording_module_at(session->recording, session->process.pid,
                                               file->loaded_at, now_ns, &offset);
            file->offset = offset - (file->loaded_at - file->bias);
            result = sprof_vec_push(&loads->files, i);
        }
    }
    return result;
}

static bool has_loader(pid_t pid)
{
    char path[64];
    sprof_proc_shared_path(path, sizeof path, pid, "exe");
    return agent_check_file(path) != AGENT_FILE_STATIC;
}

int trace_loads_begin(struct trace_session *session, struct sprof_error *error)
{
    struct probing_hook *hook = &session->hook;
    const uint64_t at = session->process.hello.notify;
    if (!at || !session->process.hello.loaded ||
        target_read_memory(session->process.pid, at, hook->original, sizeof hook->original) !=
            sizeof hook->original ||
        !arch_code_is_empty_function(hook->original, at)) {
        if (has_loader(session->process.pid))
            sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                              "the program's loader is not known: libraries that it loads later "
                              "are not traced");
        trace_loads_free(session);
        return 0;
    }
    int result = session->loads ? 0 : open_loads(session, error);
    struct trace_loads *loads = session->loads;
    if (!result && session->backend->borrows && know_files(loads))
        result = sprof_error_memory(error);
    if (!result)
        result = trace_loader_begin(&session->loader, &session->process.shared->loading, error);
    if (result)
        return result;
    const char *loader = NULL;
    for (size_t i = 0; i < loads->mapped.before.count; i++)
        if (at - loads->mapped.before.items[i].address < loads->mapped.before.items[i].size)
            loader = loads->mapped.before.items[i].file.path;
    return probing_place_hook(&session->probing, loader ? loader : "", at, error);
}

void trace_loads_free(struct trace_session *session)
{
    struct trace_loads *loads = session->loads;
    trace_loader_release(&session->loader);
    if (!loads)
        return;
    sprof_vec_release(&loads->files);
    probing_mapped_files_release(&loads->mapped);
    free(loads);
    session->loads = NULL;
}
