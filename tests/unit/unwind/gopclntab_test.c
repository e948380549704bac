#include "tests/unit/skip.h"
#include "tests/unit/unwind/elf_source.h"
#include "tests/unit/unwind/go_bytes.h"
#include "tests/unit/unwind/scene.h"
#include "unwind/gopclntab.h"
#include "unwind/rule.h"
#include "unwind/table.h"

#include <CUnit/CUnit.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>

struct expected_row {
    uint64_t vaddr;
    const char *rule;
};

/* The table of what go_bytes_write made of both functions; the caller frees it. */
static struct unwind_table *table_of(const uint8_t bytes[GO_BYTES_MAX])
{
    static const struct unwind_range text = {GO_TEXT, GO_TEXT + 48};
    const struct unwind_source source = {
        .gopclntab = {bytes, GO_BYTES_MAX}, .text = &text, .text_count = 1};
    struct unwind_table *table = NULL;
    CU_ASSERT_EQUAL_FATAL(unwind_table_build(&table, &source, NULL), 0);
    CU_ASSERT_EQUAL(unwind_table_facts(table).bad_functions, 0);
    return table;
}

/* Exactly these rows. */
static void expect_rows(const uint8_t bytes[GO_BYTES_MAX], const struct expected_row *expected,
                        size_t count)
{
    struct unwind_table *table = table_of(bytes);
    struct unwind_row row = {0};
    CU_ASSERT_EQUAL(unwind_table_facts(table).rows, count);
    for (size_t i = 0; i < count && unwind_table_row(table, row.vaddr + 1, &row); i++) {
        CU_ASSERT_EQUAL(row.vaddr, expected[i].vaddr);
        CU_ASSERT_STRING_EQUAL(row.rule, expected[i].rule);
    }
    unwind_table_free(table);
}

static void test_formats(void)
{
    static const struct expected_row expected[] = {{0x1000, "cfa=rsp+8 ra=cfa-8"},
                                                   {0x1004, "cfa=rsp+32 rbp=cfa-16 ra=cfa-8"},
                                                   {0x1018, "cfa=rsp+8 ra=cfa-8"},
                                                   {0x1020, "end"}};
    for (unsigned format = 0; format < GO_FORMATS; format++) {
        uint8_t bytes[GO_BYTES_MAX];
        go_bytes_write(bytes, format);
        expect_rows(bytes, expected, 4);
    }
}

/* Functions of C that Go's linker took in are listed, too, without depths: other tables know them.
 */
static void test_functions_of_c(void)
{
    for (unsigned format = 1; format < GO_FORMATS; format++) {
        uint8_t bytes[GO_BYTES_MAX];
        go_bytes_write(bytes, format);
        go_bytes_drop_depths(bytes, format);
        struct unwind_table *table = table_of(bytes);
        CU_ASSERT_EQUAL(unwind_table_facts(table).functions, 1);
        CU_ASSERT_EQUAL(unwind_table_lookup(table, GO_TEXT + 2), UNWIND_RULE_GAP);
        CU_ASSERT_EQUAL(unwind_table_lookup(table, GO_TEXT + 32), UNWIND_RULE_END);
        unwind_table_free(table);
    }
}

static void test_entry(void)
{
    static const struct expected_row expected[] = {{0x1000, "end"}};
    for (unsigned format = 1; format < GO_FORMATS; format++) {
        uint8_t bytes[GO_BYTES_MAX];
        go_bytes_write(bytes, format);
        go_bytes_rename(bytes, format, 0, "_rt0_amd64");
        expect_rows(bytes, expected, 1);
    }
}

/* Where Go calls C there is no frame: rbp is the caller's, which is 24 bytes deep then. */
static void test_call_of_c(void)
{
    static const struct expected_row expected[] = {{0x1000, "cfa=rbp-16 ra=cfa-8, another stack"},
                                                   {0x1020, "cfa=rsp+8 ra=cfa-8"},
                                                   {0x1024, "cfa=rsp+32 rbp=cfa-16 ra=cfa-8"}};
    for (unsigned format = 2; format < GO_FORMATS; format++) {
        uint8_t bytes[GO_BYTES_MAX];
        go_bytes_write(bytes, format);
        go_bytes_set_flags(bytes, format, 2);
        go_bytes_rename(bytes, format, 0, "runtime.asmcgocall");
        go_bytes_rename(bytes, format, 1, "runtime.cgocall");
        expect_rows(bytes, expected, 3);
    }
}

