#include "record/ledger.h"

#include <CUnit/CUnit.h>

static const uint64_t second_ns = UINT64_C(1000000000);
enum { PERIOD_NS = 1000000, EXPECTED = 1000 }; /* a thousand samples in a second */

static void deliver(struct record_ledger *ledger, uint64_t count, uint64_t weight_ns,
                    int64_t late_ns)
{
    while (count--)
        CU_ASSERT_EQUAL(record_ledger_deliver(ledger, 5, weight_ns, late_ns), 0);
}

/* A ledger of one second in which the target used one CPU. */
static struct record_ledger ledger_of(uint64_t delivered)
{
    struct record_ledger ledger = {.run_id = 3, .event_id = 4, .period_ns = PERIOD_NS};
    CU_ASSERT_EQUAL_FATAL(record_ledger_expect(&ledger, 0, second_ns), 0);
    deliver(&ledger, delivered, PERIOD_NS, 0);
    return ledger;
}

static void test_small_gaps_are_chance(void)
{
    struct record_ledger ledger = ledger_of(EXPECTED - 94); /* three standard errors: 94.9 */
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 94);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].excluded, 0);
    record_ledger_release(&ledger);
}

static void test_large_gaps_are_overrun(void)
{
    struct record_ledger ledger = ledger_of(EXPECTED - 95);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 95);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].excluded, 0);
    record_ledger_release(&ledger);
}

static void test_without_the_kernel_gaps_are_excluded(void)
{
    struct record_ledger ledger = ledger_of(EXPECTED / 2);
    ledger.kernel_excluded = true;
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].excluded, EXPECTED / 2);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 0);
    record_ledger_release(&ledger);
}

/* Of the CPU time of all seconds, once it is beyond what chance gives. */
static void test_what_was_missed_is_beyond_chance(void)
{
    struct record_ledger ledger = ledger_of(EXPECTED - 94);
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, second_ns), 0);
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, second_ns + PERIOD_NS), 95 * PERIOD_NS);
    record_ledger_second(&ledger, 5)->lost = 30;
    record_ledger_second(&ledger, 5)->throttled = 20;
    CU_ASSERT_EQUAL(record_ledger_lost_ns(&ledger), 50 * PERIOD_NS);
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, second_ns + PERIOD_NS), 50 * PERIOD_NS);
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, second_ns - 80 * PERIOD_NS), 50 * PERIOD_NS);
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, second_ns + 60 * PERIOD_NS), 154 * PERIOD_NS);
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, second_ns / 2), 0); /* more than was used */
    ledger.period_ns = 0;
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, 2 * second_ns), 0);
    record_ledger_release(&ledger);
}

/* Samples that weigh more leave more to chance, and what is expected does where there are none. */
static void test_chance_goes_by_weights(void)
{
    struct record_ledger ledger = ledger_of(0);
    deliver(&ledger, 80, 10 * PERIOD_NS, 0); /* three standard errors: 268 periods */
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, second_ns + 60 * PERIOD_NS), 0);
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, second_ns + 70 * PERIOD_NS), 270 * PERIOD_NS);
    record_ledger_release(&ledger);
    ledger = (struct record_ledger){.period_ns = PERIOD_NS};
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, second_ns, 8 * PERIOD_NS), 0);
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, 8 * PERIOD_NS), 0);
    CU_ASSERT_EQUAL(record_ledger_missed_ns(&ledger, 10 * PERIOD_NS), 10 * PERIOD_NS);
    record_ledger_release(&ledger);
}

/* Where periods vary, fewer samples that weigh more each account for the same time. */
static void test_longer_periods_are_no_gap(void)
{
    struct record_ledger ledger = ledger_of(0);
    deliver(&ledger, 800, PERIOD_NS * 5 / 4, 0);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].delivered, 800);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 200);
    record_ledger_release(&ledger);
    ledger = ledger_of(0);
    deliver(&ledger, 600, PERIOD_NS * 5 / 4, 0);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 250);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 150);
    record_ledger_release(&ledger);
}

