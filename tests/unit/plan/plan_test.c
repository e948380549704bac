/* Plans of files made for the rules: each function here is there for one of them. */
#include "tests/unit/plan/fixture.h"

#include "recording/recording.h"

/* clang-format off */
static const char assembly[] =
    ".text\n"
    FUNCTION("plain", "push %rbx\n.cfi_adjust_cfa_offset 8\nmov %rdi,%rbx\ncall local\npop %rbx\n"
                      ".cfi_adjust_cfa_offset -8\nret")
    FUNCTION("local", "lea 1(%rdi),%rax\nlea 2(%rax),%rax\nret")
    FUNCTION("lands", "endbr64\nmov %rdi,%rax\nadd $1,%rax\nret")
    FUNCTION("from_pc", "mov data(%rip),%rax\nret")
    FUNCTION("padded", "ret")
    FUNCTION("tail_jump", "jmp local")
    ".p2align 4\n"
    ".globl crowded\n.type crowded,@function\ncrowded: .cfi_startproc\nret\n.cfi_endproc\n.size crowded,1\n"
    ".globl neighbour\n.type neighbour,@function\nneighbour: .cfi_startproc\nmov $1,%eax\nret\n"
    ".cfi_endproc\n.size neighbour,6\n"
    FUNCTION("loops", "xor %eax,%eax\n1: inc %eax\ncmp %edi,%eax\njne 1b\nret")
    FUNCTION("by_table", "movslq %edi,%rdi\nlea table(%rip),%rax\nmovslq (%rax,%rdi,4),%rdx\n"
                         "add %rdx,%rax\njmp *%rax\n2: mov $2,%eax\nret\n3: mov $3,%eax\nret")
    FUNCTION("into_start", "4: mov %esi,%eax\n5: add %edi,%eax\nlea other_table(%rip),%rdx\n"
                           "movslq (%rdx,%rax,4),%rcx\nadd %rcx,%rdx\njmp *%rdx\n6: ret")
    FUNCTION("again", "add (%rdi),%rax\nlea 8(%rdi),%rdi\ncmp %rsi,%rdi\njne again\nret")
    FUNCTION("counts", "jrcxz 7f\nmov $5,%eax\n7: ret")
    FUNCTION("returned_to", "call *%rdi\nmov $5,%eax\nret")
    FUNCTION("by_stack", "call *8(%rsp)\nnop\nret")
    FUNCTION("two_ends", "dec %edi\nret\n8: xor %eax,%eax\nnop\nnop\njmp 8b")
    FUNCTION("with_carry", "adc %rsi,%rdi\nmov %rdi,%rax\nret")
    FUNCTION("after_long_double", "fldt 8(%rsp)\nfldt 24(%rsp)\nfcomip\nfstp %st\nseta %al\nret")
    FUNCTION("after_compare", "cmp %rsi,%rdi\nsetb %al\nmovzbl %al,%eax\nret")
    FUNCTION("who_called", "mov (%rsp),%rax\nlea 1(%rax),%rax\nret")
    FUNCTION("asks_who_called", "xor %eax,%eax\nxor %edx,%edx\njmp who_called")
    FUNCTION("with_frame", "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp,-16\nmov %rsp,%rbp\n"
                           ".cfi_def_cfa_register %rbp\nmov 8(%rbp),%rax\npop %rbp\n"
                           ".cfi_def_cfa %rsp,8\nret")
    FUNCTION("with_locals", "sub $24,%rsp\n.cfi_adjust_cfa_offset 24\nmov %rdi,16(%rsp)\n"
                            "mov 16(%rsp),%rax\nadd $24,%rsp\n.cfi_adjust_cfa_offset -24\nret")
    FUNCTION("drops", "pop %rdx\n.cfi_adjust_cfa_offset -8\n.cfi_register %rip,%rdx\nmov %rdx,%rax\n"
                      "jmp *%rdx")
    FUNCTION("takes_arguments", "mov 8(%rsp),%rax\nadd $1,%rax\nret $8")
    FUNCTION("returns_far", "lea 1(%rdi),%rax\nnop\nlretq")
    FUNCTION("by_label", "xor %eax,%eax\n9: add (%rdi),%eax\nlea 10f(%rip),%rdx\n"
                         "movsbq (%rsi),%rcx\nadd %rcx,%rdx\njmp *%rdx\n10: ret")
    FUNCTION("framed_label", "push %rbx\n.cfi_adjust_cfa_offset 8\nsub $16,%rsp\n"
                             ".cfi_adjust_cfa_offset 16\nlea 11f(%rip),%rdx\nadd %rsi,%rdx\n"
                             "jmp *%rdx\n11: add $16,%rsp\n.cfi_adjust_cfa_offset -16\n"
                             "pop %rbx\n.cfi_adjust_cfa_offset -8\nret")
    FUNCTION("to_start", "push %rbx\n.cfi_adjust_cfa_offset 8\nlea 12f(%rip),%rax\njmp retpoline\n"
                         "12: pop %rbx\n.cfi_adjust_cfa_offset -8\nret")
    FUNCTION("computes", "push %rbx\n.cfi_adjust_cfa_offset 8\nlea 15f(%rip),%rax\nsub $16,%rsp\n"
                         ".cfi_adjust_cfa_offset 16\ncmp %rdi,%rsi\njmp retpoline\n15: add $16,%rsp\n"
                         ".cfi_adjust_cfa_offset -16\npop %rbx\n.cfi_adjust_cfa_offset -8\nret")
    FUNCTION("retpoline", "call 14f\n13: pause\njmp 13b\n14: .cfi_adjust_cfa_offset 8\n"
                          "mov %rax,(%rsp)\nret")
    FUNCTION("no_last_row", "push %rbx\n.cfi_adjust_cfa_offset 8\nmov %rdi,%rbx\ncall local\n"
                            "pop %rbx\njmp jumped_to")
    FUNCTION("other_base", "mov %rsp,%r9\n.cfi_def_cfa %r9,8\nsub $24,%rsp\nadd %rsi,(%rsp)\n"
                           "mov %r9,%rsp\nmov (%rdi),%rdi\njmp jumped_to")
    FUNCTION("jumped_to", "lea 3(%rdi),%rax\nlea 4(%rax),%rax\nret")
    FUNCTION("longjmp", "mov %rsi,%rax\nmov %rdi,%rsp\nret")
    ".p2align 4\n.type part.cold,@function\npart.cold: .cfi_startproc\n.cfi_def_cfa_offset 32\n"
    "add $24,%rsp\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size part.cold,.-part.cold\n"
    ".p2align 4\n.type untold,@function\nuntold: mov $1,%eax\nret\n.size untold,.-untold\n"
    ".section .rodata\n.p2align 2\ntable: .long 2b-table, 3b-table\n"
    "other_table: .long 6b-other_table, 5b-other_table\n"
    ".data\ndata: .quad 1\n.section .note.GNU-stack,\"\",@progbits\n";
