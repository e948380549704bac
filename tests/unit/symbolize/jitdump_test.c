#include "tests/unit/symbolize/jit_check.h"

/* A file in the making. */
struct dump {
    uint8_t bytes[4096];
    size_t size;
};

static void put(struct dump *dump, const void *data, size_t size)
{
    CU_ASSERT_TRUE_FATAL(dump->size + size <= sizeof dump->bytes);
    memcpy(dump->bytes + dump->size, data, size);
    dump->size += size;
}

static void put_u32(struct dump *dump, uint32_t value)
{
    put(dump, &value, sizeof value);
}

static void put_u64(struct dump *dump, uint64_t value)
{
    put(dump, &value, sizeof value);
}

static void put_header(struct dump *dump, uint32_t version)
{
    const uint32_t fields[10] = {0x4a695444, version, 40, 62};
    *dump = (struct dump){0};
    put(dump, fields, sizeof fields);
}

/* Opens a record, whose size is filled in by end_record. */
static size_t begin_record(struct dump *dump, uint32_t id)
{
    put_u32(dump, id);
    put_u32(dump, 0);
    put_u64(dump, 0);
    return dump->size - 16;
}

static void end_record(struct dump *dump, size_t start)
{
    const uint32_t size = (uint32_t)(dump->size - start);
    memcpy(dump->bytes + start + 4, &size, sizeof size);
}

static void put_load_at(struct dump *dump, uint64_t time_ns, uint64_t address, uint64_t size,
                        const char *name)
{
    const size_t start = begin_record(dump, 0);
    memcpy(dump->bytes + start + 8, &time_ns, sizeof time_ns);
    put_u64(dump, 7);
    put_u64(dump, address);
    put_u64(dump, address);
    put_u64(dump, size);
    put_u64(dump, 1);
    put(dump, name, strlen(name) + 1);
    put(dump, "\x90\x90\x90", 3);
    end_record(dump, start);
}

static void put_load(struct dump *dump, uint64_t address, uint64_t size, const char *name)
{
    put_load_at(dump, 0, address, size, name);
}

static void put_move(struct dump *dump, uint64_t from, uint64_t to, uint64_t size)
{
    const size_t start = begin_record(dump, 1);
    put_u64(dump, 7);
    put_u64(dump, to);
    put_u64(dump, from);
    put_u64(dump, to);
    put_u64(dump, size);
    put_u64(dump, 1);
    end_record(dump, start);
}

static void put_line(struct dump *dump, uint64_t address, uint32_t line, const char *file)
{
    put_u64(dump, address);
    put_u32(dump, line);
    put_u32(dump, 0);
    put(dump, file, strlen(file) + 1);
}

static void put_lines(struct dump *dump, uint64_t address)
{
    const size_t start = begin_record(dump, 2);
    put_u64(dump, address);
    put_u64(dump, 3);
    put_line(dump, address, 10, "a.js");
    put_line(dump, address + 4, 12, "\xff");
    put_line(dump, address + 8, 3, "b.js");
    end_record(dump, start);
}

static void put_everything(struct dump *dump)
{
    put_header(dump, 1);
    put_lines(dump, 0x1000);
    put_load(dump, 0x1000, 0x20, "first");
    end_record(dump, begin_record(dump, 4)); /* unwinding information */
    put_load(dump, 0x2000, 0x10, "second");
    put_move(dump, 0x1000, 0x5000, 0x20);
    put_load(dump, 0x1000, 0x10, "third");
    end_record(dump, begin_record(dump, 3));
    put_load(dump, 0x9000, 0x10, "after the end");
}

static void test_every_record(void)
{
    struct fixture fixture;
    struct dump dump;
    fixture_open(&fixture);
    put_everything(&dump);
    struct symbolize_jit *jit = jit_check_open(&fixture, dump.bytes, dump.size);
    jit_check(jit, 0x1000, "third", NULL, 0);
    jit_check(jit, 0x1018, "first", "b.js", 3); /* what the newer code left of it */
    jit_check(jit, 0x2001, "second", NULL, 0);
    jit_check(jit, 0x5000, "first", "a.js", 10);
    jit_check(jit, 0x5007, "first", "a.js", 12);
    jit_check(jit, 0x5008, "first", "b.js", 3);
    jit_check(jit, 0x9000, NULL, NULL, 0);
    CU_ASSERT_EQUAL(symbolize_jit_bad_lines(jit), 0);
    symbolize_jit_free(jit);
    fixture_close(&fixture);
}

