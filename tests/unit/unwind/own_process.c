#include "tests/unit/unwind/own_process.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

void own_process_init(struct own_process *own)
{
    *own = (struct own_process){.walker = unwind_walker_new(0)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(own->walker);
    CU_ASSERT_TRUE_FATAL(process_space_update(&own->process, getpid()));
}

void own_process_release(struct own_process *own)
{
    process_space_release(&own->process);
    unwind_walker_free(own->walker);
}

void own_capture_init(struct own_capture *capture)
{
    *capture = (struct own_capture){.bytes = malloc(OWN_STACK)};
    if (!capture->bytes)
        abort();
}

void own_capture_release(struct own_capture *capture)
{
    free(capture->bytes);
}

static void take_registers(struct unwind_registers *registers, const ucontext_t *context)
{
    static const uint8_t places[ARCH_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (size_t i = 0; i < ARCH_REGISTERS; i++)
        registers->value[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
}

__attribute__((noinline)) void own_capture_take(struct own_capture *capture, size_t bytes)
{
    ucontext_t context;
    unw_context_t peer_context;
    unw_cursor_t cursor;
    getcontext(&context);
    take_registers(&capture->registers, &context);
    capture->size =
        process_space_copy(getpid(), capture->registers.value[ARCH_SP], capture->bytes, bytes);
    capture->peer_count = 0;
    unw_getcontext(&peer_context);
    unw_init_local(&cursor, &peer_context);
    while (capture->peer_count < OWN_PEER_FRAMES && unw_step(&cursor) > 0) {
        unw_word_t ip;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        capture->peer[capture->peer_count++] = ip;
    }
}

struct unwind_stack own_process_walk(struct own_process *own, const struct own_capture *capture,
                                     bool live)
{
    const struct unwind_memory memory = {.slice = capture->bytes,
                                         .slice_address = capture->registers.value[ARCH_SP],
                                         .slice_size = capture->size,
                                         .read = live ? process_space_read : NULL,
                                         .context = &own->process};
    return unwind_walk(own->walker, &own->process.space, &memory, &capture->registers);
}

bool own_capture_agrees(const struct own_capture *capture, const struct unwind_stack *stack)
{
    bool agrees = stack->count - 1 == capture->peer_count ||
                  (capture->peer_count == OWN_PEER_FRAMES && stack->count > OWN_PEER_FRAMES);
    for (size_t i = 0; agrees && i < capture->peer_count; i++)
        agrees = stack->frames[i + 1].address == capture->peer[i];
    if (!agrees) {
        printf("\n    end %s", model_end_text(stack->end));
        for (size_t i = 0; i < stack->count - 1 || i < capture->peer_count; i++)
            printf("\n    %#llx %s, libunwind %#llx",
                   (unsigned long long)(i + 1 < stack->count ? stack->frames[i + 1].address : 0),
                   i + 1 < stack->count ? model_found_by_text(stack->frames[i + 1].found_by) : "",
                   (unsigned long long)(i < capture->peer_count ? capture->peer[i] : 0));
    }
    return agrees;
}