/* clang-format on */

static const struct {
    const char *name;
    enum plan_mechanism mechanism;
    enum plan_reason why;
    unsigned displaced; /* 0: whatever it is */
} expected[] = {
    {"plain", PLAN_PROLOGUE, PLAN_REASON_NONE, 9},
    {"local", PLAN_PROLOGUE, PLAN_REASON_NONE, 8},
    {"lands", PLAN_PROLOGUE, PLAN_REASON_NONE, 7},
    {"from_pc", PLAN_PROLOGUE, PLAN_REASON_NONE, 7},
    {"padded", PLAN_PROLOGUE, PLAN_REASON_NONE, 0},
    {"tail_jump", PLAN_PROLOGUE, PLAN_REASON_NONE, 0}, /* a short jump, and padding */
    {"crowded", PLAN_NOT, PLAN_TOO_SHORT, 0},
    {"neighbour", PLAN_PROLOGUE, PLAN_REASON_NONE, 5},
    {"loops", PLAN_NOT, PLAN_TARGET_INSIDE, 0},
    {"by_table", PLAN_PROLOGUE, PLAN_REASON_NONE, 10},
    {"into_start", PLAN_NOT, PLAN_TARGET_INSIDE, 0},
    {"again", PLAN_NOT, PLAN_LOOP_AT_ENTRY, 0},
    {"counts", PLAN_NOT, PLAN_NOT_MOVABLE, 0},
    {"returned_to", PLAN_NOT, PLAN_TARGET_INSIDE, 0},
    {"by_stack", PLAN_NOT, PLAN_NOT_MOVABLE, 0},
    {"two_ends", PLAN_NOT, PLAN_ENDS_INSIDE, 0},
    {"with_carry", PLAN_NOT, PLAN_READS_FLAGS, 0},
    {"after_long_double", PLAN_PROLOGUE, PLAN_REASON_NONE, 8},
    {"after_compare", PLAN_PROLOGUE, PLAN_REASON_NONE, 6},
    {"who_called", PLAN_PROLOGUE, PLAN_NEEDS_RETURN_ADDRESS, 8},
    {"asks_who_called", PLAN_PROLOGUE, PLAN_NEEDS_RETURN_ADDRESS, 0},
    {"with_frame", PLAN_PROLOGUE, PLAN_NEEDS_RETURN_ADDRESS, 8},
    {"with_locals", PLAN_PROLOGUE, PLAN_REASON_NONE, 9},
    {"drops", PLAN_PROLOGUE, PLAN_NEEDS_RETURN_ADDRESS, 6},
    {"takes_arguments", PLAN_PROLOGUE, PLAN_NEEDS_RETURN_ADDRESS, 5},
    {"returns_far", PLAN_PROLOGUE, PLAN_NEEDS_RETURN_ADDRESS, 5},
    {"by_label", PLAN_NOT, PLAN_TARGET_INSIDE, 0},
    {"framed_label", PLAN_PROLOGUE, PLAN_REASON_NONE, 5},
    {"to_start", PLAN_NOT, PLAN_TARGET_INSIDE, 0},
    {"computes", PLAN_PROLOGUE, PLAN_REASON_NONE, 8},
    {"retpoline", PLAN_PROLOGUE, PLAN_NEEDS_RETURN_ADDRESS, 5},
    {"no_last_row", PLAN_PROLOGUE, PLAN_REASON_NONE, 9},
    {"other_base", PLAN_PROLOGUE, PLAN_REASON_NONE, 0},
    {"jumped_to", PLAN_PROLOGUE, PLAN_REASON_NONE, 8},
    {"longjmp", PLAN_LEAVE, PLAN_REASON_NONE, 6},
    {"part.cold", PLAN_NOT, PLAN_PART, 0},
    {"untold", PLAN_NOT, PLAN_NO_FRAME_TABLE, 0},
};

