/* Calls in blocks: packed and unpacked, and read by SQL in any order, against a list of all. */
#include "store/calls.h"
#include "tests/unit/store/recording.h"

#include "store/database.h"

#include <stdlib.h>

enum { CALLS = 30000, THREADS = 2, FUNCTIONS = 100 };

static struct place place;
static struct store *store;
static struct store_call calls[THREADS][CALLS]; /* in the order of their ends */
static uint64_t dice = 1;

static uint64_t random_below(uint64_t limit)
{
    dice = sprof_hash_mix(dice);
    return dice % limit;
}

/* A thread that calls and returns at random, which leaves its calls in the order of their ends. */
static void make_calls(struct store_call *made)
{
    struct store_call open[64];
    uint32_t depth = 0;
    uint64_t now_ns = 1000;
    for (size_t count = 0; count < CALLS;) {
        now_ns += 1 + random_below(50);
        if (depth < 60 && (!depth || random_below(100) < 52)) {
            struct store_call *call = &open[depth++];
            *call = (struct store_call){
                .start_ns = now_ns, .function = (uint32_t)random_below(FUNCTIONS), .depth = depth};
            for (int i = 0; i < STORE_CALL_WORDS; i++)
                call->words[i] = random_below(3) ? (uint64_t)i : sprof_hash_mix(now_ns);
            continue;
        }
        struct store_call *call = &open[--depth];
        call->duration_ns = now_ns - call->start_ns + 1;
        call->self_ns = random_below(call->duration_ns + 1);
        call->exit = (uint8_t)random_below(STORE_EXIT_TAIL_CUT + 1);
        call->has_states = random_below(3);
        if (call->has_states && random_below(2)) {
            call->waiting_ns = random_below(call->duration_ns + 1);
            call->ready_ns = random_below(call->duration_ns - call->waiting_ns + 1);
        }
        made[count++] = *call;
    }
}

static int fill(void)
{
    struct store_batch batch = {0};
    struct store_call_packer packer = {0};
    struct sprof_arena arena = {0};
    int status = 0;
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        status |= sprof_vec_push(&batch.call_functions,
                                 (struct store_call_function){1, i + 1000, 1 + i % 5});
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        make_calls(calls[thread]);
        for (size_t i = 0; i < CALLS; i++) {
            struct store_call call = calls[thread][i];
            call.function += 1000;
            status |= store_call_pack(&packer, &call);
            if (packer.calls < STORE_BLOCK_CALLS && i + 1 < CALLS && random_below(1000))
                continue; /* blocks of all sizes */
            const struct store_call_block block = {
                .run_id = 1,
                .thread_id = thread + 1,
                .calls = packer.calls,
                .first_ns = packer.first_ns,
                .bytes = {(const uint8_t *)sprof_arena_copy(&arena, (const char *)packer.bytes,
                                                            packer.size),
                          packer.size}};
            status |= sprof_vec_push(&batch.call_blocks, block);
            store_call_packer_clear(&packer);
        }
    }
    status |= store_write(store, &batch, NULL);
    store_call_packer_release(&packer);
    store_batch_release(&batch);
    sprof_arena_release(&arena);
    return status;
}

static int open_calls(void)
{
    place = place_make();
    store = example_create(&place);
    return store_exec(store, "DELETE FROM call_block; DELETE FROM call_function", NULL) || fill();
}

static int close_calls(void)
{
    store_close(store, NULL);
    place_remove(&place);
    return 0;
}

/* == Packing == */

static void assert_same(const struct store_call *found, const struct store_call *wanted)
{
    CU_ASSERT_EQUAL(found->start_ns, wanted->start_ns);
    CU_ASSERT_EQUAL(found->duration_ns, wanted->duration_ns);
    CU_ASSERT_EQUAL(found->self_ns, wanted->duration_ns ? wanted->self_ns : 0);
    CU_ASSERT_EQUAL(found->function, wanted->function);
    CU_ASSERT_EQUAL(found->depth, wanted->depth);
    CU_ASSERT_EQUAL(found->exit, wanted->exit);
    CU_ASSERT_EQUAL(memcmp(found->words, wanted->words, sizeof found->words), 0);
    CU_ASSERT_EQUAL(found->has_states, wanted->has_states);
    CU_ASSERT_EQUAL(found->waiting_ns, wanted->waiting_ns);
    CU_ASSERT_EQUAL(found->ready_ns, wanted->ready_ns);
}

