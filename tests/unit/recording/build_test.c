/* Tables of real images: this system's libc and dynamic loader, and programs made on the spot. */
#include "recording/build.h"

#include "model/model.h"
#include "tests/unit/image/fixture.h"
#include "tests/unit/recording/this_process.h"

struct built {
    struct image *image;
    struct unwind_table *table;
    struct recording_built all;
};

static struct built build(const char *path)
{
    struct built built = {0};
    struct sprof_error error = {0};
    const struct image_request request = {.file.path = path};
    CU_ASSERT_EQUAL_FATAL(recording_open_image(&built.image, &request, &error), 0);
    CU_ASSERT_EQUAL_FATAL(recording_build(&built.all, built.image, NULL, &error), 0);
    built.table = built.all.table;
    return built;
}

static void release(struct built *built)
{
    unwind_table_free(built->table);
    image_free(built->image);
}

static struct built build_loaded(const char *name)
{
    struct model_process_table table = {0};
    this_process_fill(&table);
    const struct model_module *module = this_process_module(&table, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    const struct built built = build(module->identity.path);
    model_process_table_release(&table);
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

static bool is_startup(const struct built *built, uint64_t vaddr)
{
    const struct unwind_range *ranges = built->all.startup;
    for (size_t i = 0; i < built->all.startup_count; i++)
        if (vaddr >= ranges[i].start && vaddr < ranges[i].end)
            return true;
    return false;
}

/* == Roots and start-up code == */

static void test_libc(void)
{
    struct built libc = build_loaded("libc.so");
    const uint64_t clone = symbol(&libc, "clone"), start_main = symbol(&libc, "__libc_start_main");
    CU_ASSERT_TRUE(clone && start_main);
    /* Its caller is a parent: only what the child does after it is a root. */
    CU_ASSERT_STRING_NOT_EQUAL(rule_at(libc.table, clone), "end");
    CU_ASSERT_STRING_NOT_EQUAL(rule_at(libc.table, start_main), "end");
    CU_ASSERT_TRUE(is_startup(&libc, start_main));
    CU_ASSERT_TRUE(is_startup(&libc, clone));
    CU_ASSERT_FALSE(is_startup(&libc, symbol(&libc, "qsort")));
    CU_ASSERT_FALSE(is_startup(&libc, symbol(&libc, "write")));
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
    CU_ASSERT_TRUE(is_startup(&self, image_entry(self.image)));
    CU_ASSERT_FALSE(is_startup(&self, symbol(&self, "main")));
    CU_ASSERT_STRING_EQUAL(rule_at(self.table, image_entry(self.image)), "end");
    release(&self);
}

static void test_vdso(void)
{
    struct built vdso = build("[vdso]");
    CU_ASSERT_TRUE(unwind_table_facts(vdso.table).rows > 0);
    release(&vdso);
}

/* == Files without tables of their own == */

static void test_no_call_frame_information(void)
{
    struct fixture fixture;
    struct image *image;
    struct recording_built built = {0};
    struct sprof_error error = {0};
    fixture_open(&fixture);
    fixture_run(&fixture, "echo '.globl f; f: ret' > f.s && cc -shared -nostdlib f.s -o f.so");
    const struct image_request request = {.file.path = fixture_path(&fixture, "f.so")};
    CU_ASSERT_EQUAL_FATAL(recording_open_image(&image, &request, &error), 0);
    CU_ASSERT_TRUE(recording_build(&built, image, NULL, &error) < 0);
    CU_ASSERT_PTR_NULL(built.table);
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

/* == Procedure linkage tables == */

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
    registers.value[ARCH_PC] = vaddr;
    registers.value[ARCH_SP] = 0x7ff000000000;
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

/* == The cache == */

/* Looks a file up, and builds and stores what was not there. Returns whether it was. */
static bool find_or_build(struct cache *cache, const char *path, struct built *built)
{
    const struct image_request request = {.file.path = path};
    *built = (struct built){0};
    CU_ASSERT_EQUAL_FATAL(recording_open_image(&built->image, &request, NULL), 0);
    const bool found = recording_find_built(&built->all, built->image, cache);
    if (!found)
        recording_build(&built->all, built->image, cache, NULL);
    built->table = built->all.table;
    return found;
}

static bool is_cached(struct cache *cache, const char *path)
{
    struct built built;
    const bool found = find_or_build(cache, path, &built);
    release(&built);
    return found;
}

static void test_found_again(void)
{
    struct fixture fixture;
    struct built first, second;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    struct model_process_table table = {0};
    this_process_fill(&table);
    const char *path = this_process_module(&table, "libc.so")->identity.path;
    CU_ASSERT_FALSE(find_or_build(cache, path, &first));
    CU_ASSERT_TRUE(find_or_build(cache, path, &second));
    CU_ASSERT_EQUAL(unwind_table_facts(first.table).rows, unwind_table_facts(second.table).rows);
    CU_ASSERT_STRING_EQUAL(rule_at(second.table, symbol(&second, "qsort")),
                           rule_at(first.table, symbol(&first, "qsort")));
    CU_ASSERT_TRUE(second.all.startup_count > 1);
    CU_ASSERT_EQUAL(second.all.startup_count, first.all.startup_count);
    CU_ASSERT_TRUE(is_startup(&second, symbol(&second, "__libc_start_main")));
    /* The file is old: its times stand for it. */
    fixture_run(&fixture, "ls cache/identity-* >list");
    CU_ASSERT_FALSE(is_cached(NULL, path));
    release(&first);
    release(&second);
    model_process_table_release(&table);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* Within two seconds times may be those of another content. */
static void test_a_young_file_is_known_by_its_content(void)
{
    struct fixture fixture;
    char path[128];
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    fixture_run(&fixture,
                "echo 'int f(int x) { return x; }' >a.c; cc -shared -nostdlib a.c -o a.so;"
                "echo 'int f(int x) { return f(x); }' >a.c; cc -shared -nostdlib a.c -o b.so");
    strcpy(path, fixture_path(&fixture, "a.so"));
    CU_ASSERT_FALSE(is_cached(cache, path));
    CU_ASSERT_TRUE(is_cached(cache, path));
    fixture_run(&fixture, "cat b.so >a.so; touch -d yesterday a.so");
    CU_ASSERT_FALSE(is_cached(cache, path));
    fixture_run(&fixture, "cp a.so c.so; rm a.so; mv c.so a.so");
    CU_ASSERT_TRUE(is_cached(cache, path));
    fixture_run(&fixture, "! ls cache/identity-* 2>/dev/null");
    cache_free(cache, 0);
    fixture_close(&fixture);
}

static void test_nothing_is_not_stored(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    fixture_run(&fixture, "echo '.globl f; f: ret' > f.s && cc -shared -nostdlib f.s -o f.so");
    CU_ASSERT_FALSE(is_cached(cache, fixture_path(&fixture, "f.so")));
    CU_ASSERT_FALSE(is_cached(cache, fixture_path(&fixture, "f.so")));
    fixture_run(&fixture, "! ls cache/table-* 2>/dev/null");
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* A debug file that arrives, and one that takes its place under the same build id. */
static void test_the_debug_file_counts(void)
{
#define MAKE                                                                                       \
    "cc -g -O1 -fno-asynchronous-unwind-tables -Wl,--build-id=0x12345678 -shared -nostdlib f.c "   \
    "-o f.so && objcopy --only-keep-debug f.so f.debug && "
    struct fixture fixture;
    struct built built;
    char path[128];
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    fixture_text(&fixture, "f.c", "int f(int a) { int b[4] = {a}; return b[0] + a; }\n");
    fixture_run(&fixture, MAKE "strip -g f.so && objcopy --add-gnu-debuglink=f.debug f.so && "
                               "mv f.debug later");
    strcpy(path, fixture_path(&fixture, "f.so"));
    CU_ASSERT_FALSE(is_cached(cache, path));
    fixture_run(&fixture, "mv later f.debug");
    CU_ASSERT_FALSE(find_or_build(cache, path, &built));
    CU_ASSERT_PTR_NOT_NULL(built.table);
    release(&built);
    CU_ASSERT_TRUE(is_cached(cache, path));
    fixture_run(&fixture,
                "cp f.so kept; echo 'int g(void) { return 0; }' >>f.c; " MAKE "mv kept f.so");
    CU_ASSERT_FALSE(is_cached(cache, path));
    CU_ASSERT_TRUE(is_cached(cache, path));
    cache_free(cache, 0);
    fixture_close(&fixture);
#undef MAKE
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
    CU_add_test(suite, "found again", test_found_again);
    CU_add_test(suite, "a young file is known by its content",
                test_a_young_file_is_known_by_its_content);
    CU_add_test(suite, "nothing is not stored", test_nothing_is_not_stored);
    CU_add_test(suite, "the debug file counts", test_the_debug_file_counts);
}
