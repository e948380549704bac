/* Writes thunks, in the shape that agent/probe/area.S describes and has the unwinding rules of. */
#include "plan/thunk.h"

#include <string.h>

static void put_distance(uint8_t *at, uint64_t from, uint64_t to)
{
    const uint32_t distance = (uint32_t)(to - from);
    memcpy(at, &distance, sizeof distance);
}

void plan_thunk_write(uint8_t thunk[PROBE_THUNK_BYTES], uint64_t at, uint32_t number,
                      uint64_t enter, uint64_t leave, uint64_t site, uint64_t body)
{
    /* An instruction a line. */
    enum { TIMED = 15 };
    /* clang-format off */
    static const uint8_t shape[PROBE_THUNK_BYTES] = {
        PROBE_ENTRY_ON, PROBE_THUNK_PASS - 2,                            /*  0 test $7, %al */
        0xe8, 0, 0, 0, 0,                                                /*  2 call enter */
        0x73, TIMED - 9,                                                 /*  7 jnc 15 */
        0xff, 0x25, PROBE_THUNK_BODY - TIMED, 0, 0, 0,                   /*  9 jmp *body */
        0x48, 0x8d, 0x64, 0x24, 8,                                       /* 15 lea 8(%rsp), %rsp */
        0xff, 0x15, PROBE_THUNK_BODY - PROBE_THUNK_RETURN, 0, 0, 0,      /* 20 call *body */
        0x50,                                                            /* 26 push %rax */
        0x41, 0x53,                                                      /* 27 push %r11 */
        0xe8, 0, 0, 0, 0,                                                /* 29 call leave */
        0x41, 0x5b,                                                      /* 34 pop %r11 */
        0xc3,                                                            /* 36 ret */
        0xcc, 0xcc, 0xcc,
    };
    /* clang-format on */
    memcpy(thunk, shape, sizeof shape);
    put_distance(thunk + 3, at + PROBE_THUNK_ENTERED, enter);
    put_distance(thunk + 30, at + 34, leave);
    memcpy(thunk + PROBE_THUNK_NUMBER, &number, sizeof number);
    memcpy(thunk + PROBE_THUNK_SITE, &site, sizeof site);
    memcpy(thunk + PROBE_THUNK_BODY, &body, sizeof body);
}

void plan_far_jump_write(uint8_t code[PLAN_FAR_JUMP_BYTES], uint64_t target)
{
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    memcpy(code, jump, sizeof jump);
    memcpy(code + sizeof jump, &target, sizeof target);
}
