/* Whether threads still need what was put into their process, by stacks that the test writes. */
#include "agent/probe.h"
#include "inject/leaving.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 16384, CODE = 0x33, DATA = 0x2b, FLAGS = 0x202, FUNCTIONS = 8 };
#define THUNKS UINT64_C(0x7e0000000000)
#define ELSEWHERE UINT64_C(0x7d0000001234)

/* The process is the test. Its one thread stands where the test says, on a stack that the test has
 * filled with zeros. */
struct fixture {
    struct inject_process process;
    struct inject_leaving leaving;
    uint64_t *stack, *other;
};

static void make(struct fixture *fixture)
{
    *fixture = (struct fixture){.process = INJECT_PROCESS_NONE};
    fixture->process.pid = getpid();
    fixture->process.hello.thunks = THUNKS;
    fixture->leaving.process = &fixture->process;
    fixture->leaving.functions = FUNCTIONS;
    CU_ASSERT_EQUAL_FATAL(inject_leaving_open(&fixture->leaving, NULL), 0);
    fixture->stack = calloc(WORDS, sizeof *fixture->stack);
    fixture->other = calloc(WORDS, sizeof *fixture->other);
    const struct inject_span ours = {THUNKS, THUNKS + FUNCTIONS * ARCH_THUNK_BYTES},
                             first = {(uintptr_t)fixture->stack,
                                      (uintptr_t)(fixture->stack + WORDS)},
                             second = {(uintptr_t)fixture->other,
                                       (uintptr_t)(fixture->other + WORDS)};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&fixture->leaving.ours, ours), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&fixture->leaving.writable, first), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&fixture->leaving.writable, second), 0);
    struct inject_stopped thread = {.pid = getpid(), .tid = getpid(), .is_stopped = true};
    arch_remote_enter(&thread.registers, ELSEWHERE, (uintptr_t)(fixture->stack + 64));
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&fixture->leaving.stop.threads, thread), 0);
}

static void end(struct fixture *fixture)
{
    sprof_vec_release(&fixture->leaving.stop.threads);
    inject_leaving_release(&fixture->leaving);
    free(fixture->stack);
    free(fixture->other);
}

static uint64_t thunk(uint32_t number, uint32_t at)
{
    return THUNKS + (uint64_t)number * ARCH_THUNK_BYTES + at;
}

/* The kernel's frame of a signal that came at `pc`, with that stack. */
static void put_frame(uint64_t *words, uint64_t sp, uint64_t pc)
{
    const uint64_t frame[] = {sp, pc, FLAGS, (uint64_t)DATA << 48 | CODE};
    memcpy(words, frame, sizeof frame);
}

static void test_inside(void)
{
    struct fixture fixture;
    make(&fixture);
    struct inject_stopped *thread = &fixture.leaving.stop.threads.items[0];
    CU_ASSERT_FALSE(inject_leaving_is_anybody_inside(&fixture.leaving));
    arch_remote_enter(&thread->registers, thunk(2, 20), (uintptr_t)fixture.stack);
    CU_ASSERT_TRUE(inject_leaving_is_anybody_inside(&fixture.leaving));
    arch_remote_enter(&thread->registers, thunk(FUNCTIONS, 0), (uintptr_t)fixture.stack);
    CU_ASSERT_FALSE(inject_leaving_is_anybody_inside(&fixture.leaving));
    end(&fixture);
}

/* A handler that returns into a thunk keeps it; return addresses alone do not: these are given
 * back. */
static void test_interrupted(void)
{
    struct fixture fixture;
    make(&fixture);
    CU_ASSERT_TRUE(inject_leaving_is_drained(&fixture.leaving));
    fixture.stack[3000] = thunk(1, ARCH_THUNK_RETURN);
    CU_ASSERT_TRUE(inject_leaving_is_drained(&fixture.leaving));
    put_frame(fixture.stack + 5000, (uintptr_t)fixture.stack, ELSEWHERE);
    CU_ASSERT_TRUE(inject_leaving_is_drained(&fixture.leaving));
    put_frame(fixture.stack + 5000, (uintptr_t)fixture.stack, thunk(1, 4));
    CU_ASSERT_FALSE(inject_leaving_is_drained(&fixture.leaving));
    end(&fixture);
}

/* A frame may lie over the end of a piece that is read. */
static void test_every_place(void)
{
    struct fixture fixture;
    make(&fixture);
    for (size_t at = 4150; at < 4170; at++) {
        put_frame(fixture.stack + at, (uintptr_t)fixture.stack, thunk(1, 4));
        CU_ASSERT_FALSE(inject_leaving_is_drained(&fixture.leaving));
        memset(fixture.stack + at, 0, 4 * sizeof *fixture.stack);
    }
    end(&fixture);
}