/* A machine that stood still gave one sample for many: what it weighs says how many. Sums of what
 * is late by chance are no more than what is missing. */
static void test_late_ticks_are_overrun(void)
{
    struct record_ledger ledger = ledger_of(700);
    deliver(&ledger, 20, 15 * PERIOD_NS, 14 * PERIOD_NS);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 280);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 0);
    record_ledger_release(&ledger);
    ledger = ledger_of(970);
    deliver(&ledger, 10, PERIOD_NS / 2, -PERIOD_NS / 2);
    deliver(&ledger, 10, 4 * PERIOD_NS, 3 * PERIOD_NS);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 10);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 0);
    record_ledger_release(&ledger);
    ledger = ledger_of(500); /* and what no weight accounts for */
    deliver(&ledger, 10, 11 * PERIOD_NS, 10 * PERIOD_NS);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 100 + 390);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 0);
    record_ledger_release(&ledger);
}

/* Half of the second's CPU time was used before the rate became a tenth. */
static void test_what_is_due_follows_the_rate(void)
{
    struct record_ledger ledger = {.period_ns = PERIOD_NS};
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, second_ns / 2, second_ns / 2), 0);
    ledger.period_ns = 10 * PERIOD_NS;
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, second_ns, second_ns), 0);
    deliver(&ledger, 500, PERIOD_NS, 0);
    deliver(&ledger, 48, 10 * PERIOD_NS, 0);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 2);
    record_ledger_spread(&ledger, second_ns / 10); /* was used at both rates */
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 57);
    record_ledger_release(&ledger);
}

/* What becomes known at the end belongs to all seconds, as they were. */
static void test_late_news_is_spread(void)
{
    struct record_ledger ledger = {.period_ns = PERIOD_NS};
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, second_ns, 300), 0);
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, 2 * second_ns, 400), 0);
    ledger.written = 2;
    record_ledger_spread(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.written, 2);
    record_ledger_spread(&ledger, 41);
    CU_ASSERT_EQUAL(ledger.written, 0);
    CU_ASSERT_EQUAL_FATAL(ledger.seconds.count, 2);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].expected_cpu_ns, 330);
    CU_ASSERT_EQUAL(ledger.seconds.items[1].expected_cpu_ns, 111);
    record_ledger_release(&ledger);
    record_ledger_spread(&ledger, 41); /* nowhere to go */
    CU_ASSERT_EQUAL(ledger.seconds.count, 0);
}

static void test_throttled_time_is_samples(void)
{
    struct record_ledger ledger = {.period_ns = 1000000};
    CU_ASSERT_EQUAL(record_ledger_throttle(&ledger, 0, false, 5), 0); /* began before we looked */
    CU_ASSERT_EQUAL(ledger.seconds.count, 0);
    CU_ASSERT_EQUAL(record_ledger_throttle(&ledger, 1, true, 1000000000), 0);
    CU_ASSERT_EQUAL(record_ledger_throttle(&ledger, 0, true, 1001000000), 0);
    CU_ASSERT_EQUAL(record_ledger_throttle(&ledger, 1, false, 1004000000), 0);
    CU_ASSERT_EQUAL(record_ledger_throttle(&ledger, 1, false, 1005000000), 0);
    CU_ASSERT_EQUAL_FATAL(ledger.seconds.count, 2);
    CU_ASSERT_EQUAL(ledger.seconds.items[1].throttled, 4);
    record_ledger_release(&ledger);
}

static void test_lost_and_throttled_explain_a_gap(void)
{
    struct record_ledger ledger = ledger_of(500);
    ledger.seconds.items[0].lost = 450;
    ledger.seconds.items[0].throttled = 40;
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 10);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 0);
    record_ledger_release(&ledger);
}

