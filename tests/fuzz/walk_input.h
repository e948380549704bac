/* The input of the walk's fuzz target: registers, where the slice ends, call frame information, and
 * the rest is memory: of the stack, and whatever else is read. */
#ifndef SPROF_TESTS_FUZZ_WALK_INPUT_H
#define SPROF_TESTS_FUZZ_WALK_INPUT_H

#include "unwind/unwind.h"

#define WALK_INPUT_STACK UINT64_C(0x7ffd00000000)
#define WALK_INPUT_CODE UINT64_C(0x555500000000)

enum { WALK_INPUT_CODE_VADDR = 0x1000, WALK_INPUT_CODE_BYTES = 0x8000 };

struct walk_input_head {
    struct unwind_registers registers;
    uint16_t slice_bytes;
    uint16_t cfi_bytes;
    uint8_t debug_frame; /* whether it is .debug_frame */
    uint8_t readable;    /* bit 0: memory can be read beyond the slice; 1: it is a captured tail */
    uint8_t unused[2];
};

#endif
