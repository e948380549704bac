/* Writes the code of probes, and reads what it replaces: thunks in the shape that
 * arch/x86_64/probe/area.S describes and has the unwinding rules of. */
#include "arch/probe.h"

#include <string.h>

static void put_distance(uint8_t *at, uint64_t from, uint64_t to)
{
    const uint32_t distance = (uint32_t)(to - from);
    memcpy(at, &distance, sizeof distance);
}

void arch_thunk_write(uint8_t thunk[ARCH_THUNK_BYTES], uint64_t at, uint32_t number, uint64_t enter,
                      uint64_t leave, uint64_t site, uint64_t body)
{
    /* An instruction a line. */
    enum { TIMED = 15 };
    /* clang-format off */
    static const uint8_t shape[ARCH_THUNK_BYTES] = {
        ARCH_THUNK_ON, ARCH_THUNK_PASS - 2,                            /*  0 test $7, %al */
        0xe8, 0, 0, 0, 0,                                                /*  2 call enter */
        0x73, TIMED - 9,                                                 /*  7 jnc 15 */
        0xff, 0x25, ARCH_THUNK_BODY - TIMED, 0, 0, 0,                   /*  9 jmp *body */
        0x48, 0x8d, 0x64, 0x24, 8,                                       /* 15 lea 8(%rsp), %rsp */
        0xff, 0x15, ARCH_THUNK_BODY - ARCH_THUNK_RETURN, 0, 0, 0,      /* 20 call *body */
        0x50,                                                            /* 26 push %rax */
        0x41, 0x53,                                                      /* 27 push %r11 */
        0xe8, 0, 0, 0, 0,                                                /* 29 call leave */
        0x41, 0x5b,                                                      /* 34 pop %r11 */
        0xc3,                                                            /* 36 ret */
        0xcc, 0xcc, 0xcc,
    };
    /* clang-format on */
    memcpy(thunk, shape, sizeof shape);
    put_distance(thunk + 3, at + ARCH_THUNK_ENTERED, enter);
    put_distance(thunk + 30, at + 34, leave);
    memcpy(thunk + ARCH_THUNK_NUMBER, &number, sizeof number);
    memcpy(thunk + ARCH_THUNK_SITE, &site, sizeof site);
    memcpy(thunk + ARCH_THUNK_BODY, &body, sizeof body);
}

void arch_far_jump_write(uint8_t code[ARCH_FAR_JUMP_BYTES], uint64_t target)
{
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    memcpy(code, jump, sizeof jump);
    memcpy(code + sizeof jump, &target, sizeof target);
}

bool arch_code_jump_target(const uint8_t code[ARCH_JUMP_BYTES], uint64_t at, uint64_t *target)
{
    int32_t distance;
    memcpy(&distance, code + 1, sizeof distance);
    *target = at + ARCH_JUMP_BYTES + (uint64_t)(int64_t)distance;
    return code[0] == ARCH_JUMP;
}

/* "ret" with room behind it, or "endbr64; ret", as in known loaders. */
bool arch_code_is_empty_function(const uint8_t code[ARCH_JUMP_BYTES], uint64_t address)
{
    static const uint8_t marked[ARCH_JUMP_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3};
    static const uint8_t pads[][4] = {{0x66, 0x66, 0x2e, 0x0f}, {0x66, 0x2e, 0x0f, 0x1f},
                                      {0x0f, 0x1f, 0x44, 0x00}, {0x90, 0x90, 0x90, 0x90},
                                      {0xcc, 0xcc, 0xcc, 0xcc}, {0x0f, 0x1f, 0x80, 0x00}};
    if (!memcmp(code, marked, sizeof marked))
        return true;
    for (size_t i = 0; i < sizeof pads / sizeof *pads && code[0] == 0xc3 && !(address & 15); i++)
        if (!memcmp(code + 1, pads[i], sizeof pads[i]))
            return true;
    return false;
}
