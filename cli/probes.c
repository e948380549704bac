/* sprof probes: where probes can be in a file, or in what a process runs, and where not, and why.
 */
#include "base/command.h"
#include "cli/commands.h"
#include "cli/controlled.h"
#include "cli/probes_summary.h"
#include "cli/producers.h"
#include "cli/recorded_choice.h"
#include "cli/style.h"
#include "cli/values.h"
#include "embed/embed.h"
#include "inject/inject.h"
#include "plan/plan.h"
#include "report/report.h"

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
    const char *output, *from;
    double least_percent;
    struct cli_style style;
};

static bool is_for_people(const struct arguments *arguments)
{
    return !arguments->style.format || !strcmp(arguments->style.format->name, "text");
}

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
    {"from", 0, "RECORDING",
     "with --embed: the functions that a trace called, or that samples found hot", FIELD(from),
     cli_set_text},
    {"min-percent", 0, "PERCENT",
     "with --from and samples: functions with so much of the CPU time by themselves, beside those "
     "with 20 % below them (1)",
     FIELD(least_percent), cli_set_percent},
    {"format", 0, "text|csv|json|markdown",
     "for people (text), or for programs: csv and json list functions", FIELD(style.format),
     cli_set_table_format},
    {"full-names", 0, NULL, "functions with parameters and template arguments, in text too",
     FIELD(style.full_names), cli_set_flag},
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

static const struct report_listing_column columns[] = {
    {"module", REPORT_CELL_TEXT, true},          {"address", REPORT_CELL_TEXT, false},
    {"bytes", REPORT_CELL_NUMBER, false},        {"mechanism", REPORT_CELL_TEXT, false},
    {"exits", REPORT_CELL_TEXT, false},          {"site", REPORT_CELL_TEXT, true},
    {"displaced", REPORT_CELL_NUMBER, true},     {"calls", REPORT_CELL_NUMBER, true},
    {"foreign_calls", REPORT_CELL_NUMBER, true}, {"open_calls", REPORT_CELL_NUMBER, true},
    {"returns", REPORT_CELL_NUMBER, true},       {"catches", REPORT_CELL_NUMBER, true},
    {"inline_wanted", REPORT_CELL_NUMBER, true}, {"why", REPORT_CELL_TEXT, false},
    {"function", REPORT_CELL_FUNCTION, false},
};

struct view {
    const struct arguments *arguments;
    struct cli_terminal *terminal;
    struct report_listing *listing;
    bool for_people;
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
    enum { NUMBERS = 7 };
    const uint64_t numbers[NUMBERS] = {function->end - function->start,
                                       function->displaced,
                                       function->calls,
                                       function->foreign_calls,
                                       function->open_calls,
                                       function->exits,
                                       function->catches};
    char texts[NUMBERS][24], address[24], site[24] = "";
    for (size_t i = 0; i < NUMBERS; i++)
        snprintf(texts[i], sizeof texts[i], "%llu", (unsigned long long)numbers[i]);
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)function->start);
    if (function->site)
        snprintf(site, sizeof site, "0x%llx", (unsigned long long)function->site);
    /* People see the file of a function of a process, which has several. */
    const bool is_whole = view->arguments->pid && view->for_people;
    struct sprof_str name = {0};
    sprof_str_appendf(&name, "%s%s%s", is_whole ? plan->module : "", is_whole ? "!" : "",
                      function->name);
    view->functions++;
    report_listing_row(
        view->listing,
        (const char *[]){plan->module, address, texts[0], plan_mechanism_text(function->mechanism),
                         exits_of(function), site, *site ? texts[1] : NULL, texts[2], texts[3],
                         texts[4], texts[5], texts[6], function->inline_wanted ? "1" : "0",
                         plan_reason_text(function->why), name.text});
    sprof_str_release(&name);
}

