/* The decoder beside objdump, on libraries of the machine and on those that the environment names
 * (SPROF_TEST_DISASSEMBLE=FILE:FILE…): lengths, where execution goes on, and operands in memory. */
#include "arch/arch.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN_MAX = 10 };

/* One line of objdump: "  401000:\tf3 0f 1e fa \tendbr64". */
struct line {
    uint64_t address;
    uint8_t bytes[32];
    size_t size;
    const char *text; /* of the instruction, in the line */
};

struct comparison {
    size_t instructions, differences;
    size_t calls, branches, from_pc, from_sp;
};

static bool read_line(char *text, struct line *line)
{
    char *at;
    line->address = strtoull(text, &at, 16);
    line->size = 0;
    if (*at != ':' || at[1] != '\t')
        return false;
    for (at += 2; line->size < sizeof line->bytes; at += 3) {
        char *end;
        const unsigned long byte = strtoul(at, &end, 16);
        if (end != at + 2)
            break;
        line->bytes[line->size++] = (uint8_t)byte;
    }
    line->text = strrchr(at, '\t');
    at[strcspn(at, "\n")] = '\0';
    return line->size && line->text && line->text++;
}

/* Prefixes that stand alone, and what objdump does not know, are no instructions. */
static bool is_instruction(const char *text)
{
    static const char *const others[] = {"(bad)",  "rex", "data16",  "cs",   "ds",    "es",
                                         "fs",     "gs",  "ss",      "repz", "repnz", "lock",
                                         "addr32", "bnd", "notrack", ".byte"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t length = strlen(others[i]);
        const char *rest = text + length + strspn(text + length, ".WRXB ");
        if (!strncmp(text, others[i], length) && (!*rest || !strcmp(others[i], "(bad)")))
            return false;
    }
    /* fwait, which objdump takes together with what it waits for. */
    return !strstr(text, "(bad)") && strncmp(text, "fst", 3) != 0;
}

static const char *skip_prefixes(const char *text)
{
    static const char *const prefixes[] = {"bnd ",   "notrack ", "data16 ", "cs ", "ds ",
                                           "rex.W ", "repz ",    "addr32 ", "rex "};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
            return skip_prefixes(text + strlen(prefixes[i]));
    return text;
}

static enum arch_flow expected_flow(const char *text)
{
    text = skip_prefixes(text);
    const size_t length = strcspn(text, " ");
    const bool indirect = text[length + strspn(text + length, " ")] == '*';
    if (!strncmp(text, "call", 4) || !strncmp(text, "lcall", 5))
        return indirect ? ARCH_FLOW_CALL_INDIRECT : ARCH_FLOW_CALL;
    if ((length == 3 && !strncmp(text, "jmp", 3)) || !strncmp(text, "jmpw", 4) ||
        !strncmp(text, "ljmp", 4))
        return indirect ? ARCH_FLOW_JUMP_INDIRECT : ARCH_FLOW_JUMP;
    if (text[0] == 'j' || !strncmp(text, "loop", 4) || !strncmp(text, "xbegin", 6))
        return ARCH_FLOW_BRANCH;
    if (!strncmp(text, "ret", 3))
        return ARCH_FLOW_RETURN;
    if (!strncmp(text, "hlt", 3) || !strncmp(text, "int3", 4) || !strncmp(text, "ud", 2) ||
        !strncmp(text, "iret", 4) || !strncmp(text, "lret", 4) || !strncmp(text, "int1", 4))
        return ARCH_FLOW_STOP;
    return ARCH_FLOW_NEXT;
}

static bool same_flow(const struct line *line, const struct arch_instruction *found,
                      struct comparison *comparison)
{
    const char *text = skip_prefixes(line->text);
    const uint64_t next = line->address + line->size;
    if (found->flow != expected_flow(line->text))
        return false;
    if (found->flow != ARCH_FLOW_CALL && found->flow != ARCH_FLOW_JUMP &&
        found->flow != ARCH_FLOW_BRANCH)
        return true;
    comparison->calls += found->flow == ARCH_FLOW_CALL;
    comparison->branches += found->flow != ARCH_FLOW_CALL;
    const uint64_t target = strtoull(text + strcspn(text, " "), NULL, 16);
    return next + (uint64_t)found->value == target;
}