/* A function that switches stacks: its frame is found by rbp, as soon as that is set up. */
static void test_stack_switch(void)
{
    static const struct expected_row expected[] = {
        {0x1000, "cfa=rsp+8 ra=cfa-8, callers end"},
        {0x1004, "cfa=rsp+32 rbp=cfa-16 ra=cfa-8"},
        {0x1014, "cfa=rbp+16 rbp=cfa-16 ra=cfa-8, another stack"},
        {0x1018, "cfa=rsp+8 ra=cfa-8, callers end"},
        {0x1020, "end"}};
    for (unsigned format = 2; format < GO_FORMATS; format++) {
        uint8_t bytes[GO_BYTES_MAX];
        go_bytes_write(bytes, format);
        go_bytes_set_flags(bytes, format, 2);
        expect_rows(bytes, expected, 5);
    }
}

/* Such a function's rows hold where it is interrupted; what it has called ends the stack. */
static void test_walk_over_a_switch(void)
{
    uint8_t bytes[GO_BYTES_MAX];
    struct scene *scene = scene_new();
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE, 0x10, 0x0e, 16);
    scene->source.gopclntab = (struct sprof_bytes){bytes, go_bytes_write(bytes, 2)};
    go_bytes_set_flags(bytes, 2, 2);
    const uint64_t text = SCENE_CODE + 0x1000, function = SCENE_TEXT + 0x1000;
    memcpy(bytes + 8 + 2 * 8, &text, sizeof text);
    scene_ready(scene);
    scene->stack[0] = function + 32 + 4; /* a root */
    struct unwind_stack stack = scene_walk(scene, function + 2);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL(stack.count, 2);
    scene->stack[1] = function + 2;
    stack = scene_walk(scene, SCENE_TEXT + 4);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL(stack.count, 2);
    scene_free(scene);
}

/* Where rbp leads to another stack, the walk goes on there, though it lies below: for a few times.
 */
static void test_walk_to_another_stack(void)
{
    enum { SWITCH = 0x1014, ROOT = 0x1024 };
    uint8_t bytes[GO_BYTES_MAX];
    struct scene *scene = scene_new();
    scene->source.gopclntab = (struct sprof_bytes){bytes, go_bytes_write(bytes, 2)};
    go_bytes_set_flags(bytes, 2, 2);
    const uint64_t text = SCENE_CODE + 0x1000;
    memcpy(bytes + 8 + 2 * 8, &text, sizeof text);
    scene_ready(scene);
    scene_live(scene, 64);
    scene_call_before(scene, SWITCH + 2);
    scene->registers.value[ARCH_FP] = SCENE_ALTERNATE + 4 * 8;
    scene->alternate[4] = SCENE_ALTERNATE + 8 * 8;
    scene->alternate[5] = SCENE_TEXT + SWITCH + 2;
    scene->alternate[9] = SCENE_TEXT + ROOT;
    struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + SWITCH + 1);
    EXPECT(stack, MODEL_END_ROOT, {SCENE_TEXT + SWITCH + 1, MODEL_BY_CFI, false},
           {SCENE_TEXT + SWITCH + 2, MODEL_BY_CFI, true}, {SCENE_TEXT + ROOT, MODEL_BY_CFI, true});
    CU_ASSERT_TRUE(stack.switched);
    scene->alternate[8] = SCENE_ALTERNATE + 4 * 8; /* and round again */
    scene->alternate[9] = SCENE_TEXT + SWITCH + 2;
    stack = scene_walk(scene, SCENE_TEXT + SWITCH + 1);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_BAD_MEMORY);
    CU_ASSERT_TRUE(stack.count < 16);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 8;
    scene->stack[2] = SCENE_TEXT + ROOT;
    stack = scene_walk(scene, SCENE_TEXT + SWITCH + 1);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_FALSE(stack.switched);
    scene_free(scene);
}

/* runtime.systemstack at +0x1000 calls, on the thread's stack, what function +0 is; it was called
 * from the goroutine's by the function at +0x100, whose frame is 24 bytes below its return address,
 * or by that at +0x200 before it had one. */
enum {
    SYSTEMSTACK = 0x1000,
    CALLER = 0x100,
    CALLED = CALLER + 0x10,
    BEGINNER = 0x200,
    BEGUN = BEGINNER + 0x10,
    FRAME = 20, /* the word that the frame pointer leads to */
};

