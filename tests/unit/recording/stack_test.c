#include "recording/stack.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4, LIVE = 0xaa, CAPTURED = 0x55 };

/* This process's memory is the live stack; what was captured of it looked different. */
static _Alignas(PAGE) uint8_t live[PAGES * PAGE];
static uint8_t captured[PAGES * PAGE];

static uint64_t address_of(size_t offset)
{
    return (uint64_t)(uintptr_t)live + offset;
}

static struct model_sample sample_with_rest(size_t offset, size_t size)
{
    memset(live, LIVE, sizeof live);
    memset(captured, CAPTURED, sizeof captured);
    return (struct model_sample){
        .tail = captured, .tail_address = address_of(offset), .tail_size = size};
}

/* How many of the bytes read were captured ones; -1: refused. */
static int captured_of(const struct model_sample *sample, size_t offset, size_t size)
{
    struct recording_stack stack = {.pid = getpid(), .sample = sample};
    uint8_t buffer[2 * PAGE];
    int count = 0;
    if (recording_stack_read(&stack, address_of(offset), buffer, size))
        return -1;
    for (size_t i = 0; i < size; i++) {
        CU_ASSERT_TRUE(buffer[i] == LIVE || buffer[i] == CAPTURED);
        count += buffer[i] == CAPTURED;
    }
    return count;
}

static void test_captured_bytes_go_first(void)
{
    const struct model_sample none = sample_with_rest(0, 0);
    CU_ASSERT_EQUAL(captured_of(&none, 0, 2 * PAGE), 0);
    const struct model_sample sample = sample_with_rest(PAGE, PAGE + 100);
    CU_ASSERT_EQUAL(captured_of(&sample, PAGE, PAGE), PAGE);
    CU_ASSERT_EQUAL(captured_of(&sample, PAGE + 8, PAGE + 92), PAGE + 92);
    CU_ASSERT_EQUAL(captured_of(&sample, 0, PAGE), 0);
    CU_ASSERT_EQUAL(captured_of(&sample, 2 * PAGE + 100, 100), 0);
}

/* A large read across an end is refused, so that the walk asks for less; a small one is put
 * together. */
static void test_reads_across_an_end(void)
{
    const struct model_sample sample = sample_with_rest(PAGE + 100, PAGE);
    CU_ASSERT_EQUAL(captured_of(&sample, 0, 2 * PAGE), -1);
    CU_ASSERT_EQUAL(captured_of(&sample, PAGE, 200), 100);
    CU_ASSERT_EQUAL(captured_of(&sample, 2 * PAGE, PAGE), 100);
    CU_ASSERT_EQUAL(captured_of(&sample, 2 * PAGE, PAGE + 8), -1);
    const struct model_sample small = sample_with_rest(100, 8);
    CU_ASSERT_EQUAL(captured_of(&small, 0, PAGE), 8);
}

static void test_nothing_where_the_target_is_gone(void)
{
    const struct model_sample sample = sample_with_rest(PAGE, PAGE);
    struct recording_stack stack = {.pid = -1, .sample = &sample};
    uint8_t buffer[PAGE];
    CU_ASSERT_EQUAL(recording_stack_read(&stack, address_of(PAGE), buffer, PAGE), 0);
    CU_ASSERT_NOT_EQUAL(recording_stack_read(&stack, address_of(0), buffer, PAGE), 0);
    CU_ASSERT_NOT_EQUAL(recording_stack_read(&stack, address_of(2 * PAGE - 8), buffer, 16), 0);
}

/* == Code == */

static const struct unwind_region *find_only(void *context, uint64_t address)
{
    const struct recording_region *only = context;
    return address - only->region.start < only->region.end - only->region.start ? &only->region
                                                                                : NULL;
}

static bool begins_a_file(const struct recording_stack *stack)
{
    uint8_t buffer[4] = {0};
    return !recording_stack_read((void *)(uintptr_t)stack, address_of(PAGE), buffer,
                                 sizeof buffer) &&
           !memcmp(buffer, "\177ELF", sizeof buffer);
}