static int print_table(struct view *view, struct sprof_error *error)
{
    const struct cli_style *style = &view->arguments->style;
    const bool is_terminal = isatty(STDOUT_FILENO);
    const struct report_style shown = {.format = style->format,
                                       .columns = is_terminal ? cli_columns(stdout, 0) : UINT16_MAX,
                                       .full_names = style->full_names};
    return report_listing_write(view->listing, stdout, &shown, error);
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
            if (view->for_people)
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

static int check_embed(const struct arguments *arguments, const struct cli_operands *operands,
                       struct sprof_error *error)
{
    if (arguments->pid || operands->count != 1 || !arguments->output)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--embed reads one file and writes another: `sprof probes ./program "
                               "--embed -o ./program.probes`");
    if (arguments->refused || arguments->all || arguments->flags || !is_for_people(arguments))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--embed goes with --function, --from, --min-percent, -o and "
                               "--no-cache only: leave out --embed to list probes");
    if (arguments->from && arguments->functions.list.count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--from and --function choose functions: give one of them");
    return 0;
}

static int embed(struct cli_terminal *terminal, const struct arguments *arguments,
                 const struct cli_operands *operands, struct sprof_error *error)
{
    struct cli_recorded_choice choice = {0};
    int code = check_embed(arguments, operands, error);
    if (!code && arguments->from)
        code = cli_choose_for_embed(&choice, arguments->from, operands->items[0],
                                    arguments->least_percent > 0 ? arguments->least_percent : 1,
                                    terminal, error);
    const bool by_names = !arguments->from;
    const struct embed_request embedding = {
        .path = operands->count ? operands->items[0] : NULL,
        .output = arguments->output,
        .functions = by_names ? arguments->functions.list.items : choice.functions.items,
        .function_count = by_names ? arguments->functions.list.count : choice.functions.count};
    struct embed_result embedded;
    struct cache *cache = arguments->no_cache ? NULL : cache_open(NULL);
    if (!code)
        code = embed_write(&embedding, cache, &embedded, error);
    cache_free(cache, 0);
    if (!code && arguments->from)
        printf("%s: %s function%s that %s\n", arguments->from, sprof_digits_of(choice.count).text,
               sprof_plural(choice.count),
               choice.is_traced ? "the trace called" : "samples found hot, with their callers");
    if (!code)
        print_embedded(&embedding, &embedded);
    cli_recorded_choice_release(&choice);
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
    else if (arguments->refused || arguments->all || !is_for_people(arguments))
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
static void report_trace(struct view *view)
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
                "process %d is being traced into %s by uprobes: where these stand, its code "
                "differs; `sprof stats -p %d --wide` shows them",
                (int)pid, output, (int)pid);
    else if (is_alive)
        cli_say(view->terminal,
                "process %d is being traced into %s: the code shown is that without the trace, "
                "`sprof stats -p %d --wide` shows the probes",
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
        report_trace(view);
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
        return embed(terminal, arguments, operands, error);
    if (arguments->output)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "-o names what --embed writes");
    if (arguments->from || arguments->least_percent > 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--from and --min-percent choose what --embed embeds");
    if (arguments->functions.list.count > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "give one --function; --embed takes several");
    if (arguments->refused + arguments->all + (arguments->flags != NULL) +
            (arguments->functions.list.count != 0) >
        1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--refused, --all, --function and --flags show each something else: "
                               "give one of them");
    const bool lists =
        !arguments->flags && (arguments->refused || arguments->all || !is_for_people(arguments));
    if ((operands->count == 1) == (arguments->pid != 0) || operands->count > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "give one file, or a process with -p: `sprof probes ./program`, "
                               "`sprof probes -p PID`");
    view.for_people = is_for_people(arguments);
    view.listing = report_listing_new(columns, sizeof columns / sizeof *columns);
    if (!view.listing)
        return sprof_error_memory(error);
    const bool is_table = lists && (!arguments->functions.list.count || !view.for_people);
    int code = show(&view, arguments->pid ? NULL : operands->items[0], error);
    if (!code && arguments->functions.list.count && !view.functions)
        code = no_such_function(&view, error);
    if (!code && is_table && (view.functions || !view.for_people))
        code = print_table(&view, error);
    if (!code && is_table && view.for_people && !view.functions)
        puts(arguments->refused ? "all functions can have probes that see their exits"
                                : "there are no functions");
    if (!code && view.guarded && !lists && !arguments->flags && !arguments->functions.list.count)
        printf("guarded: the process runs generated code, so each probe checks its caller\n");
    report_listing_free(view.listing);
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