static struct scene *systemstack_scene(uint8_t bytes[GO_BYTES_MAX])
{
    struct scene *scene = scene_new();
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE, 0x10, 0x0e, 16);
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + CALLER, 0x100, 0x0e, 32, 0x86, 2);
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + BEGINNER, 0x100, 0x0e, 8);
    scene->source.gopclntab = (struct sprof_bytes){bytes, go_bytes_write(bytes, 2)};
    go_bytes_rename(bytes, 2, 0, "runtime.systemstack.abi0");
    const uint64_t text = SCENE_CODE + SYSTEMSTACK;
    memcpy(bytes + 8 + 2 * 8, &text, sizeof text);
    scene_ready(scene);
    scene_live(scene, 64);
    scene_call(scene, CALLED, SYSTEMSTACK);
    scene->stack[1] = SCENE_TEXT + SYSTEMSTACK + 2;
    scene->registers.value[ARCH_FP] = SCENE_ALTERNATE + FRAME * 8;
    scene->alternate[FRAME - 3] = SCENE_TEXT + CALLED;
    scene->alternate[FRAME + 1] = SCENE_TEXT + SYSTEMSTACK + 32 + 4; /* a root */
    return scene;
}

static void test_walk_back_to_a_goroutine(void)
{
    uint8_t bytes[GO_BYTES_MAX];
    struct scene *scene = systemstack_scene(bytes);
    const struct scene_frame leaf = {SCENE_TEXT + 4, MODEL_BY_CFI, false},
                             switches = {SCENE_TEXT + SYSTEMSTACK + 2, MODEL_BY_CFI, true},
                             called = {SCENE_TEXT + CALLED, MODEL_BY_CFI, true},
                             root = {SCENE_TEXT + SYSTEMSTACK + 36, MODEL_BY_CFI, true};
    scene_call(scene, CALLED + 0x20, CALLER); /* a call of something else, as deep */
    scene->alternate[FRAME - 2] = SCENE_TEXT + CALLED + 0x20;
    struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + 4);
    EXPECT(stack, MODEL_END_ROOT, leaf, switches, called, root);
    CU_ASSERT_TRUE(stack.switched);
    scene->alternate[FRAME - 3] = SCENE_TEXT + CALLED + 0x20;
    EXPECT(scene_walk(scene, SCENE_TEXT + 4), MODEL_END_TRUNCATED, leaf, switches);
    scene->alternate[FRAME - 4] = SCENE_TEXT + CALLED; /* its frame would end elsewhere */
    EXPECT(scene_walk(scene, SCENE_TEXT + 4), MODEL_END_TRUNCATED, leaf, switches);
    scene->registers.value[ARCH_FP] = 0;
    EXPECT(scene_walk(scene, SCENE_TEXT + 4), MODEL_END_ROOT, leaf, switches);
    scene_free(scene);
}

/* A function that asks for a larger stack has no frame yet: the frame pointer is its caller's. */
static void test_walk_back_to_a_beginning(void)
{
    uint8_t bytes[GO_BYTES_MAX];
    struct scene *scene = systemstack_scene(bytes);
    scene_call(scene, BEGUN, SYSTEMSTACK);
    scene_call(scene, CALLED, BEGINNER);
    scene->alternate[FRAME - 4] = SCENE_TEXT + BEGUN;
    EXPECT(scene_walk(scene, SCENE_TEXT + 4), MODEL_END_ROOT, {SCENE_TEXT + 4, MODEL_BY_CFI, false},
           {SCENE_TEXT + SYSTEMSTACK + 2, MODEL_BY_CFI, true},
           {SCENE_TEXT + BEGUN, MODEL_BY_CFI, true}, {SCENE_TEXT + CALLED, MODEL_BY_CFI, true},
           {SCENE_TEXT + SYSTEMSTACK + 36, MODEL_BY_CFI, true});
    scene_free(scene);
}

