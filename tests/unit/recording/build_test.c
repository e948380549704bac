/* Tables of real images: this system's libc and dynamic loader, and programs made on the spot. */
#include "recording/build.h"

#include "model/model.h"
#include "tests/unit/image/fixture.h"
#include "tests/unit/recording/this_process.h"

enum { MAX_RANGES = 24 };

struct built {
    struct image *image;
    struct unwind_table *table;
};

static struct built build(const char *path)
{
    struct built built = {0};
    struct sprof_error error = {0};
    const struct image_request request = {.file.path = path};
    CU_ASSERT_EQUAL_FATAL(record_open_image(&built.image, &request, &error), 0);
    CU_ASSERT_EQUAL_FATAL(record_build_table(&built.table, built.image, &error), 0);
    return built;
}

static void release(struct built *built)
{
    unwind_table_free(built->table);
    image_free(built->image);
}

static struct built build_loaded(const char *name)
{
    struct model_world world = {0};
    this_process_world(&world);
    const struct model_module *module = this_process_module(&world, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    const struct built built = build(module->identity.path);
    model_world_release(&world);
    return built;
}

/* The rule that holds at a vaddr. */
static const char *rule_at(const struct unwind_table *table, uint64_t vaddr)
{
    static char rule[64];
    struct unwind_row row;
    strcpy(rule, "none");
    for (uint64_t from = 0; unwind_table_row(table, from, &row) && row.vaddr <= vaddr;
         from = row.vaddr + 1)
        strcpy(rule, row.rule);
    return rule;
}

static uint64_t symbol(const struct built *built, const char *name)
{
    const char *const names[] = {name, NULL};
    struct image_symbol found = {0};
    image_find_symbols(built->image, names, &found);
    return found.vaddr;
}

static bool in_ranges(const struct unwind_range *ranges, size_t count, uint64_t vaddr)
{
    for (size_t i = 0; i < count; i++)
        if (vaddr >= ranges[i].start && vaddr < ranges[i].end)
            return true;
    return false;
}

/* ---- Roots and start-up code -------------------------------------------------------------------
 */

static void test_libc(void)
{
    struct built libc = build_loaded("libc.so");
    struct unwind_range startup[MAX_RANGES];
    const size_t count = record_startup_ranges(libc.image, libc.table, startup, MAX_RANGES);
    const uint64_t clone = symbol(&libc, "clone"), start_main = symbol(&libc, "__libc_start_main");
    CU_ASSERT_TRUE(clone && start_main);
    /* Its caller is a parent: only what the child does after it is a root. */
    CU_ASSERT_STRING_NOT_EQUAL(rule_at(libc.table, clone), "end");
    CU_ASSERT_STRING_NOT_EQUAL(rule_at(libc.table, start_main), "end");
    CU_ASSERT_TRUE(in_ranges(startup, count, start_main));
    CU_ASSERT_TRUE(in_ranges(startup, count, clone));
    CU_ASSERT_FALSE(in_ranges(startup, count, symbol(&libc, "qsort")));
    CU_ASSERT_FALSE(in_ranges(startup, count, symbol(&libc, "write")));
    release(&libc);
}

static void test_dynamic_loader(void)
{
    struct built loader = build_loaded("ld-linux");
    CU_ASSERT_STRING_EQUAL(rule_at(loader.table, image_entry(loader.image)), "end");
    release(&loader);
}

static void test_this_program(void)
{
    struct built self = build("/proc/self/exe");
    struct unwind_range startup[MAX_RANGES];
    const size_t count = record_startup_ranges(self.image, self.table, startup, MAX_RANGES);
    CU_ASSERT_TRUE(in_ranges(startup, count, image_entry(self.image)));
    CU_ASSERT_FALSE(in_ranges(startup, count, symbol(&self, "main")));
    CU_ASSERT_STRING_EQUAL(rule_at(self.table, image_entry(self.image)), "end");
    CU_ASSERT_TRUE(record_startup_ranges(self.image, self.table, startup, 1) <= 1);
    CU_ASSERT_EQUAL(record_startup_ranges(self.image, self.table, startup, 0), 0);
    release(&self);
}

static void test_vdso(void)
{
    struct image *image;
    struct unwind_table *table;
    struct sprof_error error = {0};
    const struct image_request request = {.file.path = "[vdso]"};
    CU_ASSERT_EQUAL_FATAL(record_open_image(&image, &request, &error), 0);
    CU_ASSERT_EQUAL(record_build_table(&table, image, &error), 0);
    CU_ASSERT_TRUE(unwind_table_facts(table).rows > 0);
    unwind_table_free(table);
    image_free(image);
}

/* ---- Files without tables of their own ---------------------------------------------------------
 */

static void test_no_call_frame_information(void)
{
    struct fixture fixture;
    struct image *image;
    struct unwind_table *table = NULL;
    struct sprof_error error = {0};
    fixture_open(&fixture);
    fixture_run(&fixture, "echo '.globl f; f: ret' > f.s && cc -shared -nostdlib f.s -o f.so");
    const struct image_request request = {.file.path = fixture_path(&fixture, "f.so")};
    CU_ASSERT_EQUAL_FATAL(record_open_image(&image, &request, &error), 0);
    CU_ASSERT_TRUE(record_build_table(&table, image, &error) < 0);
    CU_ASSERT_PTR_NULL(table);
    image_free(image);
    fixture_close(&fixture);
}

static const char debug_frame_only[] =
    "printf 'int f(int a){int b[4]={a};__asm__(\"\"::\"r\"(b));return b[0]+a;}' > f.c && "
    "cc -g -O1 -fno-asynchronous-unwind-tables -shared -nostdlib f.c -o f.so && "
    "readelf -SW f.so | grep -q debug_frame";

static void test_debug_frame_serves(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_run(&fixture, debug_frame_only);
    struct built built = build(fixture_path(&fixture, "f.so"));
    CU_ASSERT_STRING_EQUAL(rule_at(built.table, symbol(&built, "f")), "cfa=rsp+8 ra=cfa-8");
    release(&built);
    fixture_close(&fixture);
}

/* ---- Procedure linkage tables ------------------------------------------------------------------
 */

static const char two_programs[] =
    "printf '#include <stdio.h>\\nint main(int c,char**v){puts(v[0]);return printf(\"%%d\",c);}' "
    "> p.c && "
    "for kind in plain ibt; do "
    "  [ $kind = ibt ] && flags='-fcf-protection -Wl,-z,ibtplt' || flags=-fcf-protection=none; "
    "  cc -O1 $flags -Wl,-z,lazy p.c -o $kind.told && "
    "  cc -O1 $flags -Wl,-z,lazy -Wl,--no-ld-generated-unwind-info p.c -o $kind.guessed || exit 1; "
    "done";

static const struct unwind_region *only_region(void *context, uint64_t address)
{
    const struct unwind_region *region = context;
    return address >= region->start && address < region->end ? region : NULL;
}

/* How far the CFA is above the stack pointer at a vaddr: by which word of the stack is the return
 * address. 0 where neither of the first two is. */
static int cfa_offset(struct unwind_walker *walker, const struct built *built, uint64_t vaddr)
{
    const struct unwind_region region = {
        .start = 0, .end = 0x10000000, .kind = UNWIND_REGION_TABLE, .table = built->table};
    const struct unwind_space space = {only_region, (void *)(uintptr_t)&region, 1};
    const uint64_t main_vaddr = symbol(built, "main");
    const uint64_t stack[64] = {main_vaddr + 1, main_vaddr + 2, main_vaddr + 3};
    struct unwind_registers registers = {{0}};
    registers.value[UNWIND_RIP] = vaddr;
    registers.value[UNWIND_RSP] = 0x7ff000000000;
    const struct unwind_memory memory = {.slice = (const uint8_t *)stack,
                                         .slice_address = 0x7ff000000000,
                                         .slice_size = sizeof stack};
    const struct unwind_stack walked = unwind_walk(walker, &space, &memory, &registers);
    return walked.count > 1 ? (int)(walked.frames[1].address - main_vaddr) * 8 : 0;
}

/* What record finds by looking at the PLT's bytes is what the linker's own .eh_frame says. */
static void compare_plts(struct fixture *fixture, const char *told_name, const char *guessed_name)
{
    struct built told = build(fixture_path(fixture, told_name));
    struct built guessed = build(fixture_path(fixture, guessed_name));
    struct unwind_walker *walkers[2] = {unwind_walker_new(100), unwind_walker_new(100)};
    uint64_t told_vaddr, guessed_vaddr;
    const size_t size = image_section(told.image, ".plt", &told_vaddr).size;
    CU_ASSERT_TRUE_FATAL(size >= 48);
    CU_ASSERT_EQUAL(image_section(guessed.image, ".plt", &guessed_vaddr).size, size);
    int offsets = 0;
    for (uint64_t at = 0; at < size; at++) {
        const int expected = cfa_offset(walkers[0], &told, told_vaddr + at);
        CU_ASSERT_EQUAL(cfa_offset(walkers[1], &guessed, guessed_vaddr + at), expected);
        CU_ASSERT_TRUE(expected >= 8);
        offsets |= expected;
    }
    CU_ASSERT_EQUAL(offsets, 8 | 16 | 24);
    unwind_walker_free(walkers[0]);
    unwind_walker_free(walkers[1]);
    release(&told);
    release(&guessed);
}

static void test_plt_without_call_frame_information(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_run(&fixture, two_programs);
    compare_plts(&fixture, "plain.told", "plain.guessed");
    compare_plts(&fixture, "ibt.told", "ibt.guessed");
    fixture_close(&fixture);
}

void sprof_suite_recording_build(void);
void sprof_suite_recording_build(void)
{
    CU_pSuite suite = CU_add_suite("recording/build", NULL, NULL);
    CU_add_test(suite, "libc", test_libc);
    CU_add_test(suite, "dynamic loader", test_dynamic_loader);
    CU_add_test(suite, "this program", test_this_program);
    CU_add_test(suite, "vdso", test_vdso);
    CU_add_test(suite, "no call frame information", test_no_call_frame_information);
    CU_add_test(suite, ".debug_frame serves", test_debug_frame_serves);
    CU_add_test(suite, "PLT without call frame information",
                test_plt_without_call_frame_information);
}