/* Code is the target's own, which may have been changed, as long as the target has it. */
static void test_code_of_a_target_that_is_gone(void)
{
    const struct model_sample sample = sample_with_rest(0, 0);
    const struct image_request request = {.file = {.path = "/proc/self/exe"}};
    struct recording_image image = {0};
    struct model_mapping mapping = {.start = address_of(PAGE), .end = address_of(2 * PAGE)};
    struct recording_region only = {.region = {.start = mapping.start, .end = mapping.end},
                                    .mapping = &mapping};
    struct unwind_space space = {.find = find_only, .context = &only};
    struct recording_stack stack = {.pid = getpid(), .sample = &sample, .space = &space};
    CU_ASSERT_EQUAL_FATAL(image_open(&image.image, &request, NULL), 0);
    only.image = &image;
    CU_ASSERT_FALSE(begins_a_file(&stack)); /* still mapped: what is in memory counts */
    mapping.end_ns = 1;
    CU_ASSERT_TRUE(begins_a_file(&stack)); /* what is there now is another program's */
    mapping.end_ns = 0;
    stack.pid = -1;
    CU_ASSERT_TRUE(begins_a_file(&stack));
    image.state = RECORDING_IMAGE_WAITING; /* the builder's */
    CU_ASSERT_FALSE(begins_a_file(&stack));
    image.state = RECORDING_IMAGE_READY;
    only.region.end = only.region.start + 2; /* it ends before the bytes do */
    CU_ASSERT_FALSE(begins_a_file(&stack));
    image_free(image.image);
}

/* == Ends == */

static void expect_extent(const struct model_sample *sample, const struct unwind_stack *stack,
                          enum model_stack_extent_kind kind, uint64_t end)
{
    const struct model_stack_extent extent = recording_stack_extent(sample, stack);
    CU_ASSERT_EQUAL(extent.kind, kind);
    CU_ASSERT_EQUAL(extent.end, end);
}

static void test_ends_are_told_as_pages(void)
{
    struct model_sample sample = {.stack_size = PAGE, .stack_full = true};
    sample.registers[ARCH_SP] = address_of(0);
    struct unwind_stack stack = {.end = MODEL_END_ROOT, .top = address_of(2 * PAGE + 8)};
    expect_extent(&sample, &stack, MODEL_STACK_ENDS, address_of(3 * PAGE));
    CU_ASSERT_EQUAL(recording_stack_extent(&sample, &stack).used, 2 * PAGE + 8);
    stack.top = address_of(PAGE - 8);
    expect_extent(&sample, &stack, MODEL_STACK_SHALLOW, 0);
    sample.stack_full = false;
    expect_extent(&sample, &stack, MODEL_STACK_ENDS, address_of(PAGE));
    CU_ASSERT_EQUAL(recording_stack_extent(&sample, &stack).used, PAGE - 8);
    stack.end = MODEL_END_TRUNCATED;
    expect_extent(&sample, &stack, MODEL_STACK_UNKNOWN, 0);
    CU_ASSERT_EQUAL(recording_stack_extent(&sample, &stack).used, 0);
    stack.switched = true;
    expect_extent(&sample, &stack, MODEL_STACK_ELSEWHERE, 0);
    stack = (struct unwind_stack){
        .end = MODEL_END_ROOT, .interrupted = true, .top = address_of(2 * PAGE + 8)};
    expect_extent(&sample, &stack, MODEL_STACK_INTERRUPTED, 0);
    CU_ASSERT_EQUAL(recording_stack_extent(&sample, &stack).used, 0);
}

/* == Frame pointers == */

enum { BASE = 0x1000, FRAMES = 6 };

/* Words at BASE: frame i's saved rbp at 2i and its return address, 100 + i, at 2i + 1. */
static struct model_sample sample_with_frames(uint64_t words[2 * FRAMES])
{
    for (uint64_t i = 0; i < FRAMES; i++) {
        words[2 * i] = BASE + 16 * (i + 1);
        words[2 * i + 1] = 100 + i;
    }
    struct model_sample sample = {.stack = (const uint8_t *)words,
                                  .stack_size = 2 * FRAMES * sizeof *words};
    sample.registers[ARCH_SP] = sample.registers[ARCH_FP] = BASE;
    return sample;
}

