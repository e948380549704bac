/* clang-format off */
/* arch: all that depends on the processor: registers, and what machine code says where no table does.
 *
 * CMake chooses one directory, arch/NAME, whose machine.h has the constants below and whose sources
 * have the functions. A new processor is such a directory, and no line elsewhere. Numbers of registers
 * are DWARF's. What machine.h says:
 *
 *   ARCH_NAME               "x86_64", …: as CMAKE_SYSTEM_PROCESSOR has it
 *   ARCH_REGISTERS          how many a sample, a signal frame and an unwinder's state hold; at most 33
 *   ARCH_GENERAL_REGISTERS  numbers below are general registers, which rules may name; at most 32
 *   ARCH_PC, ARCH_SP, ARCH_FP   the instruction, stack and frame pointer
 *   ARCH_LINK               the register that holds the return address on entry, -1: it is pushed
 *   ARCH_RETURN_COLUMN      the column of the return address in call frame information
 *   ARCH_RESULT             what a system call returns in
 *   ARCH_CALLEE_SAVED       the registers that calls keep, a bit each
 *   ARCH_CALL_PUSHES        bytes that a call pushes: 8, or 0 where there is ARCH_LINK
 *   ARCH_RED_ZONE_BYTES     below the stack pointer, not touched by signal handlers
 *   ARCH_USER_BITS          user addresses are below 1 << this
 *   ARCH_CALL_BYTES, ARCH_INSTRUCTION_BYTES   the longest call, the longest instruction
 *   ARCH_MOVED_BYTES, ARCH_JUMP_BYTES         the longest form of an instruction that was moved; a jump
 *   ARCH_MOVED_CALL_BYTES   the longest form that arch_call_move writes
 *   ARCH_REACHED_BYTES, ARCH_BORROWED_BYTES   of arch_instruction_reach: the longest form, and what is on
 *                           the stack meanwhile
 *   ARCH_PUSHED_BYTES, ARCH_PUSHED_PART       see arch_code_pushes
 *   ARCH_STAGE_BEFORE, ARCH_STAGE_AFTER       what arch_code_stage looks at
 *   ARCH_PLT_JUMP_BYTES     what arch_code_plt_slot looks at
 *   ARCH_PLT_ENTRY_BYTES, ARCH_PLT_HEAD_PUSH_BYTES   of .plt where its entries push: an entry, and
 *                           the push that its first entry begins with
 *   ARCH_SIGNAL_REGISTERS, ARCH_SIGNAL_REGISTERS_OFFSET   the kernel's frame below a signal handler:
 *                           how many registers it has, and where, from the trampoline's sp
 *   ARCH_REMOTE_WORDS, ARCH_RESUME_WORDS, ARCH_CALLS_CODE_BYTES, ARCH_VECTORS_BYTES, ARCH_FRAME_BYTES,
 *   ARCH_FRAME_ROOM, ARCH_FRAME_MARK_WORDS, ARCH_FRAME_END_WORDS   see arch/remote.h
 *   ARCH_WAIT_BYTES, ARCH_THUNK_…, ARCH_COPY_…, ARCH_FAR_JUMP_BYTES, ARCH_FILL, ARCH_NOP, ARCH_JUMP,
 *   arch_ticks              code of probes: see arch/probe.h
 *   ARCH_ELF_MACHINE        e_machine of its ELF files
 *   ARCH_RELOCATION_IRELATIVE, _RELATIVE, _JUMP_SLOT, _GLOB_DAT   types of relocations: a slot that a
 *                           resolver fills, an address of the file itself, slots of a symbol
 *   ARCH_PROPERTY_FEATURES, ARCH_FEATURE_SHADOW_STACK   the property (.note.gnu.property) that a file with
 *                           shadow stacks has, and its bit
 *   ARCH_GO_ENTRY           how the names begin of functions that start a Go program
 *   ARCH_CAPSTONE, ARCH_CAPSTONE_MODE   its name in Capstone; left out where Capstone lacks it
 *   arch_return_address     strips what a processor keeps in the upper bits of a return address
 *
 * A frame pointer points to the caller's frame pointer, with the return address behind it: so it is on
 * x86-64 and aarch64. */
/* clang-format on */
#ifndef SPROF_ARCH_ARCH_H
#define SPROF_ARCH_ARCH_H

#include "arch/remote.h"
#include "arch/trap.h"
#include "base/base.h"
#include SPROF_ARCH_HEADER

#include <stdbool.h>

/* == Registers ============================================================================== */

/* Of the general registers, by number: "rax", …. */
extern const char *const arch_register_names[ARCH_GENERAL_REGISTERS];

/* User registers as perf events sample them: the kernel's number (asm/perf_regs.h) and DWARF's, in
 * the order in which the kernel writes them, and the mask for perf_event_attr.sample_regs_user. */
struct arch_perf_register {
    uint8_t kernel, number;
};
extern const struct arch_perf_register arch_perf_registers[ARCH_REGISTERS];
uint64_t arch_perf_register_mask(void);

/* The kernel's frame below a signal handler: the number of each register, in its order. */
extern const uint8_t arch_signal_register_order[ARCH_SIGNAL_REGISTERS];

