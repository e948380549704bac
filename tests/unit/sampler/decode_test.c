#include "sampler/decode.h"

#include "sampler/compat.h"

#include <CUnit/CUnit.h>
#include <string.h>

/* A record under construction. */
struct building {
    _Alignas(8) uint8_t bytes[1024];
    size_t size;
};

static void put(struct building *to, const void *bytes, size_t size)
{
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void put_64(struct building *to, uint64_t value)
{
    put(to, &value, sizeof value);
}

static void put_32s(struct building *to, uint32_t first, uint32_t second)
{
    put(to, &first, sizeof first);
    put(to, &second, sizeof second);
}

static struct building begin(uint32_t type, uint16_t misc)
{
    struct building to = {.size = 0};
    const struct perf_event_header header = {.type = type, .misc = misc};
    put(&to, &header, sizeof header);
    return to;
}

static const struct perf_event_header *end(struct building *to)
{
    struct perf_event_header *header = (void *)to->bytes;
    header->size = (uint16_t)to->size;
    return header;
}

static void put_trailer(struct building *to)
{
    put_32s(to, 10, 11);
    put_64(to, 12345);
    put_32s(to, 3, 0);
    put_64(to, 77);
}

static const struct sampler_layouts full = {.items = {{.has_chain = true, .has_stack = true}},
                                            .count = 1};

/* A sample in kernel mode, up to its period, which comes next. */
static struct building begin_sample(void)
{
    struct building to = begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
    put_64(&to, 77);
    put_64(&to, 0xffffffff81000010);
    put_32s(&to, 10, 11);
    put_64(&to, 12345);
    put_32s(&to, 3, 0);
    return to;
}

static void put_registers(struct building *to)
{
    put_64(to, PERF_SAMPLE_REGS_ABI_64);
    for (uint64_t i = 0; i < 17; i++)
        put_64(to, 100 + i);
}

/* A sample in kernel mode with a chain of two, all registers and a stack of 24 bytes, 16 captured.
 */
static struct building full_sample(void)
{
    struct building to = begin_sample();
    put_64(&to, 1003009);
    put_64(&to, 3);
    put_64(&to, (uint64_t)PERF_CONTEXT_KERNEL);
    put_64(&to, 0xffffffff81000010);
    put_64(&to, 0xffffffff81000020);
    put_registers(&to);
    put_64(&to, 24);
    put(&to, "0123456789abcdefghijklmn", 24);
    put_64(&to, 16);
    return to;
}

static void test_sample_is_read_whole(void)
{
    struct building to = full_sample();
    struct model_record record;
    uint64_t id;
    CU_ASSERT_EQUAL_FATAL(sampler_decode_record(&full, end(&to), &record, &id),
                          SAMPLER_DECODED_RECORD);
    const struct model_sample *sample = &record.sample;
    CU_ASSERT_EQUAL(record.type, MODEL_RECORD_SAMPLE);
    CU_ASSERT_EQUAL(id, 77);
    CU_ASSERT_EQUAL(record.pid, 10);
    CU_ASSERT_EQUAL(record.tid, 11);
    CU_ASSERT_EQUAL(record.time_ns, 12345);
    CU_ASSERT_EQUAL(record.cpu, 3);
    CU_ASSERT_EQUAL(sample->weight, 1003009);
    CU_ASSERT_TRUE(sample->in_kernel);
    CU_ASSERT_EQUAL_FATAL(sample->kernel_chain_count, 2);
    CU_ASSERT_EQUAL(sample->kernel_chain[0], sample->ip);
    CU_ASSERT_EQUAL(sample->register_count, 17);
    CU_ASSERT_EQUAL(sample->stack_size, 16);
    CU_ASSERT_FALSE(sample->stack_full);
    CU_ASSERT_EQUAL(memcmp(sample->stack, "0123456789abcdef", 16), 0);
}

/* linux: ax bx cx dx si di bp sp ip r8 …; DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8 … rip. */
static void test_registers_have_dwarf_numbers(void)
{
    struct building to = full_sample();
    struct model_record record;
    uint64_t id;
    sampler_decode_record(&full, end(&to), &record, &id);
    static const uint64_t expected[17] = {100, 103, 102, 101, 104, 105, 106, 107, 109,
                                          110, 111, 112, 113, 114, 115, 116, 108};
    CU_ASSERT_EQUAL(memcmp(record.sample.registers, expected, sizeof expected), 0);
}

/* What a tracepoint writes lies between chain and registers; a number of it is the weight. */
static void test_raw_bytes_weigh(void)
{
    static const struct {
        struct sampler_weight weight;
        uint64_t wanted;
    } cases[] = {
        {{0, 0, false}, 2},
        {{8, 4, false}, 2 * 70000},
        {{12, 2, false}, 2 * 0xfffe},
        {{12, 2, true}, 0},
        {{8, 8, false}, 2 * (70000 + (UINT64_C(0xfffe) << 32))},
        {{18, 1, false}, 2 * 0x61},
        {{18, 4, false}, 2}, /* beyond what was written */
    };
    struct building to = begin_sample();
    put_64(&to, 2);
    put_32s(&to, 20, 5);
    put_32s(&to, 6, 70000);
    put_32s(&to, 0xfffe, 0x61616161);
    put_registers(&to);
    put_64(&to, 8);
    put_64(&to, 1);
    put_64(&to, 8);
    const struct perf_event_header *header = end(&to);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sampler_layouts layouts = {.items = {{.has_stack = true, .has_raw = true}},
                                          .count = 1};
        struct model_record record = {0};
        uint64_t id;
        CU_ASSERT_EQUAL(sampler_layouts_weigh(&layouts, 77, cases[i].weight), 0);
        CU_ASSERT_EQUAL(sampler_decode_record(&layouts, header, &record, &id),
                        SAMPLER_DECODED_RECORD);
        CU_ASSERT_EQUAL(record.sample.weight, cases[i].wanted);
        CU_ASSERT_TRUE(record.sample.register_count == 17 && record.sample.stack_size == 8);
        sampler_layouts_release(&layouts);
    }
}

