/* sprof probes: where probes can be in a file, or in what a process runs, and where not, and why.
 */
#include "base/command.h"
#include "cli/commands.h"
#include "cli/controlled.h"
#include "cli/listing.h"
#include "cli/probes_summary.h"
#include "cli/producers.h"
#include "cli/values.h"
#include "embed/embed.h"
#include "inject/inject.h"
#include "plan/plan.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    pid_t pid;
    bool refused, all, no_cache;
    struct cli_texts functions;
    const char *flags; /* the compiler */
    bool embed;
    const char *output;
    enum cli_format format;
    bool full_names;
};

static int set_compiler(void *field, const char *value, struct sprof_error *error)
{
    if (strcmp(value, "gcc") != 0 && strcmp(value, "clang") != 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` is not a compiler: give gcc or clang",
                               value);
    *(const char **)field = value;
    return 0;
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"pid", 'p', "PID", "of a running process, all files that it runs", FIELD(pid), cli_set_tid},
    {"refused", 0, NULL, "list the functions without a probe, or with one at the entry only",
     FIELD(refused), cli_set_flag},
    {"all", 0, NULL, "list all functions", FIELD(all), cli_set_flag},
    {"function", 0, "NAME", "one function and what it calls; for --embed a regular expression",
     FIELD(functions), cli_add_text},
    {"flags", 0, "gcc|clang", "print the compiler's option that leaves room for probes",
     FIELD(flags), set_compiler},
    {"embed", 0, NULL,
     "put probes into a copy of the file, which -o names: they are off until "
     "sprof trace runs it",
     FIELD(embed), cli_set_flag},
    {"output", 'o', "FILE", "the copy", FIELD(output), cli_set_text},
    {"format", 0, "text|csv|json",
     "for people (text), or for programs: csv and json list functions", FIELD(format),
     cli_set_format},
    {"full-names", 0, NULL, "functions with parameters and template arguments, in text too",
     FIELD(full_names), cli_set_flag},
    {"no-cache", 0, NULL, "make the plan anew, and keep none", FIELD(no_cache), cli_set_flag},
    {0},
};

/* == Words == */

/* What --refused lists: no probe, or the entry only. */
static bool is_wanting(const struct plan_function *function)
{
    return cli_is_refused(function) || (function->mechanism != PLAN_NOT && function->entry_only);
}

/* == Tables == */

static const struct cli_column columns[] = {
    {"module", false, 20},       {"address", false, 12}, {"bytes", true, 7},
    {"mechanism", false, 9},     {"exits", false, 5},    {"site", false, 12},
    {"displaced", true, 9},      {"calls", true, 6},     {"foreign_calls", true, 13},
    {"open_calls", true, 10},    {"returns", true, 7},   {"catches", true, 7},
    {"inline_wanted", true, 13}, {"why", false, 44},     {"function", false, 0},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* What people see of them. */
static const struct cli_column text_columns[] = {
    {"address", false, 12}, {"bytes", true, 7}, {"mechanism", false, 9},
    {"exits", false, 5},    {"why", false, 44}, {"function", false, 0},
};

struct view {
    const struct arguments *arguments;
    struct cli_terminal *terminal;
    struct cli_listing listing;
    bool by_uprobes;           /* the process is traced */
    size_t modules, functions; /* seen so far; functions: listed */
    size_t seen, nameless;     /* functions among which one is looked for */
    bool guarded;              /* each probe checks its caller, for code is generated */
    struct sprof_suggestions near;
    struct sprof_arena names;
};

static const char *exits_of(const struct plan_function *function)
{
    return function->mechanism == PLAN_NOT ? "" : function->entry_only ? "no" : "yes";
}

static void list_function(struct view *view, const struct plan *plan,
                          const struct plan_function *function)
{
    char address[20], bytes[20], site[20] = "", displaced[8] = "", calls[12], foreign[12], open[12],
                                 returns[12], catches[12];
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)function->start);
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)(function->end - function->start));
    snprintf(calls, sizeof calls, "%u", function->calls);
    snprintf(foreign, sizeof foreign, "%u", function->foreign_calls);
    snprintf(open, sizeof open, "%u", function->open_calls);
    snprintf(returns, sizeof returns, "%u", function->exits);
    snprintf(catches, sizeof catches, "%u", function->catches);
    if (function->site) {
        snprintf(site, sizeof site, "0x%llx", (unsigned long long)function->site);
        snprintf(displaced, sizeof displaced, "%u", function->displaced);
    }
    const char *mechanism = plan_mechanism_text(function->mechanism);
    const char *why = plan_reason_text(function->why), *exits = exits_of(function);
    struct sprof_str whole = {0}; /* of a process, which has several files */
    sprof_str_appendf(&whole, "%s!%s", plan->module, function->name);
    const char *name = view->arguments->pid && whole.text ? whole.text : function->name;
    view->functions++;
    if (view->listing.format == CLI_TEXT)
        cli_listing_row(&view->listing,
                        (const char *[]){address, bytes, mechanism, exits, why, name});
    else
        cli_listing_row(&view->listing,
                        (const char *[]){plan->module, address, bytes, mechanism, exits, site,
                                         displaced, calls, foreign, open, returns, catches,
                                         function->inline_wanted ? "1" : "0", why, function->name});
    sprof_str_release(&whole);
}

static void list_functions(struct view *view, const struct plan *plan)
{
    for (size_t i = 0; i < plan->function_count; i++)
        if (!view->arguments->refused || is_wanting(&plan->functions[i]))
            list_function(view, plan, &plan->functions[i]);
}

/* == Flags == */

/* Room for a jump behind the entry; with landing marks GCC and clang put the room behind the mark.
 */
static void print_flags(const struct plan *plan, const char *path, const char *compiler)
{
    const int room = plan->lands ? 16 : PLAN_JUMP_BYTES;
    cli_print_producers(plan->module, path, compiler, room);
    printf("%s: %s -fpatchable-function-entry=%d\n", plan->module, compiler, room);
    printf("  CMake: target_compile_options(TARGET PRIVATE -fpatchable-function-entry=%d)\n", room);
    if (!strcmp(compiler, "clang"))
        printf("  or: clang -fxray-instrument -fxray-instruction-threshold=1\n");
}

/* == One function == */

static bool is_name(const struct plan_function *function, const char *name)
{
    const size_t length = strcspn(function->name, "(");
    return !strcmp(function->name, name) || !strcmp(function->linkage_name, name) ||
           (length == strlen(name) && !strncmp(function->name, name, length));
}

static void print_callee(const struct plan *plan, const struct plan_callee *callee)
{
    const struct plan_function *target = callee->is_slot ? NULL : plan_find(plan, callee->address);
    const char *how = callee->is_tail ? "jumps to" : "calls";
    char *readable = callee->imported ? plan_readable_name(callee->imported) : NULL;
    printf("  %s ", how);
    if (callee->is_slot) {
        sprof_utf8_put(stdout, readable           ? readable
                               : callee->imported ? callee->imported
                                                  : "what is not known");
        printf(", by the slot at 0x%llx", (unsigned long long)callee->address);
    } else if (target && target->start == callee->address)
        sprof_utf8_put(stdout, target->name);
    else
        printf("0x%llx", (unsigned long long)callee->address);
    putchar('\n');
    free(readable);
}

static void print_function(const struct plan *plan, const struct plan_function *function)
{
    sprof_utf8_put(stdout, plan->module);
    putchar('!');
    sprof_utf8_put(stdout, function->name);
    printf(": 0x%llx, %llu byte%s: ", (unsigned long long)function->start,
           (unsigned long long)(function->end - function->start),
           sprof_plural(function->end - function->start));
    if (function->mechanism == PLAN_NOT)
        printf("no probe: %s\n", plan_reason_text(function->why));
    else
        printf("%s at 0x%llx, %u byte%s%s%s\n", plan_mechanism_text(function->mechanism),
               (unsigned long long)function->site, function->displaced,
               sprof_plural(function->displaced), function->entry_only ? ", entry only: " : "",
               function->why          ? plan_reason_text(function->why)
               : function->entry_only ? "it leaves the frames of others"
                                      : "");
    if (cli_uprobe_objection(function))
        printf("  no uprobe: it %s\n", cli_uprobe_objection(function));
    for (uint32_t i = 0; i < function->callees; i++)
        print_callee(plan, &plan->callees[function->first_callee + i]);
    if (function->open_calls)
        printf("  calls %u time%s what is not known before it runs\n", function->open_calls,
               sprof_plural(function->open_calls));
}

static void find_function(struct view *view, const struct plan *plan)
{
    const char *name = *view->arguments->functions.list.items;
    for (size_t i = 0; i < plan->function_count; i++) {
        const struct plan_function *function = &plan->functions[i];
        view->seen++;
        view->nameless += !plan_has_name(function);
        if (is_name(function, name)) {
            view->functions++;
            if (view->listing.format == CLI_TEXT)
                print_function(plan, function);
            else
                list_function(view, plan, function);
        } else if (!view->functions) {
            sprof_suggest_offer(&view->near, name, function->name);
        }
    }
}

/* The names offered outlive the plan they came from. */
static void keep_suggestions(struct view *view)
{
    for (size_t i = 0; i < view->near.count; i++) {
        const char *kept = sprof_arena_text(&view->names, view->near.names[i]);
        view->near.names[i] = kept ? kept : "";
    }
}

static int no_such_function(struct view *view, struct sprof_error *error)
{
    struct sprof_str near = {0};
    sprof_suggest_append(&near, &view->near);
    plan_append_nameless(&near, view->nameless, view->seen);
    const int code =
        sprof_error_set(error, SPROF_ENOTFOUND, 0, "there is no function `%s`%s",
                        *view->arguments->functions.list.items, near.text ? near.text : "");
    sprof_str_release(&near);
    return code;
}

/* == Embedding == */

/* The lines can be given to a shell as they are. */
static void print_uses(const char *output, const char *agent)
{
    struct sprof_arena arena = {0};
    struct sprof_str path = {0};
    sprof_str_appendf(&path, "%s%s", strchr(output, '/') ? "" : "./", output);
    char *const command[] = {path.text, NULL};
    const char *text = path.failed ? NULL : sprof_command_text(&arena, command);
    if (text)
        printf("  trace it: sprof trace -- %s\n  … or later, without ptrace: SPROF_PROBE=listen "
               "LD_PRELOAD=%s %s & sprof trace -p $!\n",
               text, agent, text);
    sprof_str_release(&path);
    sprof_arena_release(&arena);
}

static void print_embedded(const struct embed_request *embedding,
                           const struct embed_result *embedded)
{
    bool first = true;
    printf("%s: %s probe%s embedded (", embedding->output, sprof_digits_of(embedded->embedded).text,
           sprof_plural(embedded->embedded));
    for (unsigned mechanism = 1; mechanism < PLAN_MECHANISMS; mechanism++)
        if (embedded->by[mechanism]) {
            printf("%s%s %s", first ? "" : " · ", plan_mechanism_text(mechanism),
                   sprof_digits_of(embedded->by[mechanism]).text);
            first = false;
        }
    printf("), all off; entry only %s", sprof_digits_of(embedded->entry_only).text);
    if (embedded->refused) {
        printf(" · left out %s: ", sprof_digits_of(embedded->refused).text);
        sprof_utf8_put(stdout, embedded->refused_name);
        printf(": %s%s", embedded->refused_why, embedded->refused > 1 ? " …" : "");
    }
    putchar('\n');
    if (embedded->frameless)
        printf("  call frame information could not be added: stacks end in what was moved\n");
    if (!embedded->is_library && *embedded->agent)
        print_uses(embedding->output, embedded->agent);
}

static int embed(const struct arguments *arguments, const struct cli_operands *operands,
                 struct sprof_error *error)
{
    if (arguments->pid || operands->count != 1 || !arguments->output)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--embed reads one file and writes another: `sprof probes ./program "
                               "--embed -o ./program.probes`");
    if (arguments->refused || arguments->all || arguments->flags || arguments->format != CLI_TEXT)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--embed goes with --function, -o and --no-cache alone: what can "
                               "have a probe is listed without it");
    const struct embed_request embedding = {.path = operands->items[0],
                                            .output = arguments->output,
                                            .functions = arguments->functions.list.items,
                                            .function_count = arguments->functions.list.count};
    struct embed_result embedded;
    struct cache *cache = arguments->no_cache ? NULL : cache_open(NULL);
    const int code = embed_write(&embedding, cache, &embedded, error);
    cache_free(cache, 0);
    if (!code)
        print_embedded(&embedding, &embedded);
    return code;
}

