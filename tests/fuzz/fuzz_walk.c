/* Hostile registers, stacks and tables together; also what libunwind is made to do with them. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/walk_input.h"

#include <string.h>

enum { FRAMES_MAX = 2000 };

struct process {
    struct unwind_region regions[4];
    const uint8_t *memory;
    size_t memory_size;
};

static const struct unwind_region *find_region(void *context, uint64_t address)
{
    const struct process *process = context;
    for (size_t i = 0; i < 4; i++)
        if (address >= process->regions[i].start && address < process->regions[i].end)
            return &process->regions[i];
    return NULL;
}

/* The memory repeats itself, on the stack and everywhere else. */
static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct process *process = context;
    if (!process->memory_size || address % 7 == 0)
        return SPROF_EIO;
    size_t at = (size_t)(address % process->memory_size);
    for (size_t done = 0; done < size;) {
        const size_t left = process->memory_size - at;
        const size_t part = left < size - done ? left : size - done;
        memcpy((uint8_t *)buffer + done, process->memory + at, part);
        done += part;
        at = 0;
    }
    return 0;
}

static void set_regions(struct process *process, const struct unwind_table *table)
{
    const uint64_t start = WALK_INPUT_CODE, size = WALK_INPUT_CODE_BYTES;
    for (unsigned i = 0; i < 4; i++)
        process->regions[i] = (struct unwind_region){.start = start + i * size,
                                                     .end = start + (i + 1) * size,
                                                     .bias = start - WALK_INPUT_CODE_VADDR,
                                                     .kind = (enum unwind_region_kind)i,
                                                     .table = table};
    process->regions[0].kind = table ? UNWIND_REGION_TABLE : UNWIND_REGION_BARE;
}

static void check_stack(const struct unwind_stack *stack, const struct process *process)
{
    FUZZ_REQUIRE(stack->count >= 1 && stack->count <= FRAMES_MAX);
    FUZZ_REQUIRE(stack->end <= MODEL_END_PENDING);
    FUZZ_REQUIRE((stack->end == MODEL_END_PENDING) == !!stack->pending);
    for (size_t i = 1; i < stack->count; i++) {
        const uint64_t address = unwind_frame_lookup_address(&stack->frames[i]);
        FUZZ_REQUIRE(find_region((void *)process, address));
        FUZZ_REQUIRE(stack->frames[i].found_by <= MODEL_BY_SCAN ||
                     stack->frames[i].found_by == MODEL_BY_LEAF);
    }
}

static struct unwind_table *build(const struct walk_input_head *head, const uint8_t *cfi,
                                  size_t size)
{
    const struct unwind_range text = {WALK_INPUT_CODE_VADDR,
                                      WALK_INPUT_CODE_VADDR + WALK_INPUT_CODE_BYTES};
    const struct sprof_bytes bytes = {cfi, size};
    const struct sprof_bytes none = {0};
    const struct unwind_source source = {.eh_frame = head->debug_frame & 1 ? none : bytes,
                                         .debug_frame = head->debug_frame & 1 ? bytes : none,
                                         .eh_frame_vaddr = 0x20000,
                                         .text = &text,
                                         .text_count = 1};
    struct unwind_table *table = NULL;
    unwind_table_build(&table, &source, NULL);
    return table;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct unwind_walker *walker;
    static uint32_t generation;
    struct walk_input_head head;
    if (!walker)
        walker = unwind_walker_new(FRAMES_MAX);
    FUZZ_REQUIRE(walker);
    if (size < sizeof head)
        return 0;
    memcpy(&head, data, sizeof head);
    data += sizeof head;
    size -= sizeof head;
    const size_t cfi_size = head.cfi_bytes < size ? head.cfi_bytes : size;
    struct unwind_table *table = build(&head, data, cfi_size);
    struct process process = {.memory = data + cfi_size, .memory_size = size - cfi_size};
    set_regions(&process, table);
    const struct unwind_space space = {
        .find = find_region, .context = &process, .generation = ++generation ? generation : 1};
    const size_t slice =
        head.slice_bytes < process.memory_size ? head.slice_bytes : process.memory_size;
    const bool has_tail = head.readable & 2;
    const struct unwind_memory memory = {.slice = process.memory,
                                         .tail = process.memory + slice,
                                         .slice_address = WALK_INPUT_STACK,
                                         .tail_address = WALK_INPUT_STACK + slice,
                                         .slice_size = slice,
                                         .tail_size = has_tail ? process.memory_size - slice : 0,
                                         .read = head.readable & 1 ? read_memory : NULL,
                                         .context = &process};
    const struct unwind_stack stack = unwind_walk(walker, &space, &memory, &head.registers);
    check_stack(&stack, &process);
    unwind_table_free(table);
    return 0;
}