static void make_assembly(struct fixture *fixture)
{
    fixture_make(fixture, ".s", assembly, "gcc -shared -Wl,-Bsymbolic -nostdlib");
}

static void test_rules(void)
{
    struct fixture fixture;
    make_assembly(&fixture);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct plan_function *function = fixture_function(&fixture, expected[i].name);
        const bool same = function->mechanism == expected[i].mechanism &&
                          function->why == expected[i].why &&
                          (!expected[i].displaced || function->displaced == expected[i].displaced);
        if (!same)
            printf("\n    %s: %s, %s, %u bytes", function->name,
                   plan_mechanism_text(function->mechanism), plan_reason_text(function->why),
                   function->displaced);
        CU_ASSERT_TRUE(same);
        CU_ASSERT_EQUAL(function->site != 0, function->mechanism != PLAN_NOT);
        CU_ASSERT_EQUAL(function->displaced >= PLAN_JUMP_BYTES, function->mechanism != PLAN_NOT);
    }
    const struct plan_function *lands = fixture_function(&fixture, "lands");
    CU_ASSERT_EQUAL(lands->site, lands->start + 4);
    CU_ASSERT_EQUAL(lands->original[0], 0x48);
    fixture_release(&fixture);
}

/* Where addresses are fixed, code that takes them holds them as they are. */
static void test_labels_of_fixed_addresses(void)
{
    struct fixture fixture;
    fixture_make(
        &fixture, ".s",
        ".text\n" FUNCTION("chooses", "xor %eax,%eax\n1: add $1,%eax\nmov $2f,%edx\n"
                                      "cmp %edi,%eax\njae 3f\nmov $1b,%edx\n3: jmp *%rdx\n"
                                      "2: ret")
            FUNCTION("_start", "call chooses\nhlt") ".section .note.GNU-stack,\"\",@progbits\n",
        "gcc -no-pie -nostdlib -static");
    CU_ASSERT_EQUAL(fixture_function(&fixture, "chooses")->why, PLAN_TARGET_INSIDE);
    fixture_release(&fixture);
}

