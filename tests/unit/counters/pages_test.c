/* Slabs, their pages, and walks over these. */
#include "tests/unit/counters/memory.h"

#include <string.h>
#include <sys/stat.h>

enum { FUNCTIONS = 1000, EACH = PROBE_PAGE / sizeof(struct probe_stat) };

static uint64_t blocks(const struct counters_pages *pages)
{
    struct stat status;
    CU_ASSERT_EQUAL_FATAL(fstat(pages->memory_fd, &status), 0);
    return (uint64_t)status.st_blocks;
}

/* Figures of functions on two pages, of which the last one is beyond those that are chosen. */
static void test_walk_stats(void)
{
    struct counters_pages pages = memory_make(3, FUNCTIONS);
    struct probe_stat *stats = counters_slab_stats(&pages, 1);
    stats[2 * EACH + 3].calls = 7;
    stats[5 * EACH].calls = 9;
    struct counters_walk walk = counters_walk_stats(&pages, 1, 5 * EACH + 2);
    uint64_t calls = 0;
    uint32_t count = 0, first = UINT32_MAX, last = 0;
    while (counters_walk_next(&walk)) {
        const struct probe_stat *stat = walk.entry;
        CU_ASSERT_PTR_EQUAL(stat, stats + walk.index);
        first = count++ ? first : walk.index;
        last = walk.index;
        calls += stat->calls;
    }
    CU_ASSERT_EQUAL(count, EACH + 2);
    CU_ASSERT_EQUAL(first, 2 * EACH);
    CU_ASSERT_EQUAL(last, 5 * EACH + 1);
    CU_ASSERT_EQUAL(calls, 16);
    CU_ASSERT_FALSE(counters_walk_next(&walk));
    memory_release(&pages);
}

/* Slabs that no thread has written to are walked over without making a page of them. */
static void test_walk_makes_nothing(void)
{
    struct counters_pages pages = memory_make(4, FUNCTIONS);
    counters_slab_stats(&pages, 3)->calls = 1;
    const uint64_t before = blocks(&pages);
    for (uint32_t i = 0; i < 3; i++) {
        struct counters_walk stats = counters_walk_stats(&pages, i, FUNCTIONS);
        struct counters_walk nodes = counters_walk_nodes(&pages, i);
        CU_ASSERT_FALSE(counters_walk_next(&stats));
        CU_ASSERT_FALSE(counters_walk_next(&nodes));
    }
    CU_ASSERT_EQUAL(blocks(&pages), before);
    memory_release(&pages);
}

/* Nodes stand behind figures and histograms of their own slab. */
static void test_walk_nodes(void)
{
    struct counters_pages pages = memory_make(2, FUNCTIONS);
    const uint64_t offset = counters_nodes_offset(&pages, 0);
    CU_ASSERT_EQUAL(offset + PROBE_NODES * sizeof(struct probe_node),
                    counters_slab_offset(&pages, 1));
    struct probe_node *nodes = (struct probe_node *)((uint8_t *)pages.shared + offset);
    nodes[PROBE_NODES - 1].calls = 3;
    counters_slab_stats(&pages, 1)->calls = 5; /* right behind */
    struct counters_walk walk = counters_walk_nodes(&pages, 0);
    uint64_t calls = 0;
    while (counters_walk_next(&walk)) {
        CU_ASSERT_PTR_EQUAL(walk.entry, nodes + walk.index);
        calls += ((const struct probe_node *)walk.entry)->calls;
    }
    CU_ASSERT_EQUAL(walk.index, PROBE_NODES - 1);
    CU_ASSERT_EQUAL(calls, 3);
    memory_release(&pages);
}

static void test_slab_count(void)
{
    struct counters_pages pages = memory_make(2, 1);
    pages.shared->slabs_used = 1;
    CU_ASSERT_EQUAL(counters_slab_count(&pages), 1);
    pages.shared->slabs_used = UINT32_MAX; /* whatever the program has written */
    CU_ASSERT_EQUAL(counters_slab_count(&pages), 2);
    memory_release(&pages);
}

/* A slab that is free has the number of its last thread for a moment. */
static void test_holder(void)
{
    struct counters_pages pages = memory_make(2, 1);
    struct probe_slab *slab = &pages.shared->slabs[1];
    CU_ASSERT_EQUAL(counters_slab_holder(&pages, 1), 0);
    slab->tid = 12;
    CU_ASSERT_EQUAL(counters_slab_holder(&pages, 1), 0);
    slab->state = PROBE_SLAB_TAKEN;
    CU_ASSERT_EQUAL(counters_slab_holder(&pages, 1), 12);
    memory_release(&pages);
}

static void name_slab(struct counters_pages *pages, uint32_t slab, uint32_t pid, uint32_t tid,
                      const char text[16])
{
    uint64_t words[2];
    memcpy(words, text, sizeof words);
    pages->shared->slabs[slab].pid = pid;
    pages->shared->slabs[slab].tid = tid;
    pages->shared->slabs[slab].state = PROBE_SLAB_TAKEN;
    pages->shared->names[slab][0] = words[0];
    pages->shared->names[slab][1] = words[1];
}