/* The callers of a walk that ended at this return address. */
static size_t callers_of(const struct model_sample *sample, uint64_t address, uint64_t *callers,
                         size_t most)
{
    const struct unwind_frame frame = {.address = address, .is_return = true};
    const struct unwind_stack stack = {.frames = &frame, .count = 1, .end = MODEL_END_NO_CFI};
    return recording_stack_callers(sample, &stack, callers, most);
}

static void test_only_walks_that_failed_go_on(void)
{
    uint64_t words[2 * FRAMES], callers[FRAMES];
    const struct model_sample sample = sample_with_frames(words);
    struct unwind_frame frame = {.address = 102, .is_return = true};
    struct unwind_stack stack = {.frames = &frame, .count = 1, .end = MODEL_END_ROOT};
    CU_ASSERT_EQUAL(recording_stack_callers(&sample, &stack, callers, FRAMES), 0);
    stack.end = MODEL_END_BAD_MEMORY;
    CU_ASSERT_EQUAL(recording_stack_callers(&sample, &stack, callers, FRAMES), 3);
    frame.is_return = false;
    CU_ASSERT_EQUAL(recording_stack_callers(&sample, &stack, callers, FRAMES), 0);
}

static void test_chain_goes_on_behind_an_address(void)
{
    uint64_t words[2 * FRAMES], callers[FRAMES];
    struct model_sample sample = sample_with_frames(words);
    CU_ASSERT_EQUAL_FATAL(callers_of(&sample, 102, callers, FRAMES), 3);
    CU_ASSERT_TRUE(callers[0] == 103 && callers[1] == 104 && callers[2] == 105);
    CU_ASSERT_EQUAL(callers_of(&sample, 102, callers, 2), 2);
    CU_ASSERT_EQUAL(callers_of(&sample, 105, callers, FRAMES), 0);
    CU_ASSERT_EQUAL(callers_of(&sample, 99, callers, FRAMES), 0);
    sample.stack_size -= 8; /* the last return address was not captured */
    CU_ASSERT_EQUAL(callers_of(&sample, 102, callers, FRAMES), 2);
    sample.stack_size = 0;
    CU_ASSERT_EQUAL(callers_of(&sample, 102, callers, FRAMES), 0);
}

static void test_chain_must_be_certain(void)
{
    uint64_t words[2 * FRAMES], callers[FRAMES];
    const struct model_sample sample = sample_with_frames(words);
    words[2 * 4 + 1] = 102; /* recursion */
    CU_ASSERT_EQUAL(callers_of(&sample, 102, callers, FRAMES), 0);
    words[2 * 4 + 1] = 104;
    words[2 * 4] = BASE; /* down again */
    CU_ASSERT_EQUAL(callers_of(&sample, 102, callers, FRAMES), 2);
}

/* Beyond the slice only what was captured with it counts. */
static void test_chain_beyond_the_slice(void)
{
    uint64_t words[2 * FRAMES], callers[FRAMES];
    struct model_sample sample = sample_with_frames(words);
    sample.stack_size = 32;
    sample.tail = sample.stack + 32;
    sample.tail_address = BASE + 32;
    sample.tail_size = sizeof words - 32;
    CU_ASSERT_EQUAL(callers_of(&sample, 100, callers, FRAMES), 1);
    sample.tail_with_sample = true;
    CU_ASSERT_EQUAL(callers_of(&sample, 100, callers, FRAMES), FRAMES - 1);
}

void sprof_suite_recording_stack(void);
void sprof_suite_recording_stack(void)
{
    CU_pSuite suite = CU_add_suite("recording/stack", NULL, NULL);
    CU_add_test(suite, "captured bytes go first", test_captured_bytes_go_first);
    CU_add_test(suite, "reads across an end", test_reads_across_an_end);
    CU_add_test(suite, "nothing where the target is gone", test_nothing_where_the_target_is_gone);
    CU_add_test(suite, "code of a target that is gone", test_code_of_a_target_that_is_gone);
    CU_add_test(suite, "ends are told as pages", test_ends_are_told_as_pages);
    CU_add_test(suite, "only walks that failed go on", test_only_walks_that_failed_go_on);
    CU_add_test(suite, "the chain goes on behind an address", test_chain_goes_on_behind_an_address);
    CU_add_test(suite, "the chain must be certain", test_chain_must_be_certain);
    CU_add_test(suite, "the chain beyond the slice", test_chain_beyond_the_slice);
}
