/* Turns machine code into text with Capstone. */
#include "report/disassemble.h"

#include "arch/arch.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <stdio.h>

static bool open_engine(csh *engine, bool intel)
{
    static const struct {
        int machine;
        cs_arch arch;
        cs_mode mode;
    } processors[] = {{EM_X86_64, CS_ARCH_X86, CS_MODE_64},
                      {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN}};
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
        if (processors[i].machine == ARCH_ELF_MACHINE &&
            cs_open(processors[i].arch, processors[i].mode, engine) == CS_ERR_OK) {
            /* Processors with one syntax do not know the option. */
            cs_option(*engine, CS_OPT_SYNTAX, intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
            return true;
        }
    return false;
}

static int add(struct report_instructions *instructions, struct sprof_arena *arena, uint64_t vaddr,
               uint32_t size, const char *name, const char *operands)
{
    char text[CS_MNEMONIC_SIZE + sizeof((cs_insn){0}).op_str + 2];
    const int length = snprintf(text, sizeof text, "%s%s%s", name, *operands ? " " : "", operands);
    const struct report_instruction item = {vaddr, size,
                                            sprof_arena_copy(arena, text, (size_t)length)};
    return item.text ? sprof_vec_push(instructions, item) : SPROF_ENOMEM;
}

int report_disassemble(struct report_instructions *instructions, struct sprof_arena *arena,
                       struct sprof_bytes code, uint64_t vaddr, bool intel,
                       struct sprof_error *error)
{
    csh engine;
    if (!open_engine(&engine, intel))
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "instructions of this processor cannot be disassembled");
    cs_insn *found = cs_malloc(engine);
    const uint8_t *at = code.data;
    size_t left = code.size;
    int result = found ? 0 : SPROF_ENOMEM;
    while (left && !result) {
        if (cs_disasm_iter(engine, &at, &left, &vaddr, found)) {
            result = add(instructions, arena, found->address, found->size, found->mnemonic,
                         found->op_str);
            continue;
        }
        result = add(instructions, arena, vaddr, 1, "(bad)", "");
        at++;
        left--;
        vaddr++;
    }
    if (found)
        cs_free(found, 1);
    cs_close(&engine);
    return result;
}
