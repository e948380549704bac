/* Probes at rest: the jump of the next time, and what is said of those that are not awake. */
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

static const struct probing_way can_rest = {.has_agent = true, .can_rest = true};

/* After a rest the jump leads to the thunk, also if the probe was passed before. */
static void test_next_jump(void)
{
    struct probing_probe probe = {
        .jump = {0xe9, 1, 2, 3, 4}, .pass_at = 2, .pass_byte = 7, .is_passed = true, .off_ns = 5};
    const uint8_t to_thunk[PLAN_JUMP_BYTES] = {0xe9, 1, 7, 3, 4};
    probing_note_rest(&probe);
    CU_ASSERT_TRUE(probe.rests);
    CU_ASSERT_EQUAL(probe.off_ns, 0);
    CU_ASSERT_FALSE(probe.is_passed);
    CU_ASSERT_EQUAL(memcmp(probe.jump, to_thunk, sizeof to_thunk), 0);
    CU_ASSERT_EQUAL(probe.pass_byte, 2);
    probing_note_rest(&probe); /* it leads there already */
    CU_ASSERT_EQUAL(memcmp(probe.jump, to_thunk, sizeof to_thunk), 0);
    struct probing_probe by_thunk = {.jump = {0xe9, 1, 2, 3, 4}, .is_passed = true};
    probing_note_rest(&by_thunk); /* its thunk stays passed, and its jump is as it was */
    CU_ASSERT_TRUE(by_thunk.rests && by_thunk.is_passed);
    CU_ASSERT_EQUAL(by_thunk.jump[2], 2);
}

static void test_awake(void)
{
    static struct plan_function functions[3];
    struct sprof_error error = {0};
    struct made made;
    made_begin_with(&made, &can_rest, functions, 3);
    struct probing_program *program = &made.session, other = {.resting.asleep = 2};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.trace.programs, &other), 0);
    CU_ASSERT_EQUAL(probing_check_awake(program, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "those of 2 functions"));
    other.resting.asleep = 0;
    CU_ASSERT_EQUAL(probing_check_awake(program, &error), 0);
    made_end(&made);
}

/* The longest stop since a moment, of all programs. */
static void test_woken(void)
{
    struct made made;
    made_begin(&made, &can_rest, 1);
    struct probing_program *program = &made.session,
                           other = {.resting = {.woken_ns = 200, .stopped_ns = 9}};
    program->resting = (struct probing_resting){.woken_ns = 100, .stopped_ns = 50};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.trace.programs, &other), 0);
    CU_ASSERT_EQUAL(probing_woken_ns(program, 100), 50);
    CU_ASSERT_EQUAL(probing_woken_ns(program, 101), 9);
    CU_ASSERT_EQUAL(probing_woken_ns(program, 201), 0);
    made_end(&made);
}

/* Nothing sleeps that is not placed, not wanted, or of a program that is gone. */
static void test_nothing_to_wake(void)
{
    static struct plan_function functions[2];
    struct made made;
    made_begin_with(&made, &can_rest, functions, 2);
    struct probing_program *program = &made.session;
    program->probes.items[0].rests = true;
    program->probes.items[1].rests = program->probes.items[1].is_placed = true;
    program->executable.is_replaced = true;
    program->resting.asleep = 3;
    probing_wake(program);
    CU_ASSERT_EQUAL(program->resting.asleep, 0);
    CU_ASSERT_EQUAL(program->resting.woken_ns, 0);
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    made_end(&made);
}

void sprof_suite_probing_rest(void);

void sprof_suite_probing_rest(void)
{
    CU_pSuite suite = CU_add_suite("probing/rest", NULL, NULL);
    CU_add_test(suite, "the next jump", test_next_jump);
    CU_add_test(suite, "probes that are not awake", test_awake);
    CU_add_test(suite, "stops of waking", test_woken);
    CU_add_test(suite, "nothing to wake", test_nothing_to_wake);
}
