/* Turns machine code into text with Capstone. */
#include "report/disassemble.h"

#include "arch/arch.h"

#include <capstone/capstone.h>
#include <stdio.h>

static bool open_engine(csh *engine, bool intel)
{
#ifdef ARCH_CAPSTONE
    if (cs_open(ARCH_CAPSTONE, ARCH_CAPSTONE_MODE, engine) != CS_ERR_OK)
        return false;
    /* Processors with one syntax do not know the option. */
    cs_option(*engine, CS_OPT_SYNTAX, intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
    return true;
#else
    (void)engine, (void)intel;
    return false;
#endif
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
