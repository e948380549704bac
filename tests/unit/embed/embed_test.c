/* Libraries and programs with probes in them: the copies do what the originals do, whether switches
 * are off or on. */
#include "arch/probe.h"
#include "embed/elf_file.h"
#include "embed/embed.h"
#include "plan/embedded.h"

#include <CUnit/CUnit.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Functions that begin in the ways that matter: with pushes, with an operand relative to the
 * instruction, with a call, with room before the entry, with a loop; and one that is too short. */
static const char source[] =
    "int table[4] = {3, 5, 7, 11};\n"
    "__attribute__((noinline)) int pushes(int a, int b) {\n"
    "    volatile int room[40]; room[a] = b; return room[a] + table[a & 3]; }\n"
    "__attribute__((noinline)) int relative(int a) { return table[a & 3] * 2; }\n"
    "__attribute__((noinline)) int calls(int a) { return pushes(a, 1) + relative(a); }\n"
    "__attribute__((noinline, patchable_function_entry(6))) int padded(int a) { return a * 3; }\n"
    "__attribute__((noinline)) int recursive(int a) { return a < 2 ? 1 : a * recursive(a - 1); }\n"
    "__asm__(\".globl tiny\\n.type tiny, @function\\n.p2align 4\\ntiny: ret\\n.size tiny, "
    ".-tiny\\n\"\n"
    "        \".globl next\\n.type next, @function\\nnext: ret\\n.size next, .-next\");\n"
    "#ifdef PROGRAM\n#include <stdio.h>\n"
    "int main(void) { return printf(\"%d\\n\", calls(2) + padded(3) + recursive(4)) < 0; }\n"
    "#endif\n";

static char directory[] = "/tmp/sprof-embed-XXXXXX";
static char library[64], program[64], text[64], copy[64];

static bool compile(const char *flags, const char *output)
{
    char line[256];
    snprintf(line, sizeof line, "gcc -O1 %s -o %s %s", flags, output, text);
    return system(line) == 0;
}

static int set_up(void)
{
    if (!mkdtemp(directory))
        return 1;
    snprintf(library, sizeof library, "%s/library.so", directory);
    snprintf(program, sizeof program, "%s/program", directory);
    snprintf(copy, sizeof copy, "%s/copy", directory);
    snprintf(text, sizeof text, "%s/source.c", directory);
    FILE *file = fopen(text, "w");
    if (!file || fputs(source, file) < 0 || fclose(file))
        return 1;
    return !compile("-shared -fPIC", library) || !compile("-DPROGRAM", program);
}

static int tear_down(void)
{
    char line[64];
    snprintf(line, sizeof line, "rm -r %s", directory);
    return system(line) != 0;
}

static int embed(const char *path, const char *output, const char *expression,
                 struct embed_result *result, struct sprof_error *error)
{
    const struct embed_request request = {.path = path,
                                          .output = output,
                                          .functions = &expression,
                                          .function_count = expression != NULL};
    *error = (struct sprof_error){0};
    return embed_write(&request, NULL, result, error);
}

static void open_plan(struct plan *plan, const char *path)
{
    struct sprof_error error = {0};
    const struct image_request request = {.file = {.path = path}};
    CU_ASSERT_EQUAL_FATAL(plan_open(plan, &request, NULL, &error), 0);
}

static const struct plan_function *find(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->function_count; i++)
        if (!strcmp(plan->functions[i].name, name))
            return &plan->functions[i];
    CU_FAIL_FATAL("no such function");
    return NULL;
}

/* The copy's plan has a switch for each chosen function, and nothing for the others. */
static void test_chosen(void)
{
    struct embed_result result;
    struct sprof_error error;
    struct plan plan;
    CU_ASSERT_EQUAL_FATAL(embed(library, copy, "^(pushes|padded)$", &result, &error), 0);
    CU_ASSERT_EQUAL(result.embedded, 2);
    CU_ASSERT_EQUAL(result.by[PLAN_PROLOGUE], 1);
    CU_ASSERT_EQUAL(result.by[PLAN_SLED], 1);
    CU_ASSERT_EQUAL(result.refused, 0);
    CU_ASSERT_TRUE(result.is_library);
    CU_ASSERT_FALSE(result.frameless);
    open_plan(&plan, copy);
    CU_ASSERT_EQUAL(find(&plan, "pushes")->mechanism, PLAN_EMBEDDED);
    CU_ASSERT_EQUAL(find(&plan, "padded")->mechanism, PLAN_EMBEDDED);
    CU_ASSERT_NOT_EQUAL(find(&plan, "relative")->mechanism, PLAN_EMBEDDED);
    CU_ASSERT_NOT_EQUAL(find(&plan, "recursive")->mechanism, PLAN_EMBEDDED);
    plan_release(&plan);
}

typedef int (*function)(int, int);