static void test_callees(void)
{
    struct fixture fixture;
    fixture_make(
        &fixture, ".c",
        "#include <stdio.h>\n"
        "__attribute__((noipa)) static int inner(int a) { return a * 7 + printf(\"x\"); }\n"
        "int direct(int a) { return inner(a) + inner(a + 1); }\n"
        "int tail(int a) { return inner(a + 2); }\n"
        "int foreign(void) { puts(\"a\"); return puts(\"b\") + 1; }\n"
        "int open(int (*f)(int)) { return f(1) + f(2) + 1; }\n",
        "gcc -O2 -shared -fPIC");
    const struct plan *plan = &fixture.plan;
    const struct plan_function *inner = fixture_function(&fixture, "inner");
    const struct plan_function *direct = fixture_function(&fixture, "direct");
    CU_ASSERT_EQUAL(direct->calls, 2);
    CU_ASSERT_EQUAL_FATAL(direct->callees, 1);
    CU_ASSERT_EQUAL(plan->callees[direct->first_callee].address, inner->start);
    const struct plan_function *tail = fixture_function(&fixture, "tail");
    CU_ASSERT_EQUAL_FATAL(tail->callees, 1);
    CU_ASSERT_TRUE(plan->callees[tail->first_callee].is_tail);
    CU_ASSERT_EQUAL(tail->exits, 1);
    const struct plan_function *foreign = fixture_function(&fixture, "foreign");
    CU_ASSERT_EQUAL(foreign->foreign_calls, 2);
    CU_ASSERT_EQUAL_FATAL(foreign->callees, 1);
    CU_ASSERT_TRUE(plan->callees[foreign->first_callee].is_slot);
    CU_ASSERT_STRING_EQUAL(plan->callees[foreign->first_callee].imported, "puts");
    CU_ASSERT_EQUAL(fixture_function(&fixture, "open")->open_calls, 2);
    CU_ASSERT_PTR_EQUAL(plan_find(plan, inner->start + 1), inner);
    CU_ASSERT_PTR_NULL(plan_find(plan, 0));
    fixture_release(&fixture);
}

static void test_without_plt(void)
{
    struct fixture fixture;
    fixture_make(&fixture, ".c",
                 "int puts(const char *);\nint foreign(void) { return puts(\"a\") + 1; }\n",
                 "gcc -O2 -shared -fPIC -fno-plt");
    const struct plan_function *foreign = fixture_function(&fixture, "foreign");
    CU_ASSERT_EQUAL(foreign->foreign_calls, 1);
    CU_ASSERT_STRING_EQUAL(fixture.plan.callees[foreign->first_callee].imported, "puts");
    fixture_release(&fixture);
}

static void test_catch_blocks(void)
{
    struct fixture fixture;
    fixture_make(&fixture, ".cpp",
                 "void other(int);\n"
                 "int catches(int a) { try { other(a); } catch (int b) { return b; } return a; }\n"
                 "struct s { ~s() { other(1); } };\n"
                 "int cleans(int a) { s s; other(a); return a; }\n",
                 "g++ -O2 -shared -fPIC");
    CU_ASSERT_EQUAL(fixture_function(&fixture, "catches(int)")->catches, 1);
    CU_ASSERT_EQUAL(fixture_function(&fixture, "cleans(int)")->catches, 0);
    CU_ASSERT_EQUAL(fixture.plan.points[PLAN_POINT_CATCH], 1);
    fixture_release(&fixture);
}