/* Cut anywhere, the sample is refused; sizes inside it that lie, too. */
static void test_cut_samples_are_malformed(void)
{
    struct building to = full_sample();
    struct perf_event_header *header = (void *)to.bytes;
    for (size_t size = sizeof *header; size < to.size; size += 8) {
        struct model_record record;
        uint64_t id;
        header->size = (uint16_t)size;
        CU_ASSERT_EQUAL(sampler_decode_record(&full, header, &record, &id),
                        SAMPLER_DECODED_MALFORMED);
    }
}

static void test_lying_counts_are_malformed(void)
{
    static const size_t places[] = {56, 56 + 32 + 8 + 17 * 8}; /* chain, stack */
    static const uint64_t lies[] = {UINT64_MAX, UINT64_C(1) << 61, 1000, 65536};
    for (size_t i = 0; i < 8; i++) {
        struct building to = full_sample();
        memcpy(to.bytes + places[i / 4], &lies[i % 4], 8);
        struct model_record record;
        uint64_t id;
        CU_ASSERT_EQUAL(sampler_decode_record(&full, end(&to), &record, &id),
                        SAMPLER_DECODED_MALFORMED);
    }
}

/* Any bytes at all: the sanitizers watch. */
static void test_noise_is_survived(void)
{
    uint64_t state = 88172645463325252u;
    unsigned records = 0;
    for (int round = 0; round < 20000; round++) {
        struct building to = begin((uint32_t)round % 24, (uint16_t)round);
        const size_t size = (size_t)(round * 7 % 120) * 8;
        for (size_t i = 0; i < size; i += 8) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            put_64(&to, round % 3 ? state : state % 16);
        }
        struct model_record record;
        uint64_t id;
        records += sampler_decode_record(&full, end(&to), &record, &id) == SAMPLER_DECODED_RECORD;
    }
    CU_ASSERT_TRUE(records > 0);
}

static void test_without_user_registers(void)
{
    struct building to = begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
    for (int i = 0; i < 6; i++)
        put_64(&to, 1);
    put_64(&to, 0); /* chain */
    put_64(&to, PERF_SAMPLE_REGS_ABI_NONE);
    put_64(&to, 0); /* stack, which then has no second size */
    struct model_record record;
    uint64_t id;
    CU_ASSERT_EQUAL(sampler_decode_record(&full, end(&to), &record, &id), SAMPLER_DECODED_RECORD);
    CU_ASSERT_FALSE(record.sample.register_count);
    CU_ASSERT_EQUAL(record.sample.stack_size, 0);
}

static void test_mapping_with_build_id(void)
{
    struct building to = begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
    put_32s(&to, 10, 11);
    put_64(&to, 0x1000);
    put_64(&to, 0x2000);
    put_64(&to, 0x3000);
    put(&to, "\x14\0\0\0", 4);
    put(&to, "abcdefghijklmnopqrst", 20);
    put_64(&to, 0);
    put(&to, "/bin/true\0\0\0\0\0\0\0", 16);
    put_trailer(&to);
    struct model_record record;
    uint64_t id;
    CU_ASSERT_EQUAL_FATAL(sampler_decode_record(&full, end(&to), &record, &id),
                          SAMPLER_DECODED_RECORD);
    CU_ASSERT_EQUAL(record.type, MODEL_RECORD_MMAP);
    CU_ASSERT_EQUAL(record.mapping.address, 0x1000);
    CU_ASSERT_EQUAL(record.mapping.size, 0x2000);
    CU_ASSERT_EQUAL(record.mapping.file_offset, 0x3000);
    CU_ASSERT_EQUAL(record.mapping.file.build_id_size, 20);
    CU_ASSERT_EQUAL(memcmp(record.mapping.file.build_id, "abcdefghijklmnopqrst", 20), 0);
    CU_ASSERT_STRING_EQUAL(record.mapping.file.path, "/bin/true");
    to.bytes[40] = 21; /* longer than its field */
    CU_ASSERT_EQUAL(sampler_decode_record(&full, end(&to), &record, &id),
                    SAMPLER_DECODED_MALFORMED);
}