static void test_extremes(void)
{
    static const struct store_call wanted[] = {
        {UINT64_MAX, UINT64_MAX - 1, 0, UINT32_MAX, UINT32_MAX, 7, {UINT64_MAX, 1}, false, 0, 0},
        {0, 0, 5, 0, 0, 0, {0}, false, 0, 0},
        {1, 1, UINT64_MAX, 63, 1, 1, {1, 2, 3, 4, 5, 6}, true, 0, 0},
        {2, 9, 3, 63, 1, 1, {1, 2, 3, 4, 5, 6}, true, 0, 7},
        {2, 9, 3, 63, 1, 1, {1, 2, 3, 4, 5, 7}, true, UINT64_MAX - 1, UINT64_MAX},
        {INT64_MAX, 1, 1, UINT32_MAX, 1, 6, {0, 0, 0, 0, 0, 1}, false, 0, 0},
        {0, UINT64_MAX / 2, UINT64_MAX / 2, 127, 2, 3, {0, 0, 0, 0, 0, UINT64_MAX}, false, 0, 0},
    };
    enum { COUNT = sizeof wanted / sizeof *wanted };
    struct store_call_packer packer = {0};
    struct store_call_unpacker unpacker;
    struct store_call call;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++)
            CU_ASSERT_EQUAL(store_call_pack(&packer, &wanted[i]), 0);
        CU_ASSERT_EQUAL(packer.first_ns, 0);
        const struct sprof_bytes bytes = {packer.bytes, packer.size};
        store_call_unpack_begin(&unpacker, bytes, packer.calls);
        for (size_t i = 0; i < COUNT; i++) {
            CU_ASSERT_EQUAL(store_call_unpack(&unpacker, &call), 0);
            assert_same(&call, &wanted[i]);
        }
        CU_ASSERT_EQUAL(store_call_unpack(&unpacker, &call), 1);
        store_call_packer_clear(&packer);
    }
    store_call_packer_release(&packer);
}

/* Any bytes end, in a code or in calls. */
static void test_damaged(void)
{
    struct store_call_packer packer = {0};
    struct store_call_unpacker unpacker;
    struct store_call call;
    int result = 0;
    for (size_t i = 0; i < 50; i++)
        CU_ASSERT_EQUAL(store_call_pack(&packer, &calls[0][i]), 0);
    for (size_t size = 0; size < packer.size; size++) {
        store_call_unpack_begin(&unpacker, (struct sprof_bytes){packer.bytes, size}, packer.calls);
        while (!(result = store_call_unpack(&unpacker, &call)))
            ;
        CU_ASSERT_EQUAL(result, SPROF_EFORMAT);
    }
    store_call_unpack_begin(&unpacker, (struct sprof_bytes){packer.bytes, packer.size}, 49);
    while (!(result = store_call_unpack(&unpacker, &call)))
        ;
    CU_ASSERT_EQUAL(result, SPROF_EFORMAT);
    for (int round = 0; round < 2000; round++) {
        uint8_t bytes[64];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)random_below(256);
        store_call_unpack_begin(&unpacker, (struct sprof_bytes){bytes, sizeof bytes}, 20);
        while (!(result = store_call_unpack(&unpacker, &call)))
            ;
        CU_ASSERT_TRUE(result == 1 || result == SPROF_EFORMAT);
    }
    store_call_packer_release(&packer);
}

/* == SQL == */

