/* Rings of calls and of warnings, as the agent fills them. */
#include "tests/unit/counters/memory.h"

enum { SLAB = 1, FUNCTION = 3 };

/* Fills the unit at a place with a header. */
static void fill(const struct counters_ring *ring, uint64_t place, uint32_t kind, uint32_t depth)
{
    *counters_ring_unit(ring, place) = probe_log_header(place, kind, 0, depth, FUNCTION);
}

static void test_entries(void)
{
    struct counters_pages pages = memory_make(2, 1);
    const struct counters_ring ring = counters_ring_of(&pages, SLAB);
    uint64_t header;
    fill(&ring, 0, PROBE_LOG_BEGIN, 5);
    fill(&ring, 2, PROBE_LOG_END, 5);
    fill(&ring, 3, PROBE_LOG_ONLY, 6);
    ring.ring->head = 6;
    const uint64_t head = counters_ring_head(&ring);
    CU_ASSERT_EQUAL(head, 6);
    CU_ASSERT_EQUAL(counters_ring_tail(&ring, head), 0);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 0, head, false, &header), 2);
    CU_ASSERT_EQUAL(PROBE_LOG_FUNCTION(header), FUNCTION);
    CU_ASSERT_EQUAL(PROBE_LOG_DEPTH(header), 5);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 2, head, false, &header), 1);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 3, head, false, &header), 2);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 5, head, false, &header), 0); /* not filled */
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 3, 4, false, &header), 0); /* half of it is there */
    counters_ring_read(&ring, 5);
    CU_ASSERT_EQUAL(counters_ring_tail(&ring, head), 5);
    CU_ASSERT_EQUAL(counters_ring_of(&pages, 0).ring->tail, 0);
    memory_release(&pages);
}

/* A unit of the last turn stands where the next one will be: it is none of this turn. */
static void test_turns(void)
{
    struct counters_pages pages = memory_make(2, 1);
    const struct counters_ring ring = counters_ring_of(&pages, SLAB);
    uint64_t header;
    fill(&ring, 7, PROBE_LOG_END, 1);
    const uint64_t place = ring.units + 7;
    CU_ASSERT_PTR_EQUAL(counters_ring_unit(&ring, place), counters_ring_unit(&ring, 7));
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, place, place + 1, false, &header), 0);
    fill(&ring, place, PROBE_LOG_END, 1);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, place, place + 1, false, &header), 1);
    /* only the program can have written so large a head */
    ring.ring->tail = 9;
    CU_ASSERT_EQUAL(counters_ring_tail(&ring, 9 + ring.units), 9);
    CU_ASSERT_EQUAL(counters_ring_tail(&ring, 10 + ring.units), 10 + ring.units);
    CU_ASSERT_EQUAL(counters_ring_tail(&ring, 8), 8);
    memory_release(&pages);
}

/* Where rules keep calls, entries of the log are marked. */
static void test_beside(void)
{
    struct counters_pages pages = memory_make(2, 1);
    const struct counters_ring ring = counters_ring_of(&pages, SLAB);
    uint64_t header;
    fill(&ring, 0, PROBE_LOG_BEGIN, 5 | PROBE_LOG_BESIDE);
    fill(&ring, 2, PROBE_LOG_END, 0);
    fill(&ring, 4, PROBE_LOG_END, 5 | PROBE_LOG_BESIDE);
    fill(&ring, 5, PROBE_LOG_ONLY, PROBE_LOG_DEPTH_BESIDE | PROBE_LOG_BESIDE);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 0, 7, true, &header), 2);
    CU_ASSERT_TRUE(PROBE_LOG_IS_BESIDE(header));
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 2, 7, true, &header), PROBE_KEPT_UNITS);
    CU_ASSERT_FALSE(PROBE_LOG_IS_BESIDE(header));
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 4, 7, true, &header), 1);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 5, 7, true, &header), 2);
    CU_ASSERT_EQUAL(PROBE_LOG_DEPTH(header), PROBE_LOG_DEPTH_BESIDE | PROBE_LOG_BESIDE);
    memory_release(&pages);
}