static int open_dump(struct fixture *fixture, const struct dump *dump, struct sprof_error *error)
{
    struct symbolize_jit *jit = NULL;
    fixture_write(fixture, "jit", dump->bytes, dump->size);
    const int code = symbolize_jit_open_file(&jit, fixture_path(fixture, "jit"), error);
    CU_ASSERT_EQUAL(code == 0, jit != NULL);
    symbolize_jit_free(jit);
    return code;
}

static void test_other_versions_are_refused(void)
{
    struct fixture fixture;
    struct dump dump;
    struct sprof_error error = {0};
    fixture_open(&fixture);
    put_header(&dump, 9);
    CU_ASSERT_EQUAL(open_dump(&fixture, &dump, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "version 9"));
    put_header(&dump, 1);
    dump.size = 20;
    CU_ASSERT_EQUAL(open_dump(&fixture, &dump, &error), SPROF_EFORMAT);
    memcpy(dump.bytes, "\x4a\x69\x54\x44", 4);
    CU_ASSERT_EQUAL(open_dump(&fixture, &dump, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "big endian"));
    fixture_close(&fixture);
}

static void test_cut_and_damaged_files(void)
{
    struct fixture fixture;
    struct dump dump, damaged;
    fixture_open(&fixture);
    put_everything(&dump);
    for (size_t size = 40; size < dump.size; size += 7) {
        damaged = dump;
        damaged.size = size;
        CU_ASSERT_EQUAL(open_dump(&fixture, &damaged, NULL), 0);
    }
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t state = seed;
        damaged = dump;
        for (int flips = 0; flips < 8; flips++) {
            const uint64_t random = fixture_random(&state);
            damaged.bytes[40 + (random >> 8) % (dump.size - 40)] ^= (uint8_t)(1U << (random & 7));
        }
        CU_ASSERT_EQUAL(open_dump(&fixture, &damaged, NULL), 0);
    }
    fixture_close(&fixture);
}

static void test_moving_unknown_code_is_counted(void)
{
    struct fixture fixture;
    struct dump dump;
    fixture_open(&fixture);
    put_header(&dump, 1);
    put_move(&dump, 0x1000, 0x2000, 16);
    struct symbolize_jit *jit = jit_check_open(&fixture, dump.bytes, dump.size);
    jit_check(jit, 0x2000, NULL, NULL, 0);
    CU_ASSERT_EQUAL(symbolize_jit_bad_lines(jit), 1);
    symbolize_jit_free(jit);
    fixture_close(&fixture);
}

struct seen {
    size_t count;
    struct {
        size_t address;
        uint32_t number;
        uint64_t until_ns;
    } items[8];
};

static int note_older(void *context, size_t address, uint32_t number, uint64_t until_ns)
{
    struct seen *seen = context;
    CU_ASSERT_TRUE_FATAL(seen->count < 8);
    seen->items[seen->count].address = address;
    seen->items[seen->count].number = number;
    seen->items[seen->count++].until_ns = until_ns;
    return 0;
}