/* == The command == */

static void show_plan(struct view *view, const struct plan *plan, const char *path)
{
    const struct arguments *arguments = view->arguments;
    view->modules++;
    if (arguments->flags)
        print_flags(plan, path, arguments->flags);
    else if (arguments->functions.list.count)
        find_function(view, plan);
    else if (arguments->refused || arguments->all || arguments->format != CLI_TEXT)
        list_functions(view, plan);
    else
        cli_print_probes_summary(plan);
    keep_suggestions(view);
}

static int show_module(void *context, struct plan_module *module)
{
    struct view *view = context;
    if (module->error.code) {
        cli_say(view->terminal, "%s", module->error.message);
        return 0;
    }
    if (module->differing)
        cli_say(view->terminal,
                "%s: the process runs other bytes of %zu function%s than the file has%s",
                module->path, module->differing, sprof_plural(module->differing),
                view->by_uprobes ? ", or uprobes" : "");
    show_plan(view, &module->plan, module->path);
    return 0;
}

/* Its probes are no matter of the file. */
static void tell_trace(struct view *view)
{
    const pid_t pid = view->arguments->pid;
    struct sprof_error untold = {0};
    char output[INJECT_OUTPUT_BYTES], owner[INJECT_OUTPUT_BYTES];
    bool is_alive, is_owned;
    if (cli_find_controlled(pid, CLI_CONTROL_TRACE, output, &is_alive, &untold))
        return;
    view->by_uprobes = inject_find_owner(pid, owner, &is_owned, &untold) != 0;
    if (view->by_uprobes)
        cli_say(view->terminal,
                "process %d is being traced into %s by uprobes: where these stand it runs other "
                "bytes, `sprof stats -p %d --wide` shows them",
                (int)pid, output, (int)pid);
    else if (is_alive)
        cli_say(view->terminal,
                "process %d is being traced into %s: shown is what it runs without that, `sprof "
                "stats -p %d --wide` shows the probes",
                (int)pid, output, (int)pid);
    else
        cli_say(view->terminal,
                "process %d was traced into %s, by a sprof that was killed: `sprof ctl -p %d "
                "detach` takes the probes out",
                (int)pid, output, (int)pid);
}