/* A kept call has so many units as its header says, within what one can have. */
static void test_kept(void)
{
    struct counters_pages pages = memory_make(2, 1);
    const struct counters_ring ring = counters_ring_of(&pages, SLAB);
    const uint64_t head = 1000;
    uint64_t header;
    fill(&ring, 0, PROBE_LOG_END, 0);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 0, head, true, &header), PROBE_KEPT_UNITS);
    fill(&ring, 4, PROBE_LOG_END, PROBE_VALUED_UNITS);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 4, head, true, &header),
                    PROBE_KEPT_UNITS + PROBE_VALUED_UNITS);
    fill(&ring, 4, PROBE_LOG_END, PROBE_VALUED_UNITS + 1);
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 4, head, true, &header), 0);
    *counters_ring_unit(&ring, 4) =
        probe_log_header(4, PROBE_LOG_END, 0, 9, PROBE_LOG_NOBODY); /* room that was not filled */
    CU_ASSERT_EQUAL(counters_ring_entry(&ring, 4, head, true, &header), 1);
    memory_release(&pages);
}

static void test_used(void)
{
    struct counters_pages pages = memory_make(2, 1);
    const struct counters_ring ring = counters_ring_of(&pages, SLAB);
    ring.ring->head = 10;
    CU_ASSERT_EQUAL(counters_ring_used(&pages, SLAB), PROBE_RING_HEADER + 10 * PROBE_UNIT_BYTES);
    ring.ring->head = ring.units * 3; /* it has been full */
    CU_ASSERT_EQUAL(counters_ring_used(&pages, SLAB), PROBE_RING_REST + probe_ring_bytes(SLAB));
    counters_ring_of(&pages, 0).ring->head = 4;
    counters_ring_empty(&pages, SLAB);
    CU_ASSERT_EQUAL(ring.ring->head, 0);
    CU_ASSERT_EQUAL(counters_ring_of(&pages, 0).ring->head, 4);
    memory_release(&pages);
}

static void warn(struct probe_warnings *warnings, uint64_t place, uint64_t value)
{
    struct probe_warning *item = &warnings->items[place % PROBE_WARNINGS];
    item->value = value;
    item->place = place + 1;
}

static void test_warnings(void)
{
    struct counters_pages pages = memory_make(1, 1);
    struct probe_warnings *warnings = &pages.shared->warnings;
    struct probe_warning warning;
    warn(warnings, 0, 11);
    warn(warnings, 2, 13);
    CU_ASSERT(counters_next_warning(warnings, 3, &warning));
    CU_ASSERT_EQUAL(warning.value, 11);
    CU_ASSERT_FALSE(counters_next_warning(warnings, 3, &warning)); /* the next is being written */
    warn(warnings, 1, 12);
    CU_ASSERT(counters_next_warning(warnings, 3, &warning));
    CU_ASSERT_EQUAL(warning.value, 12);
    CU_ASSERT(counters_next_warning(warnings, 3, &warning));
    CU_ASSERT_EQUAL(warning.value, 13);
    CU_ASSERT_FALSE(counters_next_warning(warnings, 3, &warning));
    CU_ASSERT_EQUAL(warnings->tail, 3);
    /* more than there is room for: what the program has written is left */
    CU_ASSERT_FALSE(counters_next_warning(warnings, 4 + PROBE_WARNINGS, &warning));
    CU_ASSERT_EQUAL(warnings->tail, 4 + PROBE_WARNINGS);
    memory_release(&pages);
}

void sprof_suite_counters_rings(void);

void sprof_suite_counters_rings(void)
{
    CU_pSuite suite = CU_add_suite("counters/rings", NULL, NULL);
    CU_add_test(suite, "entries of a ring", test_entries);
    CU_add_test(suite, "turns of a ring", test_turns);
    CU_add_test(suite, "a log beside kept calls", test_beside);
    CU_add_test(suite, "kept calls", test_kept);
    CU_add_test(suite, "memory of a ring", test_used);
    CU_add_test(suite, "warnings", test_warnings);
}