/* What the functions of a library return, one behind the other. */
static void results_of(void *loaded, int results[5][4])
{
    static const char *const names[] = {"pushes", "relative", "calls", "padded", "recursive"};
    for (size_t i = 0; i < 5; i++) {
        function called;
        void *address = dlsym(loaded, names[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(address);
        memcpy(&called, &address, sizeof called);
        for (int k = 0; k < 4; k++)
            results[i][k] = called(k, 9);
    }
}

/* Where the far jumps of switches lead: it counts, and goes on behind the switch. */
struct thunk {
    uint8_t code[32];
};

static volatile uint32_t reached;

/* Writes: inc reached(%rip), by its address; a jump to where the switch leads while it is off. */
static void write_thunk(uint8_t *code, uint64_t target)
{
    const uint64_t counter = (uintptr_t)&reached;
    static const uint8_t begin[] = {0x49, 0xbb};     /* mov $counter, %r11 */
    static const uint8_t add[] = {0x41, 0xff, 0x03}; /* incl (%r11) */
    memcpy(code, begin, sizeof begin);
    memcpy(code + 2, &counter, sizeof counter);
    memcpy(code + 10, add, sizeof add);
    arch_far_jump_write(code + 13, target);
}

/* Turns all switches of the loaded copy on, as a tracer does. Returns how many. */
static size_t turn_on(void *loaded, const struct plan *plan, uint8_t *thunks)
{
    size_t count = 0;
    Dl_info info;
    CU_ASSERT_FATAL(dladdr(dlsym(loaded, "pushes"), &info) != 0);
    const uint64_t bias = (uintptr_t)info.dli_fbase;
    for (size_t i = 0; i < plan->function_count; i++) {
        const struct plan_function *of = &plan->functions[i];
        int32_t distance;
        if (of->mechanism != PLAN_EMBEDDED || of->why == PLAN_IMPORTED)
            continue;
        uint8_t *site = (uint8_t *)(uintptr_t)(bias + of->site);
        CU_ASSERT_EQUAL_FATAL(*site, PLAN_EMBEDDED_OFF);
        memcpy(&distance, site + 1, sizeof distance);
        uint8_t *far_jump = site + PLAN_JUMP_BYTES + distance;
        const uint64_t thunk = (uintptr_t)(thunks + count * sizeof(struct thunk));
        write_thunk(thunks + count * sizeof(struct thunk), (uintptr_t)site + of->displaced);
        const uintptr_t page = (uintptr_t)far_jump & ~(uintptr_t)4095,
                        also = (uintptr_t)site & ~(uintptr_t)4095;
        mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
        mprotect((void *)also, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
        /* eight bytes that are written at once */
        uint8_t *target = far_jump + ARCH_FAR_JUMP_BYTES - 8;
        CU_ASSERT_EQUAL((uintptr_t)target % 8, 0);
        memcpy(target, &thunk, sizeof thunk);
        *site = ARCH_JUMP;
        count++;
    }
    return count;
}

/* With all switches off and with all on, functions return what they return in the original. */
static void test_same_results(void)
{
    int original[5][4], off[5][4], on[5][4];
    struct embed_result result;
    struct sprof_error error;
    struct plan plan;
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    uint8_t *thunks =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(loaded);
    CU_ASSERT_NOT_EQUAL_FATAL(thunks, MAP_FAILED);
    results_of(loaded, original);
    dlclose(loaded);
    CU_ASSERT_EQUAL_FATAL(
        embed(library, copy, "^(pushes|relative|calls|padded|recursive)$", &result, &error), 0);
    CU_ASSERT_EQUAL(result.embedded, 5);
    loaded = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(loaded);
    results_of(loaded, off);
    CU_ASSERT_EQUAL(memcmp(off, original, sizeof off), 0);
    CU_ASSERT_EQUAL(reached, 0);
    open_plan(&plan, copy);
    CU_ASSERT_EQUAL(turn_on(loaded, &plan, thunks), 5);
    results_of(loaded, on);
    CU_ASSERT_EQUAL(memcmp(on, original, sizeof on), 0);
    /* 4 calls of each; calls of two others; recursive(2) and (3) call it 1 and 2 times more */
    CU_ASSERT_EQUAL(reached, 5 * 4 + 4 * 2 + 3);
    plan_release(&plan);
    dlclose(loaded);
    munmap(thunks, 4096);
}

static int status_of(const char *path, char *said, int bytes)
{
    FILE *pipe = popen(path, "r");
    if (!pipe || !fgets(said, bytes, pipe))
        *said = '\0';
    return pipe ? pclose(pipe) : -1;
}

/* A program runs as before, and has its permissions. */
static void test_program(void)
{
    struct embed_result result;
    struct sprof_error error;
    struct stat before, after;
    char said[64], of_copy[64];
    CU_ASSERT_EQUAL(chmod(program, 0710), 0);
    CU_ASSERT_EQUAL_FATAL(embed(program, copy, NULL, &result, &error), 0);
    CU_ASSERT_FALSE(result.is_library);
    CU_ASSERT(result.embedded > 4);
    CU_ASSERT(result.refused > 0);
    CU_ASSERT_EQUAL(status_of(program, said, sizeof said), 0);
    CU_ASSERT_EQUAL(status_of(copy, of_copy, sizeof of_copy), 0);
    CU_ASSERT_STRING_EQUAL(of_copy, said);
    CU_ASSERT_FATAL(!stat(program, &before) && !stat(copy, &after));
    CU_ASSERT_EQUAL(before.st_mode, after.st_mode);
}

/* A function without room stays as it is; the first one is named, with the reason. */
static void test_too_short(void)
{
    struct embed_result result;
    struct sprof_error error;
    struct plan plan;
    CU_ASSERT_EQUAL_FATAL(embed(library, copy, "^(tiny|padded)$", &result, &error), 0);
    CU_ASSERT_EQUAL(result.embedded, 1);
    CU_ASSERT_EQUAL(result.refused, 1);
    CU_ASSERT_STRING_EQUAL(result.refused_name, "tiny");
    open_plan(&plan, copy);
    CU_ASSERT_EQUAL(find(&plan, "tiny")->mechanism, PLAN_NOT);
    CU_ASSERT_STRING_EQUAL(result.refused_why, plan_reason_text(find(&plan, "tiny")->why));
    plan_release(&plan);
}

/* Nothing is written where nothing can be. */
static void test_refusals(void)
{
    struct embed_result result;
    struct sprof_error error;
    char other[96];
    unlink(copy);
    CU_ASSERT_EQUAL(embed(library, copy, "^pushez$", &result, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "pushes")); /* a name that is near */
    CU_ASSERT_EQUAL(embed(library, copy, "^tiny$", &result, &error), SPROF_ENOTFOUND);
    CU_ASSERT_EQUAL(embed(library, copy, "(", &result, &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(embed(text, copy, NULL, &result, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_NOT_EQUAL(access(copy, F_OK), 0);
    CU_ASSERT_EQUAL(embed(library, library, NULL, &result, &error), SPROF_EUSAGE);
    snprintf(other, sizeof other, "%s/./library.so", directory); /* the same by another name */
    CU_ASSERT_EQUAL(embed(library, other, NULL, &result, &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(embed(library, directory, NULL, &result, &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(compile("-DPROGRAM -fsanitize=address", copy), true);
    snprintf(other, sizeof other, "%s/other", directory);
    CU_ASSERT_EQUAL(embed(copy, other, NULL, &result, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "sanitizer"));
    CU_ASSERT_NOT_EQUAL(access(other, F_OK), 0);
}

/* Probes are embedded once: the copy of a copy would have two switches in a row. */
static void test_twice(void)
{
    struct embed_result result;
    struct sprof_error error;
    char other[96];
    snprintf(other, sizeof other, "%s/twice", directory);
    CU_ASSERT_EQUAL_FATAL(embed(library, copy, "^padded$", &result, &error), 0);
    CU_ASSERT_EQUAL(embed(copy, other, "^pushes$", &result, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "has some already"));
    CU_ASSERT_NOT_EQUAL(access(other, F_OK), 0);
}

/* Debuggers and unwinders find rules for what moved: as many descriptions as before, and more. */
static void test_frames(void)
{
    struct embed_result result;
    struct sprof_error error;
    struct elf_file before, after;
    uint64_t vaddr;
    CU_ASSERT_EQUAL_FATAL(embed(library, copy, "^pushes$", &result, &error), 0);
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&before, library, &error), 0);
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&after, copy, &error), 0);
    const struct sprof_bytes was = embed_elf_section(&before, ".eh_frame", &vaddr);
    CU_ASSERT(embed_elf_section(&after, ".eh_frame", &vaddr).size > was.size);
    CU_ASSERT_EQUAL(embed_elf_section(&after, ".sprof.eh_frame", &vaddr).size, was.size);
    CU_ASSERT(embed_elf_section(&after, PLAN_EMBEDDED_CODE, &vaddr).size > PLAN_JUMP_BYTES);
    const struct sprof_bytes list = embed_elf_section(&after, PLAN_EMBEDDED_LIST, &vaddr);
    CU_ASSERT_EQUAL(plan_embedded_count(list), 1);
    const struct plan_embedded_function embedded = plan_embedded_at(list, 0);
    const uint8_t *kept = embed_elf_at(&before, embedded.start, embedded.kept_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    CU_ASSERT_EQUAL(memcmp(kept, embedded.kept, embedded.kept_bytes), 0);
    embed_elf_release(&before);
    embed_elf_release(&after);
}

void sprof_suite_embed_embed(void);

void sprof_suite_embed_embed(void)
{
    CU_pSuite suite = CU_add_suite("embed/embed", set_up, tear_down);
    CU_add_test(suite, "chosen functions", test_chosen);
    CU_add_test(suite, "results with switches off and on", test_same_results);
    CU_add_test(suite, "a program", test_program);
    CU_add_test(suite, "a function without room", test_too_short);
    CU_add_test(suite, "refusals", test_refusals);
    CU_add_test(suite, "twice", test_twice);
    CU_add_test(suite, "frames and the list", test_frames);
}
