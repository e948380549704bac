/* The options that every reading command has: which recording, which samples, how stacks are read.
 */
#ifndef SPROF_CLI_SELECTION_H
#define SPROF_CLI_SELECTION_H

#include "cli/options.h"
#include "cli/values.h"
#include "report/report.h"

/* --run: a number, or all. */
struct cli_run {
    uint64_t number;
    bool all;
};

/* --during-calls-of */
struct cli_during {
    char expression[512]; /* "": none */
    uint64_t least_ns;
};
int cli_set_during(void *field, const char *value, struct sprof_error *error);

/* First in the struct of arguments of such a command: see cli_release_rules. */
struct cli_selection {
    struct cli_rules rules;
    const char *input;
    struct cli_mode mode;
    bool frame_app, drop_interior;
    struct cli_run run;
    const char *host, *event, *state, *thread, *process, *module, *cpus, *time, *phase, *mark;
    struct cli_during during;
    const char *focus, *ignore, *hide, *show_from;
    bool no_inlined, no_standard, parts_apart;
};

int cli_set_run(void *field, const char *value, struct sprof_error *error); /* cli_run */

#define CLI_SELECTION_FIELD(name) offsetof(struct cli_selection, name)

/* The options themselves, for the table of a command. */
#define CLI_INPUT_OPTION                                                                           \
    {                                                                                              \
        "input", 'i', "FILE", "the recording (sprof.db)", CLI_SELECTION_FIELD(input), cli_set_text \
    }
