/* Chooses functions to probe, by module, name or caller. Functions that leave frames always get a
 * probe; figures would be wrong without it. */
#include "base/command.h"
#include "inject/inject.h"
#include "plan/plan.h"
#include "probing/callees.h"
#include "probing/elsewhere.h"
#include "probing/heap.h"
#include "probing/outside.h"
#include "probing/points.h"
#include "probing/probes.h"
#include "probing/program.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* to limit memory and time at the start */
enum { SPARES_MOST = 65536 };

/* == Modules == */

struct chooser {
    struct probing_program *program;
    struct plan_expressions *expressions;
    struct probing_callees *callees; /* or NULL */
    struct sprof_suggestions near, near_modules;
    size_t seen;      /* functions in chosen modules */
    size_t nameless;  /* of these: without a name */
    size_t found;     /* of these: wanted */
    size_t elsewhere; /* without an embedded probe */
    bool unread;      /* a chosen module is unreadable */
    struct cache *cache;
    char executable[PATH_MAX];
    struct sprof_error *error;
};

static bool matches_glob(const struct trace_options *options, const char *path)
{
    for (size_t i = 0; i < options->module_count; i++)
        if (model_path_matches(options->modules[i], path))
            return true;
    return false;
}

static const struct trace_module_rule *rule_of(const struct trace_options *options,
                                               const char *path)
{
    for (size_t i = options->module_rule_count; i--;)
        if (model_path_matches(options->module_rules[i].glob, path))
            return &options->module_rules[i];
    return NULL;
}

static bool is_chosen(const struct chooser *chooser, const char *path)
{
    const struct trace_options *options = &chooser->program->options;
    const struct trace_module_rule *rule = rule_of(options, path);
    if (rule)
        return rule->when != TRACE_MODULE_NEVER;
    if (options->module_count)
        return matches_glob(options, path);
    return model_kind_of(&options->rules, path, !strcmp(path, chooser->executable), false) ==
           MODEL_KIND_APP;
}

static bool waits_for_demand(const struct chooser *chooser, const char *path)
{
    const struct trace_module_rule *rule = rule_of(&chooser->program->options, path);
    return rule && rule->when == TRACE_MODULE_DEMAND;
}

