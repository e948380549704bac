/* How long a thread has waited and been ready between two moments, from its gaps. */
#include "counters/counters.h"

#include <CUnit/CUnit.h>

#define MS UINT64_C(1000000)

static struct counters_states states;

/* A gap that ends so much later, of which the thread waited and was ready so long; the sums go on.
 */
static void add(uint64_t begun_ns, uint64_t waiting_ns, uint64_t ready_ns)
{
    const struct counters_gap gap = {begun_ns, begun_ns + waiting_ns + ready_ns,
                                     states.seen_waiting_ns + waiting_ns,
                                     states.seen_ready_ns + ready_ns};
    CU_ASSERT_EQUAL(counters_states_add(&states, &gap), 0);
}

static void expect(uint64_t from_ns, uint64_t to_ns, uint64_t waiting_ns, uint64_t ready_ns)
{
    uint64_t waiting, ready;
    counters_states_between(&states, from_ns, to_ns, &waiting, &ready);
    CU_ASSERT_EQUAL(waiting, waiting_ns);
    CU_ASSERT_EQUAL(ready, ready_ns);
}

static void test_nothing(void)
{
    expect(0, UINT64_MAX, 0, 0);
    expect(5, 3, 0, 0);
    counters_states_release(&states);
}

/* Moments within a gap belong to its nearer end, and those at its ends to these. */
static void test_edges(void)
{
    add(1000, 80, 20);
    add(2000, 0, 50);
    expect(0, 3000, 80, 70);
    expect(1000, 1100, 80, 20);
    expect(999, 1049, 0, 0);
    expect(999, 1051, 80, 20);
    expect(1049, 1500, 80, 20);
    expect(1051, 1500, 0, 0);
    expect(1100, 2000, 0, 0);
    expect(1100, 2050, 0, 50);
    expect(3000, 9000, 0, 0);
    expect(2050, 1000, 0, 0);
    counters_states_release(&states);
}

/* What is missing lies evenly between what is there. */
static void test_missing(void)
{
    add(1000, 80, 20);
    const struct counters_gap gap = {2000, 2100, 80 + 300 + 100, 20 + 200};
    CU_ASSERT_EQUAL(counters_states_add(&states, &gap), 0);
    expect(0, 3000, 480, 220);
    expect(1100, 2100, 400, 200);
    expect(1100, 1600, 200, 100);
    /* one that goes back is not taken, and the next ones are */
    add(1500, 10, 0);
    expect(0, 3000, 480, 220);
    add(3000, 7, 0);
    expect(2100, 4000, 7, 0);
    counters_states_release(&states);
}

/* Another thread of the same number. */
static void test_anew(void)
{
    add(1000, 80, 20);
    states.seen_waiting_ns = states.seen_ready_ns = 0;
    add(2000, 5, 6);
    expect(0, 1500, 80, 20);
    expect(1500, 3000, 5, 6);
    const struct counters_gap less = {4000, 4003, 2, 1};
    CU_ASSERT_EQUAL(counters_states_add(&states, &less), 0);
    expect(3000, 5000, 2, 1);
    counters_states_release(&states);
}

/* Gaps were lost up to a moment: a later gap has the sums, and what begins later misses none. */
static void test_lost(void)
{
    CU_ASSERT(counters_states_are_known(&states, 5, 105, 0));
    CU_ASSERT(counters_states_are_known(&states, 3000, 3100, 3000));
    CU_ASSERT_FALSE(counters_states_are_known(&states, 2999, 3099, 3000));
    add(1000, 80, 20);
    CU_ASSERT_FALSE(counters_states_are_known(&states, 500, 600, 3000));
    CU_ASSERT_FALSE(counters_states_are_known(&states, 2000, 2100, 3000));
    CU_ASSERT(counters_states_are_known(&states, 500, 600, 0));
    add(3500, 7, 0);
    CU_ASSERT(counters_states_are_known(&states, 500, 600, 3000));
    CU_ASSERT_FALSE(counters_states_are_known(&states, 500, 600, 4000));
    counters_states_release(&states);
    /* 1000 ns of waiting were lost between 1000 and 3400 */
    const struct counters_gap first = {900, 1000, 100, 0}, later = {3400, 3500, 1200, 0};
    CU_ASSERT_EQUAL(counters_states_add(&states, &first), 0);
    CU_ASSERT_EQUAL(counters_states_add(&states, &later), 0);
    CU_ASSERT(counters_states_are_known(&states, 500, 4000, 3000));
    CU_ASSERT_FALSE(counters_states_are_known(&states, 3010, 3400, 3000));
    CU_ASSERT_FALSE(counters_states_are_known(&states, 500, 2000, 3000));
    CU_ASSERT(counters_states_are_known(&states, 3600, 3700, 3000));
    counters_states_release(&states);
}

/* A million gaps of various lengths in ten seconds: memory is bounded, sums are exact, what is
 * young is exact, and what is old has an error of at most a thousandth. */
static void test_many(void)
{
    enum { GAPS = 1000000, LOOKS = 400 };
    static uint64_t begun[GAPS], waited[GAPS];
    uint64_t now_ns = 1000 * MS, sum = 0, seed = 7;
    for (size_t i = 0; i < GAPS; i++) {
        seed = sprof_hash_mix(seed + i);
        now_ns += 1000 + seed % 5000;
        begun[i] = now_ns;
        add(now_ns, seed % 4000, seed % 700);
        now_ns += seed % 4000 + seed % 700;
        waited[i] = sum += seed % 4000;
    }
    CU_ASSERT(states.gaps.count < GAPS / 4);
    for (size_t look = 1; look < LOOKS; look++) {
        const size_t from = (size_t)GAPS / LOOKS * look;
        uint64_t waiting, ready;
        counters_states_between(&states, begun[from], now_ns, &waiting, &ready);
        const int64_t error = (int64_t)(waiting - (sum - waited[from - 1]));
        const uint64_t age_ns = now_ns - begun[from];
        CU_ASSERT((uint64_t)(error < 0 ? -error : error) <=
                  (age_ns > 1000 * MS ? age_ns / 1000 : 0));
    }
    counters_states_release(&states);
}

static void limit(uint64_t duration_ns, uint64_t waiting_ns, uint64_t ready_ns)
{
    uint64_t waiting = 80, ready = 20;
    counters_states_limit(duration_ns, &waiting, &ready);
    CU_ASSERT_EQUAL(waiting, waiting_ns);
    CU_ASSERT_EQUAL(ready, ready_ns);
}

static void test_limits(void)
{
    limit(UINT64_MAX, 80, 20);
    limit(100, 80, 20);
    limit(90, 80, 10);
    limit(50, 50, 0);
    limit(0, 0, 0);
}

void sprof_suite_counters_states(void);

void sprof_suite_counters_states(void)
{
    CU_pSuite suite = CU_add_suite("counters/states", NULL, NULL);
    CU_add_test(suite, "no gaps", test_nothing);
    CU_add_test(suite, "edges", test_edges);
    CU_add_test(suite, "missing gaps", test_missing);
    CU_add_test(suite, "another thread", test_anew);
    CU_add_test(suite, "lost gaps", test_lost);
    CU_add_test(suite, "many gaps", test_many);
    CU_add_test(suite, "limits", test_limits);
}
