/* The list of sprof's commands, in the order of the help. */
#include "cli/commands.h"

/* clang-format off: a line for each */
const struct cli_command *const cli_commands[] = {
    &cli_record_command,
    &cli_top_command,
    &cli_why_command,
    &cli_list_command,
    &cli_doctor_command,
    &cli_ctl_command,
    &cli_report_command,
    &cli_annotate_command,
    &cli_script_command,
    &cli_diff_command,
    &cli_html_command,
    &cli_export_command,
    &cli_archive_command,
    &cli_sql_command,
    &cli_import_command,
    &cli_merge_command,
    &cli_loop_command,
    &cli_push_command,
    &cli_fleet_command,
    &cli_symbolize_command,
    &cli_unwind_replay_command,
    &cli_trace_command,
    &cli_watch_command,
    &cli_stats_command,
    &cli_probes_command,
    &cli_completion_command,
    NULL,
};
/* clang-format on */

const size_t cli_command_count = sizeof cli_commands / sizeof *cli_commands - 1;