/* For unwinders, and libraries of C, C++, Ada and Rust. */
static bool may_leave_frames(const char *path)
{
    static const char *const names[] = {"libc.so", "libc-",     "libstdc++", "libgcc_s",
                                        "libc++",  "libunwind", "libgnat",   "libstd-"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

static bool wants(void *context, const struct image_request *file)
{
    const struct chooser *chooser = context;
    const char *path = file->file.path;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strcmp(name, PROBE_LIBRARY) != 0 && strcmp(name, PROBE_MAPPED_LIBRARY) != 0 &&
           (is_chosen(chooser, path) || may_leave_frames(path) ||
            probing_heap_is_allocator(chooser->program, file));
}

static bool wants_or_notes(void *context, const struct image_request *file)
{
    struct chooser *chooser = context;
    const struct trace_options *options = &chooser->program->options;
    const char *path = file->file.path;
    const char *slash = strrchr(path, '/');
    if (options->module_count && !is_chosen(chooser, path)) {
        const char *name = sprof_arena_text(&chooser->program->arena, slash ? slash + 1 : path);
        if (name)
            sprof_suggest_offer(&chooser->near_modules, *options->modules, name);
    }
    return wants(context, file);
}

/* == Functions == */

static bool leaves(const struct plan_function *function)
{
    return function->mechanism == PLAN_LEAVE || function->why == PLAN_IMPORTED;
}

/* Through prctl a thread renames itself or disables its time stamp counter, also by strict seccomp.
 * Timed probes would then kill it. */
static bool sees_clock_go(const struct probing_program *program, uint32_t file,
                          const struct plan_function *function)
{
    const char *name = function->linkage_name, *path = program->files.items[file].path;
    return program->way->has_agent && name &&
           (!strcmp(name, "prctl") || !strcmp(name, "__prctl")) &&
           (may_leave_frames(path) || inject_raw_is_for(path));
}

/* Glibc's clone, which begins threads and processes, some with the data of their creator's thread.
 * Split-off parts of the same name follow it. */
static bool clones(const struct probing_program *program, const struct probing_file *file,
                   const struct plan_function *function)
{
    const bool is_named = function->linkage_name && !strcmp(function->linkage_name, "clone");
    const char *before =
        is_named && function != file->plan.functions ? function[-1].linkage_name : NULL;
    return is_named && program->way->has_agent && function->mechanism == PLAN_PROLOGUE &&
           probing_is_glibc(file->path) && !(before && !strcmp(before, "clone"));
}

/* Glibc's syscall can do what prctl and clone do. */
static bool makes_any_call(const struct probing_program *program, const struct probing_file *file,
                           const struct plan_function *function)
{
    return program->way->has_agent && function->linkage_name &&
           !strcmp(function->linkage_name, "syscall") && probing_is_glibc(file->path);
}

/* The tier of functions by which a child of vfork begins and executes a program; 0: none of these.
 * No probe at _exit: it would run in each program's last moment, when its memory may be damaged. */
static enum probe_tier tier_at_vfork(const struct probing_program *program, uint32_t file,
                                     const struct plan_function *function)
{
    static const struct {
        const char *name;
        enum probe_tier tier;
    } known[] = {{"vfork", PROBE_VFORK},     {"__vfork", PROBE_VFORK},
                 {"execve", PROBE_EXECUTE},  {"__execve", PROBE_EXECUTE},
                 {"fexecve", PROBE_EXECUTE}, {"execveat", PROBE_EXECUTE}};
    const char *name = function->linkage_name, *path = program->files.items[file].path;
    for (size_t i = 0; i < sizeof known / sizeof *known && name && program->way->has_agent; i++)
        if (!strcmp(name, known[i].name) && (may_leave_frames(path) || inject_raw_is_for(path)))
            return known[i].tier;
    return PROBE_OFF;
}

/* See <sprof.h>. */
static bool remarks(const struct probing_program *program, const struct plan_function *function)
{
    return program->way->has_agent && function->linkage_name &&
           !strcmp(function->linkage_name, "sprof_remark");
}

/* Nongnu libunwind takes the stack pointer for a frame's CFA, so it stops at thunks. */
static bool stops_at_thunks(const char *path)
{
    static const char name[] = "/libunwind.so.8";
    const char *slash = strrchr(path, '/');
    return slash && !strncmp(slash, name, sizeof name - 1);
}

/* Return addresses stay unchanged if a runtime walks stacks or a library copies them. */
static enum probe_tier tier_of(const struct probing_program *program,
                               const struct probing_probe *probe)
{
    const struct plan_function *function = probe->function;
    if (probe->operation && !probe->is_chosen)
        return PROBE_BYTES;
    if (sees_clock_go(program, probe->file, function))
        return PROBE_CLOCK;
    if (remarks(program, function))
        return PROBE_REMARK;
    if (clones(program, &program->files.items[probe->file], function))
        return PROBE_CLONE;
    if (makes_any_call(program, &program->files.items[probe->file], function))
        return PROBE_SYSCALL;
    if (tier_at_vfork(program, probe->file, function))
        return tier_at_vfork(program, probe->file, function);
    if (leaves(function) && stops_at_thunks(program->files.items[probe->file].path))
        return PROBE_UNWIND;
    if (leaves(function) && program->way->has_agent && plan_throws(function->linkage_name))
        return PROBE_THROW;
    if (leaves(function) && program->way->has_agent && plan_catches(function->linkage_name))
        return PROBE_CATCH;
    if (leaves(function) && program->way->has_agent && function->linkage_name &&
        strstr(function->linkage_name, "_Unwind_Resume"))
        return PROBE_RESUME;
    if (leaves(function))
        return function->linkage_name && strstr(function->linkage_name, "longjmp") ? PROBE_JUMP
                                                                                   : PROBE_LEAVE;
    return function->entry_only || program->untimed.runtime || program->untimed.copier ? PROBE_COUNT
                                                                                       : PROBE_FULL;
}

static int is_wanted(const struct chooser *chooser, uint32_t file,
                     const struct plan_function *function)
{
    const size_t index = (size_t)(function - chooser->program->files.items[file].plan.functions);
    if (!chooser->callees)
        return plan_expressions_match(chooser->expressions, function, chooser->error);
    const int excluded = plan_expressions_exclude(chooser->expressions, function, chooser->error);
    if (excluded)
        return excluded < 0 ? excluded : 0;
    if (probing_callees_wants(chooser->callees, file, index))
        return 1;
    return plan_expressions_include(chooser->expressions)
               ? plan_expressions_match(chooser->expressions, function, chooser->error)
               : 0;
}

static bool is_needed(const struct probing_program *program, uint32_t file,
                      const struct plan_function *function)
{
    return leaves(function) ||
           probing_heap_operation(&program->options, &program->files.items[file], function) ||
           sees_clock_go(program, file, function) || remarks(program, function) ||
           clones(program, &program->files.items[file], function) ||
           tier_at_vfork(program, file, function) ||
           makes_any_call(program, &program->files.items[file], function);
}

static int choose_function(struct chooser *chooser, uint32_t file,
                           const struct plan_function *function)
{
    struct probing_program *program = chooser->program;
    const bool in_module = program->files.items[file].is_chosen && plan_is_true_start(function);
    const int found =
        in_module && !program->files.items[file].on_demand && !remarks(program, function)
            ? is_wanted(chooser, file, function)
            : 0;
    if (found < 0)
        return found;
    chooser->seen += in_module;
    chooser->nameless += in_module && !plan_has_name(function);
    chooser->found += found > 0;
    if (in_module && !found && chooser->program->options.function_count && !chooser->found)
        sprof_suggest_offer(&chooser->near, *chooser->program->options.functions, function->name);
    const bool has_place = program->way->only_embedded
                               ? function->mechanism == PLAN_EMBEDDED
                               : function->mechanism != PLAN_NOT && function->why != PLAN_IMPORTED;
    const bool can =
        has_place || (found && program->way->may_stand && program->way->may_stand(function));
    if (found && !can)
        (*(program->way->only_embedded ? &chooser->elsewhere : &program->counts.refused))++;
    const bool needed = can && is_needed(program, file, function);
    const bool is_spare = can && !found && !needed && in_module && probing_has_spares(program);
    if (!can || (!found && !needed && !is_spare))
        return 0;
    const struct probing_probe probe = {
        .file = file,
        .function = function,
        .thunk = (uint32_t)program->probes.count,
        .is_chosen = found > 0,
        .is_spare = is_spare,
        .operation =
            probing_heap_operation(&program->options, &program->files.items[file], function)};
    return sprof_vec_push(&program->probes, probe) ? sprof_error_memory(chooser->error) : 0;
}

static int take_module(void *context, struct plan_module *module)
{
    struct chooser *chooser = context;
    struct probing_program *program = chooser->program;
    if (module->error.code) {
        chooser->unread |= is_chosen(chooser, module->path);
        sprof_log_message(program->options.log, SPROF_LOG_WARNING, "%s", module->error.message);
        return 0;
    }
    if (module->plan.is_loader)
        return 0;
    if (module->differing)
        sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                          "%s: the process runs other bytes of %zu function%s than the file has",
                          module->path, module->differing, sprof_plural(module->differing));
    const char *path = sprof_arena_text(&program->arena, module->path);
    const struct probing_file file = {.plan = module->plan,
                                      .path = path,
                                      .identity = module->identity,
                                      .bias = module->bias,
                                      .loaded_at = module->address,
                                      .is_chosen = is_chosen(chooser, module->path),
                                      .on_demand = waits_for_demand(chooser, module->path)};
    if (module->plan.runtime && program->way->has_agent)
        program->untimed.runtime = sprof_arena_text(&program->arena, module->plan.runtime);
    if (!path || sprof_vec_push(&program->files, file))
        return sprof_error_memory(chooser->error);
    module->plan = (struct plan){0}; /* the file owns it now */
    return 0;
}

static void drop_spares(struct probing_program *program, uint32_t first_file)
{
    size_t kept = program->files.items[first_file].first;
    for (uint32_t f = first_file; f < program->files.count; f++) {
        struct probing_file *file = &program->files.items[f];
        const size_t first = file->first, end = first + file->count;
        file->first = kept;
        for (size_t i = first; i < end; i++) {
            if (program->probes.items[i].is_spare)
                continue;
            program->probes.items[kept] = program->probes.items[i];
            program->probes.items[kept].thunk = (uint32_t)kept;
            kept++;
        }
        file->count = kept - file->first;
    }
    program->probes.count = kept;
    program->has_all_spares = false;
}

/* Needs the functions of all files from `first_file` on. */
static int choose_functions(struct chooser *chooser, uint32_t first_file)
{
    struct probing_program *program = chooser->program;
    int result = 0;
    if (program->options.children_of_count)
        result =
            probing_callees_find(&chooser->callees, program, program->options.children_of,
                                 program->options.children_of_count, !first_file, chooser->error);
    for (uint32_t f = first_file; f < program->files.count && !result; f++) {
        struct probing_file *file = &program->files.items[f];
        file->first = program->probes.count;
        for (size_t i = 0; i < file->plan.function_count && !result; i++)
            result = choose_function(chooser, f, &file->plan.functions[i]);
        file->count = program->probes.count - file->first;
    }
    const size_t most =
        program->capacity && program->capacity < SPARES_MOST ? program->capacity : SPARES_MOST;
    if (!result && first_file < program->files.count && program->probes.count > most)
        drop_spares(program, first_file);
    for (size_t i = 0; i < program->probes.count; i++)
        if (program->probes.items[i].file >= first_file)
            program->probes.items[i].tier = (uint8_t)tier_of(program, &program->probes.items[i]);
    if (!result && chooser->callees && !first_file)
        probing_callees_report_open(chooser->callees);
    probing_callees_free(chooser->callees);
    chooser->callees = NULL;
    return result;
}

/* What the chosen function may be called, or where it is. */
static void append_places(const struct chooser *chooser, struct sprof_str *out)
{
    const struct trace_options *options = &chooser->program->options;
    const bool may_be_elsewhere = chooser->seen && !chooser->found && !options->module_count;
    if (may_be_elsewhere && !options->function_option && !options->children &&
        probing_append_elsewhere(out, chooser->program, chooser->expressions, chooser->cache))
        return;
    plan_append_nameless(out, chooser->nameless, chooser->seen);
    if (may_be_elsewhere)
        sprof_str_append(out, options->function_option
                                  ? "; those of libraries are not looked at"
                                  : "; those of libraries are looked at with --module");
}

static int nothing_chosen(const struct chooser *chooser, struct sprof_error *error)
{
    const struct trace_options *options = &chooser->program->options;
    struct sprof_str near = {0}, near_modules = {0}, program = {0};
    const char *probe = chooser->found == 1 ? "no probe" : "a probe";
    char chosen[64] = "the chosen function";
    int code;
    sprof_command_append_target(&program, options->pid, options->command);
    if (chooser->found != 1)
        snprintf(chosen, sizeof chosen, "none of the %zu chosen functions", chooser->found);
    sprof_suggest_append(&near, &chooser->near);
    sprof_suggest_append(&near_modules, &chooser->near_modules);
    append_places(chooser, &near);
    if (!chooser->seen && options->module_count)
        code = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "--module '%s' matches nothing with functions that is mapped%s: see "
                               "/proc/%d/maps",
                               options->modules[0], near_modules.text ? near_modules.text : "",
                               (int)chooser->program->process.pid);
    else if (!chooser->seen && !is_chosen(chooser, chooser->executable))
        code = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "%s is a system module by --system-module, and no other is "
                               "application: name those to be traced with --module",
                               chooser->executable);
    else if (!chooser->seen && chooser->unread)
        code = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "no function of %s is known: its file cannot be read, see above",
                               options->command && *options->command ? *options->command
                                                                     : chooser->executable);
    else if (!chooser->seen)
        code = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "no function of %s is known: it has neither symbols nor call frame "
                               "information; name libraries with --module",
                               options->command && *options->command ? *options->command
                                                                     : chooser->executable);
    else if (!chooser->found)
        code =
            sprof_error_set(error, SPROF_ENOTFOUND, 0, "--%s '%s' finds none of %zu function%s%s",
                            options->function_option  ? options->function_option
                            : options->drill.adaptive ? "root"
                                                      : "function",
                            options->function_count ? options->functions[0] : "", chooser->seen,
                            sprof_plural(chooser->seen), near.text ? near.text : "");
    else if (chooser->program->way->only_embedded)
        code =
            sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                            "process %d listens, and %s has %s in its file: `sprof probes %s "
                            "--embed -o COPY` embeds probes",
                            (int)chooser->program->process.pid, chosen, probe, chooser->executable);
    else
        code = sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "%s can have %s: `sprof probes --refused %s` says why", chosen,
                               probe, program.text ? program.text : "FILE");
    sprof_str_release(&near);
    sprof_str_release(&near_modules);
    sprof_str_release(&program);
    return code;
}

