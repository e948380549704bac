/* Surroundings of executed code: memory of its own at an address of its own, whose code cannot be
 * written where it is executed, and whose data cannot be executed. */
#include "tests/unit/plan/beside.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARENA_AT UINT64_C(0x200000000000) /* nothing of the process is near */
#define FAR_AT (ARENA_AT - (UINT64_C(1) << 40))

enum { FAR_BYTES = 4096 };

static void *address_of(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Two views of the same memory: to write, and to execute at an address. */
static bool map_twice(uint64_t address, size_t size, uint8_t **executed, uint8_t **written)
{
    const int fd = memfd_create("beside", MFD_CLOEXEC);
    void *there = MAP_FAILED, *here = MAP_FAILED;
    if (fd >= 0 && !ftruncate(fd, (off_t)size)) {
        there = mmap(address_of(address), size, PROT_READ | PROT_EXEC,
                     MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
        here = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    *executed = there;
    *written = here;
    return there != MAP_FAILED && here != MAP_FAILED;
}

static void put_exits(struct beside *beside)
{
    for (size_t i = 0; i < BESIDE_EXITS; i++) {
        const size_t exit = BESIDE_EXIT + i * EXECUTE_EXIT_BYTES, near = BESIDE_SHORT_EXIT + i * 5;
        execute_write_exit(beside->code + exit, (uint8_t)i);
        arch_jump_write(beside->code + near, near, exit);
    }
}

static bool map_data(uint8_t *page)
{
    return mmap(page, BESIDE_PAGE, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == page;
}

bool beside_begin(struct beside *beside)
{
    static const uint8_t callee[] = {0x4c, 0x8b, 0x1c, 0x24, 0xc3}; /* mov (%rsp),%r11; ret */
    if (!map_twice(ARENA_AT, BESIDE_CODE_END, &beside->arena, &beside->code) ||
        !map_twice(FAR_AT, FAR_BYTES, &beside->far, &beside->far_code))
        return false;
    memcpy(beside->code + BESIDE_CALLEE, callee, sizeof callee);
    put_exits(beside);
    return map_data(beside->arena + BESIDE_DATA) && map_data(beside->arena + BESIDE_STACK);
}

void beside_end(struct beside *beside)
{
    munmap(beside->code, BESIDE_CODE_END);
    munmap(beside->arena, BESIDE_CODE_END);
    munmap(beside->arena + BESIDE_DATA, BESIDE_PAGE);
    munmap(beside->arena + BESIDE_STACK, BESIDE_PAGE);
    munmap(beside->far_code, FAR_BYTES);
    munmap(beside->far, FAR_BYTES);
}

void beside_put(struct beside *beside, const uint8_t *code, size_t size)
{
    memset(beside->code + BESIDE_SITE, 0xcc, BESIDE_SHORT_EXIT - BESIDE_SITE);
    memcpy(beside->code + BESIDE_SITE, code, size);
    arch_jump_write(beside->code + BESIDE_SITE + size, BESIDE_SITE + size,
                    BESIDE_EXIT + (BESIDE_EXITS - 1) * EXECUTE_EXIT_BYTES);
}

void beside_take(struct beside *beside)
{
    memset(beside->code + BESIDE_SITE, 0xcc, PLAN_JUMP_BYTES);
}

/* The stack: whatever is popped, a way back comes out. */
static void put_memory(struct beside *beside)
{
    const uint64_t arena = (uint64_t)(uintptr_t)beside->arena;
    const uint64_t back = arena + BESIDE_EXIT + BESIDE_BACK * EXECUTE_EXIT_BYTES;
    const uint64_t slots[] = {arena + BESIDE_CALLEE, arena + BESIDE_EXIT + 2 * EXECUTE_EXIT_BYTES};
    uint8_t *stack = beside->arena + BESIDE_STACK;
    memset(beside->arena + BESIDE_DATA, 0, BESIDE_PAGE);
    memcpy(beside->arena + BESIDE_DATA, beside->data, BESIDE_DATA_BYTES);
    memcpy(beside->arena + BESIDE_SLOTS, slots, sizeof slots);
    memset(stack, beside->below, BESIDE_STACK_BYTES / 2);
    for (size_t at = BESIDE_STACK_BYTES / 2; at < BESIDE_STACK_BYTES; at += 8)
        memcpy(stack + at, &back, sizeof back);
}

void beside_execute(struct beside *beside, const struct execute_state *in, const uint8_t *at,
                    struct beside_outcome *outcome)
{
    struct execute_state set = *in;
    const uint8_t *stack = beside->arena + BESIDE_STACK;
    set.registers[4] = (uint64_t)(uintptr_t)stack + BESIDE_STACK_BYTES / 2;
    put_memory(beside);
    execute(&set, &outcome->state, at);
    const uint64_t below = outcome->state.registers[4] - (uint64_t)(uintptr_t)stack;
    const size_t unused = below <= BESIDE_STACK_BYTES ? (size_t)below : 0;
    memset(outcome->stack, 0, unused);
    memcpy(outcome->stack + unused, stack + unused, BESIDE_STACK_BYTES - unused);
    memcpy(outcome->data, beside->arena + BESIDE_DATA, BESIDE_PAGE);
}

int beside_put_far(struct beside *beside, const uint8_t *code, size_t size, size_t at)
{
    const uint64_t site = (uint64_t)(uintptr_t)beside->arena + BESIDE_SITE;
    const uint64_t near = (uint64_t)(uintptr_t)beside->arena + at;
    struct plan_far_copy made;
    struct plan_copy rest;
    int result =
        plan_far_copy_make(&made, code, size, size, site, (uint64_t)(uintptr_t)beside->far);
    if (result)
        return result;
    memcpy(beside->far_code, made.bytes, sizeof made.bytes);
    if (!made.rest)
        return 0;
    result = plan_copy_make(&rest, code + made.rest, size - made.rest, size - made.rest,
                            site + made.rest, near);
    memcpy(beside->code + at, rest.code, rest.size);
    memcpy(beside->far_code + ARCH_COPY_NEXT, &near, sizeof near);
    return result;
}