static int by_start(const void *one, const void *other)
{
    const struct store_call *a = one, *b = other;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

struct check {
    const struct store_call *wanted;
    uint64_t count, wrong;
};

static int check_row(void *context, int columns, char *const *values, char *const *names)
{
    struct check *check = context;
    const struct store_call *wanted = &check->wanted[check->count++];
    (void)names;
    for (int i = 0; i < columns; i++)
        if (!values[i])
            return SPROF_EFORMAT;
    const uint64_t numbers[] = {
        wanted->start_ns, wanted->duration_ns, wanted->self_ns,          wanted->depth,
        wanted->exit,     wanted->words[0],    1 + wanted->function % 5, wanted->words[5]};
    for (int i = 0; i < columns; i++)
        check->wrong += (uint64_t)strtoll(values[i], NULL, 10) != numbers[i];
    return 0;
}

#define COLUMNS                                                                                    \
    "SELECT start_ns, duration_ns, self_ns, depth, exit, word1, node_id, word6 FROM call "

static void test_in_order_of_ends(void)
{
    struct check check = {.wanted = calls[0]};
    CU_ASSERT_EQUAL(store_query(store, COLUMNS, check_row, &check, NULL), 0);
    CU_ASSERT_TRUE(check.count == (uint64_t)THREADS * CALLS && !check.wrong);
    check = (struct check){.wanted = calls[1]};
    CU_ASSERT_EQUAL(store_query(store, COLUMNS "WHERE thread_id = 2", check_row, &check, NULL), 0);
    CU_ASSERT_TRUE(check.count == CALLS && !check.wrong);
}

static void test_in_order_of_starts(void)
{
    struct store_call *sorted = malloc(sizeof calls);
    memcpy(sorted, calls, sizeof calls);
    for (int i = 0; i < THREADS; i++)
        qsort(sorted + i * CALLS, CALLS, sizeof *sorted, by_start);
    struct check check = {.wanted = sorted};
    CU_ASSERT_EQUAL(store_query(store,
                                COLUMNS "WHERE run_id = 1 ORDER BY thread_id, start_ns, depth",
                                check_row, &check, NULL),
                    0);
    CU_ASSERT_TRUE(check.count == (uint64_t)THREADS * CALLS && !check.wrong);
    /* Without being sorted, also where names are looked up. */
    CU_ASSERT_PTR_NULL(strstr(query_text(store, "EXPLAIN QUERY PLAN SELECT * FROM v_call WHERE "
                                                "run_id = 1 ORDER BY thread_id, start_ns, depth"),
                              "TEMP B-TREE"));
    CU_ASSERT_PTR_NOT_NULL(strstr(query_text(store, "EXPLAIN QUERY PLAN SELECT * FROM call "
                                                    "ORDER BY start_ns DESC"),
                                  "TEMP B-TREE"));
    free(sorted);
}

static void test_single_calls(void)
{
    char sql[160], wanted[64];
    for (int i = 0; i < 40; i++) {
        const struct store_call *call = &calls[0][random_below(CALLS)];
        snprintf(wanted, sizeof wanted, "%llu|%llu", (unsigned long long)call->start_ns,
                 (unsigned long long)call->duration_ns);
        snprintf(sql, sizeof sql,
                 "SELECT start_ns, duration_ns FROM call WHERE id = (SELECT id FROM call WHERE "
                 "thread_id = 1 AND start_ns = %llu AND depth = %u)",
                 (unsigned long long)call->start_ns, call->depth);
        ASSERT_QUERY(store, sql, wanted);
    }
    ASSERT_QUERY(store, "SELECT count(*), count(DISTINCT id) FROM call", "60000|60000");
    ASSERT_QUERY(store, "SELECT count(*) FROM call WHERE id = 1", "0");
    ASSERT_QUERY(store, "SELECT count(*) FROM call WHERE run_id = 2", "0");
    ASSERT_QUERY(store, "SELECT count(*) FROM call WHERE thread_id = 1 AND run_id = 1", "30000");
    ASSERT_QUERY(store, "SELECT sum(calls) FROM call_block", "60000");
}

/* A block that is not what it says is damage, not a wrong answer. */
static void test_damaged_blocks(void)
{
    static const char *const damages[] = {
        "UPDATE call_block SET calls = 0 WHERE id = 3",
        "UPDATE call_block SET calls = calls + 1 WHERE id = 3",
        "UPDATE call_block SET calls = 5000 WHERE id = 3",
        "UPDATE call_block SET bytes = x'' WHERE id = 3",
        "UPDATE call_block SET bytes = zeroblob(3000000) WHERE id = 3",
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        CU_ASSERT_EQUAL(store_exec(store, "BEGIN", NULL), 0);
        CU_ASSERT_EQUAL(store_exec(store, damages[i], NULL), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(query_text(store, "SELECT count(*) FROM call"), "error"));
        CU_ASSERT_PTR_NOT_NULL(
            strstr(query_text(store, "SELECT count(*), sum(start_ns) FROM (SELECT * FROM call "
                                     "ORDER BY thread_id, start_ns)"),
                   "error"));
        CU_ASSERT_EQUAL(store_exec(store, "ROLLBACK", NULL), 0);
    }
    CU_ASSERT_EQUAL(store_exec(store, "BEGIN; UPDATE call_block SET first_ns = 10000000", NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(query_text(store, "SELECT id FROM call ORDER BY thread_id, start_ns"), "error"));
    CU_ASSERT_EQUAL(store_exec(store, "ROLLBACK", NULL), 0);
}

void sprof_suite_store_calls(void);
void sprof_suite_store_calls(void)
{
    CU_pSuite suite = CU_add_suite("store/calls", open_calls, close_calls);
    CU_add_test(suite, "extremes", test_extremes);
    CU_add_test(suite, "damaged", test_damaged);
    CU_add_test(suite, "in order of ends", test_in_order_of_ends);
    CU_add_test(suite, "in order of starts", test_in_order_of_starts);
    CU_add_test(suite, "single calls", test_single_calls);
    CU_add_test(suite, "damaged blocks", test_damaged_blocks);
}