static int report_may_come(const struct chooser *chooser)
{
    const struct trace_options *options = &chooser->program->options;
    struct sprof_str near = {0};
    const int result = sprof_suggest_append(&near, &chooser->near_modules);
    sprof_log_message(options->log, SPROF_LOG_WARNING,
                      "--module '%s' matches nothing that %s: only what it loads later can be "
                      "traced%s",
                      options->modules[0],
                      options->pid ? "the process has loaded" : "the command is linked with",
                      near.text ? near.text : "");
    sprof_str_release(&near);
    return result;
}

static int open_chooser(struct chooser *chooser, struct probing_program *program,
                        struct sprof_error *error)
{
    const struct trace_options *options = &program->options;
    *chooser = (struct chooser){.program = program, .error = error};
    inject_program_file(program->process.pid, chooser->executable);
    chooser->executable[sprof_file_path_length(chooser->executable)] = '\0';
    return plan_expressions_make(&chooser->expressions, options->functions, options->function_count,
                                 error);
}

bool probing_wants(struct probing_program *program, const struct image_request *file)
{
    const struct chooser chooser = {.program = program};
    return wants((void *)&chooser, file);
}

int probing_choose_module(struct probing_program *program, struct plan_module *module,
                          struct sprof_error *error)
{
    const size_t probes = program->probes.count;
    struct chooser chooser;
    int result = open_chooser(&chooser, program, error);
    const uint32_t number = (uint32_t)program->files.count;
    if (!result)
        result = take_module(&chooser, module);
    if (!result)
        result = choose_functions(&chooser, number);
    const size_t most =
        program->capacity - probing_points_count(program) - probing_outside_room(program);
    if (!result && program->probes.count > most) {
        sprof_error_set(error, SPROF_ELIMIT, 0,
                        "%s has %zu functions, and there is room for %zu: choose fewer with "
                        "--function",
                        module->path, program->probes.count - probes, most - probes);
        result = SPROF_ELIMIT;
        program->probes.count = probes;
        program->files.items[program->files.count - 1].count = 0;
    }
    plan_expressions_free(chooser.expressions);
    return result;
}