/* Whether the registers show that the kernel is about to restore what a signal interrupted: the
 * instruction pointer stands behind the trampoline's system call then. */
bool arch_is_in_signal_return(const uint64_t registers[ARCH_REGISTERS]);

/* Whether registers that were sampled in the kernel may be those of a system call. */
bool arch_may_be_in_system_call(const uint64_t registers[ARCH_REGISTERS]);

/* == Code =================================================================================== */

/* Whether the bytes, which end at a return address, end with a call. */
bool arch_code_ends_with_call(const uint8_t bytes[ARCH_CALL_BYTES]);

/* The target of the direct call that ends at `return_address`; false for an indirect one. */
bool arch_code_call_target(const uint8_t bytes[ARCH_CALL_BYTES], uint64_t return_address,
                           uint64_t *target);

/* How far a function has set up its frame, by the bytes around an instruction: `code` begins
 * ARCH_STAGE_BEFORE bytes before it. */
enum arch_stage {
    ARCH_STAGE_UNKNOWN,
    ARCH_STAGE_NO_FRAME,  /* the return address is where the call left it: at sp, or in ARCH_LINK */
    ARCH_STAGE_FP_PUSHED, /* the caller's frame pointer is at sp, the return address behind it */
};
enum arch_stage arch_code_stage(const uint8_t code[ARCH_STAGE_BEFORE + ARCH_STAGE_AFTER]);

/* Whether the instruction puts the stack pointer into the frame pointer. */
bool arch_code_sets_fp(const uint8_t *code, size_t length);

/* Whether the bytes begin with the push of a return address that arch_instruction_move makes of a
 * call; it has ARCH_PUSHED_BYTES, of which the first ARCH_PUSHED_PART move the stack pointer. */
bool arch_code_pushes(const uint8_t *code, size_t size, uint64_t *address);

/* Whether a function ends in the bytes: a return with padding behind it. Bytes that only look so
 * are taken for an end, too. */
bool arch_code_holds_end(struct sprof_bytes code);

/* How long the padding is that the bytes begin with, as between functions: one nop or trap; 0:
 * none. */
size_t arch_code_padding(const uint8_t *code, size_t size);

/* Whether the bytes begin with a system call. */
bool arch_code_begins_with_system_call(struct sprof_bytes code);

/* A PLT entry jumps through a slot in memory: where the slot is. False for other code. */
bool arch_code_plt_slot(const uint8_t bytes[ARCH_PLT_JUMP_BYTES], uint64_t address, uint64_t *slot);

/* Calls `found` for each address from `low` to `high` to which bytes of code may refer by a
 * distance from an instruction, whether they are an instruction or only look like the end of one.
 * `is_call`: they call or jump to what stands at the address. */
void arch_code_each_reference(struct sprof_bytes code, uint64_t vaddr, uint64_t low, uint64_t high,
                              void (*found)(void *context, uint64_t address, bool is_call),
                              void *context);

/* Where entries of a .plt push, 0 where they do not; `plt` is the section. */
uint8_t arch_code_plt_push(struct sprof_bytes plt);

/* How many bytes each entry of a PLT section takes; `plt` is the section, `is_got` says that it is
 * .plt.got, whose entries do not push. */
uint64_t arch_code_plt_entry_size(struct sprof_bytes plt, bool is_got);

/* A stretch of code known by its bytes. */
enum arch_known {
    ARCH_KNOWN_SIGNAL_RETURN, /* the trampoline that a signal handler returns to */
    ARCH_KNOWN_CLONE, /* behind clone's system call: a child, whose result is 0, starts here */
    ARCH_KNOWN_START, /* it has no caller */
};
struct arch_known_code {
    size_t start, end; /* offsets into the bytes searched */
    enum arch_known what;
};

/* Finds the first stretch at or after *offset and moves *offset behind it; false when there is
 * none. */
bool arch_code_find_known(struct sprof_bytes code, size_t *offset, struct arch_known_code *known);

/* Whether a function that has no frame of its own is the start of a coroutine: glibc's
 * __start_context, whose call frame information claims a caller. */
bool arch_code_is_start(struct sprof_bytes function);

/* == Instructions =========================================================================== */

/* What an instruction does to the stack and the frame pointer. */
enum arch_effect {
    ARCH_EFFECT_NONE,
    ARCH_EFFECT_CHANGES_FP,       /* in a way that is not followed */
    ARCH_EFFECT_CHANGES_SP,       /* in a way that is not followed */
    ARCH_EFFECT_ADDS_SP,          /* sp += value */
    ARCH_EFFECT_POPS_FP,          /* fp = *sp; sp += 8 */
    ARCH_EFFECT_POPS_FRAME,       /* fp = *sp; ARCH_LINK = *(sp + 8); sp += value */
    ARCH_EFFECT_SP_FROM_FP,       /* sp = fp + value */
    ARCH_EFFECT_SP_FROM_REGISTER, /* sp = source + value */
    ARCH_EFFECT_LOADS_SP,         /* sp = *(sp + value) */
    ARCH_EFFECT_LOADS_FP,         /* fp = *(sp + value) */
    ARCH_EFFECT_LEAVES,           /* sp = fp; fp = *sp; sp += 8 */
    ARCH_EFFECT_RETURNS,          /* and drops value more bytes of the stack */
    ARCH_EFFECT_JUMPS,            /* always, to the next instruction + value */
    ARCH_EFFECT_BRANCHES,         /* perhaps, to the next instruction + value */
    ARCH_EFFECT_STOPS,            /* execution does not go on here, or it is unknown where */
};

