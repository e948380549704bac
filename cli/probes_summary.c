/* The summary of a file that `sprof probes` prints: see probes_summary.h. */
#include "cli/probes_summary.h"

#include <stdio.h>

enum { NAMES_SHOWN = 8 };

bool cli_is_refused(const struct plan_function *function)
{
    return function->mechanism == PLAN_NOT && plan_is_true_start(function);
}

static void print_refused(const struct plan *plan)
{
    size_t shown = 0;
    for (size_t i = 0; i < plan->function_count && shown < NAMES_SHOWN; i++) {
        const struct plan_function *function = &plan->functions[i];
        if (!cli_is_refused(function))
            continue;
        fputs(shown++ ? " · " : "  refused: ", stdout);
        sprof_utf8_put(stdout, function->name);
        printf(" (%s)", plan_reason_text(function->why));
    }
    if (shown)
        printf("%s\n", shown == NAMES_SHOWN ? " · …  (--refused lists all)" : "");
}

const char *cli_uprobe_objection(const struct plan_function *function)
{
    return function->mechanism == PLAN_NOT
               ? NULL
               : arch_uprobe_objection(function->original, function->displaced);
}

/* One of `count` names, of which so many are on the line already. */
static void print_name(const char *title, size_t count, size_t before, const char *name)
{
    if (before)
        fputs(" · ", stdout);
    else
        printf("  %s %s: ", title, sprof_digits_of(count).text);
    sprof_utf8_put(stdout, name);
}

static void print_objections(const struct plan *plan)
{
    size_t shown = 0, count = 0;
    for (size_t i = 0; i < plan->function_count; i++)
        count += cli_uprobe_objection(&plan->functions[i]) != NULL;
    for (size_t i = 0; i < plan->function_count && shown < NAMES_SHOWN; i++) {
        const char *objection = cli_uprobe_objection(&plan->functions[i]);
        if (!objection)
            continue;
        print_name("refused by --backend uprobe", count, shown++, plan->functions[i].name);
        printf(" (%s)", objection);
    }
    if (shown)
        printf("%s\n", count > shown ? " · …" : "");
}

static void print_inlines(const struct plan *plan)
{
    size_t shown = 0, count = 0;
    for (size_t i = 0; i < plan->function_count; i++)
        count += plan->functions[i].inline_wanted;
    for (size_t i = 0; i < plan->function_count && shown < NAMES_SHOWN; i++)
        if (plan->functions[i].inline_wanted)
            print_name("inline wanted, not done", count, shown++, plan->functions[i].name);
    if (shown)
        printf("%s\n", count > shown ? " · …" : "");
}

/* How many have the reason, of functions that are no true starts. */
static void print_left_out(const struct plan *plan)
{
    bool first = true;
    for (unsigned why = 1; why < PLAN_REASONS; why++) {
        size_t count = 0;
        for (size_t i = 0; i < plan->function_count; i++)
            count += plan->functions[i].why == why && !plan_is_true_start(&plan->functions[i]);
        if (count) {
            printf("%s%s %s", first ? "  not counted: " : " · ", sprof_digits_of(count).text,
                   plan_reason_text(why));
            first = false;
        }
    }
    if (!first)
        putchar('\n');
}

void cli_print_probes_summary(const struct plan *plan)
{
    const uint64_t *points = plan->points;
    const struct plan_share share = plan_share(plan);
    size_t by[PLAN_MECHANISMS] = {0};
    uint64_t potential = 0;
    for (unsigned point = 0; point < PLAN_POINTS; point++)
        potential += points[point];
    for (size_t i = 0; i < plan->function_count; i++)
        if (plan->functions[i].why != PLAN_IMPORTED)
            by[plan->functions[i].mechanism]++;
    const uint64_t refused = share.starts - share.probed;
    printf(
        "%s: %s function%s, %s place%s where a probe could be: placed %s · not needed %s · refused "
        "%s (%.2f %% of functions probed)\n",
        plan->module, sprof_digits_of(share.starts).text, sprof_plural(share.starts),
        sprof_digits_of(potential).text, sprof_plural(potential),
        sprof_digits_of(share.probed).text, sprof_digits_of(potential - share.starts).text,
        sprof_digits_of(refused).text,
        share.starts ? 100.0 * (double)share.probed / (double)share.starts : 0.0);
    printf("  by ");
    bool first = true;
    for (unsigned mechanism = 1; mechanism < PLAN_MECHANISMS; mechanism++)
        if (by[mechanism]) {
            printf("%s%s %s", first ? "" : " · ", plan_mechanism_text(mechanism),
                   sprof_digits_of(by[mechanism]).text);
            first = false;
        }
    printf("%s · entry only %s\n", first ? "nothing" : "", sprof_digits_of(share.entry_only).text);
    printf("  exits %s (the entry's probe sees them)  direct calls %s (the callee's probe is at "
           "the same "
           "instant)\n",
           sprof_digits_of(points[PLAN_POINT_EXIT]).text,
           sprof_digits_of(points[PLAN_POINT_CALL]).text);
    printf("  calls to other modules %s (seen at the callee)  indirect calls %s (seen at the "
           "callee)  catch "
           "blocks %s (leave probes)\n",
           sprof_digits_of(points[PLAN_POINT_FOREIGN_CALL]).text,
           sprof_digits_of(points[PLAN_POINT_OPEN_CALL]).text,
           sprof_digits_of(points[PLAN_POINT_CATCH]).text);
    if (plan->runtime)
        printf("  guarded: %s walks stacks by itself, so each probe checks its caller\n",
               plan->runtime);
    print_left_out(plan);
    print_refused(plan);
    print_objections(plan);
    print_inlines(plan);
}