int probing_choose(struct probing_program *program, struct sprof_error *error)
{
    const struct trace_options *options = &program->options;
    struct chooser chooser;
    struct cache *cache = options->no_cache ? NULL : cache_open(NULL);
    bool generated;
    int result = open_chooser(&chooser, program, error);
    chooser.cache = cache;
    program->has_all_spares = probing_has_spares(program);
    if (!result)
        result = plan_process(program->process.pid,
                              program->way->only_embedded ? program->process.code_fd : -1, cache,
                              NULL, wants_or_notes, take_module, &chooser, &generated, error);
    if (!result && probing_stack_copiers_find(program))
        result = sprof_error_memory(error);
    if (!result)
        result = probing_heap_find(program, error);
    if (!result)
        result = choose_functions(&chooser, 0);
    if (!result)
        result = probing_heap_check_probes(program, error);
    if (!result && chooser.elsewhere)
        sprof_log_message(program->options.log, SPROF_LOG_NOTE,
                          "%zu of %zu chosen functions have no probe in their files, which `sprof "
                          "probes %s --embed -o COPY` puts there",
                          chooser.elsewhere, chooser.found, chooser.executable);
    size_t chosen = 0;
    for (size_t i = 0; i < program->probes.count; i++)
        chosen += program->probes.items[i].is_chosen;
    const bool may_come = options->module_count && !chooser.seen && program->way->sees_loads;
    if (!result && !chosen && may_come)
        result = report_may_come(&chooser);
    else if (!result && !chosen)
        result = nothing_chosen(&chooser, error);
    if (!result && program->probes.count >= PROBE_THUNKS)
        result = sprof_error_set(error, SPROF_ELIMIT, 0,
                                 "%zu functions are too many to be probed at once, at most %d are "
                                 "possible: choose with --function or --module",
                                 program->probes.count, PROBE_THUNKS - 1);
    plan_expressions_free(chooser.expressions);
    cache_free(cache, 0);
    return result;
}