/* Asked for together, each address has the name of its own time. */
static void check_together(const struct symbolize_jit *jit)
{
    static const uint64_t addresses[] = {0x1010, 0x1050,
                                         0x1010 | UINT64_C(1) << SYMBOLIZE_JIT_ADDRESS_BITS,
                                         0x1010 | UINT64_C(2) << SYMBOLIZE_JIT_ADDRESS_BITS};
    static const char *const names[] = {"third", "third", "second", "third"};
    struct symbolize_result result;
    CU_ASSERT_EQUAL_FATAL(symbolize_jit(&result, jit, addresses, 4, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(result.frame_count, 4);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_STRING_EQUAL(result.functions[result.frames[result.first[i]].function].name,
                               names[i]);
    symbolize_result_release(&result);
}

/* What was at an address before stays there to be asked for, and until when it was. */
static void test_older_code(void)
{
    static const uint64_t addresses[] = {0x1010, 0x1050, 0x2000};
    static const char *const names[] = {"third", "second", "third"};
    struct dump dump;
    struct fixture fixture;
    fixture_open(&fixture);
    put_header(&dump, 1);
    put_load_at(&dump, 100, 0x1000, 0x100, "third");
    put_load_at(&dump, 200, 0x1000, 0x20, "second");
    put_load_at(&dump, 300, 0x1000, 0x40, "third");
    struct symbolize_jit *jit = jit_check_open(&fixture, dump.bytes, dump.size);
    struct seen seen = {0};
    CU_ASSERT_EQUAL(symbolize_jit_each_older(jit, addresses, 3, note_older, &seen), 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 2);
    CU_ASSERT_TRUE(seen.items[0].address == 0 && seen.items[0].number == 1);
    CU_ASSERT_EQUAL(seen.items[0].until_ns, 300);
    CU_ASSERT_TRUE(seen.items[1].address == 0 && seen.items[1].number == 0); /* the same name */
    CU_ASSERT_EQUAL(seen.items[1].until_ns, 200);
    for (uint64_t number = 0; number < 3; number++)
        jit_check(jit, 0x1010 | number << SYMBOLIZE_JIT_ADDRESS_BITS, names[number], NULL, 0);
    jit_check(jit, 0x1010 | UINT64_C(3) << SYMBOLIZE_JIT_ADDRESS_BITS, NULL, NULL, 0);
    check_together(jit);
    symbolize_jit_free(jit);
    fixture_close(&fixture);
}

/* What a process loaded at or after its fork is not its child's, whose own code comes last. */
static void test_code_from_a_fork(void)
{
    struct dump dump;
    struct fixture fixture;
    fixture_open(&fixture);
    put_header(&dump, 1);
    put_lines(&dump, 0x1000);
    put_load_at(&dump, 100, 0x1000, 0x100, "before");
    put_load_at(&dump, 200, 0x1000, 0x100, "at the fork");
    struct symbolize_jit *jit = jit_check_open(&fixture, dump.bytes, dump.size);
    put_header(&dump, 1);
    put_lines(&dump, 0x1080);
    put_load_at(&dump, 250, 0x1080, 0x10, "own");
    struct symbolize_jit *own = jit_check_open(&fixture, dump.bytes, dump.size);
    CU_ASSERT_EQUAL(symbolize_jit_succeed(jit, 200, own), 0);
    symbolize_jit_free(own);
    jit_check(jit, 0x1000, "before", "a.js", 10);
    jit_check(jit, 0x1070, "before", "b.js", 3);
    jit_check(jit, 0x1080, "own", "a.js", 10);
    jit_check(jit, 0x1088, "own", "b.js", 3);
    jit_check(jit, 0x1090, "before", "b.js", 3);
    CU_ASSERT_EQUAL(symbolize_jit_succeed(jit, 100, NULL), 0);
    jit_check(jit, 0x1000, NULL, NULL, 0);
    symbolize_jit_free(jit);
    fixture_close(&fixture);
}

/* Bytes that this process has read so far. */
static uint64_t bytes_read(void)
{
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fscanf(file, "rchar: %llu", &bytes), 1);
    fclose(file);
    return bytes;
}

/* What is read of a file is bounded, so that code must not count. */
static void test_large_code(void)
{
    enum { LOADS = 200, CODE_BYTES = 8192 };
    char long_name[1001];
    struct fixture fixture;
    fixture_open(&fixture);
    memset(memset(long_name, 'x', sizeof long_name) + 1000, 0, 1);
    char *const bytes = calloc(LOADS, sizeof(struct dump) + CODE_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    size_t size = 40;
    for (uint64_t i = 0; i < LOADS; i++) {
        struct dump load;
        put_header(&load, 1);
        memcpy(bytes, load.bytes, 40);
        put_load(&load, 0x10000 * (i + 1), CODE_BYTES, i == 100 ? long_name : "name");
        const size_t record = load.size - 40 + CODE_BYTES;
        memcpy(load.bytes + 44, &(uint32_t){(uint32_t)record}, sizeof(uint32_t));
        memcpy(bytes + size, load.bytes + 40, load.size - 40);
        size += record;
    }
    const uint64_t before = bytes_read();
    struct symbolize_jit *jit = jit_check_open(&fixture, bytes, size);
    CU_ASSERT(bytes_read() - before < LOADS * 1024);
    jit_check(jit, 0x10000 * LOADS, "name", NULL, 0);
    jit_check(jit, 0x10000 * 101, long_name, NULL, 0);
    symbolize_jit_free(jit);
    free(bytes);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_jitdump(void);
void sprof_suite_symbolize_jitdump(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/jitdump", NULL, NULL);
    CU_add_test(suite, "every record", test_every_record);
    CU_add_test(suite, "other versions", test_other_versions_are_refused);
    CU_add_test(suite, "cut and damaged files", test_cut_and_damaged_files);
    CU_add_test(suite, "older code", test_older_code);
    CU_add_test(suite, "code from a fork", test_code_from_a_fork);
    CU_add_test(suite, "large code", test_large_code);
    CU_add_test(suite, "moving unknown code", test_moving_unknown_code_is_counted);
}
