/* sprof record --loop: its options, and the signals that end it. */
#include "cli/looping.h"

#include "cli/signals.h"
#include "cli/values.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_set_keep(void *field, const char *value, struct sprof_error *error)
{
    struct record_keep *keep = field;
    const size_t length = strlen(value);
    const bool has_unit = length && strchr("smhd", value[length - 1]);
    struct sprof_str hours = {0};
    size_t bytes;
    int status;
    if (length && value[length - 1] == 'd') /* days are for this option only */
        status = sprof_str_appendf(&hours, "%.17gh", 24 * strtod(value, NULL));
    else
        status = sprof_str_append(&hours, value);
    if (status)
        status = sprof_error_memory(error);
    else if (has_unit)
        status = cli_set_duration(&keep->ns, hours.text, NULL);
    else if (!(status = cli_parse_size(value, 1 << 20, "1M", &bytes, NULL)))
        keep->bytes = bytes;
    sprof_str_release(&hours);
    return status == SPROF_EUSAGE
               ? sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "`%s` is neither a time nor a size: write 24h, 7d, or 2G", value)
               : status;
}

int cli_set_chance(void *field, const char *value, struct sprof_error *error)
{
    char *end;
    double chance = strtod(value, &end);
    const bool percent = *end == '%';
    if (end == value || (*end && strcmp(end, "%")) || !(chance > 0) || chance > (percent ? 100 : 1))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` is no chance: write 0.1 or 10%%, and at most 1 or 100%%",
                               value);
    *(double *)field = percent ? chance : 100 * chance;
    return 0;
}

const char *cli_looping_option(const struct cli_looping *looping)
{
    return looping->keep.ns || looping->keep.bytes ? "--keep"
           : looping->chance > 0                   ? "--chance"
           : looping->budget                       ? "--budget"
           : looping->pusher.to                    ? "--push"
                                                   : NULL;
}

int cli_loop(struct cli_terminal *terminal, const struct cli_looping *looping,
             const struct record_options *record, struct sprof_error *error)
{
    sigset_t before;
    const int signals = cli_signals_open(&before);
    if (signals < 0)
        return sprof_error_set(error, SPROF_ELIMIT, errno, "cannot wait for signals: %s",
                               strerror(errno));
    struct record_options segment = *record;
    segment.duration_ns = 0;
    const struct record_loop_options options = {
        .record = &segment,
        .directory = record->output,
        .segment_ns = looping->segment_ns,
        .duration_ns = record->duration_ns,
        .keep = looping->keep,
        .chance = looping->chance > 0 ? looping->chance / 100 : 1,
        .budget = looping->budget,
        .end_fd = signals,
    };
    struct record_loop_result result = {0};
    const pid_t pusher =
        looping->pusher.to ? cli_pusher_start(&looping->pusher, record->output, &before, error) : 0;
    /* With an arena for each thread the process keeps ten times what it uses: glibc gives the end
     * of the main one alone back. */
    mallopt(M_ARENA_MAX, 1);
    const int status = pusher < 0 ? (int)pusher : record_loop(&options, &result, error);
    if (pusher > 0)
        cli_pusher_end(pusher);
    close(signals);
    struct record_segments kept;
    if (!status && !record_segments_list(&kept, record->output, NULL)) {
        cli_say(terminal, "%zu segment%s recorded, %zu kept in %s: `sprof loop list %s`",
                result.segments, sprof_plural(result.segments), kept.list.count, record->output,
                record->output);
        record_segments_release(&kept);
    }
    if (result.dropped)
        cli_say(terminal, "%zu segment%s removed before the time for want of space", result.dropped,
                result.dropped == 1 ? " was" : "s were");
    return status;
}
