/* Uprobes on x86-64: how the kernel treats instructions (branch_setup_xol_ops of
 * arch/x86/kernel/uprobes.c in Linux 6.18), and functions that show what that costs. */
#include "arch/probe.h"

#include <string.h>

enum arch_uprobe arch_uprobe_of(const uint8_t *code, size_t size)
{
    static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
    if (!size)
        return ARCH_UPROBE_STEPS;
    const size_t prefix = size > 1 && *code == 0x41;
    const uint8_t opcode = code[prefix];
    if (opcode == 0x90 || (size >= sizeof nop5 && !memcmp(code, nop5, sizeof nop5)))
        return ARCH_UPROBE_SKIPS;
    const bool pushes = opcode >= 0x50 && opcode <= 0x57;
    const bool jumps = !prefix && (opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb ||
                                   (opcode >= 0x70 && opcode <= 0x7f));
    return pushes || jumps ? ARCH_UPROBE_EMULATES : ARCH_UPROBE_STEPS;
}

/* The kernel misreads some opcodes: it executes vzeroupper (C5 F8 77) as `ja` and vpbroadcastb (62
 * … 7A) as `jp`, and leaves xchg %rax,%r8 (49 90) out as a nop (branch_setup_xol_ops of
 * arch/x86/kernel/uprobes.c in Linux 6.18). It refuses these prefixes itself (is_prefix_bad there),
 * but does not say where. */
const char *arch_uprobe_objection(const uint8_t *code, size_t size)
{
    static const uint8_t prefixes[] = {0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3},
                         segments[] = {0x26, 0x2e, 0x36, 0x3e};
    size_t at = 0;
    while (at < size && memchr(prefixes, code[at], sizeof prefixes))
        at++;
    if (at + 1 >= size)
        return NULL;
    if (code[at] == 0xf0)
        return "begins with a lock prefix, which the kernel refuses";
    if (memchr(segments, code[at], sizeof segments))
        return "begins with a segment prefix, which the kernel refuses";
    if ((code[at] & 0xf1) == 0x41 && code[at + 1] == 0x90)
        return "begins with an exchange of registers, which the kernel misreads";
    const bool is_vex = code[at] == 0xc4 || code[at] == 0xc5, is_evex = code[at] == 0x62,
               is_xop = code[at] == 0x8f && (code[at + 1] & 0x1f) >= 8;
    return is_vex || is_evex || is_xop ? "begins with an AVX instruction, which the kernel misreads"
                                       : NULL;
}

/* The condition of a conditional jump; `code` is a whole instruction. */
uint32_t arch_code_condition(const uint8_t *code, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (code[i] >= 0x70 && code[i] <= 0x7f)
            return code[i] & 15;
        if (code[i] == 0x0f && i + 1 < length)
            return code[i + 1] & 15;
    }
    return 0;
}

/* Functions by how the kernel treats their first instruction, with probes at their ends; then the
 * same with a probe at the entry alone. */
__asm__(".text\n"
        "arch_subject_pushes: push %rbp\n pop %rbp\narch_subject_pushes_end: ret\n"
        "arch_subject_skips: .byte 0x0f, 0x1f, 0x44, 0, 0\narch_subject_skips_end: ret\n"
        "arch_subject_steps: mov %rsp, %rax\narch_subject_steps_end: ret\n"
        "arch_subject_jumps: push %rbp\n pop %rbp\narch_subject_jumps_end: jmp arch_subject_lands\n"
        "arch_subject_lands: ret\n"
        "arch_subject_counts_push: push %rbp\n pop %rbp\n ret\n"
        "arch_subject_counts_skip: .byte 0x0f, 0x1f, 0x44, 0, 0\n ret\n"
        "arch_subject_counts_step: mov %rsp, %rax\n ret\n");
void arch_subject_pushes(void);
void arch_subject_skips(void);
void arch_subject_steps(void);
void arch_subject_jumps(void);
void arch_subject_counts_push(void);
void arch_subject_counts_skip(void);
void arch_subject_counts_step(void);
extern const char arch_subject_pushes_end[], arch_subject_skips_end[], arch_subject_steps_end[],
    arch_subject_jumps_end[];

const struct arch_uprobe_subject arch_uprobe_subjects[ARCH_UPROBE_SUBJECTS] = {
    {arch_subject_pushes, arch_subject_pushes_end, ARCH_UPROBE_EMULATES, false},
    {arch_subject_skips, arch_subject_skips_end, ARCH_UPROBE_SKIPS, false},
    {arch_subject_steps, arch_subject_steps_end, ARCH_UPROBE_STEPS, false},
    {arch_subject_jumps, arch_subject_jumps_end, ARCH_UPROBE_EMULATES, true},
    {arch_subject_counts_push, NULL, ARCH_UPROBE_EMULATES, false},
    {arch_subject_counts_skip, NULL, ARCH_UPROBE_SKIPS, false},
    {arch_subject_counts_step, NULL, ARCH_UPROBE_STEPS, false},
};
