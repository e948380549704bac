/* oracle [OPTION …] -- COMMAND …
 *     --stops N          stop a thread of the command so many times (400)
 *     --every MS         milliseconds between two stops (4)
 *     --skip MS          milliseconds before the first stop (0)
 *     --least N          fewer distinct stacks are a failure (50)
 *     --explained PERCENT  of the comparisons: more differences with a known reason are a failure
 * (2) Exit status 1: a difference that no known reason explains, or too many that one does. */
#include "base/base.h"
#include "tests/hard/oracle/oracle.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REASONS_MAX = 32, SHOWN_MAX = 8 };

/* Of distinct stacks, at most so many end at a top of Go's. */
static const double go_tops_share = 0.25;

struct options {
    int stops, every_ms, skip_ms, least;
    double explained_percent;
    bool go;
    char **command;
};

struct tally {
    size_t stacks, distinct, identical, unexplained;
    struct {
        const char *oracle, *name;
        size_t count;
    } reasons[REASONS_MAX];
    size_t reason_count;
};

struct session {
    struct oracle_target target;
    struct oracle_sprof *sprof;
    struct oracle_libunwind *libunwind;
    struct oracle_libdwfl *libdwfl;
    struct oracle_stack walked, by_libunwind, by_libdwfl;
    struct sprof_map seen;
    struct tally tally;
    bool go;
};

static void nap(int ms)
{
    const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static bool is_new(struct session *session)
{
    const struct oracle_stack *stack = &session->walked;
    const uint64_t key = sprof_hash_bytes(stack->pc, stack->count * sizeof *stack->pc);
    if (sprof_map_get(&session->seen, key))
        return false;
    sprof_map_put(&session->seen, key, 1);
    return true;
}

static void count_reason(struct tally *tally, const char *oracle, const char *name)
{
    size_t i = 0;
    while (i < tally->reason_count &&
           (tally->reasons[i].name != name || tally->reasons[i].oracle != oracle))
        i++;
    if (i == REASONS_MAX)
        return;
    tally->reasons[i].oracle = oracle;
    tally->reasons[i].name = name;
    tally->reasons[i].count++;
    if (i == tally->reason_count)
        tally->reason_count++;
}

static void show_frame(const struct oracle_target *target, const struct oracle_stack *stack,
                       size_t i)
{
    const struct oracle_map *map = i < stack->count ? target_map(target, stack->pc[i]) : NULL;
    char text[256] = "-";
    if (map)
        snprintf(text, sizeof text, "%.200s+0x%llx",
                 strrchr(map->path, '/') ? strrchr(map->path, '/') + 1 : map->path,
                 (unsigned long long)(stack->pc[i] - map->start + map->offset));
    else if (i < stack->count)
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)stack->pc[i]);
    printf("  %-44s", text);
}

static void show(const struct session *session, const char *oracle)
{
    const struct oracle_stack *const stacks[] = {&session->walked, &session->by_libunwind,
                                                 &session->by_libdwfl};
    size_t rows = 0;
    for (int i = 0; i < 3; i++)
        rows = stacks[i]->count > rows ? stacks[i]->count : rows;
    printf("differs from %s: sprof (%s), libunwind (%s), libdwfl (%s)\n", oracle,
           model_end_text(session->walked.end), session->by_libunwind.error,
           session->by_libdwfl.error);
    for (size_t row = 0; row < rows && row < 40; row++) {
        for (int i = 0; i < 3; i++)
            show_frame(&session->target, stacks[i], row);
        printf("  %s\n",
               row < session->walked.count
                   ? model_found_by_text((enum model_found_by)session->walked.found_by[row])
                   : "");
    }
}

/* Returns whether the stack is the same for this oracle. */
static bool judge(struct session *session, const struct oracle_stack *other, const char *oracle)
{
    struct tally *tally = &session->tally;
    const char *reason =
        oracle_explain(&session->walked, other, oracle, &session->target, session->go);
    if (!reason)
        return true;
    if (*reason) {
        count_reason(tally, oracle, reason);
        return false;
    }
    if (tally->unexplained++ < SHOWN_MAX)
        show(session, oracle);
    return false;
}