/* Where execution goes on. */
enum arch_flow {
    ARCH_FLOW_NEXT,
    ARCH_FLOW_CALL, /* to the next instruction + value, and comes back */
    ARCH_FLOW_CALL_INDIRECT,
    ARCH_FLOW_JUMP,   /* to the next instruction + value */
    ARCH_FLOW_BRANCH, /* perhaps there */
    ARCH_FLOW_JUMP_INDIRECT,
    ARCH_FLOW_RETURN,
    ARCH_FLOW_STOP, /* a trap, or it is unknown where */
};

enum arch_instruction_bits {
    ARCH_HAS_MEMORY = 1, /* an operand in memory, or only its address: base, index, displacement */
    ARCH_LOADS_ADDRESS = 2,  /* … and memory is not touched */
    ARCH_IS_SHORT_ONLY = 4,  /* its target is near by; it has no longer form */
    ARCH_IS_NOTHING = 8,     /* a nop of any length */
    ARCH_IS_LANDING = 16,    /* marks where indirect branches may lead: endbr64, bti */
    ARCH_IS_UNSCALED = 32,   /* its displacement counts in units that are not known here */
    ARCH_READS_CARRY = 64,   /* the carry flag, */
    ARCH_READS_FLAGS = 128,  /* and the other flags */
    ARCH_WRITES_CARRY = 256, /* whatever the operands are */
    ARCH_WRITES_FLAGS = 512,
    ARCH_RETURNS_FAR = 1024, /* takes more than an address off the stack: lret, iret */
};

struct arch_instruction {
    uint8_t length;
    uint8_t effect; /* enum arch_effect */
    uint8_t flow;   /* enum arch_flow */
    int8_t base; /* of the operand in memory: a register, ARCH_PC for the next instruction, or -1 */
    int8_t index;     /* a register, or -1 */
    uint8_t field_at; /* where the bytes stand of the displacement from ARCH_PC, or of the target */
    uint8_t field_size; /* 0 where there are none */
    int8_t source;      /* of SP_FROM_REGISTER, else -1 */
    uint16_t bits;      /* enum arch_instruction_bits */
    uint32_t written;   /* the general registers that it names and writes, a bit each */
    int64_t value;
    int64_t displacement;
    int64_t immediate; /* one that is wide enough for an address; else 0 */
};

/* Decodes the instruction at `code`, of which `size` bytes are at hand. Returns false where it is
 * not one, or is longer than that. */
bool arch_instruction_decode(const uint8_t *code, size_t size,
                             struct arch_instruction *instruction);

/* Writes the decoded instruction at `code`, made for address `from`, so that it does the same at
 * address `to`: operands and targets stay where they are, and a call leaves the return address that
 * it would leave at `from` (it is a push and a jump). Returns its length, or 0 where it cannot be
 * moved, or not that far. */
size_t arch_instruction_move(const uint8_t *code, const struct arch_instruction *instruction,
                             uint64_t from, uint64_t to, uint8_t moved[ARCH_MOVED_BYTES]);

/* Writes the decoded instruction, whose operand is at a distance from it, so that it finds that by
 * a word that holds its address, `word` bytes behind where this begins, however far it is. *at says
 * where the instruction itself is; ARCH_BORROWED_BYTES are on the stack there. Returns the length,
 * or 0 where that cannot be. */
size_t arch_instruction_reach(const uint8_t *code, const struct arch_instruction *instruction,
                              size_t word, uint8_t moved[ARCH_REACHED_BYTES], size_t *at);

/* Whether the decoded instruction may fault where it is executed: on memory that is not there, a
 * division, arithmetic of floating point, or what is not known to be harmless. Memory of the stack,
 * or at a distance from the instruction itself, is taken to be there. */
bool arch_instruction_may_fault(const uint8_t *code, const struct arch_instruction *instruction);

/* How many bytes more than before the call are on the stack from the instruction at `at` on. */
struct arch_pushed {
    uint8_t at, bytes;
};
enum { ARCH_PUSHED_STEPS = 3 };

/* The same for a call, without a number in it that would have to be changed where the file is
 * loaded elsewhere. It keeps no shadow stack. */
size_t arch_call_move(const uint8_t *code, const struct arch_instruction *instruction,
                      uint64_t from, uint64_t to, uint8_t moved[ARCH_MOVED_CALL_BYTES],
                      struct arch_pushed pushed[ARCH_PUSHED_STEPS]);

/* Writes a jump at an address. Returns its length, at most ARCH_JUMP_BYTES, or 0 where that is too
 * far. */
size_t arch_jump_write(uint8_t *code, uint64_t at, uint64_t target);

#endif