/* Debug information may be in a file beside (split DWARF). */
static void test_inline_wanted(void)
{
    static const char *const commands[] = {"g++ -g -O2 -shared -fPIC",
                                           "g++ -g -gsplit-dwarf -O2 -shared -fPIC"};
    for (int i = 0; i < 2; i++) {
        struct fixture fixture;
        fixture_make(
            &fixture, ".cpp",
            "namespace n {\n"
            "inline int asked(int a) { int s = 0; while (a) s += a--, s *= 3; return s; }\n"
            "int plain(int a) { return a * 2; }\n"
            "}\n"
            "int (*address)(int) = n::asked;\n"
            "int user(int a) { return n::asked(a) + n::plain(a); }\n",
            commands[i]);
        CU_ASSERT_TRUE(fixture_function(&fixture, "n::asked(int)")->inline_wanted);
        CU_ASSERT_FALSE(fixture_function(&fixture, "n::plain(int)")->inline_wanted);
        CU_ASSERT_FALSE(fixture_function(&fixture, "user(int)")->inline_wanted);
        fixture_release(&fixture);
    }
}

/* A member that is defined in its class is inline; one that nobody wrote is wanted by nobody. */
static void test_inline_members(void)
{
    struct fixture fixture;
    fixture_make(&fixture, ".cpp",
                 "void other(int);\n"
                 "struct part { ~part() { other(3); } };\n"
                 "struct whole { part a, b; };\n"
                 "void uses(whole *a) { delete a; }\n",
                 "g++ -g -O0 -shared -fPIC");
    CU_ASSERT_TRUE(fixture_function(&fixture, "part::~part()")->inline_wanted);
    CU_ASSERT_FALSE(fixture_function(&fixture, "whole::~whole()")->inline_wanted);
    fixture_release(&fixture);
}

static const char small_program[] =
    "__attribute__((noinline)) int work(int a) { return a * 3 + 1; }\n"
    "int main(int argc, char **argv) { (void)argv; return work(argc); }\n";

static void test_sleds(void)
{
    static const struct {
        const char *command;
        enum plan_mechanism mechanism;
        unsigned site;
    } sleds[] = {
        {"gcc -O2 -pie -fPIE -fpatchable-function-entry=5", PLAN_SLED, 0},
        {"gcc -O2 -no-pie -fno-pie -fpatchable-function-entry=5", PLAN_SLED, 0},
        {"gcc -O2 -pie -fPIE -fcf-protection -fpatchable-function-entry=16", PLAN_SLED, 4},
        {"gcc -O2 -no-pie -fno-pie -pg -mfentry -mnop-mcount -mrecord-mcount", PLAN_FENTRY, 0},
        {"clang -O2 -pie -fPIE -fpatchable-function-entry=5", PLAN_SLED, 0},
        {"clang -O2 -fxray-instrument -fxray-instruction-threshold=1", PLAN_XRAY, 0},
        {"gcc -O2 -fpatchable-function-entry=2", PLAN_PROLOGUE, 0}, /* no room: as any other */
    };
    for (size_t i = 0; i < sizeof sleds / sizeof *sleds; i++) {
        struct fixture fixture;
        fixture_make(&fixture, ".c", small_program, sleds[i].command);
        const struct plan_function *work = fixture_function(&fixture, "work");
        if (work->mechanism != sleds[i].mechanism || work->site - work->start != sleds[i].site)
            printf("\n    %s: %s at %u", sleds[i].command, plan_mechanism_text(work->mechanism),
                   (unsigned)(work->site - work->start));
        CU_ASSERT_EQUAL(work->mechanism, sleds[i].mechanism);
        CU_ASSERT_EQUAL(work->site - work->start, sleds[i].site);
        CU_ASSERT_TRUE(work->displaced >= PLAN_JUMP_BYTES);
        CU_ASSERT_FALSE(work->entry_only);
        fixture_release(&fixture);
    }
}