/* A ring that stood full tells of it when it has room again. */
static void test_losses_are_booked_on_the_time_in_which_they_were_due(void)
{
    struct record_ledger ledger = {.period_ns = 1000000};
    CU_ASSERT_EQUAL(record_ledger_lose(&ledger, 500000000, 3000000000, 2501), 0);
    CU_ASSERT_EQUAL_FATAL(ledger.seconds.count, 3);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].lost, 500);
    CU_ASSERT_EQUAL(ledger.seconds.items[1].lost, 1000);
    CU_ASSERT_EQUAL(ledger.seconds.items[2].lost, 1001);
    CU_ASSERT_EQUAL(record_ledger_lose(&ledger, 2000000000, 1000000000, 7), 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[1].lost, 1007);
    record_ledger_release(&ledger);
}

/* The kernel tells of some losses when what they belong to was cleared. */
static void test_losses_before_a_clear_do_not_count(void)
{
    struct record_ledger ledger = {.period_ns = 1000000};
    record_ledger_skip(&ledger, 3 * second_ns / 2, second_ns);
    CU_ASSERT_EQUAL(record_ledger_clear(&ledger, 3 * second_ns / 2), 0);
    CU_ASSERT_EQUAL(record_ledger_lose(&ledger, second_ns, 3 * second_ns / 2, 500), 0);
    CU_ASSERT_EQUAL(record_ledger_lose(&ledger, second_ns, second_ns, 3), 0);
    CU_ASSERT_EQUAL(record_ledger_lose(&ledger, second_ns / 2, 5 * second_ns / 2, 2000), 0);
    CU_ASSERT_EQUAL(record_ledger_throttle(&ledger, 1, true, second_ns), 0);
    CU_ASSERT_EQUAL(record_ledger_throttle(&ledger, 1, false, 3 * second_ns / 2 + 20000000), 0);
    CU_ASSERT_EQUAL_FATAL(ledger.seconds.count, 3);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].lost, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[1].lost, 500);
    CU_ASSERT_EQUAL(ledger.seconds.items[2].lost, 500);
    CU_ASSERT_EQUAL(ledger.seconds.items[1].throttled, 20);
    record_ledger_release(&ledger);
}

static void test_more_than_expected_is_negative(void)
{
    struct record_ledger ledger = ledger_of(EXPECTED + 300);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, -300);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 0);
    record_ledger_release(&ledger);
}

static void test_what_is_no_clock_expects_nothing(void)
{
    struct record_ledger ledger = ledger_of(5);
    ledger.period_ns = 0;
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 0);
    record_ledger_release(&ledger);
}

/* Closing again after more arrived replaces what was worked out before. */
static void test_closing_again(void)
{
    struct record_ledger ledger = ledger_of(0);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, EXPECTED);
    deliver(&ledger, EXPECTED, PERIOD_NS, 0);
    record_ledger_close(&ledger, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].timer_overrun, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].unexplained, 0);
    record_ledger_release(&ledger);
}

static void test_cpu_time_is_booked_where_it_was_used(void)
{
    struct record_ledger ledger = {.period_ns = PERIOD_NS};
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, second_ns / 2, 100), 0);
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, second_ns, 250), 0);
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, 2 * second_ns + second_ns / 4, 1500), 0);
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, 3 * second_ns, 1400), 0); /* never backwards */
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, 4 * second_ns + 1, 1501), 0);
    CU_ASSERT_EQUAL_FATAL(ledger.seconds.count, 5);
    static const uint64_t expected[] = {250, 1000, 250, 0, 1};
    for (uint32_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(ledger.seconds.items[i].expected_cpu_ns, expected[i]);
        CU_ASSERT_EQUAL(ledger.seconds.items[i].second, i);
    }
    record_ledger_release(&ledger);
}

static void test_skipped_cpu_time_is_not_expected(void)
{
    struct record_ledger ledger = {.period_ns = PERIOD_NS};
    record_ledger_skip(&ledger, 2 * second_ns, 700);
    CU_ASSERT_EQUAL(record_ledger_expect(&ledger, 3 * second_ns, 1000), 0);
    CU_ASSERT_EQUAL_FATAL(ledger.seconds.count, 3);
    CU_ASSERT_EQUAL(ledger.seconds.items[0].expected_cpu_ns, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[1].expected_cpu_ns, 0);
    CU_ASSERT_EQUAL(ledger.seconds.items[2].expected_cpu_ns, 300);
    CU_ASSERT_EQUAL(ledger.skipped_cpu_ns, 700);
    record_ledger_release(&ledger);
}

