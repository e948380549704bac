/* Setters for the values options take (see struct cli_option), one for each type of field. */
#ifndef SPROF_CLI_VALUES_H
#define SPROF_CLI_VALUES_H

#include "base/base.h"
#include "cli/terminal.h"
#include "model/model.h"

#include <sys/types.h>

/* -p and its like; zero is a valid empty list. */
struct cli_pids {
    SPROF_VEC(pid_t) list;
    bool by_name; /* some were found by the name of their program */
};

/* --app-module and --system-module in the order given. */
struct cli_rules {
    SPROF_VEC(struct model_kind_rule) list;
};

/* An option that may be given several times. */
struct cli_texts {
    SPROF_VEC(const char *) list;
};

/* A mode that may not have been given. */
struct cli_mode {
    bool given;
    enum model_mode mode;
};

int cli_set_flag(void *field, const char *value, struct sprof_error *error);     /* bool */
int cli_set_text(void *field, const char *value, struct sprof_error *error);     /* const char * */
int cli_add_text(void *field, const char *value, struct sprof_error *error);     /* cli_texts */
int cli_add_renamed(void *field, const char *value, struct sprof_error *error);  /* cli_texts */
int cli_set_number(void *field, const char *value, struct sprof_error *error);   /* uint64_t */
int cli_set_positive(void *field, const char *value, struct sprof_error *error); /* uint64_t */
int cli_set_rows(void *field, const char *value,
                 struct sprof_error *error); /* uint64_t; 0 becomes INT64_MAX: all */
int cli_set_percent(void *field, const char *value,
                    struct sprof_error *error); /* double, 0 … 100 */
int cli_set_overhead(void *field, const char *value,
                     struct sprof_error *error); /* … at least 0.01 */
int cli_set_duration(void *field, const char *value, struct sprof_error *error); /* uint64_t, ns */
/* uint64_t, ns since 1970: local times, times in UTC with a Z, times ago, "now" */
int cli_set_time(void *field, const char *value, struct sprof_error *error);
/* uint64_t, ns: whole seconds, at most a day */
int cli_set_window(void *field, const char *value, struct sprof_error *error);
int cli_set_size(void *field, const char *value, struct sprof_error *error);     /* size_t, bytes */
/* A time of up to 4 s, 0 included, or none. */
struct cli_threshold {
    bool given, has_value;
    uint64_t ns;
};
int cli_set_threshold(void *field, const char *value, struct sprof_error *error);
int cli_set_clock(void *field, const char *value, struct sprof_error *error);       /* bool: wall */
int cli_set_agent_clock(void *field, const char *value, struct sprof_error *error); /* bool: fine */
/* bool: JSON, of commands whose answer is no table. */
int cli_set_text_or_json(void *field, const char *value, struct sprof_error *error);
int cli_set_mode(void *field, const char *value, struct sprof_error *error);     /* cli_mode */
int cli_set_frame(void *field, const char *value, struct sprof_error *error);    /* bool */
int cli_set_interior(void *field, const char *value, struct sprof_error *error); /* bool: drop */
/* const struct report_format *, of those that write tables, samples, rows */
int cli_set_table_format(void *field, const char *value, struct sprof_error *error);
int cli_set_sample_format(void *field, const char *value, struct sprof_error *error);
int cli_set_row_format(void *field, const char *value, struct sprof_error *error);
int cli_set_color(void *field, const char *value, struct sprof_error *error); /* cli_color */
int cli_set_profile_format(void *field, const char *value, struct sprof_error *error);
int cli_set_tid(void *field, const char *value, struct sprof_error *error);        /* pid_t */
int cli_set_pids(void *field, const char *value, struct sprof_error *error);       /* cli_pids */
int cli_set_app_module(void *field, const char *value, struct sprof_error *error); /* cli_rules */
int cli_set_system_module(void *field, const char *value,
                          struct sprof_error *error); /* cli_rules */

/* For options with a range of their own, which errors name: "not a percentage from 1 to 99". */
int cli_parse_percent(const char *text, double least, double most, double *percent,
                      struct sprof_error *error);
/* `least_text`: as people write `least`, "1M". */
int cli_parse_size(const char *text, size_t least, const char *least_text, size_t *bytes,
                   struct sprof_error *error);

struct model_kind_rules cli_rules_of(const struct cli_rules *rules);

/* Says which processes were found by name, if any were. */
void cli_say_pids(struct cli_terminal *terminal, const struct cli_pids *pids);

/* The `release` of commands whose struct of arguments begins with its cli_rules. */
void cli_release_rules(void *arguments);

#endif