static void test_kinds_of_programs(void)
{
    struct fixture fixture;
    fixture_make(&fixture, ".c", small_program, "gcc -O2 -fsanitize=address");
    CU_ASSERT_TRUE(fixture.plan.sanitized);
    CU_ASSERT_EQUAL(fixture_function(&fixture, "work")->why, PLAN_SANITIZED);
    CU_ASSERT_TRUE(fixture_function(&fixture, "work")->entry_only);
    fixture_release(&fixture);

    fixture_make(&fixture, ".c",
                 "static int one(void) { return 1; }\n"
                 "static int (*choose(void))(void) { return one; }\n"
                 "int chosen(void) __attribute__((ifunc(\"choose\")));\n",
                 "gcc -O1 -shared -fPIC");
    size_t resolvers = 0;
    for (size_t i = 0; i < fixture.plan.function_count; i++)
        resolvers += fixture.plan.functions[i].why == PLAN_RESOLVER;
    CU_ASSERT_EQUAL(resolvers, 1);
    fixture_release(&fixture);

    fixture_make(&fixture, ".c", small_program, "gcc -O2 -s"); /* stripped: named by their starts */
    const struct plan_share share = plan_share(&fixture.plan);
    CU_ASSERT(share.starts >= 2 && share.probed == share.starts);
    fixture_release(&fixture);
}

/* == What is done with a plan == */

static void test_saved_plan_is_the_same(void)
{
    struct fixture fixture;
    struct sprof_bytes bytes, again;
    struct plan loaded;
    make_assembly(&fixture);
    CU_ASSERT_EQUAL_FATAL(plan_save(&fixture.plan, &bytes), 0);
    CU_ASSERT_EQUAL_FATAL(plan_load(&loaded, bytes), 0);
    CU_ASSERT_EQUAL(loaded.function_count, fixture.plan.function_count);
    CU_ASSERT_STRING_EQUAL(loaded.functions[0].name, fixture.plan.functions[0].name);
    CU_ASSERT_EQUAL_FATAL(plan_save(&loaded, &again), 0);
    CU_ASSERT_EQUAL_FATAL(again.size, bytes.size);
    CU_ASSERT_EQUAL(memcmp(again.data, bytes.data, bytes.size), 0);
    plan_release(&loaded);
    free((void *)again.data);
    free((void *)bytes.data);
    fixture_release(&fixture);
}

/* What was read, from bytes of any kind, is safe to use. */
static void check_loaded(const uint8_t *data, size_t size)
{
    struct plan plan;
    uint8_t *copy =
        malloc(size + 1); /* a plan begins at a multiple of eight, as malloc's memory does */
    memcpy(copy, data, size);
    if (!plan_load(&plan, (struct sprof_bytes){copy, size})) {
        for (size_t i = 0; i < plan.function_count; i++) {
            const struct plan_function *function = &plan.functions[i];
            CU_ASSERT_TRUE_FATAL(function->end > function->start &&
                                 function->displaced <= PLAN_DISPLACED_MAX);
            CU_ASSERT_TRUE_FATAL((size_t)function->first_callee + function->callees <=
                                 plan.callee_count);
            CU_ASSERT_TRUE_FATAL(!function->name[-1]); /* it is no other text's end */
            CU_ASSERT_TRUE_FATAL(strlen(function->name) + strlen(function->linkage_name) < size);
        }
        plan_count(&plan);
        plan_release(&plan);
    }
    free(copy);
}

/* To go through what a million functions call that call all the same would never end. */
static void test_callees_that_are_shared(void)
{
    struct fixture fixture;
    struct sprof_bytes bytes;
    struct plan loaded;
    make_assembly(&fixture);
    CU_ASSERT_TRUE_FATAL(fixture.plan.callee_count > 0 && fixture.plan.function_count > 1);
    for (size_t i = 0; i < 2; i++) {
        fixture.plan.functions[i].first_callee = 0;
        fixture.plan.functions[i].callees = (uint32_t)fixture.plan.callee_count;
    }
    CU_ASSERT_EQUAL_FATAL(plan_save(&fixture.plan, &bytes), 0);
    CU_ASSERT_EQUAL(plan_load(&loaded, bytes), SPROF_EFORMAT);
    CU_ASSERT_PTR_NULL(loaded.functions);
    free((void *)bytes.data);
    fixture_release(&fixture);
}

