/* sprof loop: what a continuous recording has kept, and parts of it as one recording. */
#include "cli/commands.h"
#include "cli/looping.h"
#include "cli/values.h"
#include "record/record.h"
#include "store/store.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint64_t ns_per_s = 1000000000;

struct arguments {
    uint64_t from_ns, until_ns; /* since 1970; 0: not given */
    const char *output;
    bool overwrite;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"from", 0, "T", "cut: from then on: 18:50, 2026-11-28T18:50:00Z, 10m (ago)", FIELD(from_ns),
     cli_set_time},
    {"until", 0, "T", "cut: until then (now)", FIELD(until_ns), cli_set_time},
    {"output", 'o', "FILE", "cut: the recording to write; an existing one becomes FILE.old.1",
     FIELD(output), cli_set_text},
    {"overwrite", 0, NULL, "cut: keep no copy of the recording that is replaced", FIELD(overwrite),
     cli_set_flag},
    {0},
};

static void put_time(char *text, size_t size, uint64_t time_ns)
{
    const time_t seconds = (time_t)(time_ns / ns_per_s);
    struct tm local;
    localtime_r(&seconds, &local);
    strftime(text, size, "%Y-%m-%d %H:%M:%S", &local);
}

/* == Segments == */

struct facts {
    uint64_t start_ns, duration_ns, samples;
    uint32_t run_id;
    bool complete, readable;
    struct sprof_error why; /* it is not readable */
};

static int note_run(void *context, const struct store_run *run)
{
    struct facts *facts = context;
    facts->run_id = run->id;
    facts->duration_ns = run->duration_ns;
    facts->complete = run->state == STORE_COMPLETE;
    return 0;
}

/* What the segment's recording says of itself. */
static void look(const char *directory, const struct record_segment *segment, struct facts *facts)
{
    *facts = (struct facts){.start_ns = segment->start_ns};
    struct sprof_str path = {0};
    struct store *store = NULL;
    struct store_quality quality;
    if (sprof_str_appendf(&path, "%s/%s", directory, segment->name))
        return;
    int status = store_open_read(&store, path.text, &facts->why);
    const bool live = status == SPROF_ESTATE;
    if (!status)
        status = store_each_run(store, note_run, facts, &facts->why);
    if (!status && !store_quality(store, facts->run_id, &quality, NULL))
        facts->samples = quality.samples;
    facts->readable = !status || live;
    store_close(store, NULL);
    sprof_str_release(&path);
}

static int list(const char *directory, const struct record_segments *segments)
{
    uint64_t bytes = 0;
    printf("%-19s  %9s  %9s  %9s  %-9s  %s\n", "from", "seconds", "samples", "KiB", "state",
           "file");
    for (size_t i = 0; i < segments->list.count; i++) {
        const struct record_segment *segment = &segments->list.items[i];
        struct facts facts;
        char from[32];
        look(directory, segment, &facts);
        put_time(from, sizeof from, segment->start_ns);
        bytes += segment->bytes;
        printf("%-19s  %9.1f  %9llu  %9llu  %-9s  %s\n", from, (double)facts.duration_ns / 1e9,
               (unsigned long long)facts.samples,
               (unsigned long long)(segment->bytes + 1023) / 1024,
               !facts.readable  ? "damaged"
               : facts.complete ? "complete"
                                : "recording",
               segment->name);
    }
    printf("%zu segment%s, %.1f MiB\n", segments->list.count, sprof_plural(segments->list.count),
           (double)bytes / 1048576);
    return 0;
}

/* == Cutting == */

struct cut {
    SPROF_VEC(char *) paths;
    uint64_t from_ns, until_ns; /* what is in it */
    size_t live, damaged;       /* left out */
};

static void release_cut(struct cut *cut)
{
    for (size_t i = 0; i < cut->paths.count; i++)
        free(cut->paths.items[i]);
    sprof_vec_release(&cut->paths);
}

static int add_segment(struct cut *cut, const char *directory, const struct record_segment *segment,
                       const struct facts *facts)
{
    struct sprof_str path = {0};
    if (sprof_str_appendf(&path, "%s/%s", directory, segment->name) ||
        sprof_vec_push(&cut->paths, path.text)) {
        sprof_str_release(&path);
        return SPROF_ENOMEM;
    }
    const uint64_t end_ns = facts->start_ns + facts->duration_ns;
    if (!cut->from_ns)
        cut->from_ns = facts->start_ns;
    if (end_ns > cut->until_ns)
        cut->until_ns = end_ns;
    return 0;
}

