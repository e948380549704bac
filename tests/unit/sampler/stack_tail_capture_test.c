#include "tests/unit/sampler/live.h"
#include "tests/unit/sampler/programs/deep.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PAGE_BYTES = 4096 };

/* What a recording of programs/deep.c brought. */
struct deep {
    unsigned full, exact, copied, true_stacks, false_stacks;
};

/* The marks of one sample's stack, innermost first. */
struct marks {
    uint64_t first, last, last_address;
    size_t count;
    bool broken; /* two neighbours are not of one stack */
};

static void see_word(struct marks *marks, uint64_t address, uint64_t word)
{
    if ((word & ~UINT64_C(0xffffffff)) != DEEP_MARK)
        return;
    marks->broken |= marks->count && word != marks->last + 1;
    marks->first = marks->count++ ? marks->first : word;
    marks->last = word;
    marks->last_address = address;
}

static void see_bytes(struct marks *marks, const uint8_t *bytes, size_t size, uint64_t address)
{
    for (size_t at = (size_t)(-address % 8); at + 8 <= size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        see_word(marks, address + at, word);
    }
}

static struct marks marks_of(const struct model_sample *sample)
{
    struct marks marks = {0};
    const uint64_t slice = sample->registers[7], slice_end = slice + sample->stack_size;
    const size_t overlap =
        sample->tail_address < slice_end ? (size_t)(slice_end - sample->tail_address) : 0;
    see_bytes(&marks, sample->stack, sample->stack_size, slice);
    if (sample->tail_size > overlap)
        see_bytes(&marks, sample->tail + overlap, sample->tail_size - overlap,
                  sample->tail_address + overlap);
    return marks;
}

/* Whether the marks lead up to the first level of their class without a gap. */
static bool is_true(const struct marks *marks)
{
    const uint64_t class = (marks->last >> 20) & 0xfff, level = marks->last & 0xfffff;
    return marks->count && !marks->broken && level == 100 + 2000 * class;
}

static void see_sample(struct deep *deep, struct sampler *sampler,
                       const struct model_record *record, bool tell_end)
{
    const struct model_sample *sample = &record->sample;
    const struct marks marks = marks_of(sample);
    if (!sample->stack_full || !marks.count)
        return;
    deep->full++;
    deep->copied += sample->tail_size > 0;
    deep->exact += sample->tail_with_sample;
    deep->true_stacks += is_true(&marks);
    deep->false_stacks += sample->tail_with_sample && !is_true(&marks);
    if (tell_end && is_true(&marks))
        sampler_stack_end(sampler, record->tid, sample->registers[7],
                          (struct model_stack_extent){
                              .kind = MODEL_STACK_ENDS,
                              .end = marks.last_address / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES});
}

static bool record_deep(struct deep *deep, enum sampler_scope scope, bool tell_end)
{
    char *const command[] = {SAMPLER_DEEP, NULL};
    const struct sampler_options options = {.event = "cpu-clock",
                                            .capture = SAMPLER_CAPTURE_USER,
                                            .command = command,
                                            .minimum_scope = scope};
    struct sampler *sampler;
    *deep = (struct deep){0};
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    const bool in_scope = live_scope(sampler_facts(sampler)) == scope;
    const pid_t pid = sampler_facts(sampler)->command_pid;
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    const uint64_t end_ns = sprof_clock_monotonic_ns() + 60000000000;
    while (in_scope && deep->full < 200 && sprof_clock_monotonic_ns() < end_ns) {
        const struct model_record *next;
        sampler_wait(sampler, 10, -1);
        while (!sampler_next(sampler, &next))
            if (next->type == MODEL_RECORD_SAMPLE)
                see_sample(deep, sampler, next, tell_end);
    }
    live_end(pid);
    sampler_free(sampler);
    if (!in_scope)
        sprof_test_skip("samples cannot be filtered in the kernel here");
    return in_scope;
}