static void test_damaged_plans(void)
{
    static const uint8_t values[] = {0, 0x7f, 0xff};
    struct fixture fixture;
    struct sprof_bytes bytes;
    make_assembly(&fixture);
    CU_ASSERT_EQUAL_FATAL(plan_save(&fixture.plan, &bytes), 0);
    uint8_t *changed = malloc(bytes.size);
    memcpy(changed, bytes.data, bytes.size);
    for (size_t size = 0; size < bytes.size; size += size < 300 ? 1 : 37)
        check_loaded(bytes.data, size);
    for (size_t i = 0; i < bytes.size; i++) {
        for (unsigned change = 0; change < sizeof values; change++) {
            changed[i] = values[change];
            check_loaded(changed, bytes.size);
        }
        changed[i] = bytes.data[i];
    }
    free(changed);
    free((void *)bytes.data);
    fixture_release(&fixture);
}

/* Files in which some bytes are other ones: whatever the plan says then, making it ends well. */
static void test_damaged_files(void)
{
    enum { VARIANTS = 1500, FILE_MAX = 1 << 16 };
    static uint8_t bytes[FILE_MAX], changed[FILE_MAX];
    struct fixture fixture;
    uint64_t random = 0x9e3779b97f4a7c15;
    size_t planned = 0;
    make_assembly(&fixture);
    FILE *file = fopen(fixture.path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (int variant = 0; variant < VARIANTS; variant++) {
        struct image *image;
        struct recording_built built = {0};
        struct plan plan;
        memcpy(changed, bytes, size);
        for (int i = 0; i <= variant % 6; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            /* Half of the changes hit the headers of the file, its segments or its sections. */
            const size_t at = (size_t)(random >> 33) % (random & 1 ? size : 0x300);
            changed[variant & 8 ? size - 1 - at : at] = (uint8_t)(random >> 20);
        }
        if (image_open_memory(&image, "damaged", (struct sprof_bytes){changed, size}, NULL))
            continue;
        if (recording_build(&built, image, NULL, NULL) == 0 &&
            plan_make(&plan, image, built.table, NULL) == 0) {
            planned += plan.function_count > 0;
            plan_release(&plan);
        }
        unwind_table_free(built.table);
        image_free(image);
    }
    CU_ASSERT(planned > VARIANTS / 4);
    fixture_release(&fixture);
}

enum { BIAS = 0x7000 };

struct process {
    const struct plan *plan;
    uint64_t changed; /* a function's site */
    uint64_t end;     /* of what is mapped */
};

/* Zeros, but for the functions' beginnings. */
static size_t read_process(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct process *process = context;
    if (address >= process->end)
        return 0;
    if (size > process->end - address)
        size = (size_t)(process->end - address);
    memset(buffer, 0, size);
    for (uint64_t at = address; at < address + size; at++)
        for (size_t i = 0; i < process->plan->function_count; i++) {
            const struct plan_function *function = &process->plan->functions[i];
            const uint64_t offset = at - BIAS - function->site;
            if (offset < function->displaced)
                ((uint8_t *)buffer)[at - address] =
                    function->original[offset] ^ (!offset && function->site == process->changed);
        }
    return size;
}

static void test_other_bytes_in_the_process(void)
{
    struct fixture fixture;
    make_assembly(&fixture);
    const struct plan_function *plain = fixture_function(&fixture, "plain");
    const struct plan_function *last = plain;
    for (size_t i = 0; i < fixture.plan.function_count; i++)
        if (fixture.plan.functions[i].mechanism != PLAN_NOT)
            last = &fixture.plan.functions[i];
    struct process process = {&fixture.plan, plain->site, BIAS + last->site + last->displaced};
    CU_ASSERT_EQUAL(plan_compare(&fixture.plan, BIAS, read_process, &process), 1);
    CU_ASSERT_EQUAL(plain->why, PLAN_BYTES_DIFFER);
    CU_ASSERT_EQUAL(plain->mechanism, PLAN_NOT);
    CU_ASSERT_EQUAL(fixture_function(&fixture, "local")->mechanism, PLAN_PROLOGUE);
    CU_ASSERT_EQUAL(plan_compare(&fixture.plan, BIAS, read_process, &process), 0);
    process.end--; /* the last function is not all there */
    CU_ASSERT_EQUAL(plan_compare(&fixture.plan, BIAS, read_process, &process), 1);
    CU_ASSERT_EQUAL(last->why, PLAN_BYTES_DIFFER);
    fixture_release(&fixture);
}

/* The share of functions that can be probed, in libraries of the machine. */
static void test_libraries(void)
{
    static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6",
                                        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                        "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct image_request request = {.file = {.path = paths[i]}};
        struct plan plan;
        CU_ASSERT_EQUAL_FATAL(plan_open(&plan, &request, NULL, NULL), 0);
        const struct plan_share share = plan_share(&plan);
        printf("\n    %s: %zu of %zu, %zu at the entry only", plan.module, share.probed,
               share.starts, share.entry_only);
        CU_ASSERT(share.starts > 2000);
        CU_ASSERT(share.probed * 100 >= share.starts * 99);
        CU_ASSERT(share.entry_only * 50 <= share.starts);
        plan_release(&plan);
    }
}

