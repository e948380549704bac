/* Two toy sources behind the interface: what is merged, what holds it up, who is asked for what. */
#include "sampler/session.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A source that hands out samples of given times. The times of all toys are seen at once: each look
 * lets one more be taken, until `idle_ns` nothing will come. */
struct toy {
    struct source source;
    const uint64_t *times_ns; /* ended by 0 */
    size_t next;
    uint64_t idle_ns; /* with no more times: nothing is older; 0: ended */
    int take_result;  /* what taking gives once, unless 0 */
    bool started, stopped;
    unsigned looks;
    int ends[2];   /* a pipe to wait for */
    size_t events; /* of its own; its records are of the last */
    struct model_record record;
};

static struct toy toys[2];
static size_t opened, freed;
static int refusal; /* what opening the first gives */

static struct toy *toy_of(const struct source *source)
{
    return (struct toy *)source;
}

static int toy_open(struct source **source, const struct source_request *request,
                    struct sprof_error *error)
{
    CU_ASSERT_PTR_NOT_NULL(request->target);
    CU_ASSERT_PTR_NOT_NULL(request->options);
    if (refusal && !opened) {
        opened++;
        return sprof_error_set(error, (enum sprof_code)refusal, 0, "toys are refused\nrun `buy`");
    }
    *source = &toys[opened++].source;
    return 0;
}

static void toy_facts(const struct source *source, struct sampler_facts *facts)
{
    (void)source;
    strcpy(facts->source, "toy");
    facts->kernel_excluded = true;
}

static int toy_events(const struct source *source, struct sampler_event_list *list)
{
    static const struct sampler_event event = {.name = "toys"};
    for (size_t i = 0; i < toy_of(source)->events; i++)
        CU_ASSERT_EQUAL(sprof_vec_push(list, event), 0);
    return 0;
}

static int toy_start(struct source *source, struct sprof_error *error)
{
    (void)error;
    toy_of(source)->started = true;
    return 0;
}

static void toy_stop(struct source *source)
{
    toy_of(source)->stopped = true;
    toy_of(source)->idle_ns = 0;
}

static int toy_wait_for(struct source *source, uint64_t now_ns, struct source_wait *wait)
{
    const struct toy *toy = toy_of(source);
    if (toy->ends[0])
        return sprof_vec_push(&wait->polls,
                              ((struct pollfd){.fd = toy->ends[0], .events = POLLIN}));
    if (now_ns < wait->deadline_ns)
        wait->deadline_ns = now_ns;
    return 0;
}

static int toy_look(struct source *source, uint64_t now_ns, const struct pollfd *polls,
                    size_t count)
{
    (void)now_ns;
    struct toy *toy = toy_of(source);
    CU_ASSERT_EQUAL(count, toy->ends[0] ? 1 : 0);
    if (count)
        CU_ASSERT_EQUAL(polls[0].fd, toy->ends[0]);
    toy->looks += !count || polls[0].revents;
    return 0;
}

static struct source_next toy_next_time(struct source *source)
{
    const struct toy *toy = toy_of(source);
    const uint64_t time_ns = toy->times_ns[toy->next];
    if (time_ns)
        return (struct source_next){SOURCE_RECORD, time_ns};
    return (struct source_next){toy->idle_ns ? SOURCE_NOTHING_BEFORE : SOURCE_ENDED, toy->idle_ns};
}

static int toy_take(struct source *source, struct model_record **record)
{
    struct toy *toy = toy_of(source);
    if (toy->take_result) {
        const int result = toy->take_result;
        toy->take_result = 0;
        return result;
    }
    toy->record = (struct model_record){.type = MODEL_RECORD_SAMPLE,
                                        .time_ns = toy->times_ns[toy->next++],
                                        .event = toy->events ? (uint32_t)toy->events - 1 : 0,
                                        .tid = (pid_t)(toy - toys)};
    *record = &toy->record;
    return 0;
}

static void toy_weigh(struct source *source, struct model_sample *sample, uint64_t time_ns)
{
    sample->weight = time_ns + (source == &toys[1].source);
}