/* Whether its end is known or not, a stack captured with its sample is that sample's. */
static void test_captured_stacks_are_true(void)
{
    for (int tell_end = 0; tell_end < 2 && live_is_root(); tell_end++) {
        struct deep deep;
        if (!record_deep(&deep, SAMPLER_SCOPE_CPU_FILTERED, tell_end))
            return;
        CU_ASSERT_TRUE(deep.full > 30);
        CU_ASSERT_EQUAL(deep.false_stacks, 0);
        CU_ASSERT_TRUE(deep.exact > 20); /* those that found room where we did not run */
    }
}

/* Copied a little later, most are, where this process runs in time. */
static void test_copied_stacks_are_mostly_true(void)
{
    struct deep deep;
    CU_ASSERT_TRUE(record_deep(&deep, SAMPLER_SCOPE_TASK, true));
    CU_ASSERT_TRUE(deep.full > 30);
    CU_ASSERT_TRUE(deep.copied * 10 > deep.full * 9);
    CU_ASSERT_TRUE(deep.true_stacks > 20);
    CU_ASSERT_EQUAL(deep.exact, 0);
}

/* Waits until the command has used some CPU time. */
static void let_run(pid_t pid)
{
    const struct timespec nap = {.tv_nsec = 5000000};
    const uint64_t end_ns = sprof_clock_monotonic_ns() + 60000000000;
    struct timespec used = {0};
    clockid_t clock;
    CU_ASSERT_EQUAL_FATAL(clock_getcpuclockid(pid, &clock), 0);
    while (!clock_gettime(clock, &used) && !used.tv_sec && used.tv_nsec < 40000000 &&
           sprof_clock_monotonic_ns() < end_ns)
        nanosleep(&nap, NULL);
}

/* Samples a command that runs while this process does not read; false where samples are not
 * filtered in the kernel. */
static bool record_early(struct deep *deep)
{
    char *const command[] = {SAMPLER_DEEP, NULL};
    const struct sampler_options options = {
        .event = "cpu-clock", .capture = SAMPLER_CAPTURE_USER, .command = command, .early = true};
    struct sampler *sampler;
    const struct model_record *next;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    const bool filtered = live_scope(sampler_facts(sampler)) == SAMPLER_SCOPE_CPU_FILTERED;
    const pid_t pid = sampler_facts(sampler)->command_pid;
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    let_run(pid);
    live_end(pid);
    sampler_wait(sampler, 0, -1);
    sampler_stop(sampler);
    while (filtered && !sampler_next(sampler, &next))
        if (next->type == MODEL_RECORD_SAMPLE)
            see_sample(deep, sampler, next, false);
    sampler_free(sampler);
    return filtered;
}

/* Until the kernel captures them, stacks are copied at once, whatever the recorder does meanwhile:
 * copied afterwards, none is true. The thread that copies needs a CPU in time, so one try in which
 * it has one is enough. */
static void test_early_stacks_are_true(void)
{
    if (!live_is_root())
        return;
    struct deep deep = {0};
    for (int i = 0; i < 20 && !(deep.full && deep.true_stacks * 2 >= deep.full); i++) {
        deep = (struct deep){0};
        if (!record_early(&deep)) {
            sprof_test_skip("samples cannot be filtered in the kernel here");
            return;
        }
    }
    CU_ASSERT_TRUE(deep.full > 0);
    CU_ASSERT_TRUE(deep.true_stacks * 2 >= deep.full);
}

void sprof_suite_sampler_stack_tail_capture(void);
void sprof_suite_sampler_stack_tail_capture(void)
{
    CU_pSuite suite = CU_add_suite("sampler/stack_tail_capture", NULL, NULL);
    CU_add_test(suite, "captured stacks are true", test_captured_stacks_are_true);
    CU_add_test(suite, "early stacks are true", test_early_stacks_are_true);
    CU_add_test(suite, "copied stacks are mostly true", test_copied_stacks_are_mostly_true);
}