static void test_names_that_leave(void)
{
    static const struct {
        const char *name;
        bool leaves, throws, catches;
    } cases[] = {
        {"longjmp", true, false, false},
        {"longjmps", false, false, false},
        {"__cxa_throw", true, true, false},
        {"__cxa_begin_catch", true, false, false},
        {"__gnat_begin_handler_v1", true, false, false},
        {"rust_begin_unwind", true, true, false},
        {"_RNvCsfLfy6EI15iL_7___rustc17rust_begin_unwind", true, true, false},
        {"_ZN3std9panicking3try7cleanup17h0e874561921143b6E", true, false, false},
        {"_ZN3std9panicking12catch_unwind7cleanup17h0e874561921143b6E", true, false, false},
        {"_RNvNvNtCsjrHSEGnQ3l9_3std9panicking12catch_unwind7cleanup", true, false, false},
        {"_ZN3std9panicking3try8do_catch17h5acb47bf7fe10d24E", true, false, true},
        {"_ZN3std9panicking12catch_unwind8do_catch17hf931d4ed5d60eab4E", true, false, true},
        {"_RINvNvNtCsi4IsKQVxMg0_3std9panicking12catch_unwind8do_catchNCNvCsh14zvwx5BML_"
         "6panics4mains0_"
         "0mEBZ_",
         true, false, true},
        {"_RINvNvNtCsi4IsKQVxMg0_3std9panicking12catch_unwind7do_callNCNvCsh14zvwx5BML_"
         "6panics4mains0_"
         "0mEBY_",
         false, false, false},
        {"_ZN3std9panicking3try7cleanup17h", false, false, false},
        {"_ZN3std2io5stdio7cleanup17h011b7225068aaba1E", false, false, false},
        {"_RNvNvNtCs", false, false, false},
        {"", false, false, false},
        {NULL, false, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(plan_leaves_frames(cases[i].name), cases[i].leaves);
        CU_ASSERT_EQUAL(plan_throws(cases[i].name), cases[i].throws);
        CU_ASSERT_EQUAL(plan_catches(cases[i].name), cases[i].catches);
    }
}

void sprof_suite_plan_plan(void);
void sprof_suite_plan_plan(void)
{
    CU_pSuite suite = CU_add_suite("plan/plan", NULL, NULL);
    CU_add_test(suite, "rules", test_rules);
    CU_add_test(suite, "labels of fixed addresses", test_labels_of_fixed_addresses);
    CU_add_test(suite, "callees", test_callees);
    CU_add_test(suite, "calls without the PLT", test_without_plt);
    CU_add_test(suite, "catch blocks", test_catch_blocks);
    CU_add_test(suite, "inline wanted", test_inline_wanted);
    CU_add_test(suite, "inline members", test_inline_members);
    CU_add_test(suite, "sleds", test_sleds);
    CU_add_test(suite, "kinds of programs", test_kinds_of_programs);
    CU_add_test(suite, "a saved plan is the same", test_saved_plan_is_the_same);
    CU_add_test(suite, "callees that are shared", test_callees_that_are_shared);
    CU_add_test(suite, "damaged plans", test_damaged_plans);
    CU_add_test(suite, "damaged files", test_damaged_files);
    CU_add_test(suite, "other bytes in the process", test_other_bytes_in_the_process);
    CU_add_test(suite, "names that leave", test_names_that_leave);
    CU_add_test(suite, "libraries", test_libraries);
}
