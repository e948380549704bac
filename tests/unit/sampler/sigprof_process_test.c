#include "sampler/agent/process.h"
#include "sampler/agent/sigprof_source.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <unistd.h>

static _Alignas(8) uint8_t buffer[65536];

static struct sigprof_process *new_process(unsigned ring_shift)
{
    const struct agent_hello hello = {.pid = 7, .time_ns = 1000};
    int memory_fd;
    struct sigprof_process *process = sigprof_process_new(getpid(), &hello, ring_shift, &memory_fd);
    CU_ASSERT_PTR_NOT_NULL_FATAL(process);
    close(memory_fd);
    return process;
}

static uint8_t *ring_of(struct sigprof_process *process, size_t ring)
{
    return (uint8_t *)process->shared + agent_ring_offset(ring);
}

/* Writes a record of `size` bytes whose every byte but header and time is `fill`. */
static void write_record(struct sigprof_process *process, size_t ring, uint16_t size,
                         uint64_t time_ns, uint8_t fill)
{
    const size_t bytes = agent_ring_bytes(ring, process->ring_shift);
    uint64_t head = process->shared->heads[ring];
    memset(buffer, fill, size);
    const struct perf_event_header header = {.type = PERF_RECORD_EXIT, .size = size};
    memcpy(buffer, &header, sizeof header);
    memcpy(buffer + size - 24, &time_ns, sizeof time_ns);
    for (size_t i = 0; i < size; i++)
        ring_of(process, ring)[(head + i) & (bytes - 1)] = buffer[i];
    process->shared->heads[ring] = head + size;
    if (process->shared->control.slots_used <= ring)
        process->shared->control.slots_used = (uint32_t)ring + 1;
}

static void test_records_come_as_they_were_written(void)
{
    struct sigprof_process *process = new_process(4);
    for (int round = 0; round < 500; round++) { /* the ring of 16 KiB wraps again and again */
        const uint16_t size = (uint16_t)(40 + 8 * (round % 90));
        write_record(process, 3, size, 2000 + (uint64_t)round, (uint8_t)round);
        CU_ASSERT_EQUAL(sigprof_process_refresh(process), 0);
        CU_ASSERT_EQUAL(sigprof_process_time_ns(process, 3), 2000 + (uint64_t)round);
        const struct perf_event_header *header = sigprof_process_take(process, 3, buffer);
        CU_ASSERT_PTR_NOT_NULL_FATAL(header);
        CU_ASSERT_EQUAL(header->size, size);
        CU_ASSERT_EQUAL(buffer[8], (uint8_t)round);
        CU_ASSERT_EQUAL(buffer[size - 1], (uint8_t)round);
        sigprof_process_publish(process);
        CU_ASSERT_EQUAL(process->shared->slots[3].tail, process->shared->heads[3]);
    }
    CU_ASSERT_EQUAL(process->ring_count, 4);
    sigprof_process_free(process);
}

static void test_times_do_not_go_back(void)
{
    struct sigprof_process *process = new_process(0);
    write_record(process, 0, 64, 5000, 0);
    write_record(process, 0, 64, 10, 0);
    CU_ASSERT_EQUAL(sigprof_process_refresh(process), 0);
    CU_ASSERT_EQUAL(sigprof_process_time_ns(process, 0), 5000);
    sigprof_process_take(process, 0, buffer);
    CU_ASSERT_EQUAL(sigprof_process_time_ns(process, 0), 5000);
    sigprof_process_free(process);
}

static void test_heads_that_cannot_be(void)
{
    static const uint64_t heads[] = {UINT64_MAX, 1 << 20, UINT64_MAX / 2, (256 << 10) + 1};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct sigprof_process *process = new_process(0);
        process->shared->control.slots_used = UINT32_MAX;
        process->shared->heads[AGENT_SLOTS - 1] = heads[i];
        process->shared->heads[0] = heads[i];
        CU_ASSERT_EQUAL(sigprof_process_refresh(process), 0);
        CU_ASSERT_EQUAL(process->ring_count, AGENT_SLOTS);
        CU_ASSERT_EQUAL(process->rings[0].head, process->rings[0].tail);
        CU_ASSERT_EQUAL(process->rings[AGENT_SLOTS - 1].head, process->rings[AGENT_SLOTS - 1].tail);
        sigprof_process_free(process);
    }
}

/* What is written while a ring is being read counts as well: its process may never be looked at
 * again. */
static void test_rings_that_are_being_read(void)
{
    struct sigprof_process *process = new_process(0);
    process->shared->slots[0].tid = 9;
    write_record(process, 0, 64, 5000, 1);
    CU_ASSERT_EQUAL(sigprof_process_refresh(process), 0);
    CU_ASSERT_EQUAL(process->rings[0].tid, 9);
    process->rings[0].queued = true;
    write_record(process, 0, 72, 6000, 2);
    process->shared->slots[0].tid = 0;
    CU_ASSERT_EQUAL(sigprof_process_refresh(process), 0);
    CU_ASSERT_EQUAL(process->rings[0].tid, 0);
    CU_ASSERT_EQUAL(process->rings[0].head, 136);
    process->shared->heads[0] = 64; /* these cannot be */
    CU_ASSERT_EQUAL(sigprof_process_refresh(process), 0);
    process->shared->heads[0] = UINT64_MAX;
    CU_ASSERT_EQUAL(sigprof_process_refresh(process), 0);
    CU_ASSERT_EQUAL(process->rings[0].head, 136);
    for (uint16_t size = 64; size <= 72; size = (uint16_t)(size + 8)) {
        const struct perf_event_header *header = sigprof_process_take(process, 0, buffer);
        CU_ASSERT_PTR_NOT_NULL_FATAL(header);
        CU_ASSERT_EQUAL(header->size, size);
    }
    sigprof_process_free(process);
}