/* "# 1f2e0 <…>" names what is counted from the next instruction; "0x10(%rsp)" and "-8(%rsp)". */
static bool same_memory(const struct line *line, const struct arch_instruction *found,
                        struct comparison *comparison)
{
    const char *from_pc = strstr(line->text, "(%rip)"), *target = strstr(line->text, "# ");
    if (from_pc && target) {
        comparison->from_pc++;
        return found->base == ARCH_PC &&
               line->address + line->size + (uint64_t)found->displacement ==
                   strtoull(target + 2, NULL, 16);
    }
    const char *open = strstr(line->text, "(%rsp)");
    if (!open)
        return found->base != ARCH_PC;
    const char *number = open;
    while (number > line->text && !strchr(" ,:*", number[-1]))
        number--;
    comparison->from_sp++;
    return found->base == ARCH_SP && found->index == -1 && found->bits & ARCH_HAS_MEMORY &&
           (found->bits & ARCH_IS_UNSCALED || found->displacement == strtoll(number, NULL, 16)) &&
           !(found->bits & ARCH_LOADS_ADDRESS) == (strncmp(line->text, "lea ", 4) != 0);
}

static void compare(char *text, struct comparison *comparison)
{
    struct line line;
    struct arch_instruction found;
    if (!read_line(text, &line) || !is_instruction(line.text))
        return;
    comparison->instructions++;
    if (arch_instruction_decode(line.bytes, line.size, &found) && found.length == line.size &&
        same_flow(&line, &found, comparison) && same_memory(&line, &found, comparison))
        return;
    if (comparison->differences++ < SHOWN_MAX)
        printf("\n    %llx: %s (%zu bytes, found %u, flow %u, base %d, displacement %lld)",
               (unsigned long long)line.address, line.text, line.size, found.length, found.flow,
               found.base, (long long)found.displacement);
}

static struct comparison compare_file(const char *path)
{
    struct comparison comparison = {0};
    char command[512], *text = NULL;
    size_t capacity = 0;
    snprintf(command, sizeof command, "objdump -d -w -z '%s'", path);
    FILE *stream = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    while (getline(&text, &capacity, stream) > 0)
        compare(text, &comparison);
    free(text);
    CU_ASSERT_EQUAL(pclose(stream), 0);
    printf(
        "\n    %s: %zu instructions, %zu calls, %zu branches, %zu operands from rip, %zu from rsp, "
        "%zu differ",
        path, comparison.instructions, comparison.calls, comparison.branches, comparison.from_pc,
        comparison.from_sp, comparison.differences);
    return comparison;
}

static void test_libraries(void)
{
    static const char *const libraries[] = {"/lib/x86_64-linux-gnu/libm.so.6",
                                            "/lib/x86_64-linux-gnu/libpthread.so.0",
                                            "/lib64/ld-linux-x86-64.so.2"};
    size_t instructions = 0, from_sp = 0;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const struct comparison comparison = compare_file(libraries[i]);
        CU_ASSERT_EQUAL(comparison.differences, 0);
        instructions += comparison.instructions;
        from_sp += comparison.from_sp;
    }
    CU_ASSERT(instructions > 100000);
    CU_ASSERT(from_sp > 1000);
}

static void test_named_files(void)
{
    const char *named = getenv("SPROF_TEST_DISASSEMBLE");
    char *list = strdup(named ? named : ""), *rest = list;
    for (char *path; (path = strsep(&rest, ":")) != NULL;)
        if (*path) { /* hand-written code has tables between its functions */
            const struct comparison comparison = compare_file(path);
            CU_ASSERT(comparison.differences * 200 <= comparison.instructions);
        }
    free(list);
}

void sprof_suite_arch_objdump(void);
void sprof_suite_arch_objdump(void)
{
    CU_pSuite suite = CU_add_suite("arch/objdump", NULL, NULL);
    CU_add_test(suite, "libraries", test_libraries);
    CU_add_test(suite, "files of the environment", test_named_files);
}
