/* Turns machine code into text with Capstone. */
#include "report/disassemble.h"

#include "arch/arch.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Capstone has 80 000 addresses to relocate, which takes a millisecond of each start of a program
 * that is linked with it: it is loaded by the one report that needs it. */
#define TEXT_OF(number) #number
#define CAPSTONE_LIBRARY(version) "libcapstone.so." TEXT_OF(version)

struct capstone {
    void *library;
    __typeof__(&cs_open) open;
    __typeof__(&cs_option) option;
    __typeof__(&cs_malloc) allocate;
    __typeof__(&cs_disasm_iter) next;
    __typeof__(&cs_free) free;
    __typeof__(&cs_close) close;
};

static int load(struct capstone *capstone, struct sprof_error *error)
{
    static const char name[] = CAPSTONE_LIBRARY(CS_API_MAJOR);
    *capstone = (struct capstone){.library = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
    if (capstone->library) {
        capstone->open = (__typeof__(&cs_open))dlsym(capstone->library, "cs_open");
        capstone->option = (__typeof__(&cs_option))dlsym(capstone->library, "cs_option");
        capstone->allocate = (__typeof__(&cs_malloc))dlsym(capstone->library, "cs_malloc");
        capstone->next = (__typeof__(&cs_disasm_iter))dlsym(capstone->library, "cs_disasm_iter");
        capstone->free = (__typeof__(&cs_free))dlsym(capstone->library, "cs_free");
        capstone->close = (__typeof__(&cs_close))dlsym(capstone->library, "cs_close");
    }
    if (capstone->open && capstone->option && capstone->allocate && capstone->next &&
        capstone->free && capstone->close)
        return 0;
    const char *why = dlerror();
    const int result = sprof_error_set(
        error, SPROF_EUNSUPPORTED, 0,
        "instructions cannot be shown without Capstone (%s); install %s", why ? why : name, name);
    if (capstone->library)
        dlclose(capstone->library);
    return result;
}

static bool open_engine(const struct capstone *capstone, csh *engine, bool intel)
{
#ifdef ARCH_CAPSTONE
    if (capstone->open(ARCH_CAPSTONE, ARCH_CAPSTONE_MODE, engine) != CS_ERR_OK)
        return false;
    /* Processors with one syntax do not have the option. */
    capstone->option(*engine, CS_OPT_SYNTAX, intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
    capstone->option(*engine, CS_OPT_DETAIL, CS_OPT_ON);
    return true;
#else
    (void)capstone, (void)engine, (void)intel;
    return false;
#endif
}

/* Where a direct jump or call goes: its last operand, if that is an address and nothing else. */
static uint64_t target_of(const cs_insn *found)
{
    bool jumps = false;
    for (size_t i = 0; found->detail && i < found->detail->groups_count; i++)
        jumps = jumps || found->detail->groups[i] == CS_GRP_JUMP ||
                found->detail->groups[i] == CS_GRP_CALL ||
                found->detail->groups[i] == CS_GRP_BRANCH_RELATIVE;
    const char *comma = strrchr(found->op_str, ',');
    const char *operand = comma ? comma + 1 : found->op_str;
    char *end;
    operand += strspn(operand, " #");
    if (!jumps || strncmp(operand, "0x", 2) != 0)
        return 0;
    const unsigned long long target = strtoull(operand, &end, 16);
    return *end ? 0 : target;
}

static int add(struct report_instructions *instructions, struct sprof_arena *arena, uint64_t vaddr,
               uint32_t size, uint64_t target, const char *name, const char *operands)
{
    char text[CS_MNEMONIC_SIZE + sizeof((cs_insn){0}).op_str + 2];
    const int length = snprintf(text, sizeof text, "%s%s%s", name, *operands ? " " : "", operands);
    const struct report_instruction item = {
        vaddr, size, sprof_arena_copy(arena, text, (size_t)length), target, NULL};
    return item.text ? sprof_vec_push(instructions, item) : SPROF_ENOMEM;
}

static int disassemble(struct report_instructions *instructions, struct sprof_arena *arena,
                       struct sprof_bytes code, uint64_t vaddr, const struct capstone *capstone,
                       csh engine)
{
    cs_insn *found = capstone->allocate(engine);
    const uint8_t *at = code.data;
    size_t left = code.size;
    int result = found ? 0 : SPROF_ENOMEM;
    while (left && !result) {
        if (capstone->next(engine, &at, &left, &vaddr, found)) {
            result = add(instructions, arena, found->address, found->size, target_of(found),
                         found->mnemonic, found->op_str);
            continue;
        }
        result = add(instructions, arena, vaddr, 1, 0, "(bad)", "");
        at++;
        left--;
        vaddr++;
    }
    if (found)
        capstone->free(found, 1);
    return result;
}

int report_disassemble(struct report_instructions *instructions, struct sprof_arena *arena,
                       struct sprof_bytes code, uint64_t vaddr, bool intel,
                       struct sprof_error *error)
{
    struct capstone capstone;
    csh engine;
    int result = load(&capstone, error);
    if (result)
        return result;
    if (open_engine(&capstone, &engine, intel)) {
        result = disassemble(instructions, arena, code, vaddr, &capstone, engine);
        capstone.close(&engine);
    } else {
        result = sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                 "instructions of this processor cannot be disassembled");
    }
    dlclose(capstone.library);
    return result;
}
