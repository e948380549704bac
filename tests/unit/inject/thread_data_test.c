/* The data of threads in the agent's table, which the test writes as the agent does. */
#include "inject/thread_data.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 256, DATA_BYTES = 64 };

static struct slot {
    uint8_t data[DATA_BYTES];
    struct probe_table_owner owner;
} slots[SLOTS];

/* A control block, as a thread pointer leads to one. */
static struct block {
    uint64_t other;
    uint32_t tid;
} blocks[SLOTS];

static struct probe_hello hello;

static void make(void)
{
    memset(slots, 0, sizeof slots);
    hello = (struct probe_hello){.thread_bytes = DATA_BYTES};
    hello.table = (struct probe_table){.address = (uintptr_t)slots,
                                       .mask = SLOTS - 1,
                                       .slot_bytes = sizeof *slots,
                                       .owner = offsetof(struct slot, owner),
                                       .tid = offsetof(struct block, tid)};
}

static struct slot *slot_at(uint64_t pointer, uint32_t look)
{
    return &slots[probe_table_place(pointer, look, SLOTS - 1)];
}

/* Without a table the data is at a distance from the thread pointer. */
static void test_thread_local(void)
{
    hello = (struct probe_hello){.thread = -64};
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), 0x10000, 7), 0x10000 - 64);
}

static void test_find(void)
{
    const uint64_t pointer = (uintptr_t)&blocks[3];
    make();
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 7), 0);
    slot_at(pointer, 0)->owner = (struct probe_table_owner){.pointer = 1}; /* another's */
    slot_at(pointer, 1)->owner = (struct probe_table_owner){.pointer = pointer, .tid = 7};
    const uint64_t data = (uintptr_t)slot_at(pointer, 1)->data;
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 7), data);
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 0), data);
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 8), 0); /* of an earlier thread */
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), 0, 7), 0);
}

/* No slot is behind a free one. */
static void test_behind_free(void)
{
    const uint64_t pointer = (uintptr_t)&blocks[5];
    make();
    slot_at(pointer, 1)->owner = (struct probe_table_owner){.pointer = pointer, .tid = 7};
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 7), 0);
}

/* A table that is full ends the search. */
static void test_full(void)
{
    const uint64_t pointer = (uintptr_t)&blocks[5];
    make();
    for (size_t i = 0; i < SLOTS; i++)
        slots[i].owner.pointer = 1;
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 0), 0);
}

static void test_give(void)
{
    const uint64_t pointer = (uintptr_t)&blocks[9];
    const int memory_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    CU_ASSERT_FATAL(memory_fd >= 0);
    make();
    blocks[9].tid = 21;
    struct slot *slot = slot_at(pointer, 0);
    memset(slot->data, 0x5a, DATA_BYTES);
    CU_ASSERT_EQUAL(inject_thread_give_data(&hello, getpid(), memory_fd, pointer),
                    (uintptr_t)slot->data);
    CU_ASSERT_EQUAL(slot->owner.pointer, pointer);
    CU_ASSERT_EQUAL(slot->owner.tid, 21);
    CU_ASSERT_EQUAL(slot->data[0] | slot->data[DATA_BYTES - 1], 0); /* a new thread's */
    slot->data[3] = 1;
    CU_ASSERT_EQUAL(inject_thread_give_data(&hello, getpid(), memory_fd, pointer),
                    (uintptr_t)slot->data);
    CU_ASSERT_EQUAL(slot->data[3], 1); /* it has some already */
    blocks[9].tid = 22;                /* the next thread with this control block */
    CU_ASSERT_EQUAL(inject_thread_give_data(&hello, getpid(), memory_fd, pointer),
                    (uintptr_t)slot->data);
    CU_ASSERT_EQUAL(slot->data[3], 0);
    blocks[9].tid = 0; /* it has not begun */
    CU_ASSERT_EQUAL(inject_thread_give_data(&hello, getpid(), memory_fd, pointer), 0);
    close(memory_fd);
}

/* Whatever the program writes into the hello, the search is short and within bounds. */
static void test_impossible(void)
{
    const uint64_t pointer = (uintptr_t)&blocks[3];
    make();
    slot_at(pointer, 0)->owner = (struct probe_table_owner){.pointer = pointer, .tid = 7};
    hello.table.mask = UINT32_MAX;
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 7), 0);
    hello.table.mask = SLOTS - 1;
    hello.table.owner = sizeof *slots;
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 7), 0);
    make();
    hello.table.slot_bytes = 1 << 20;
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 7), 0);
    make();
    hello.table.address = 4096; /* nothing is there */
    CU_ASSERT_EQUAL(inject_thread_data(&hello, getpid(), pointer, 7), 0);
    make();
    hello.thread_bytes = 1 << 20;
    CU_ASSERT_EQUAL(inject_thread_give_data(&hello, getpid(), -1, pointer), 0);
}

void sprof_suite_inject_thread_data(void);

void sprof_suite_inject_thread_data(void)
{
    CU_pSuite suite = CU_add_suite("inject/thread_data", NULL, NULL);
    CU_add_test(suite, "thread-local data", test_thread_local);
    CU_add_test(suite, "a thread's slot", test_find);
    CU_add_test(suite, "behind a free slot", test_behind_free);
    CU_add_test(suite, "a full table", test_full);
    CU_add_test(suite, "a slot for a thread", test_give);
    CU_add_test(suite, "numbers that cannot be", test_impossible);
}
