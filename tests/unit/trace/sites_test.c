/* Which instructions of functions made for the rules get uprobes. */
#include "tests/unit/plan/fixture.h"
#include "trace/uprobe/sites.h"

/* clang-format off */
static const char assembly[] =
    ".text\n"
    FUNCTION("returns", "push %rbx\n.cfi_adjust_cfa_offset 8\nmov %rdi,%rbx\ncall other\npop %rbx\n"
                        ".cfi_adjust_cfa_offset -8\nret")
    FUNCTION("other", "lea 1(%rdi),%rax\nret")
    FUNCTION("branches", "test %edi,%edi\nje other\nxor %eax,%eax\nret\nnop\n1: mov $1,%eax\nret")
    FUNCTION("jumps", "jmp other")
    FUNCTION("by_register", "mov (%rdi),%rax\njmp *%rax")
    FUNCTION("by_member", "mov (%rdi),%rax\njmp *16(%rax)")
    FUNCTION("by_table", "movslq %edi,%rdi\nlea table(%rip),%rax\nmovslq (%rax,%rdi,4),%rdx\n"
                         "add %rdx,%rax\njmp *%rax\n2: mov $2,%eax\nret\n3: mov $3,%eax\nret")
    FUNCTION("in_parts", "test %edi,%edi\njne in_parts.cold\nnop\nret")
    ".p2align 4\n.type in_parts.cold,@function\nin_parts.cold: .cfi_startproc\nnop\nret\n.cfi_endproc\n"
    ".size in_parts.cold,.-in_parts.cold\n"
    FUNCTION("again", "add (%rdi),%rax\nlea 8(%rdi),%rdi\ncmp %rsi,%rdi\njne again\nret")
    FUNCTION("misread", "vzeroupper\nmov %rdi,%rax\nret")
    FUNCTION("exchanges", "xchg %rax,%r8\nmov %rdi,%rax\nret")
    FUNCTION("narrowly", "xchg %ax,%r8w\nmov %rdi,%rax\nret")
    FUNCTION("locked", "lock incl (%rdi)\nmov %rdi,%rax\nret")
    FUNCTION("segment", ".byte 0x26\nmov (%rdi),%rax\nret")
    FUNCTION("rests", ".byte 0x48\nnop\nret")
    FUNCTION("counted", "mov %rdi,%rax\nret")
    FUNCTION("longjmp", "mov %rdi,%rsp\nmov %rsi,%rax\njmp *%rdx")
    ".section .rodata\n.p2align 2\ntable: .long 2b-table, 3b-table\n"
    ".section .note.GNU-stack,\"\",@progbits\n";
/* clang-format on */

static const char *const functions[] = {
    "returns",  "other",    "branches", "jumps",   "by_register", "by_member",
    "by_table", "in_parts", "again",    "misread", "exchanges",   "narrowly",
    "locked",   "segment",  "rests",    "counted", "longjmp"};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const struct {
    const char *function; /* or a part of one */
    unsigned offset;      /* of the instruction in it */
    unsigned entry, exit, condition;
} expected[] = {
    {"returns", 0, UPROBE_ENTRY_PUSH, UPROBE_EXIT_NOT, 0},
    {"returns", 10, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0},
    {"other", 0, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0},
    {"other", 4, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0},
    {"branches", 0, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0},
    {"branches", 2, UPROBE_ENTRY_NOT, UPROBE_EXIT_BRANCH, 4}, /* je */
    {"branches", 6, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0},
    {"branches", 13, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0},
    {"jumps", 0, UPROBE_ENTRY_PUSH, UPROBE_EXIT_TAIL, 0}, /* one instruction is all of it */
    {"by_register", 0, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0},
    {"by_register", 3, UPROBE_ENTRY_NOT, UPROBE_EXIT_TAIL, 0},
    {"by_member", 0, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0},
    {"by_member", 3, UPROBE_ENTRY_NOT, UPROBE_EXIT_TAIL, 0},
    {"by_table", 0, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0}, /* its jump stays inside */
    {"by_table", 24, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0},
    {"by_table", 30, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0},
    {"in_parts", 0, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0}, /* and so does this one's, as it were */
    {"in_parts", 5, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0},
    {"in_parts.cold", 1, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0},
    {"rests", 0, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0}, /* a prefix that changes nothing */
    {"rests", 2, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0},
    {"counted", 0, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0},
    {"longjmp", 0, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0},
    {"longjmp", 6, UPROBE_ENTRY_NOT, UPROBE_EXIT_LEAVE, 0},
};
enum { SITES = sizeof expected / sizeof *expected };

