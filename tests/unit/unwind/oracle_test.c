/* Tables of real images, row by row, against libdw's reading of the same call frame information. */
#include "tests/unit/skip.h"
#include "tests/unit/unwind/elf_source.h"
#include "unwind/rule.h"
#include "unwind/table.h"

#include <CUnit/CUnit.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[16] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

/* == libdw's row in the words of struct unwind_row == */

static bool is_plt(const Dwarf_Op *ops, size_t count)
{
    return count == 9 && ops[0].atom == DW_OP_breg7 && ops[1].atom == DW_OP_breg16 &&
           ops[2].atom == DW_OP_lit15 && ops[5].atom == DW_OP_ge && ops[8].atom == DW_OP_plus;
}

static bool breg(const Dwarf_Op *op, unsigned *reg, long long *offset)
{
    const bool extended = op->atom == DW_OP_bregx;
    if (!extended && (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31))
        return false;
    *reg = extended ? (unsigned)op->number : (unsigned)op->atom - DW_OP_breg0;
    *offset = (long long)(extended ? op->number2 : op->number);
    return *reg < 16;
}

static bool oracle_cfa(Dwarf_Frame *frame, char *text, size_t size)
{
    Dwarf_Op *ops;
    size_t count;
    unsigned reg;
    long long offset;
    if (dwarf_frame_cfa(frame, &ops, &count) || !count)
        return false;
    if (is_plt(ops, count))
        snprintf(text, size, "plt push=%u", (unsigned)ops[4].atom - DW_OP_lit0);
    else if (count == 1 && breg(&ops[0], &reg, &offset))
        snprintf(text, size, "cfa=%s%+lld", names[reg], offset);
    else if (count <= 3 && breg(&ops[0], &reg, &offset) && ops[1].atom == DW_OP_deref &&
             (count == 2 || ops[2].atom == DW_OP_plus_uconst))
        snprintf(text, size, "cfa=*(%s%+lld)%+lld", names[reg], offset,
                 count == 3 ? (long long)ops[2].number : 0);
    else
        return false;
    return true;
}

/* Appends the rule of rbp; false where it is none that a row can hold. */
static bool oracle_rbp(Dwarf_Frame *frame, char *text, size_t size)
{
    Dwarf_Op memory[3], *ops = NULL;
    size_t count = 0;
    unsigned reg;
    long long offset;
    char *end = text + strlen(text);
    if (dwarf_frame_register(frame, ARCH_FP, memory, &ops, &count))
        return false;
    if (!count)
        return true;
    const bool at_cfa = ops[0].atom == DW_OP_call_frame_cfa;
    if (at_cfa && count == 2 && ops[1].atom == DW_OP_plus_uconst)
        snprintf(end, size - (size_t)(end - text), " rbp=cfa%+lld", (long long)ops[1].number);
    else if (breg(&ops[count - 1], &reg, &offset) && reg == ARCH_FP && count <= 2)
        snprintf(end, size - (size_t)(end - text), " rbp=*(rbp%+lld)", offset);
    else
        return false;
    return true;
}

enum oracle_ra { RA_AT_CFA, RA_UNDEFINED, RA_IN_REGISTER, RA_OTHER };

/* The register that holds another's value in the caller, or 16. */
static unsigned oracle_holder(Dwarf_Frame *frame, int reg)
{
    Dwarf_Op memory[3], *ops = NULL;
    size_t count = 0;
    if (dwarf_frame_register(frame, reg, memory, &ops, &count) || count != 1)
        return 16;
    const unsigned holder =
        ops[0].atom == DW_OP_regx ? (unsigned)ops[0].number : (unsigned)ops[0].atom - DW_OP_reg0;
    return holder < 16 ? holder : 16;
}

static bool oracle_jump(Dwarf_Frame *frame, char *text, size_t size)
{
    const unsigned sp = oracle_holder(frame, ARCH_SP), bp = oracle_holder(frame, ARCH_FP);
    const unsigned ra = oracle_holder(frame, ARCH_PC);
    if (sp == 16 || bp == 16 || ra == 16)
        return false;
    snprintf(text, size, "rsp=%s rbp=%s ra=%s", names[sp], names[bp], names[ra]);
    return true;
}

static enum oracle_ra oracle_ra(Dwarf_Frame *frame, unsigned *reg)
{
    Dwarf_Op memory[3], *ops = NULL;
    size_t count = 0;
    if (dwarf_frame_register(frame, ARCH_PC, memory, &ops, &count))
        return RA_OTHER;
    if (!count)
        return ops ? RA_UNDEFINED : RA_OTHER;
    *reg = oracle_holder(frame, ARCH_PC);
    if (*reg < 16)
        return RA_IN_REGISTER;
    return ops[0].atom == DW_OP_call_frame_cfa && count == 2 && ops[1].atom == DW_OP_plus_uconst &&
                   (long long)ops[1].number == -8
               ? RA_AT_CFA
               : RA_OTHER;
}