static void test_rows_are_written_until_they_settle(void)
{
    struct record_ledger ledger = {.run_id = 3, .event_id = 4, .period_ns = PERIOD_NS};
    struct store_batch batch = {0};
    for (uint64_t i = 0; i < 5; i++)
        record_ledger_second(&ledger, i * second_ns)->delivered = i + 1;
    CU_ASSERT_EQUAL(record_ledger_rows(&ledger, &batch), 0);
    CU_ASSERT_EQUAL_FATAL(batch.ledger.count, 5);
    CU_ASSERT_EQUAL(batch.ledger.items[4].run_id, 3);
    CU_ASSERT_EQUAL(batch.ledger.items[4].event_id, 4);
    CU_ASSERT_EQUAL(batch.ledger.items[4].delivered, 5);
    batch.ledger.count = 0;
    CU_ASSERT_EQUAL(record_ledger_rows(&ledger, &batch), 0);
    CU_ASSERT_EQUAL_FATAL(batch.ledger.count, 2);
    CU_ASSERT_EQUAL(batch.ledger.items[0].second, 3);
    batch.ledger.count = 0;
    record_ledger_second(&ledger, 1 * second_ns)->delivered++; /* a sample that waited */
    CU_ASSERT_EQUAL(record_ledger_rows(&ledger, &batch), 0);
    CU_ASSERT_EQUAL_FATAL(batch.ledger.count, 4);
    CU_ASSERT_EQUAL(batch.ledger.items[0].second, 1);
    CU_ASSERT_EQUAL(batch.ledger.items[0].delivered, 3);
    store_batch_release(&batch);
    record_ledger_release(&ledger);
}

void sprof_suite_record_ledger(void);
void sprof_suite_record_ledger(void)
{
    CU_pSuite suite = CU_add_suite("record/ledger", NULL, NULL);
    CU_add_test(suite, "small gaps are chance", test_small_gaps_are_chance);
    CU_add_test(suite, "longer periods are no gap", test_longer_periods_are_no_gap);
    CU_add_test(suite, "large gaps are overrun", test_large_gaps_are_overrun);
    CU_add_test(suite, "what was missed is beyond chance", test_what_was_missed_is_beyond_chance);
    CU_add_test(suite, "chance goes by weights", test_chance_goes_by_weights);
    CU_add_test(suite, "late ticks are overrun", test_late_ticks_are_overrun);
    CU_add_test(suite, "what is due follows the rate", test_what_is_due_follows_the_rate);
    CU_add_test(suite, "without the kernel gaps are excluded",
                test_without_the_kernel_gaps_are_excluded);
    CU_add_test(suite, "late news is spread", test_late_news_is_spread);
    CU_add_test(suite, "throttled time is samples", test_throttled_time_is_samples);
    CU_add_test(suite, "lost and throttled explain a gap", test_lost_and_throttled_explain_a_gap);
    CU_add_test(suite, "losses are booked on the time in which they were due",
                test_losses_are_booked_on_the_time_in_which_they_were_due);
    CU_add_test(suite, "losses before a clear do not count",
                test_losses_before_a_clear_do_not_count);
    CU_add_test(suite, "more than expected is negative", test_more_than_expected_is_negative);
    CU_add_test(suite, "what is no clock expects nothing", test_what_is_no_clock_expects_nothing);
    CU_add_test(suite, "closing again", test_closing_again);
    CU_add_test(suite, "CPU time is booked where used", test_cpu_time_is_booked_where_it_was_used);
    CU_add_test(suite, "skipped CPU time is not expected", test_skipped_cpu_time_is_not_expected);
    CU_add_test(suite, "rows are written until they settle",
                test_rows_are_written_until_they_settle);
}