static void test_name_without_end_is_malformed(void)
{
    struct building to = begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put_32s(&to, 10, 11);
    put(&to, "abcdefgh", 8);
    put_trailer(&to);
    struct model_record record;
    uint64_t id;
    CU_ASSERT_EQUAL(sampler_decode_record(&full, end(&to), &record, &id),
                    SAMPLER_DECODED_MALFORMED);
    to.bytes[23] = '\0';
    CU_ASSERT_EQUAL(sampler_decode_record(&full, end(&to), &record, &id), SAMPLER_DECODED_RECORD);
    CU_ASSERT_TRUE(record.comm.exec);
    CU_ASSERT_STRING_EQUAL(record.comm.name, "abcdefg");
}

static void test_name_is_of_the_thread_in_the_record(void)
{
    struct building to = begin(PERF_RECORD_COMM, 0);
    put_32s(&to, 10, 15);
    put(&to, "worker\0", 8);
    put_trailer(&to); /* of thread 11, which wrote it */
    struct model_record record;
    uint64_t id;
    CU_ASSERT_EQUAL(sampler_decode_record(&full, end(&to), &record, &id), SAMPLER_DECODED_RECORD);
    CU_ASSERT_EQUAL(record.pid, 10);
    CU_ASSERT_EQUAL(record.tid, 15);
    CU_ASSERT_FALSE(record.comm.exec);
    CU_ASSERT_STRING_EQUAL(record.comm.name, "worker");
}

static void test_fork_names_the_child(void)
{
    struct building to = begin(PERF_RECORD_FORK, 0);
    put_32s(&to, 20, 10);
    put_32s(&to, 21, 11);
    put_64(&to, 12345);
    put_trailer(&to);
    struct model_record record;
    uint64_t id;
    CU_ASSERT_EQUAL(sampler_decode_record(&full, end(&to), &record, &id), SAMPLER_DECODED_RECORD);
    CU_ASSERT_EQUAL(record.pid, 20);
    CU_ASSERT_EQUAL(record.tid, 21);
    CU_ASSERT_EQUAL(record.fork.parent_pid, 10);
    CU_ASSERT_EQUAL(record.fork.parent_tid, 11);
}

static void test_switches_name_the_thread_that_writes_them(void)
{
    const struct {
        uint32_t type;
        uint16_t misc;
        bool leaves, is_ready;
    } cases[] = {
        {PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, true, false},
        {PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
         true, true},
        {PERF_RECORD_SWITCH_CPU_WIDE, 0, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct building to = begin(cases[i].type, cases[i].misc);
        if (cases[i].type == PERF_RECORD_SWITCH_CPU_WIDE)
            put_32s(&to, 77, 78);
        put_trailer(&to);
        struct model_record record;
        uint64_t id;
        CU_ASSERT_EQUAL(sampler_decode_record(&full, end(&to), &record, &id),
                        SAMPLER_DECODED_RECORD);
        CU_ASSERT_EQUAL(record.type, MODEL_RECORD_SWITCH);
        CU_ASSERT_EQUAL(record.tid, 11);
        CU_ASSERT_EQUAL(record.switches.leaves, cases[i].leaves);
        CU_ASSERT_EQUAL(record.switches.is_ready, cases[i].is_ready);
    }
}

static void test_unknown_types_are_skipped(void)
{
    struct building to = begin(4711, 0);
    put_trailer(&to);
    struct model_record record;
    uint64_t id;
    CU_ASSERT_EQUAL(sampler_decode_record(&full, end(&to), &record, &id), SAMPLER_DECODED_SKIP);
}

void sprof_suite_sampler_decode(void);
void sprof_suite_sampler_decode(void)
{
    CU_pSuite suite = CU_add_suite("sampler/decode", NULL, NULL);
    CU_add_test(suite, "raw bytes weigh", test_raw_bytes_weigh);
    CU_add_test(suite, "a sample is read whole", test_sample_is_read_whole);
    CU_add_test(suite, "registers have DWARF numbers", test_registers_have_dwarf_numbers);
    CU_add_test(suite, "cut samples are malformed", test_cut_samples_are_malformed);
    CU_add_test(suite, "lying counts are malformed", test_lying_counts_are_malformed);
    CU_add_test(suite, "noise is survived", test_noise_is_survived);
    CU_add_test(suite, "without user registers", test_without_user_registers);
    CU_add_test(suite, "a mapping with build id", test_mapping_with_build_id);
    CU_add_test(suite, "a name without end is malformed", test_name_without_end_is_malformed);
    CU_add_test(suite, "a name is of the thread in the record",
                test_name_is_of_the_thread_in_the_record);
    CU_add_test(suite, "fork names the child", test_fork_names_the_child);
    CU_add_test(suite, "switches name the thread that writes them",
                test_switches_name_the_thread_that_writes_them);
    CU_add_test(suite, "unknown types are skipped", test_unknown_types_are_skipped);
}
