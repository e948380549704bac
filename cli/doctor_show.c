/* Writes what `sprof doctor` found. */
#include "cli/doctor.h"

#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES_SHOWN = 20 };

/* In hundredths of a percent. */
static uint64_t share(uint64_t part, uint64_t whole)
{
    return whole ? part * 10000 / whole : 0;
}

/* == Modules in order == */

static int by_samples(const void *left, const void *right)
{
    const struct doctor_module *const *one = left, *const *other = right;
    if ((*one)->samples != (*other)->samples)
        return (*one)->samples > (*other)->samples ? -1 : 1;
    return *one < *other ? -1 : *one > *other;
}

/* Those with most samples first, else as they came; NULL: no memory, or none. The caller frees. */
static const struct doctor_module **sort(const struct doctor_modules *modules)
{
    const size_t count = modules->list.count;
    const struct doctor_module **sorted = count ? malloc(count * sizeof *sorted) : NULL;
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = &modules->list.items[i];
    if (sorted)
        qsort(sorted, count, sizeof(*sorted), by_samples);
    return sorted;
}

/* == For people == */

static const char *const topics[] = {"recording", "kernel", "process"};

static void show_point(FILE *out, const struct doctor_point *point)
{
    fprintf(out, "  %s  %-33s ", doctor_state_name(point->state), point->name);
    sprof_utf8_put(out, point->found);
    if (point->cure) {
        fputs("\n        > ", out);
        sprof_utf8_put(out, point->cure);
    }
    fputc('\n', out);
}

static void show_points(FILE *out, const struct doctor_points *points)
{
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        fprintf(out, "\n%s\n", topics[i]);
        for (size_t j = 0; j < points->list.count; j++)
            if (!strcmp(points->list.items[j].topic, topics[i]))
                show_point(out, &points->list.items[j]);
    }
}

static void show_share(FILE *out, uint64_t part, uint64_t whole, const char *of)
{
    const uint64_t tenths = (share(part, whole) + 5) / 10;
    fprintf(out, "%" PRIu64 ".%" PRIu64 " %% %s", tenths / 10, tenths % 10, of);
}

static void show_measured(FILE *out, const struct cli_doctor *found)
{
    const struct cli_doctor_measured *measured = &found->measured;
    if (!measured->is_there)
        return;
    fprintf(out, "\nmeasured\n");
    if (!measured->samples) {
        fputs("  no samples in a second: it used no CPU; run this again while it works\n", out);
        return;
    }
    fprintf(out, "  %" PRIu64 " samples, %" PRIu64 " lost; ", measured->samples, measured->lost);
    if (measured->user_stacks) {
        show_share(out, measured->whole_stacks, measured->user_stacks, "of stacks are whole, ");
    }
    show_share(out, measured->named_frames, measured->frames, "of frames have names\n");
    for (size_t i = 0; i < measured->notes.count; i++) {
        fputs("  > ", out);
        sprof_utf8_put(out, measured->notes.items[i]);
        fputc('\n', out);
    }
}

/* A cure that the notes below the measurement have already. */
static bool is_noted(const struct cli_doctor *found, const char *cure)
{
    for (size_t i = 0; i < found->measured.notes.count; i++)
        if (!strcmp(found->measured.notes.items[i], cure))
            return true;
    return false;
}

static void show_module(FILE *out, const struct cli_doctor *found,
                        const struct doctor_module *module)
{
    fprintf(out, "  %-8s  %-12s  %-14s  %-19s  %7" PRIu64 "  ", module->build_id ? "yes" : "none",
            module->call_frames ? module->call_frames : "none",
            module->symbols ? module->symbols : "exported", module->lines ? module->lines : "none",
            module->samples);
    sprof_utf8_put(out, module->name);
    if (module->problem)
        fprintf(out, ": %s", module->problem);
    const char *cure = module->cure && !is_noted(found, module->cure) ? module->cure : NULL;
    if (cure) {
        fputs("\n        > ", out);
        sprof_utf8_put(out, cure);
    }
    fputc('\n', out);
}

