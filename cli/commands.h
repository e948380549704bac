/* The commands of sprof, each in a file of its own. */
#ifndef SPROF_CLI_COMMANDS_H
#define SPROF_CLI_COMMANDS_H

#include "cli/options.h"
#include "cli/terminal.h"

#define CLI_DEFAULT_RECORDING "sprof.db"

extern const struct cli_command cli_record_command;
extern const struct cli_command cli_top_command;
extern const struct cli_command cli_watch_command;
extern const struct cli_command cli_why_command;
extern const struct cli_command cli_list_command;
extern const struct cli_command cli_doctor_command;
extern const struct cli_command cli_ctl_command;
extern const struct cli_command cli_report_command;
extern const struct cli_command cli_annotate_command;
extern const struct cli_command cli_script_command;
extern const struct cli_command cli_diff_command;
extern const struct cli_command cli_html_command;
extern const struct cli_command cli_export_command;
extern const struct cli_command cli_archive_command;
extern const struct cli_command cli_sql_command;
extern const struct cli_command cli_import_command;
extern const struct cli_command cli_merge_command;
extern const struct cli_command cli_loop_command;
extern const struct cli_command cli_push_command;
extern const struct cli_command cli_fleet_command;
extern const struct cli_command cli_symbolize_command;
extern const struct cli_command cli_unwind_replay_command;
extern const struct cli_command cli_trace_command;
extern const struct cli_command cli_stats_command;
extern const struct cli_command cli_probes_command;
extern const struct cli_command cli_completion_command;

/* All of them, ended by NULL. */
extern const struct cli_command *const cli_commands[];
extern const size_t cli_command_count;

#endif
