/* The code at which a command waits for its probes. */
#include "arch/probe.h"

#include <string.h>

/* lea function(%rip), %rdi · mov $function, %rdi · mov $function, %edi. */
bool arch_code_loads_function(const uint8_t *code, size_t size, uint64_t at,
                              struct arch_loading *loading)
{
    static const struct {
        uint8_t bytes[3];
        uint8_t size;
        bool is_relative;
    } forms[] = {{{0x48, 0x8d, 0x3d}, 3, true}, {{0x48, 0xc7, 0xc7}, 3, false}, {{0xbf}, 1, false}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int32_t operand;
        const size_t before = forms[i].size;
        if (size < before + sizeof operand || memcmp(code, forms[i].bytes, before))
            continue;
        memcpy(&operand, code + before, sizeof operand);
        const uint64_t end = at + before + sizeof operand;
        *loading =
            (struct arch_loading){before, forms[i].is_relative,
                                  (forms[i].is_relative ? end : 0) + (uint64_t)(int64_t)operand};
        return true;
    }
    return false;
}

/* The waiting code. It keeps the registers of a call of main, and uses five words of the stack. */
static const uint8_t waiting[ARCH_WAIT_BYTES] = {
    0x57,                   /* push %rdi */
    0x56,                   /* push %rsi */
    0x52,                   /* push %rdx */
    0x51,                   /* push %rcx: room for the byte */
    0xbf, 0,    0,    0, 0, /* mov $FD, %edi */
    0x54,                   /* push %rsp */
    0x5e,                   /* pop %rsi */
    0x6a, 0x01,             /* push $1 */
    0x5a,                   /* pop %rdx */
    0x31, 0xc0,             /* again: xor %eax, %eax */
    0x0f, 0x05,             /* syscall: read(2) */
    0x83, 0xf8, 0xfc,       /* cmp $-EINTR, %eax */
    0x74, 0xf7,             /* je again */
    0x6a, 0x03,             /* push $SYS_close */
    0x58,                   /* pop %rax */
    0x0f, 0x05,             /* syscall */
    0x59,                   /* pop %rcx */
    0x5a,                   /* pop %rdx */
    0x5e,                   /* pop %rsi */
    0x5f,                   /* pop %rdi */
    0xe9, 0,    0,    0, 0, /* jmp main */
};
enum { FD_AT = 5, FUNCTION_AT = sizeof waiting - 4 };

void arch_wait_write(uint8_t code[ARCH_WAIT_BYTES], uint64_t at, int fd, uint64_t function)
{
    const int32_t to_function = (int32_t)(function - (at + ARCH_WAIT_BYTES));
    memcpy(code, waiting, sizeof waiting);
    memcpy(code + FD_AT, &fd, sizeof fd);
    memcpy(code + FUNCTION_AT, &to_function, sizeof to_function);
}