static void look(struct session *session)
{
    oracle_sprof_walk(session->sprof, &session->target, &session->walked);
    session->tally.stacks++;
    if (!is_new(session))
        return;
    session->tally.distinct++;
    oracle_libunwind_walk(session->libunwind, &session->target, &session->by_libunwind);
    oracle_libdwfl_walk(session->libdwfl, &session->target, &session->by_libdwfl);
    const bool as_libunwind = judge(session, &session->by_libunwind, "libunwind");
    const bool as_libdwfl = judge(session, &session->by_libdwfl, "libdwfl");
    session->tally.identical += as_libunwind && as_libdwfl;
}

static pid_t launch(char **command)
{
    const pid_t pid = fork();
    if (pid)
        return pid;
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execvp(command[0], command);
    _exit(127);
}

static void run(struct session *session, const struct options *options)
{
    session->target.pid = launch(options->command);
    nap(options->skip_ms);
    for (int i = 0; i < options->stops; i++) {
        nap(options->every_ms);
        if (!target_stop(&session->target))
            break;
        look(session);
        target_go_on(&session->target);
    }
    kill(session->target.pid, SIGKILL);
    waitpid(session->target.pid, NULL, 0);
}

static size_t count_of(const struct tally *tally, const char *reason)
{
    size_t count = 0;
    for (size_t i = 0; i < tally->reason_count; i++)
        if (strcmp(tally->reasons[i].name, reason) == 0)
            count += tally->reasons[i].count;
    return count;
}

static int report(const struct tally *tally, const struct options *options)
{
    size_t explained = 0;
    for (size_t i = 0; i < tally->reason_count; i++)
        explained += tally->reasons[i].count;
    printf("%s: %zu stacks, %zu distinct, %zu identical, %zu explained, %zu unexplained\n",
           options->command[0], tally->stacks, tally->distinct, tally->identical, explained,
           tally->unexplained);
    for (size_t i = 0; i < tally->reason_count; i++)
        printf("  %zu: %s: %s\n", tally->reasons[i].count, tally->reasons[i].oracle,
               tally->reasons[i].name);
    if (tally->distinct < (size_t)options->least) {
        printf("fewer than %d distinct stacks\n", options->least);
        return 1;
    }
    const size_t comparisons = 2 * tally->distinct;
    if ((double)explained > options->explained_percent / 100 * (double)comparisons + 2) {
        printf("too many differences, though explained\n");
        return 1;
    }
    /* A root that is taken too early would be explained each time: few stacks may end so. */
    const size_t go_tops = count_of(tally, oracle_go_top);
    if ((double)go_tops > go_tops_share * (double)tally->distinct + 2) {
        printf("%zu of %zu stacks end at a top of Go's that others pass\n", go_tops,
               tally->distinct);
        return 1;
    }
    return tally->unexplained != 0;
}

static bool parse(struct options *options, int argc, char **argv)
{
    static const struct option known[] = {{"stops", required_argument, NULL, 's'},
                                          {"every", required_argument, NULL, 'e'},
                                          {"skip", required_argument, NULL, 'k'},
                                          {"least", required_argument, NULL, 'l'},
                                          {"explained", required_argument, NULL, 'x'},
                                          {"go", no_argument, NULL, 'g'},
                                          {0}};
    for (int c; (c = getopt_long(argc, argv, "+", known, NULL)) != -1;) {
        switch (c) {
        case 's': options->stops = atoi(optarg); break;
        case 'e': options->every_ms = atoi(optarg); break;
        case 'k': options->skip_ms = atoi(optarg); break;
        case 'l': options->least = atoi(optarg); break;
        case 'x': options->explained_percent = atof(optarg); break;
        case 'g': options->go = true; break;
        default: return false;
        }
    }
    options->command = argv + optind;
    return optind < argc;
}

int main(int argc, char **argv)
{
    struct options options = {.stops = 400, .every_ms = 4, .least = 50, .explained_percent = 2};
    if (!parse(&options, argc, argv))
        return 2;
    struct session *session = calloc(1, sizeof *session);
    session->go = options.go;
    session->sprof = oracle_sprof_new();
    session->libunwind = oracle_libunwind_new();
    session->libdwfl = oracle_libdwfl_new();
    run(session, &options);
    const int result = report(&session->tally, &options);
    oracle_sprof_free(session->sprof);
    oracle_libunwind_free(session->libunwind);
    oracle_libdwfl_free(session->libdwfl);
    target_release(&session->target);
    sprof_map_release(&session->seen);
    free(session);
    return result;
}