/* Threads of two processes can have one number; and names may have no end. */
static void test_names(void)
{
    struct counters_pages pages = memory_make(3, 1);
    char name[16];
    name_slab(&pages, 0, 10, 7, "other\0\0\0\0\0\0\0\0\0\0");
    name_slab(&pages, 1, 11, 7, "worker\0\0\0\0\0\0\0\0\0");
    name_slab(&pages, 2, 11, 8, (const char[]){"sixteen letters!"});
    counters_thread_name(&pages, 11, 7, name);
    CU_ASSERT_STRING_EQUAL(name, "worker");
    counters_thread_name(&pages, 11, 8, name);
    CU_ASSERT_STRING_EQUAL(name, "sixteen letters");
    counters_thread_name(&pages, 12, 7, name);
    CU_ASSERT_STRING_EQUAL(name, "");
    counters_slab_free(&pages, 1);
    CU_ASSERT_EQUAL(counters_slab_holder(&pages, 1), 0);
    CU_ASSERT_EQUAL(pages.shared->slabs[1].state, PROBE_SLAB_FREE);
    counters_slab_name(&pages, 1, name);
    CU_ASSERT_STRING_EQUAL(name, ""); /* it is not the next thread's */
    memory_release(&pages);
}

/* A slab is emptied; its neighbours keep what they have. */
static void test_empty(void)
{
    struct counters_pages pages = memory_make(3, FUNCTIONS);
    for (uint32_t i = 0; i < 3; i++) {
        struct probe_stat *stats = counters_slab_stats(&pages, i);
        stats[0].calls = stats[FUNCTIONS].pending = i + 1;
        *((uint8_t *)pages.shared + counters_slab_offset(&pages, i + 1) - 1) = 1;
    }
    const uint64_t before = blocks(&pages);
    counters_slab_empty(&pages, 1);
    CU_ASSERT(blocks(&pages) < before);
    CU_ASSERT_EQUAL(counters_slab_stats(&pages, 1)[0].calls, 0);
    CU_ASSERT_EQUAL(counters_slab_stats(&pages, 1)[FUNCTIONS].pending, 0);
    CU_ASSERT_EQUAL(*((uint8_t *)pages.shared + counters_slab_offset(&pages, 1) - 1), 1);
    CU_ASSERT_EQUAL(counters_slab_stats(&pages, 0)[0].calls, 1);
    CU_ASSERT_EQUAL(counters_slab_stats(&pages, 2)[0].calls, 3);
    memory_release(&pages);
}

static uint32_t bits(const _Atomic uint8_t *bytes, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (uint32_t)__builtin_popcount(bytes[i]);
    return sum;
}

/* The agent may write where pages exist: of figures and of nodes, not of histograms. */
static void test_note_pages(void)
{
    struct counters_pages pages = memory_make(2, FUNCTIONS);
    struct probe_stat *stats = counters_slab_stats(&pages, 1);
    stats[EACH * 9].calls = 1;
    *((uint8_t *)stats + probe_stats_bytes(FUNCTIONS)) = 1; /* a histogram's page */
    *((uint8_t *)pages.shared + counters_nodes_offset(&pages, 1) + 3 * PROBE_PAGE) = 1;
    counters_pages_note(&pages);
    CU_ASSERT_EQUAL(pages.shared->pages.stats[1][1], 1 << 1);
    CU_ASSERT_EQUAL(bits(pages.shared->pages.stats[1], PROBE_STAT_PAGES / 8), 1);
    CU_ASSERT_EQUAL(pages.shared->pages.nodes[1][0], 1 << 3);
    CU_ASSERT_EQUAL(bits(pages.shared->pages.stats[0], PROBE_STAT_PAGES / 8), 0);
    counters_slab_forget_pages(&pages, 1);
    CU_ASSERT_EQUAL(bits(pages.shared->pages.stats[1], PROBE_STAT_PAGES / 8), 0);
    CU_ASSERT_EQUAL(bits(pages.shared->pages.nodes[1], PROBE_NODE_PAGES / 8), 0);
    memory_release(&pages);
}

static void test_empty_histograms(void)
{
    struct counters_pages pages = memory_make(1, FUNCTIONS);
    struct probe_stat *stats = counters_slab_stats(&pages, 0);
    uint8_t *histograms = (uint8_t *)stats + probe_stats_bytes(FUNCTIONS);
    uint8_t *nodes = (uint8_t *)pages.shared + counters_nodes_offset(&pages, 0);
    stats[FUNCTIONS].pending = 5;
    histograms[0] = nodes[-1] = nodes[0] = 1;
    counters_histograms_empty(&pages);
    CU_ASSERT_EQUAL(histograms[0], 0);
    CU_ASSERT_EQUAL(nodes[-1], 0);
    CU_ASSERT_EQUAL(nodes[0], 1);
    CU_ASSERT_EQUAL(stats[FUNCTIONS].pending, 5);
    memory_release(&pages);
}

void sprof_suite_counters_pages(void);

void sprof_suite_counters_pages(void)
{
    CU_pSuite suite = CU_add_suite("counters/pages", NULL, NULL);
    CU_add_test(suite, "a walk over figures", test_walk_stats);
    CU_add_test(suite, "a walk makes no page", test_walk_makes_nothing);
    CU_add_test(suite, "a walk over nodes", test_walk_nodes);
    CU_add_test(suite, "slabs that were taken", test_slab_count);
    CU_add_test(suite, "the thread of a slab", test_holder);
    CU_add_test(suite, "names of threads", test_names);
    CU_add_test(suite, "an emptied slab", test_empty);
    CU_add_test(suite, "pages that exist", test_note_pages);
    CU_add_test(suite, "emptied histograms", test_empty_histograms);
}