#define CLI_SELECTION_OPTIONS                                                                       \
    CLI_INPUT_OPTION, {"mode",                                                                      \
                       'm',                                                                         \
                       "pc|full|app",                                                               \
                       "read a full recording as this mode",                                        \
                       CLI_SELECTION_FIELD(mode),                                                   \
                       cli_set_mode},                                                               \
        {"frame",                                                                                   \
         0,                                                                                         \
         "app",                                                                                     \
         "with --mode pc: the innermost application frame",                                         \
         CLI_SELECTION_FIELD(frame_app),                                                            \
         cli_set_frame},                                                                            \
        {"app-interior",                                                                            \
         0,                                                                                         \
         "keep|drop",                                                                               \
         "with --mode app: system frames between application frames",                               \
         CLI_SELECTION_FIELD(drop_interior),                                                        \
         cli_set_interior},                                                                         \
        {"app-module",      0, "GLOB", "these modules are application", CLI_SELECTION_FIELD(rules), \
         cli_set_app_module},                                                                       \
        {"system-module",                                                                           \
         0,                                                                                         \
         "GLOB",                                                                                    \
         "these modules are system; the last match wins",                                           \
         CLI_SELECTION_FIELD(rules),                                                                \
         cli_set_system_module},                                                                    \
        {"thread",                                                                                  \
         0,                                                                                         \
         "NAME|TID",                                                                                \
         "only samples of these threads; a name may be a glob",                                     \
         CLI_SELECTION_FIELD(thread),                                                               \
         cli_set_text},                                                                             \
        {"process",                                                                                 \
         0,                                                                                         \
         "NAME|PID",                                                                                \
         "only samples of these processes; a name may be a glob",                                   \
         CLI_SELECTION_FIELD(process),                                                              \
         cli_set_text},                                                                             \
        {"module",                                                                                  \
         0,                                                                                         \
         "GLOB",                                                                                    \
         "only samples whose innermost frame lies in these modules",                                \
         CLI_SELECTION_FIELD(module),                                                               \
         cli_set_text},                                                                             \
        {"cpu",                                                                                     \
         0,                                                                                         \
         "LIST",                                                                                    \
         "only samples on these CPUs, as in 0-3,7",                                                 \
         CLI_SELECTION_FIELD(cpus),                                                                 \
         cli_set_text},                                                                             \
        {"time",                                                                                    \
         0,                                                                                         \
         "FROM,TO",                                                                                 \
         "only this stretch: seconds (1.5,3), parts (10%,20%), clock (14:03:10,14:03:20)",          \
         CLI_SELECTION_FIELD(time),                                                                 \
         cli_set_text},                                                                             \
        {"during-calls-of",                                                                         \
         0,                                                                                         \
         "REGEX[,over T]",                                                                          \
         "only samples of threads in such calls, as a trace of these moments has logged or kept",   \
         CLI_SELECTION_FIELD(during),                                                               \
         cli_set_during},                                                                           \
        {"phase",                                                                                   \
         0,                                                                                         \
         "N|NAME",                                                                                  \
         "only this phase of the run, by number or mark: see --by phase",                           \
         CLI_SELECTION_FIELD(phase),                                                                \
         cli_set_text},                                                                             \
        {"mark",                                                                                    \
         0,                                                                                         \
         "NAME",                                                                                    \
         "only phases that began with this mark; it may be a glob",                                 \
         CLI_SELECTION_FIELD(mark),                                                                 \
         cli_set_text},                                                                             \
        {"event",                                                                                   \
         0,                                                                                         \
         "NAME",                                                                                    \
         "which event (the first of the run); off-cpu, wall: sums with waits",                      \
         CLI_SELECTION_FIELD(event),                                                                \
         cli_set_text},                                                                             \
        {"state",                                                                                   \
         0,                                                                                         \
         "STATE",                                                                                   \
         "only time of threads that were running, ready, waiting, or in a kind of wait, as futex",  \
         CLI_SELECTION_FIELD(state),                                                                \
         cli_set_text},                                                                             \
        {"run",                                                                                     \
         0,                                                                                         \
         "N|all",                                                                                   \
         "which run of an appended recording (the newest)",                                         \
         CLI_SELECTION_FIELD(run),                                                                  \
         cli_set_run},                                                                              \
        {"host", 0, "NAME", "every run on this host", CLI_SELECTION_FIELD(host), cli_set_text},     \
        {"focus",                                                                                   \
         0,                                                                                         \
         "REGEX",                                                                                   \
         "only samples with a function, source file or module that it finds",                       \
         CLI_SELECTION_FIELD(focus),                                                                \
         cli_set_text},                                                                             \
        {"ignore",    0, "REGEX", "no samples with such a one", CLI_SELECTION_FIELD(ignore),        \
         cli_set_text},                                                                             \
        {"hide",      0, "REGEX", "take such frames out of the stacks", CLI_SELECTION_FIELD(hide),  \
         cli_set_text},                                                                             \
        {"show-from",                                                                               \
         0,                                                                                         \
         "REGEX",                                                                                   \
         "take away what is outside the outermost such frame",                                      \
         CLI_SELECTION_FIELD(show_from),                                                            \
         cli_set_text},                                                                             \
        {"no-inline",                                                                               \
         0,                                                                                         \
         NULL,                                                                                      \
         "costs of inlined functions go to the functions that they are part of",                    \
         CLI_SELECTION_FIELD(no_inlined),                                                           \
         cli_set_flag},                                                                             \
        {"no-std",                                                                                  \
         0,                                                                                         \
         NULL,                                                                                      \
         "time in standard libraries and runtimes counts for what called them",                     \
         CLI_SELECTION_FIELD(no_standard),                                                          \
         cli_set_flag},                                                                             \
    {                                                                                               \
        "no-join-parts", 0, NULL, "show f.cold, f.part.0, f.constprop.0 beside f, not in it",       \
            CLI_SELECTION_FIELD(parts_apart), cli_set_flag                                          \
    }

/* Takes the recording from the operand where there is one, and checks what must go together.
 * Returns 0 or SPROF_EUSAGE. */
int cli_selection_finish(struct cli_selection *selection, const struct cli_operands *operands,
                         struct sprof_error *error);

/* The library's selection; borrows from `selection`. */
struct report_selection cli_selection_of(const struct cli_selection *selection);

/* Takes a sole operand as the recording; both that and --input are a mistake. */
int cli_take_input(const char **input, const struct cli_operands *operands,
                   struct sprof_error *error);

#endif