static const char *const no_place[] = {"again",    "misread", "exchanges",
                                       "narrowly", "locked",  "segment"};

static struct trace_session session;

static void choose(const struct fixture *fixture)
{
    session.probes.count = 0;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const struct probing_probe probe = {.function = fixture_function(fixture, functions[i]),
                                            .tier = !strcmp(functions[i], "counted")   ? PROBE_COUNT
                                                    : !strcmp(functions[i], "longjmp") ? PROBE_JUMP
                                                                                       : PROBE_FULL,
                                            .is_chosen = true};
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session.probes, probe), 0);
    }
}

/* Each is found, and nothing else is. */
static void check(const struct fixture *fixture, struct image *image,
                  const struct uprobe_sites *sites)
{
    CU_ASSERT_EQUAL(sites->list.count, SITES);
    for (size_t i = 0; i < SITES; i++) {
        uint64_t offset;
        const struct plan_function *function = fixture_function(fixture, expected[i].function);
        CU_ASSERT_TRUE_FATAL(image_offset_of_vaddr(image, function->start, &offset));
        const uint64_t wanted = offset + expected[i].offset;
        size_t at = 0;
        while (at < sites->list.count && sites->list.items[at].offset != wanted)
            at++;
        const uint64_t cookie = at < sites->list.count ? sites->list.items[at].cookie : 0;
        const bool same = at < sites->list.count &&
                          UPROBE_COOKIE_ENTRY(cookie) == expected[i].entry &&
                          UPROBE_COOKIE_EXIT(cookie) == expected[i].exit &&
                          UPROBE_COOKIE_CONDITION(cookie) == expected[i].condition;
        if (!same)
            printf("\n    %s+%u: entry %u, exit %u, condition %u", expected[i].function,
                   expected[i].offset, UPROBE_COOKIE_ENTRY(cookie), UPROBE_COOKIE_EXIT(cookie),
                   UPROBE_COOKIE_CONDITION(cookie));
        CU_ASSERT_TRUE(same);
    }
}

static void test_entries_and_ends(void)
{
    struct fixture fixture;
    struct image *image;
    struct uprobe_sites sites = {0};
    struct sprof_error error = {0};
    fixture_make(&fixture, ".s", assembly, "gcc -shared -Wl,-Bsymbolic -nostdlib");
    const struct image_request request = {.file = {.path = fixture.path}};
    CU_ASSERT_EQUAL_FATAL(image_open(&image, &request, &error), 0);
    choose(&fixture);
    const struct probing_file file = {.plan = fixture.plan, .count = FUNCTIONS};
    CU_ASSERT_EQUAL_FATAL(trace_uprobe_sites_find(&sites, &session, &file, image), 0);
    check(&fixture, image, &sites);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        bool has_place = true;
        for (size_t k = 0; k < sizeof no_place / sizeof *no_place; k++)
            has_place &= strcmp(functions[i], no_place[k]) != 0;
        CU_ASSERT_EQUAL(session.probes.items[i].tier != PROBE_OFF, has_place);
    }
    CU_ASSERT_EQUAL(sites.refused.count, sizeof no_place / sizeof *no_place);
    for (size_t i = 0; i < sites.refused.count; i++)
        CU_ASSERT_STRING_EQUAL(functions[sites.refused.items[i].function], no_place[i]);
    sprof_vec_release(&sites.list);
    sprof_vec_release(&sites.refused);
    sprof_vec_release(&session.probes);
    image_free(image);
    fixture_release(&fixture);
}

void sprof_suite_trace_sites(void);
void sprof_suite_trace_sites(void)
{
    CU_pSuite suite = CU_add_suite("trace/sites", NULL, NULL);
    CU_add_test(suite, "entries and ends", test_entries_and_ends);
}