static int show_modules(FILE *out, const struct cli_doctor *found)
{
    const size_t count = found->modules.list.count;
    const struct doctor_module **sorted = sort(&found->modules);
    if (!count)
        return 0;
    if (!sorted)
        return SPROF_ENOMEM;
    fprintf(out, "\nmodules\n  %-8s  %-12s  %-14s  %-19s  %7s  %s\n", "build id", "call frames",
            "symbols", "debug information", "samples", "module");
    for (size_t i = 0; i < count && i < MODULES_SHOWN; i++)
        show_module(out, found, sorted[i]);
    if (count > MODULES_SHOWN)
        fprintf(out, "  … and %zu more: --format json has them\n", count - MODULES_SHOWN);
    free(sorted);
    return 0;
}

/* What debuginfod would find is up to a server, which is not queried here. */
static void show_debuginfod(FILE *out, const struct cli_doctor *found)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    fputs("\ndebuginfod\n  ", out);
    if (urls && *urls)
        sprof_utf8_put(out, urls);
    else
        fprintf(out, "no servers are named\n        > export DEBUGINFOD_URLS=%s",
                found->facts.distribution.servers);
    fputc('\n', out);
}

static int show_text(FILE *out, const struct cli_doctor *found)
{
    const struct doctor_facts *facts = &found->facts;
    sprof_utf8_put(out,
                   *facts->distribution.name ? facts->distribution.name : "unknown distribution");
    fprintf(out, ", Linux %s, %u CPU%s: %s\n", facts->release, facts->cpus,
            sprof_plural(facts->cpus),
            found->works ? "recording works" : "recording does not work");
    show_points(out, &found->points);
    show_measured(out, found);
    const int result = show_modules(out, found);
    show_debuginfod(out, found);
    if (!found->has_target)
        fputs("\nWith -p PID or a command, a second of it is measured and its files are checked.\n",
              out);
    return result;
}

/* == For programs == */

static void write_points(struct json *json, const struct doctor_points *points)
{
    report_json_open_array(json, "points");
    for (size_t i = 0; i < points->list.count; i++) {
        const struct doctor_point *point = &points->list.items[i];
        report_json_open_object(json, NULL);
        report_json_text(json, "topic", point->topic);
        report_json_text(json, "name", point->name);
        report_json_text(json, "state", doctor_state_name(point->state));
        report_json_text(json, "found", point->found);
        report_json_text(json, "cure", point->cure);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

static void write_measured(struct json *json, const struct cli_doctor_measured *measured)
{
    if (!measured->is_there) {
        report_json_null(json, "measured");
        return;
    }
    report_json_open_object(json, "measured");
    report_json_count(json, "samples", measured->samples);
    report_json_count(json, "lost", measured->lost);
    report_json_count(json, "user_stacks", measured->user_stacks);
    report_json_count(json, "whole_stacks", measured->whole_stacks);
    report_json_count(json, "frames", measured->frames);
    report_json_count(json, "named_frames", measured->named_frames);
    report_json_open_array(json, "notes");
    for (size_t i = 0; i < measured->notes.count; i++)
        report_json_text(json, NULL, measured->notes.items[i]);
    report_json_close_array(json);
    report_json_close_object(json);
}

static void write_modules(struct json *json, const struct doctor_modules *modules)
{
    report_json_open_array(json, "modules");
    for (size_t i = 0; i < modules->list.count; i++) {
        const struct doctor_module *module = &modules->list.items[i];
        report_json_open_object(json, NULL);
        report_json_text(json, "path", module->path);
        report_json_text(json, "build_id", module->build_id);
        report_json_text(json, "problem", module->problem);
        report_json_text(json, "call_frames", module->call_frames);
        report_json_text(json, "symbols", module->symbols);
        report_json_text(json, "debug_information", module->lines);
        report_json_count(json, "samples", module->samples);
        report_json_text(json, "cure", module->cure);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

static int write_json(FILE *out, const struct cli_doctor *found)
{
    struct json json;
    if (report_json_begin(&json, out))
        return SPROF_ENOMEM;
    report_json_open_object(&json, NULL);
    report_json_bool(&json, "works", found->works);
    report_json_text(&json, "distribution", found->facts.distribution.name);
    report_json_text(&json, "kernel", found->facts.release);
    report_json_text(&json, "debuginfod", getenv("DEBUGINFOD_URLS"));
    write_points(&json, &found->points);
    write_measured(&json, &found->measured);
    write_modules(&json, &found->modules);
    report_json_close_object(&json);
    const int result = report_json_end(&json);
    fputc('\n', out);
    return result;
}

int cli_doctor_show(FILE *out, const struct cli_doctor *found, bool as_json)
{
    return as_json ? write_json(out, found) : show_text(out, found);
}
