/* What a process has mapped when probes leave it: here this process is left by itself. */
#include "inject/leaving.h"

#include <CUnit/CUnit.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THUNKS = 16 }; /* pages */

struct left {
    struct inject_process process;
    struct inject_leaving leaving;
    struct probe_shared *shared;
    uint8_t *thunks;
};

static uint64_t number(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

static void make(struct left *left)
{
    *left = (struct left){.process = INJECT_PROCESS_NONE};
    left->shared = mmap(NULL, sizeof *left->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    left->thunks =
        mmap(NULL, THUNKS * INJECT_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(left->shared, MAP_FAILED);
    CU_ASSERT_NOT_EQUAL_FATAL(left->thunks, MAP_FAILED);
    left->process.pid = getpid();
    left->process.shared_at = number(left->shared);
    left->process.hello.thunks = number(left->thunks);
    left->leaving.process = &left->process;
    CU_ASSERT_EQUAL_FATAL(inject_leaving_open(&left->leaving, NULL), 0);
}

static void end(struct left *left)
{
    inject_leaving_release(&left->leaving);
    munmap(left->shared, sizeof *left->shared);
    munmap(left->thunks, THUNKS * INJECT_PAGE);
}

static bool holds(const struct inject_span *spans, size_t count, const void *address)
{
    for (size_t i = 0; i < count; i++)
        if (inject_span_holds(&spans[i], number(address)))
            return true;
    return false;
}

static const struct inject_text_pages *text_of(const struct left *left, const void *code)
{
    for (size_t i = 0; i < left->leaving.texts.count; i++)
        if (inject_span_holds(&left->leaving.texts.items[i].span, number(code)))
            return &left->leaving.texts.items[i];
    return NULL;
}

static void test_maps(void)
{
    struct left left;
    char path[4096];
    make(&left);
    struct inject_leaving *leaving = &left.leaving;
    void *island =
        mmap(NULL, 2 * INJECT_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *heap = malloc(1000);
    const struct inject_span known = {0x1000, 0x2000},
                             mapped = {number(island), number(island) + INJECT_PAGE};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&leaving->islands, known), 0);
    const struct inject_coming coming[] = {{.span = mapped}, {.span = {0x3000, 0x4000}}};
    for (size_t i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&leaving->coming, coming[i]), 0);
    for (int round = 0; round < 2; round++) { /* the second replaces the first */
        CU_ASSERT_EQUAL_FATAL(inject_leaving_read_maps(leaving), 0);
        CU_ASSERT_TRUE(holds(leaving->ours.items, leaving->ours.count, left.thunks));
        CU_ASSERT_FALSE(holds(leaving->ours.items, leaving->ours.count, (void *)test_maps));
        CU_ASSERT_TRUE(holds(leaving->writable.items, leaving->writable.count, heap));
        CU_ASSERT_FALSE(holds(leaving->writable.items, leaving->writable.count, left.shared));
        CU_ASSERT_FALSE(holds(leaving->writable.items, leaving->writable.count, left.thunks));
        CU_ASSERT_TRUE(inject_span_holds(&leaving->stack, number(environ[0])));
    }
    CU_ASSERT_TRUE(leaving->coming.items[0].is_there);
    CU_ASSERT_FALSE(leaving->coming.items[1].is_there);
    CU_ASSERT_TRUE(inject_leaving_is_ours(leaving, 0x1000));
    CU_ASSERT_TRUE(inject_leaving_is_ours(leaving, 0x1fff));
    CU_ASSERT_FALSE(inject_leaving_is_ours(leaving, 0x2000));
    CU_ASSERT_FALSE(inject_leaving_is_ours(leaving, 0xfff));
    const struct inject_text_pages *own = text_of(&left, (void *)test_maps);
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(own);
    CU_ASSERT_FATAL(length > 0);
    path[length] = '\0';
    CU_ASSERT_STRING_EQUAL(own->file.path, path);
    struct image *image;
    CU_ASSERT_EQUAL_FATAL(inject_text_open(leaving, own, &image, NULL), 0);
    image_free(image);
    free(heap);
    munmap(island, 2 * INJECT_PAGE);
    end(&left);
}

static void test_memory(void)
{
    struct left left;
    uint64_t value = 7, read = 0;
    make(&left);
    void *hole =
        mmap(NULL, 2 * INJECT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap((uint8_t *)hole + INJECT_PAGE, INJECT_PAGE);
    CU_ASSERT_TRUE(inject_leaving_read(&left.leaving, number(&value), &read, sizeof read));
    CU_ASSERT_EQUAL(read, 7);
    const uint64_t end_of = number(hole) + INJECT_PAGE;
    CU_ASSERT_TRUE(inject_leaving_write(&left.leaving, end_of - 8, &value, 8));
    CU_ASSERT_EQUAL(*(uint64_t *)(end_of - 8), 7);
    CU_ASSERT_FALSE(inject_leaving_read(&left.leaving, end_of - 4, &read, 8)); /* half of it */
    CU_ASSERT_FALSE(inject_leaving_write(&left.leaving, end_of, &value, 1));
    /* code is written, too, although the program itself may not */
    CU_ASSERT_TRUE(inject_leaving_write(&left.leaving, number(left.thunks), &value, 8));
    CU_ASSERT_EQUAL(left.thunks[0], 7);
    munmap(hole, INJECT_PAGE);
    end(&left);
}

static void test_gone(void)
{
    struct inject_process process = INJECT_PROCESS_NONE;
    struct inject_leaving leaving = {.process = &process};
    struct sprof_error error = {0};
    const pid_t child = fork();
    if (!child)
        _exit(0);
    waitpid(child, NULL, 0);
    process.pid = child;
    CU_ASSERT_EQUAL(inject_leaving_open(&leaving, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "has ended"));
    CU_ASSERT_EQUAL(inject_leaving_read_maps(&leaving), 0);
    CU_ASSERT_EQUAL(leaving.texts.count, 0);
    inject_leaving_release(&leaving);
}

/* == Slots == */

static uint64_t thunk(const struct left *left, uint32_t index)
{
    return number(left->thunks) + index * ARCH_THUNK_BYTES + ARCH_THUNK_ENTRY;
}

static void note_slot(struct left *left, size_t index, const uint64_t *slot)
{
    left->shared->got_slots[index].address = number(slot);
    left->shared->got_slots[index].original = 1000 + index;
}

/* Only what holds a thunk gets back what was there before. */
static void test_slots(void)
{
    struct left left;
    static uint64_t slots[300];
    make(&left);
    const size_t count = sizeof slots / sizeof *slots;
    for (size_t i = 0; i < count; i++) {
        slots[i] = thunk(&left, (uint32_t)i % 64);
        note_slot(&left, i, &slots[i]);
    }
    slots[1] = 0x1234;                      /* the loader has bound it anew */
    slots[2] = thunk(&left, 2) + 1;         /* into a thunk, but none of its entries */
    slots[3] = number(left.thunks) - 1;     /* before them */
    left.shared->got_slots[4].address = 16; /* not mapped any more, as after dlclose */
    CU_ASSERT_TRUE(inject_slots_give_back(&left.leaving));
    CU_ASSERT_EQUAL(slots[0], thunk(&left, 0)); /* there are no functions outside */
    left.shared->first_outside = 5;
    CU_ASSERT_TRUE(inject_slots_give_back(&left.leaving));
    CU_ASSERT_EQUAL(slots[0], 1000);
    CU_ASSERT_EQUAL(slots[1], 0x1234);
    CU_ASSERT_EQUAL(slots[2], thunk(&left, 2) + 1);
    CU_ASSERT_EQUAL(slots[3], number(left.thunks) - 1);
    CU_ASSERT_EQUAL(slots[4], thunk(&left, 4));
    for (size_t i = 5; i < count; i++)
        CU_ASSERT_EQUAL(slots[i], 1000 + i);
    left.process.shared_at = 0;
    CU_ASSERT_TRUE(inject_slots_give_back(&left.leaving));
    left.process.shared_at = 16; /* shared memory that is gone */
    CU_ASSERT_TRUE(inject_slots_give_back(&left.leaving));
    end(&left);
}

/* Notes end at the first that is free. */
static void test_slots_end(void)
{
    struct left left;
    static uint64_t slots[3];
    make(&left);
    left.shared->first_outside = 1;
    for (size_t i = 0; i < 3; i++)
        slots[i] = thunk(&left, 1);
    note_slot(&left, 0, &slots[0]);
    note_slot(&left, 2, &slots[2]);
    CU_ASSERT_TRUE(inject_slots_give_back(&left.leaving));
    CU_ASSERT_EQUAL(slots[0], 1000);
    CU_ASSERT_EQUAL(slots[2], thunk(&left, 1));
    end(&left);
}

/* == Unwinders == */

static void test_unwinders(void)
{
    struct left left;
    make(&left);
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW), *libc = dlopen("libc.so.6", RTLD_NOW);
    CU_ASSERT_FATAL(library && libc);
    const uint64_t raise = number(dlsym(library, "_Unwind_RaiseException")),
                   plain = number(dlsym(libc, "gnu_get_libc_version"));
    CU_ASSERT_FATAL(raise && plain);
    CU_ASSERT_EQUAL_FATAL(inject_leaving_read_maps(&left.leaving), 0);
    const uint64_t words[] = {plain, 8, raise};
    CU_ASSERT_TRUE(inject_leaving_is_unwinder(&left.leaving, words, 1)); /* not read yet */
    inject_leaving_know_files(&left.leaving);
    const size_t files = left.leaving.known_files.count;
    inject_leaving_know_files(&left.leaving); /* each is read once */
    CU_ASSERT_EQUAL(left.leaving.known_files.count, files);
    CU_ASSERT_FALSE(inject_leaving_is_unwinder(&left.leaving, words, 2));
    CU_ASSERT_TRUE(inject_leaving_is_unwinder(&left.leaving, words, 3));
    CU_ASSERT_FALSE(inject_leaving_is_unwinder(&left.leaving, words, 0));
    dlclose(library);
    dlclose(libc);
    end(&left);
}

void sprof_suite_inject_leaving(void);

void sprof_suite_inject_leaving(void)
{
    CU_pSuite suite = CU_add_suite("inject/leaving", NULL, NULL);
    CU_add_test(suite, "what is mapped", test_maps);
    CU_add_test(suite, "memory", test_memory);
    CU_add_test(suite, "a process that is gone", test_gone);
    CU_add_test(suite, "slots of the table of functions", test_slots);
    CU_add_test(suite, "the end of slots", test_slots_end);
    CU_add_test(suite, "unwinders", test_unwinders);
}