static int choose(struct cut *cut, const struct arguments *arguments, const char *directory,
                  const struct record_segments *segments)
{
    const uint64_t until_ns = arguments->until_ns ? arguments->until_ns : UINT64_MAX;
    for (size_t i = 0; i < segments->list.count; i++) {
        const struct record_segment *segment = &segments->list.items[i];
        struct facts facts;
        if (segment->start_ns >= until_ns)
            break;
        look(directory, segment, &facts);
        if (facts.readable && !facts.complete)
            cut->live++;
        else if (!facts.readable)
            cut->damaged++;
        else if (facts.start_ns + facts.duration_ns > arguments->from_ns &&
                 add_segment(cut, directory, segment, &facts))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int write_cut(struct cli_terminal *terminal, const struct arguments *arguments,
                     const char *directory, const struct cut *cut, struct sprof_error *error)
{
    const struct store_merge_options merge = {
        .output = arguments->output,
        .overwrite = arguments->overwrite,
        .inputs = (const char *const *)cut->paths.items,
        .count = cut->paths.count,
        .log = &terminal->log,
    };
    struct store_merge_result result;
    const int status = store_merge(&merge, &result, error);
    if (status)
        return status;
    char from[32], until[32];
    put_time(from, sizeof from, cut->from_ns);
    put_time(until, sizeof until, cut->until_ns);
    cli_say(terminal, "%zu segment%s, from %s to %s, in %s", result.runs, sprof_plural(result.runs),
            from, until, arguments->output);
    if (cut->damaged)
        cli_say(terminal, "%zu segment%s left out, as %s cannot be read: `sprof loop list %s`",
                cut->damaged, cut->damaged == 1 ? " was" : "s were",
                cut->damaged == 1 ? "it" : "they", directory);
    if (cut->live)
        cli_say(terminal, "what is being recorded now is left out: cut again when its segment has "
                          "ended");
    cli_say(terminal, "next: sprof report %s%s", result.runs > 1 ? "--run all " : "",
            arguments->output);
    return 0;
}

static int cut_out(struct cli_terminal *terminal, const struct arguments *arguments,
                   const char *directory, const struct record_segments *segments,
                   struct sprof_error *error)
{
    struct cut cut = {0};
    int status = 0;
    if (choose(&cut, arguments, directory, segments))
        status = sprof_error_memory(error);
    else if (!cut.paths.count)
        status = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                 "no segment that has ended was recorded in that time\nrun `sprof "
                                 "loop list %s` to see which there are",
                                 directory);
    else
        status = write_cut(terminal, arguments, directory, &cut, error);
    release_cut(&cut);
    return status;
}

/* == The command == */

static int check(const struct arguments *arguments, const struct cli_operands *operands,
                 struct sprof_error *error)
{
    const char *word = operands->count ? operands->items[0] : "";
    if (strcmp(word, "list") && strcmp(word, "cut"))
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "%s%s%sthere are `sprof loop list [DIR]` and `sprof loop cut --from T "
            "--until T -o FILE [DIR]`",
            *word ? "`" : "", word, *word ? "` is neither: " : "");
    if (operands->count > 2)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one directory at a time: `%s` is one too many", operands->items[2]);
    if (!strcmp(word, "cut") && !arguments->output)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "where to? name the recording to write with -o");
    if (arguments->until_ns && arguments->from_ns >= arguments->until_ns)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--from is not before --until");
    if (!strcmp(word, "list") &&
        (arguments->from_ns || arguments->until_ns || arguments->output || arguments->overwrite))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--from, --until, -o and --overwrite belong to `sprof loop cut`");
    return 0;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    const struct arguments *arguments = all;
    struct record_segments segments;
    int status = check(arguments, operands, error);
    if (status)
        return status;
    const char *directory = operands->count > 1 ? operands->items[1] : CLI_DEFAULT_SEGMENTS;
    status = record_segments_list(&segments, directory, error);
    if (status)
        return status;
    if (!segments.list.count)
        status = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                 "%s holds no segments: `sprof record --loop 60s -a -o %s` makes "
                                 "them",
                                 directory, directory);
    else if (!strcmp(operands->items[0], "list"))
        status = list(directory, &segments);
    else
        status = cut_out(terminal, arguments, directory, &segments, error);
    record_segments_release(&segments);
    return status;
}

const struct cli_command cli_loop_command = {
    .name = "loop",
    .summary = "List what `record --loop` has kept, or cut a stretch of time out of it",
    .operands = "list|cut [DIR]",
    .options = options,
    .details =
        "`list` shows the segments in DIR (sprof.loop), oldest first. `cut` writes those of a\n"
        "stretch of time to one recording, a run for each: segments are not divided.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