static void toy_count(const struct source *source, struct sampler_counters *counters)
{
    counters->samples += toy_of(source)->next;
}

static uint64_t toy_cpu_ns(struct source *source)
{
    return source == &toys[1].source ? 7 : 0;
}

static void toy_free(struct source *source)
{
    freed += source == &toys[0].source || source == &toys[1].source;
}

static bool toy_stands_in(const struct sampler_options *options)
{
    return !options->event;
}

static const struct source_kind toy_kind = {
    .name = "toy",
    .stands_in = toy_stands_in,
    .open = toy_open,
    .facts = toy_facts,
    .events = toy_events,
    .start = toy_start,
    .stop = toy_stop,
    .wait_for = toy_wait_for,
    .look = toy_look,
    .next_time = toy_next_time,
    .take = toy_take,
    .weigh = toy_weigh,
    .cpu_ns = toy_cpu_ns,
    .count = toy_count,
    .free = toy_free,
};
static const struct source_kind *const one_kind[] = {&toy_kind, NULL};
static const struct source_kind *const two_kinds[] = {&toy_kind, &toy_kind, NULL};
static const uint64_t none[] = {0};

/* A sampler of two toys, attached to this very process. */
static struct sampler *two_toys(const uint64_t *first_ns, const uint64_t *second_ns)
{
    static pid_t own;
    own = getpid();
    const struct sampler_options options = {.pids = &own, .pid_count = 1};
    opened = freed = 0;
    refusal = 0;
    memset(toys, 0, sizeof toys);
    toys[0].source.kind = toys[1].source.kind = &toy_kind;
    toys[0].times_ns = first_ns;
    toys[1].times_ns = second_ns;
    struct sampler *sampler;
    CU_ASSERT_EQUAL_FATAL(sampler_open_kinds(&sampler, one_kind, &options, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(sampler_add_source(sampler, &toy_kind, &options, NULL), 0);
    const struct model_record *record; /* what /proc shows comes first */
    while (sampler->initial.next < sampler->initial.records.count)
        CU_ASSERT_EQUAL(sampler_next(sampler, &record), 0);
    return sampler;
}

static void expect_next(struct sampler *sampler, uint64_t time_ns, pid_t toy)
{
    const struct model_record *record;
    CU_ASSERT_EQUAL_FATAL(sampler_next(sampler, &record), 0);
    CU_ASSERT_EQUAL(record->time_ns, time_ns);
    CU_ASSERT_EQUAL(record->tid, toy);
    CU_ASSERT_EQUAL(record->sample.weight, time_ns + (uint64_t)toy);
}

static void expect_none(struct sampler *sampler)
{
    const struct model_record *record;
    CU_ASSERT_EQUAL(sampler_next(sampler, &record), 1);
}

static void test_two_are_merged_by_time(void)
{
    static const uint64_t odd[] = {1, 3, 5, 0}, even[] = {2, 4, 0};
    struct sampler *sampler = two_toys(odd, even);
    for (uint64_t time_ns = 1; time_ns <= 5; time_ns++)
        expect_next(sampler, time_ns, time_ns % 2 == 0);
    expect_none(sampler);
    CU_ASSERT_EQUAL(sampler_counters(sampler).samples, 5);
    CU_ASSERT_EQUAL(sampler_target_cpu_ns(sampler), 7);
    sampler_free(sampler);
    CU_ASSERT_EQUAL(freed, 2);
}

/* One that has nothing says until when: the other goes on up to there. */
static void test_an_idle_one_holds_nothing_up(void)
{
    static const uint64_t times[] = {10, 20, 30, 0};
    struct sampler *sampler = two_toys(times, none);
    toys[1].idle_ns = 20;
    expect_next(sampler, 10, 0);
    expect_next(sampler, 20, 0);
    expect_none(sampler); /* 30 must wait: the other may still bring 25 */
    toys[1].idle_ns = 35;
    expect_next(sampler, 30, 0);
    expect_none(sampler);
    sampler_free(sampler);
}

static void test_one_that_ended_holds_nothing_up(void)
{
    static const uint64_t times[] = {10, 0};
    struct sampler *sampler = two_toys(none, times);
    toys[0].idle_ns = 5;
    expect_none(sampler);
    sampler_stop(sampler);
    CU_ASSERT_TRUE(toys[0].stopped && toys[1].stopped);
    expect_next(sampler, 10, 1);
    expect_none(sampler);
    sampler_free(sampler);
}

/* A source that was wrong about what is to come does not break the order. */
static void test_a_late_record_keeps_the_order(void)
{
    static const uint64_t first[] = {10, 0};
    static uint64_t second[] = {0, 0};
    struct sampler *sampler = two_toys(first, second);
    toys[1].idle_ns = 15;
    expect_next(sampler, 10, 0);
    second[0] = 4;
    const struct model_record *record;
    CU_ASSERT_EQUAL(sampler_next(sampler, &record), 0);
    CU_ASSERT_EQUAL(record->time_ns, 10);
    CU_ASSERT_EQUAL(sampler_counters(sampler).late_records, 1);
    sampler_free(sampler);
}

/* Each source numbers its own events; the sampler numbers those of all. */
static void test_events_are_numbered_across_sources(void)
{
    static const uint64_t first[] = {1, 3, 0}, second[] = {2, 0};
    struct sampler *sampler = two_toys(first, second);
    toys[0].events = 2;
    toys[1].events = 3;
    CU_ASSERT_EQUAL(sampler_settle(sampler, NULL, NULL), 0);
    CU_ASSERT_EQUAL(sampler_facts(sampler)->event_count, 5);
    static const uint32_t numbers[] = {1, 4, 1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct model_record *record;
        CU_ASSERT_EQUAL_FATAL(sampler_next(sampler, &record), 0);
        CU_ASSERT_EQUAL(record->event, numbers[i]);
    }
    sampler_free(sampler);
}

static bool is_of_wall(const struct sampler_options *options)
{
    return options->clock == SAMPLER_CLOCK_WALL;
}

/* A source that adds samples to another's is opened beside it where the options want it. */
static void test_sources_stand_beside_where_they_are_wanted(void)
{
    struct source_kind beside = toy_kind, kind = toy_kind;
    beside.is_wanted = is_of_wall;
    const struct source_kind *const list[] = {&beside, NULL};
    const struct source_kind *const kinds[] = {&kind, NULL};
    kind.beside = list;
    const pid_t own = getpid();
    for (size_t wanted = 0; wanted < 2; wanted++) {
        const struct sampler_options options = {
            .pids = &own, .pid_count = 1, .clock = wanted ? SAMPLER_CLOCK_WALL : SAMPLER_CLOCK_CPU};
        opened = freed = 0;
        refusal = 0;
        memset(toys, 0, sizeof toys);
        toys[0].source.kind = toys[1].source.kind = &toy_kind;
        toys[0].times_ns = toys[1].times_ns = none;
        struct sampler *sampler;
        CU_ASSERT_EQUAL_FATAL(sampler_open_kinds(&sampler, kinds, &options, NULL), 0);
        CU_ASSERT_EQUAL(sampler->sources.count, 1 + wanted);
        sampler_free(sampler);
        CU_ASSERT_EQUAL(freed, 1 + wanted);
    }
}

static void test_errors_and_what_is_not_handed_out(void)
{
    static const uint64_t times[] = {10, 11, 0};
    struct sampler *sampler = two_toys(times, none);
    toys[0].take_result = 1;
    expect_next(sampler, 10, 0);
    toys[0].take_result = SPROF_ENOMEM;
    const struct model_record *record;
    CU_ASSERT_EQUAL(sampler_next(sampler, &record), SPROF_ENOMEM);
    expect_next(sampler, 11, 0);
    sampler_free(sampler);
}

/* Each source is waited for, and is shown its own descriptors. */
static void test_waiting_for_both(void)
{
    struct sampler *sampler = two_toys(none, none);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    CU_ASSERT_TRUE(toys[0].started && toys[1].started);
    CU_ASSERT_EQUAL_FATAL(pipe(toys[1].ends), 0);
    CU_ASSERT_EQUAL(sampler_wait(sampler, 10000, -1), 0); /* the first asks for no delay */
    CU_ASSERT_TRUE(toys[0].looks == 1 && toys[1].looks == 0);
    CU_ASSERT_EQUAL_FATAL(pipe(toys[0].ends), 0);
    CU_ASSERT_EQUAL(write(toys[1].ends[1], "x", 1), 1);
    CU_ASSERT_EQUAL(sampler_wait(sampler, -1, -1), 0);
    CU_ASSERT_TRUE(toys[0].looks == 1 && toys[1].looks == 1);
    for (size_t i = 0; i < 2; i++) {
        close(toys[i].ends[0]);
        close(toys[i].ends[1]);
    }
    sampler_free(sampler);
}

/* The second kind stands in for a first that is refused here, and the reason is kept; not where the
 * user asked for what it cannot do, and not where nothing was refused. */
static void test_one_stands_in(void)
{
    pid_t own = getpid();
    struct sampler_options options = {.pids = &own, .pid_count = 1};
    struct sprof_error error = {0};
    struct sampler *sampler;
    opened = freed = 0;
    refusal = SPROF_EPERMISSION;
    CU_ASSERT_EQUAL_FATAL(sampler_open_kinds(&sampler, two_kinds, &options, &error), 0);
    CU_ASSERT_STRING_EQUAL(sampler_facts(sampler)->source, "toy");
    CU_ASSERT_STRING_EQUAL(sampler_facts(sampler)->source_why, "toys are refused");
    sampler_free(sampler);
    opened = 0;
    options.event = "cycles";
    CU_ASSERT_EQUAL(sampler_open_kinds(&sampler, two_kinds, &options, &error), SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "run `buy`"));
    CU_ASSERT_PTR_NULL(sampler);
    opened = 0;
    options.event = NULL;
    refusal = SPROF_ELIMIT;
    CU_ASSERT_EQUAL(sampler_open_kinds(&sampler, two_kinds, &options, &error), SPROF_ELIMIT);
}

static void test_sources_by_name(void)
{
    pid_t own = getpid();
    struct sampler_options options = {.pids = &own, .pid_count = 1, .source = "toy"};
    struct sprof_error error = {0};
    struct sampler *sampler;
    opened = freed = 0;
    refusal = SPROF_EPERMISSION;
    CU_ASSERT_EQUAL(sampler_open_kinds(&sampler, two_kinds, &options, &error), SPROF_EPERMISSION);
    options.paused = true;
    opened = 1;
    CU_ASSERT_EQUAL(sampler_open_kinds(&sampler, two_kinds, &options, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--paused"));
    options.paused = false;
    options.source = "dtrace";
    CU_ASSERT_EQUAL(sampler_open(&sampler, &options, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "`dtrace`; there are: perf"));
    options.source = "perf";
    options.event = "no-such-event";
    CU_ASSERT_EQUAL(sampler_open(&sampler, &options, &error), SPROF_EUSAGE);
}

void sprof_suite_sampler_source(void);
void sprof_suite_sampler_source(void)
{
    CU_pSuite suite = CU_add_suite("sampler/source", NULL, NULL);
    CU_add_test(suite, "two are merged by time", test_two_are_merged_by_time);
    CU_add_test(suite, "an idle one holds nothing up", test_an_idle_one_holds_nothing_up);
    CU_add_test(suite, "one that ended holds nothing up", test_one_that_ended_holds_nothing_up);
    CU_add_test(suite, "a late record keeps the order", test_a_late_record_keeps_the_order);
    CU_add_test(suite, "errors, and what is not handed out",
                test_errors_and_what_is_not_handed_out);
    CU_add_test(suite, "events are numbered across sources",
                test_events_are_numbered_across_sources);
    CU_add_test(suite, "sources stand beside where they are wanted",
                test_sources_stand_beside_where_they_are_wanted);
    CU_add_test(suite, "waiting for both", test_waiting_for_both);
    CU_add_test(suite, "one stands in", test_one_stands_in);
    CU_add_test(suite, "sources by name", test_sources_by_name);
}
