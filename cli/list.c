/* sprof list: the events that `sprof record -e` takes on this machine. */
#include "cli/commands.h"
#include "cli/values.h"
#include "plan/plan.h"
#include "sampler/sampler.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    bool available;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"available", 0, NULL, "leave out what this machine lacks", FIELD(available), cli_set_flag},
    {0},
};

/* What is printed of the events, and what was seen of them. */
struct listing {
    const struct arguments *arguments;
    const char *expression;           /* NULL: all */
    struct plan_expressions *pattern; /* made of it */
    struct sprof_arena names;         /* of those that do not fit */
    struct sprof_suggestions near;
    size_t shown;
    struct sprof_error *error; /* of matching */
};

static int put(void *context, const struct sampler_known_event *event)
{
    struct listing *listing = context;
    const struct plan_function named = {.name = event->name};
    const int fits = plan_expressions_match(listing->pattern, &named, listing->error);
    if (fits < 0)
        return fits;
    if (!fits) {
        const char *name = sprof_arena_text(&listing->names, event->name);
        if (!name)
            return SPROF_ENOMEM;
        /* The name behind the system ("syscalls:") may be all that was typed. */
        const char *colon = strchr(listing->expression, ':') ? NULL : strchr(name, ':');
        sprof_suggest_offer(&listing->near, listing->expression, colon ? colon + 1 : name);
        return 0;
    }
    if (event->lacks && listing->arguments->available)
        return 0;
    listing->shown++;
    printf("%-48s %s\n", event->name, event->lacks ? event->lacks : event->samples);
    return 0;
}

static int report_none(const struct listing *listing, struct sprof_error *error)
{
    struct sprof_str near = {0};
    if (!listing->expression)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "no event can be recorded here\nrun `sprof list` without "
                               "--available: it has the reasons");
    sprof_suggest_append(&near, &listing->near);
    const int result = sprof_error_set(error, SPROF_ENOTFOUND, 0, "no event fits `%.100s`%s",
                                       listing->expression, near.text ? near.text : "");
    sprof_str_release(&near);
    return result;
}

static int list(struct cli_terminal *terminal, struct listing *listing, struct sprof_error *error)
{
    struct sprof_error tracepoints = {0};
    const int result = sampler_known_events(put, listing, &tracepoints);
    if (result)
        return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
    if (*tracepoints.message)
        cli_say(terminal, "no tracepoints are listed: %s", tracepoints.message);
    return listing->shown ? 0 : report_none(listing, error);
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct listing listing = {.arguments = all, .error = error};
    if (operands->count > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one expression at a time: `%s` is one too many",
                               operands->items[1]);
    int result = 0;
    if (operands->count) {
        listing.expression = operands->items[0];
        result = plan_expressions_make(&listing.pattern, &listing.expression, 1, error);
    }
    if (!result)
        result = list(terminal, &listing, error);
    plan_expressions_free(listing.pattern);
    sprof_arena_release(&listing.names);
    return result;
}

const struct cli_command cli_list_command = {
    .name = "list",
    .summary = "List the events that can be recorded here, and what others lack",
    .operands = "[REGEX]",
    .options = options,
    .details = "Behind each event stands how often it gives a sample where nothing else is asked\n"
               "for, or why it cannot be recorded here.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