/* Whatever is in the memory, reading ends, and stays within it. */
static void test_any_bytes(void)
{
    unsigned seed = 11;
    for (int round = 0; round < 400; round++) {
        struct sigprof_process *process = new_process((unsigned)round % 5);
        const size_t bytes = agent_ring_bytes(0, process->ring_shift);
        for (size_t i = 0; i < 4096; i++)
            ring_of(process, 0)[i] = (uint8_t)rand_r(&seed);
        if (round % 2) /* sizes that look right more often */
            for (size_t i = 6; i < 4096; i += 8)
                ring_of(process, 0)[i + 1] = 0;
        process->shared->heads[0] = (uint64_t)rand_r(&seed) % (bytes + 1);
        process->shared->control.slots_used = 1;
        CU_ASSERT_EQUAL(sigprof_process_refresh(process), 0);
        uint64_t last_ns = 0;
        for (uint64_t before; process->rings[0].tail != process->rings[0].head;) {
            before = process->rings[0].tail;
            const uint64_t time_ns = sigprof_process_time_ns(process, 0);
            CU_ASSERT_TRUE(time_ns >= last_ns);
            last_ns = time_ns;
            sigprof_process_take(process, 0, buffer);
            CU_ASSERT_TRUE_FATAL(process->rings[0].tail > before &&
                                 process->rings[0].tail <= process->rings[0].head);
        }
        sigprof_process_free(process);
    }
}

static void test_memory_cannot_be_shortened(void)
{
    const struct agent_hello hello = {.pid = 7};
    int memory_fd;
    struct sigprof_process *process = sigprof_process_new(getpid(), &hello, 0, &memory_fd);
    CU_ASSERT_PTR_NOT_NULL_FATAL(process);
    CU_ASSERT_EQUAL(ftruncate(memory_fd, 4096), -1);
    close(memory_fd);
    CU_ASSERT_TRUE(sigprof_process_clock_ns(getpid()) > 0);
    sigprof_process_free(process);
    sigprof_process_free(NULL);
}

/* What was used before counts no more, and the clock does not go back. */
static void test_cpu_time_counts_from_its_base(void)
{
    static const uint64_t clocks[] = {2000000, 5000000, 9000000, 7000000},
                          used[] = {0, 2000000, 6000000, 6000000};
    struct sigprof_process *process = new_process(0);
    process->ended = true;
    process->cpu_base_ns = 3000000;
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        process->shared->control.end_cpu_ns = clocks[i];
        sigprof_look_at_clock(process);
        CU_ASSERT_EQUAL(process->cpu_ns, used[i]);
    }
    process->shared->control.helper_ns = 500000; /* the agent's own thread */
    process->shared->control.end_cpu_ns = 12000000;
    sigprof_look_at_clock(process);
    CU_ASSERT_EQUAL(process->cpu_ns, 8500000);
    sigprof_process_free(process);
}

/* Rings lie side by side, from the largest to the smallest, then the tails, within the file. */
static void test_rings_do_not_overlap(void)
{
    for (size_t i = 0; i < AGENT_SLOTS; i++) {
        const size_t end = agent_ring_offset(i) + agent_ring_bytes(i, 0);
        CU_ASSERT_EQUAL_FATAL(end, i + 1 < AGENT_SLOTS ? agent_ring_offset(i + 1)
                                                       : agent_tail_offset(0));
        CU_ASSERT_TRUE(agent_ring_bytes(i, 7) == AGENT_RING_MIN);
    }
    CU_ASSERT_EQUAL(agent_tail_offset(AGENT_TAILS - 1) + AGENT_TAIL_BYTES, AGENT_SHARED_BYTES);
}

void sprof_suite_sampler_sigprof_process(void);

void sprof_suite_sampler_sigprof_process(void)
{
    CU_pSuite suite = CU_add_suite("sampler/sigprof_process", NULL, NULL);
    CU_ADD_TEST(suite, test_records_come_as_they_were_written);
    CU_ADD_TEST(suite, test_times_do_not_go_back);
    CU_ADD_TEST(suite, test_heads_that_cannot_be);
    CU_ADD_TEST(suite, test_rings_that_are_being_read);
    CU_ADD_TEST(suite, test_any_bytes);
    CU_ADD_TEST(suite, test_memory_cannot_be_shortened);
    CU_ADD_TEST(suite, test_cpu_time_counts_from_its_base);
    CU_ADD_TEST(suite, test_rings_do_not_overlap);
}