static int show(struct view *view, const char *file, struct sprof_error *error)
{
    const struct arguments *arguments = view->arguments;
    struct cache *cache = arguments->no_cache ? NULL : cache_open(NULL);
    int code;
    if (arguments->pid) {
        tell_trace(view);
        code =
            inject_plan_untraced(arguments->pid, cache, show_module, view, &view->guarded, error);
    } else {
        const struct image_request request = {.file = {.path = file}};
        struct plan plan;
        code = plan_open(&plan, &request, cache, error);
        if (!code)
            show_plan(view, &plan, file);
        plan_release(&plan);
    }
    cache_free(cache, 0);
    return code;
}

/* A module that is not there any more is gone; a name that was given is wrong. */
static int check_exists(const char *file, struct sprof_error *error)
{
    return access(file, F_OK) && errno == ENOENT
               ? sprof_error_set(error, SPROF_ENOTFOUND, ENOENT, "there is no file %s", file)
               : 0;
}

static int carry_out(struct cli_terminal *terminal, const struct arguments *arguments,
                     const struct cli_operands *operands, struct sprof_error *error)
{
    struct view view = {.arguments = arguments, .terminal = terminal};
    const int missing = operands->count == 1 ? check_exists(operands->items[0], error) : 0;
    if (missing)
        return missing;
    if (arguments->embed)
        return embed(arguments, operands, error);
    if (arguments->output)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "-o names what --embed writes");
    if (arguments->functions.list.count > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "give one --function; --embed takes several");
    if (arguments->refused + arguments->all + (arguments->flags != NULL) +
            (arguments->functions.list.count != 0) >
        1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--refused, --all, --function and --flags show each something else: "
                               "give one of them");
    const bool lists = !arguments->flags &&
                       (arguments->refused || arguments->all || arguments->format != CLI_TEXT);
    if ((operands->count == 1) == (arguments->pid != 0) || operands->count > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "give one file, or a process with -p: `sprof probes ./program`, "
                               "`sprof probes -p PID`");
    view.listing = (struct cli_listing){.out = stdout, .format = arguments->format};
    view.listing.columns = arguments->format == CLI_TEXT ? text_columns : columns;
    view.listing.column_count =
        arguments->format == CLI_TEXT ? sizeof text_columns / sizeof *text_columns : COLUMNS;
    const bool is_table =
        lists && (!arguments->functions.list.count || arguments->format != CLI_TEXT);
    view.listing.functions = 1u << 5;
    view.listing.full_names = arguments->full_names || !is_table;
    if (is_table)
        cli_listing_begin(&view.listing);
    int code = show(&view, arguments->pid ? NULL : operands->items[0], error);
    if (is_table && cli_listing_end(&view.listing) && !code)
        code = sprof_error_memory(error);
    if (!code && arguments->functions.list.count && !view.functions)
        code = no_such_function(&view, error);
    if (!code && is_table && arguments->format == CLI_TEXT && !view.functions)
        puts(arguments->refused ? "all functions can have probes that see their exits"
                                : "there are no functions");
    if (!code && view.guarded && !lists && !arguments->flags && !arguments->functions.list.count)
        printf("guarded: the process runs generated code, so each probe checks its caller\n");
    sprof_arena_release(&view.names);
    return code;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    const int code = carry_out(terminal, arguments, operands, error);
    sprof_vec_release(&arguments->functions.list);
    return code;
}

const struct cli_command cli_probes_command = {
    .name = "probes",
    .summary = "Show where probes can be in a program, and where not, and why",
    .operands = "FILE",
    .options = options,
    .details =
        "For each function: how its entry is probed (sled, fentry, xray: room that a compiler\n"
        "left; prologue: its first instructions are moved; leave: it ends frames of others),\n"
        "whether its exits are seen, too, or why there is no probe. Nothing is changed: --embed\n"
        "writes another file.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