/* Behind a handler on another stack the interrupted one is searched, too. */
static void test_other_stack(void)
{
    struct fixture fixture;
    make(&fixture);
    put_frame(fixture.stack + 200, (uintptr_t)(fixture.other + 100), ELSEWHERE);
    CU_ASSERT_TRUE(inject_leaving_is_drained(&fixture.leaving));
    put_frame(fixture.other + 300, (uintptr_t)fixture.other, thunk(3, 4));
    CU_ASSERT_FALSE(inject_leaving_is_drained(&fixture.leaving));
    put_frame(fixture.other + 300, (uintptr_t)(fixture.other + 400), ELSEWHERE);
    put_frame(fixture.other + 20, (uintptr_t)fixture.other, thunk(3, 4)); /* below its pointer */
    CU_ASSERT_TRUE(inject_leaving_is_drained(&fixture.leaving));
    end(&fixture);
}

/* == Copies that an unwinder holds == */

/* Maps the record of a slot, and marks a call as open there. */
static uint8_t *open_call(uint64_t slot)
{
    const uint64_t at = PROBE_RECORDS + (slot & PROBE_SLOT_MASK) * 8, page = at & ~UINT64_C(4095);
    uint8_t *record = mmap((void *)(uintptr_t)page, 8192, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    const uint32_t serial = 1;
    CU_ASSERT_EQUAL_FATAL((uintptr_t)record, page);
    memcpy(record + (at - page) + PROBE_RECORD_SLOT, &slot, sizeof slot);
    memcpy(record + (at - page) + PROBE_RECORD_SERIAL, &serial, sizeof serial);
    return record;
}

static void test_slot_of_a_call(void)
{
    struct fixture fixture;
    make(&fixture);
    const uint64_t slot = (uintptr_t)(fixture.stack + 900);
    fixture.stack[900] = thunk(1, ARCH_THUNK_RETURN);
    CU_ASSERT_TRUE(inject_leaving_is_anybody_unwinding(&fixture.leaving)); /* a copy: no record */
    CU_ASSERT_EQUAL(fixture.leaving.copies.count, 1);
    uint8_t *record = open_call(slot);
    CU_ASSERT_FALSE(inject_leaving_is_anybody_unwinding(&fixture.leaving));
    CU_ASSERT_EQUAL(fixture.leaving.copies.count, 0);
    munmap(record, 8192);
    end(&fixture);
}

/* A copy that stays, where nothing on the stack leads to an unwinder, is left over. */
static void test_left_over(void)
{
    struct fixture fixture;
    make(&fixture);
    fixture.stack[900] = thunk(1, ARCH_THUNK_RETURN);
    CU_ASSERT_TRUE(inject_leaving_is_anybody_unwinding(&fixture.leaving));
    fixture.leaving.copies.items[0].since_ns -= 1000000000; /* it has been there for a second */
    CU_ASSERT_FALSE(inject_leaving_is_anybody_unwinding(&fixture.leaving));
    const struct inject_text_pages unwinder = {.span = {ELSEWHERE - 16, ELSEWHERE + 16},
                                               .file.path = "/lib/libgcc_s.so.1"};
    const struct inject_known_file known = {unwinder.file.path, true};
    CU_ASSERT_EQUAL(sprof_vec_push(&fixture.leaving.texts, unwinder), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&fixture.leaving.known_files, known), 0);
    CU_ASSERT_TRUE(inject_leaving_is_anybody_unwinding(&fixture.leaving)); /* it is in one */
    fixture.leaving.known_files.items[0].unwinds = false;
    CU_ASSERT_FALSE(inject_leaving_is_anybody_unwinding(&fixture.leaving));
    fixture.stack[900] = 0;
    CU_ASSERT_FALSE(inject_leaving_is_anybody_unwinding(&fixture.leaving));
    CU_ASSERT_EQUAL(fixture.leaving.copies.count, 0);
    end(&fixture);
}

/* An address of a record counts only where the thread may unwind. */
static void test_record_on_stack(void)
{
    struct fixture fixture;
    make(&fixture);
    fixture.stack[900] = PROBE_RECORDS + 5 * PROBE_RECORD_BYTES;
    CU_ASSERT_FALSE(inject_leaving_is_anybody_unwinding(&fixture.leaving));
    fixture.process.hello.table.address = 1; /* a program that registers tables may always */
    CU_ASSERT_TRUE(inject_leaving_is_anybody_unwinding(&fixture.leaving));
    fixture.stack[900]++; /* within a record */
    CU_ASSERT_FALSE(inject_leaving_is_anybody_unwinding(&fixture.leaving));
    end(&fixture);
}

