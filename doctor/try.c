/* Opens the events that recordings would open, and closes them again. */
#include "doctor/doctor.h"

#include "sampler/sampler.h"

#include <string.h>

/* One of the ways to record. */
struct way {
    const char *name; /* of its point */
    struct sampler_options options;
    bool is_asked_for;
};

/* A message of two lines: what is wrong, and what helps. */
static void find_refused(struct doctor_points *points, const struct way *way,
                         const struct sprof_error *error)
{
    const size_t length = strcspn(error->message, "\n");
    const char *cure = error->message[length] ? error->message + length + 1 : NULL;
    doctor_find(points, "recording", way->name, way->is_asked_for ? DOCTOR_BAD : DOCTOR_LESS,
                "%.*s", (int)length, error->message);
    if (cure)
        doctor_cure(points, "%s", cure);
}

static void find_works(struct doctor_points *points, const struct way *way,
                       const struct sampler_facts *facts)
{
    const bool small = facts->stack_bytes && facts->stack_bytes < facts->stack_bytes_wanted;
    const bool less = *facts->source_why || facts->kernel_excluded || small;
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "%s", facts->source);
    if (*facts->source_why)
        sprof_str_appendf(&text, "; %s", facts->source_why);
    if (facts->kernel_excluded)
        sprof_str_append(&text, "; without the kernel");
    sprof_str_appendf(&text, "; %zu KiB of rings, %zu KiB of each stack", facts->ring_bytes >> 10,
                      facts->stack_bytes >> 10);
    points->failed |= text.failed;
    doctor_find(points, "recording", way->name, less ? DOCTOR_LESS : DOCTOR_GOOD, "%s",
                text.text ? text.text : "");
    if (*facts->source_cure)
        doctor_cure(points, "%s", facts->source_cure);
    sprof_str_release(&text);
}

/* Whether this way works. */
static bool try_way(struct doctor_points *points, const struct way *way)
{
    struct sampler *sampler = NULL;
    struct sprof_error error = {0};
    const int result = sampler_open(&sampler, &way->options, &error);
    if (result)
        find_refused(points, way, &error);
    else
        find_works(points, way, sampler_facts(sampler));
    sampler_free(sampler);
    return !result;
}

bool doctor_try(struct doctor_points *points, const pid_t *pids, size_t pid_count)
{
    char *const command[] = {"/bin/true", NULL}; /* it is never let go */
    const struct way ways[] = {
        {"record -p",
         {.capture = SAMPLER_CAPTURE_FULL, .pids = pids, .pid_count = pid_count},
         pid_count > 0},
        {"record -- COMMAND", {.capture = SAMPLER_CAPTURE_FULL, .command = command}, !pid_count},
        {"record --off-cpu",
         {.capture = SAMPLER_CAPTURE_FULL,
          .command = pid_count ? NULL : command,
          .pids = pids,
          .pid_count = pid_count,
          .off_cpu = {.wanted = true, .stacks = true}},
         false},
        {"record -a", {.capture = SAMPLER_CAPTURE_FULL, .all_cpus = true}, false},
    };
    bool works = true;
    for (size_t i = pid_count ? 0 : 1; i < sizeof ways / sizeof *ways; i++)
        works &= try_way(points, &ways[i]) || !ways[i].is_asked_for;
    return works;
}