static void test_other_bytes(void)
{
    uint8_t bytes[GO_BYTES_MAX];
    struct go_table table;
    const size_t size = go_bytes_write(bytes, 2);
    CU_ASSERT_EQUAL(unwind_go_table_open(&table, (struct sprof_bytes){bytes, size}, 0), 0);
    CU_ASSERT_EQUAL(unwind_go_table_open(&table, (struct sprof_bytes){bytes, 40}, 0),
                    SPROF_EFORMAT);
    CU_ASSERT_EQUAL(unwind_go_table_open(&table, (struct sprof_bytes){bytes, 4}, 0), SPROF_EFORMAT);
    bytes[0] ^= 1;
    bytes[1] ^= 1;
    CU_ASSERT_EQUAL(unwind_go_table_open(&table, (struct sprof_bytes){bytes, size}, 0),
                    SPROF_EFORMAT);
}

/* libdw's CFA at an address, as an offset from rsp; false where it is none. */
static bool oracle_offset(Dwarf_CFI *cfi, uint64_t vaddr, int64_t *offset)
{
    Dwarf_Frame *frame = NULL;
    Dwarf_Op *ops = NULL;
    size_t count = 0;
    if (dwarf_cfi_addrframe(cfi, vaddr, &frame))
        return false;
    const bool plain = !dwarf_frame_cfa(frame, &ops, &count) && count == 1 &&
                       ops[0].atom == DW_OP_bregx && ops[0].number == ARCH_SP;
    *offset = plain ? (int64_t)ops[0].number2 : 0;
    free(frame);
    return plain;
}

/* Go writes .debug_frame from the same facts: the CFA must be the same at every row. */
static void test_go_program(void)
{
    struct elf_source file;
    struct unwind_table *table = NULL;
    if (elf_source_open(&file, SPROF_TEST_GO_PROGRAM)) {
        sprof_test_skip("no Go compiler");
        return;
    }
    CU_ASSERT_EQUAL_FATAL(unwind_table_build(&table, &file.source, NULL), 0);
    CU_ASSERT_EQUAL(unwind_table_facts(table).bad_functions, 0);
    Dwarf *dwarf = dwarf_begin_elf(file.elf, DWARF_C_READ, NULL);
    Dwarf_CFI *cfi = dwarf_getcfi(dwarf);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cfi);
    size_t compared = 0, wrong = 0;
    uint64_t start, rule;
    for (uint64_t from = 0; unwind_table_row_from(table, from, &start, &rule); from = start + 1) {
        int64_t offset;
        if (unwind_rule_kind(rule) == UNWIND_RULE_CFA && !(rule & UNWIND_RULE_BASE_FP) &&
            oracle_offset(cfi, start, &offset)) {
            compared++;
            wrong += offset != unwind_rule_offset(rule);
        }
    }
    CU_ASSERT(compared > 3000);
    CU_ASSERT_EQUAL(wrong, 0);
    printf("\n    a Go program: %zu rows, %zu compared, %zu wrong", table->facts.rows, compared,
           wrong);
    const uint64_t exits[] = {elf_source_symbol(&file, "runtime.goexit.abi0"),
                              elf_source_symbol(&file, "runtime.mstart.abi0")};
    for (size_t i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(unwind_table_lookup(table, exits[i]), UNWIND_RULE_END);
    const uint64_t trampoline = elf_source_symbol(&file, "runtime.sigreturn.abi0");
    CU_ASSERT_EQUAL(unwind_table_lookup(table, trampoline - 1), UNWIND_RULE_SIGNAL);
    dwarf_end(dwarf);
    unwind_table_free(table);
    elf_source_close(&file);
}

void sprof_suite_unwind_gopclntab(void);
void sprof_suite_unwind_gopclntab(void)
{
    CU_pSuite suite = CU_add_suite("unwind/gopclntab", NULL, NULL);
    CU_add_test(suite, "four formats", test_formats);
    CU_add_test(suite, "a function that switches stacks", test_stack_switch);
    CU_add_test(suite, "a walk over a switch of stacks", test_walk_over_a_switch);
    CU_add_test(suite, "a walk to another stack", test_walk_to_another_stack);
    CU_add_test(suite, "a walk back to a goroutine", test_walk_back_to_a_goroutine);
    CU_add_test(suite, "a walk back to a beginning", test_walk_back_to_a_beginning);
    CU_add_test(suite, "a call of C", test_call_of_c);
    CU_add_test(suite, "functions of C", test_functions_of_c);
    CU_add_test(suite, "the entry", test_entry);
    CU_add_test(suite, "other bytes", test_other_bytes);
    CU_add_test(suite, "a Go program beside its .debug_frame", test_go_program);
}