/* == Mappings == */

static void test_mappings(void)
{
    struct fixture fixture;
    make(&fixture);
    struct inject_leaving *leaving = &fixture.leaving;
    uint8_t *island = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct inject_span span = {(uintptr_t)island, (uintptr_t)(island + 4096)};
    const struct inject_coming coming = {.span = span},
                               never = {.span = {span.end + (1 << 30), span.end + (1 << 30) + 64}};
    CU_ASSERT_EQUAL(sprof_vec_push(&leaving->coming, coming), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&leaving->coming, never), 0);
    fixture.process.hello.thunks = (uintptr_t)test_mappings; /* so this program's code is ours */
    CU_ASSERT_EQUAL(inject_leaving_read_maps(leaving), 0);
    CU_ASSERT_TRUE(inject_leaving_is_ours(leaving, (uintptr_t)test_mappings));
    CU_ASSERT_FALSE(inject_leaving_is_ours(leaving, (uintptr_t)fixture.stack));
    CU_ASSERT_TRUE(leaving->coming.items[0].is_there);
    CU_ASSERT_FALSE(leaving->coming.items[1].is_there);
    bool is_writable = false;
    for (size_t i = 0; i < leaving->writable.count; i++)
        is_writable |= inject_span_holds(&leaving->writable.items[i], (uintptr_t)fixture.stack);
    CU_ASSERT_TRUE(is_writable);
    bool has_text = false;
    for (size_t i = 0; i < leaving->texts.count; i++)
        has_text |= inject_span_holds(&leaving->texts.items[i].span, (uintptr_t)test_mappings) &&
                    strstr(leaving->texts.items[i].file.path, "unit_inject");
    CU_ASSERT_TRUE(has_text);
    CU_ASSERT_TRUE(inject_span_holds(&leaving->stack, (uintptr_t)&fixture) || getpid() != gettid());
    munmap(island, 4096);
    end(&fixture);
}

/* == Slots of the GOT == */

static void test_slots(void)
{
    static uint64_t slots[4];
    struct fixture fixture;
    make(&fixture);
    struct probe_shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(shared, MAP_FAILED);
    for (size_t i = 0; i < 3; i++)
        shared->got_slots[i] = (struct probe_got_slot){(uintptr_t)&slots[i], ELSEWHERE + i};
    slots[0] = thunk(1, ARCH_THUNK_ENTRY);
    slots[1] = 77; /* the loader has filled it meanwhile */
    slots[2] = thunk(2, 1);
    slots[3] = thunk(3, ARCH_THUNK_ENTRY);                    /* not noted */
    CU_ASSERT_TRUE(inject_slots_give_back(&fixture.leaving)); /* there is no shared memory */
    fixture.process.shared_at = (uintptr_t)shared;
    CU_ASSERT_TRUE(inject_slots_give_back(&fixture.leaving)); /* and here no slots */
    CU_ASSERT_EQUAL(slots[0], thunk(1, ARCH_THUNK_ENTRY));
    shared->first_outside = 4;
    CU_ASSERT_TRUE(inject_slots_give_back(&fixture.leaving));
    CU_ASSERT_EQUAL(slots[0], ELSEWHERE);
    CU_ASSERT_EQUAL(slots[1], 77);
    CU_ASSERT_EQUAL(slots[2], thunk(2, 1));
    CU_ASSERT_EQUAL(slots[3], thunk(3, ARCH_THUNK_ENTRY));
    munmap(shared, sizeof *shared);
    end(&fixture);
}

void sprof_suite_inject_drain(void);

void sprof_suite_inject_drain(void)
{
    CU_pSuite suite = CU_add_suite("inject/drain", NULL, NULL);
    CU_add_test(suite, "threads in thunks", test_inside);
    CU_add_test(suite, "handlers that return there", test_interrupted);
    CU_add_test(suite, "frames over the end of a piece", test_every_place);
    CU_add_test(suite, "handlers on another stack", test_other_stack);
    CU_add_test(suite, "the slot of an open call", test_slot_of_a_call);
    CU_add_test(suite, "a copy that is left over", test_left_over);
    CU_add_test(suite, "a record's address", test_record_on_stack);
    CU_add_test(suite, "mappings", test_mappings);
    CU_add_test(suite, "slots of the GOT", test_slots);
}