static bool is_plt_text(const char *text)
{
    return !strncmp(text, "plt", 3);
}

static void oracle_text(Dwarf_Frame *frame, bool signal, char *text, size_t size)
{
    unsigned reg = 0;
    const enum oracle_ra ra = oracle_ra(frame, &reg);
    const bool plain =
        oracle_cfa(frame, text, size) && (is_plt_text(text) || oracle_rbp(frame, text, size));
    if (signal)
        snprintf(text, size, "signal");
    else if (ra == RA_UNDEFINED)
        snprintf(text, size, "end");
    else if (oracle_jump(frame, text, size))
        return;
    else if (!plain || ra == RA_OTHER)
        snprintf(text, size, "complex");
    else if (ra == RA_IN_REGISTER)
        snprintf(text + strlen(text), size - strlen(text), " ra=%s", names[reg]);
    else if (!is_plt_text(text))
        snprintf(text + strlen(text), size - strlen(text), " ra=cfa-8");
}

/* == Comparing == */

struct comparison {
    size_t rows, wrong;
    char first[256];
};

static void compare_at(const struct unwind_table *table, uint64_t vaddr, const char *expected,
                       struct comparison *comparison)
{
    char found[64];
    unwind_rule_text(unwind_table_lookup(table, vaddr), found, sizeof found);
    comparison->rows++;
    if (!strcmp(found, expected))
        return;
    if (!comparison->wrong++)
        snprintf(comparison->first, sizeof comparison->first, "%#llx: %s, libdw says %s",
                 (unsigned long long)vaddr, found, expected);
}

/* Both ends of each of libdw's rows in one function. */
static void compare_function(const struct unwind_table *table, Dwarf_CFI *cfi,
                             struct unwind_range range, struct comparison *comparison)
{
    for (uint64_t at = range.start; at < range.end;) {
        Dwarf_Frame *frame = NULL;
        Dwarf_Addr start, end;
        bool signal;
        char expected[256];
        if (dwarf_cfi_addrframe(cfi, at, &frame))
            return;
        dwarf_frame_info(frame, &start, &end, &signal);
        oracle_text(frame, signal, expected, sizeof expected);
        free(frame);
        end = end < range.end ? end : range.end;
        compare_at(table, at, expected, comparison);
        compare_at(table, end - 1, expected, comparison);
        at = end;
    }
}

/* Compares every `stride`-th function of an image. */
static void compare_image(const char *path, size_t stride)
{
    struct elf_source file;
    struct comparison comparison = {0};
    if (elf_source_open(&file, path)) {
        sprof_test_skip("no %s", path);
        return;
    }
    file.source.entry_vaddr = 0; /* libdw does not know roots by address or bytes */
    file.source.text_bytes = (struct sprof_bytes){0};
    struct unwind_table *table = NULL;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(unwind_table_build(&table, &file.source, &error), 0);
    const struct unwind_table_facts facts = unwind_table_facts(table);
    CU_ASSERT_EQUAL(facts.bad_functions, 0);
    CU_ASSERT(facts.functions > 0 && facts.rows > facts.functions);
    Dwarf_CFI *cfi = dwarf_getcfi_elf(file.elf);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cfi);
    for (size_t i = 0; i < table->function_count; i += stride) {
        const struct unwind_function *function = &table->functions[i];
        compare_function(
            table, cfi,
            (struct unwind_range){table->base + function->start, table->base + function->end},
            &comparison);
    }
    CU_ASSERT(comparison.rows >= table->function_count / stride);
    CU_ASSERT_EQUAL(comparison.wrong, 0);
    printf("\n    %s: %zu functions, %zu rows, %zu rules, %zu complex; %zu addresses compared%s%s",
           path, facts.functions, facts.rows, facts.rules, facts.complex_rows, comparison.rows,
           comparison.wrong ? ", first difference " : "", comparison.first);
    dwarf_cfi_end(cfi);
    unwind_table_free(table);
    elf_source_close(&file);
}

static void test_libc(void)
{
    compare_image("/lib/x86_64-linux-gnu/libc.so.6", 1);
}

static void test_loader(void)
{
    compare_image("/lib64/ld-linux-x86-64.so.2", 1);
}

static void test_libcrypto(void)
{
    compare_image("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 1);
}

static void test_compiler(void)
{
    compare_image(SPROF_TEST_CC1PLUS, 7);
}

static void test_self(void)
{
    compare_image("/proc/self/exe", 1);
}

void sprof_suite_unwind_oracle(void);
void sprof_suite_unwind_oracle(void)
{
    CU_pSuite suite = CU_add_suite("unwind/oracle", NULL, NULL);
    CU_add_test(suite, "libc", test_libc);
    CU_add_test(suite, "the dynamic loader", test_loader);
    CU_add_test(suite, "libcrypto's assembler", test_libcrypto);
    CU_add_test(suite, "the C++ compiler", test_compiler);
    CU_add_test(suite, "this program", test_self);
}
