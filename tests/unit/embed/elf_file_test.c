/* A program that gets a segment of its own: it stays the program that it was, and the segment has
 * the sections that were placed. */
#include "embed/elf_file.h"

#include <CUnit/CUnit.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char source[] =
    "#include <stdio.h>\n#include <stdlib.h>\nconst char kept[] = \"what it has\";\n"
    "int main(int count, char **words) { (void)words; puts(kept); exit(count + 41); }\n";

static char directory[] = "/tmp/sprof-embed-XXXXXX";
static char program[64], copy[64], text[64];

static int set_up(void)
{
    char line[256];
    if (!mkdtemp(directory))
        return 1;
    snprintf(program, sizeof program, "%s/program", directory);
    snprintf(copy, sizeof copy, "%s/copy", directory);
    snprintf(text, sizeof text, "%s/source.c", directory);
    FILE *file = fopen(text, "w");
    if (!file || fputs(source, file) < 0 || fclose(file))
        return 1;
    snprintf(line, sizeof line, "gcc -O1 -o %s %s", program, text);
    return system(line) != 0;
}

static int tear_down(void)
{
    char line[64];
    snprintf(line, sizeof line, "rm -r %s", directory);
    return system(line) != 0;
}

static void test_what_a_program_has(void)
{
    struct elf_file file;
    struct sprof_error error = {0};
    uint64_t vaddr = 0;
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&file, program, &error), 0);
    CU_ASSERT_FALSE(file.is_library);
    const struct sprof_bytes code = embed_elf_section(&file, ".text", &vaddr);
    CU_ASSERT_NOT_EQUAL(code.size, 0);
    CU_ASSERT_PTR_EQUAL(embed_elf_at(&file, vaddr, code.size), code.data);
    const struct sprof_bytes constants = embed_elf_section(&file, ".rodata", &vaddr);
    CU_ASSERT_PTR_NOT_NULL(memmem(constants.data, constants.size, "what it has", 12));
    CU_ASSERT_EQUAL(embed_elf_section(&file, ".none", &vaddr).size, 0);
    /* The new segment is behind all that is loaded, with the same remainder in file and memory. */
    CU_ASSERT_PTR_NULL(embed_elf_at(&file, file.vaddr, 1));
    CU_ASSERT_PTR_NULL(embed_elf_at(&file, UINT64_MAX - 3, 8));
    CU_ASSERT_EQUAL(file.vaddr % 4096, file.offset % 4096);
    CU_ASSERT_TRUE(file.offset >= file.size);
    CU_ASSERT_TRUE(file.code >= file.vaddr);
    embed_elf_release(&file);
}

static bool is_exit(const char *name)
{
    return !strcmp(name, "exit");
}

static int note_entry(void *context, uint64_t start, struct sprof_bytes code)
{
    *(uint64_t *)context = start;
    CU_ASSERT_TRUE(code.size >= 8);
    return 7;
}

static void test_entries_are_found_by_their_names(void)
{
    struct elf_file file;
    struct sprof_error error = {0};
    uint64_t start = 0, vaddr;
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&file, program, &error), 0);
    CU_ASSERT_EQUAL(embed_each_imported(&file, is_exit, note_entry, &start), 7);
    struct sprof_bytes plt = embed_elf_section(&file, ".plt.sec", &vaddr);
    if (!plt.size)
        plt = embed_elf_section(&file, ".plt", &vaddr);
    CU_ASSERT_TRUE(start >= vaddr && start < vaddr + plt.size);
    embed_elf_release(&file);
}

/* What a file's command prints, and its exit status. */
static int run(const char *path, char *said, int bytes)
{
    FILE *pipe = popen(path, "r");
    said[0] = '\0';
    if (!pipe || !fgets(said, bytes, pipe))
        said[0] = '\0';
    const int status = pipe ? pclose(pipe) : -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_a_segment_more(void)
{
    static const uint8_t code[70] = {0xc3}, data[5] = "four";
    struct elf_section sections[] = {
        {.name = ".new.code", .bytes = {code, sizeof code}, .is_code = true},
        {.name = ".new.none"},
        {.name = ".new.data", .bytes = {data, sizeof data}},
    };
    struct elf_file file, written;
    struct sprof_error error = {0};
    char said[64];
    uint64_t vaddr;
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&file, program, &error), 0);
    embed_elf_place(&file, sections, 3);
    CU_ASSERT_TRUE(sections[0].vaddr >= file.code);
    CU_ASSERT_EQUAL(sections[0].vaddr % 64, 0);
    CU_ASSERT_EQUAL(sections[2].vaddr, sections[0].vaddr + 128);
    CU_ASSERT_EQUAL_FATAL(embed_elf_write(&file, copy, sections, 3, &error), 0);
    CU_ASSERT_EQUAL(run(copy, said, sizeof said), 42);
    CU_ASSERT_STRING_EQUAL(said, "what it has\n");
    /* The copy is read as any file is, and has the sections where they were placed. */
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&written, copy, &error), 0);
    struct sprof_bytes found = embed_elf_section(&written, ".new.code", &vaddr);
    CU_ASSERT_EQUAL(vaddr, sections[0].vaddr);
    CU_ASSERT_EQUAL(found.size, sizeof code);
    found = embed_elf_section(&written, ".new.data", &vaddr);
    CU_ASSERT_EQUAL(vaddr, sections[2].vaddr);
    CU_ASSERT_TRUE(found.size == sizeof data && !memcmp(found.data, data, sizeof data));
    CU_ASSERT_EQUAL(embed_elf_section(&written, ".new.none", &vaddr).size, 0);
    CU_ASSERT_PTR_NOT_NULL(embed_elf_at(&written, sections[0].vaddr, sizeof code));
    /* All else stands where it stood. */
    const struct sprof_bytes before = embed_elf_section(&file, ".rodata", &vaddr);
    const uint64_t was_at = vaddr;
    found = embed_elf_section(&written, ".rodata", &vaddr);
    CU_ASSERT_TRUE(vaddr == was_at && found.size == before.size &&
                   !memcmp(found.data, before.data, before.size));
    embed_elf_release(&written);
    embed_elf_release(&file);
}

/* A section of a name that the file has takes that name; the file's own is still there. */
static void test_a_section_of_the_same_name(void)
{
    static const uint8_t data[8] = "instead";
    struct elf_section section = {
        .name = ".rodata", .former = ".rodata.was", .bytes = {data, sizeof data}};
    struct elf_file file, written;
    struct sprof_error error = {0};
    uint64_t vaddr, was_at;
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&file, program, &error), 0);
    embed_elf_section(&file, ".rodata", &was_at);
    embed_elf_place(&file, &section, 1);
    CU_ASSERT_EQUAL_FATAL(embed_elf_write(&file, copy, &section, 1, &error), 0);
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&written, copy, &error), 0);
    struct sprof_bytes found = embed_elf_section(&written, ".rodata", &vaddr);
    CU_ASSERT_TRUE(found.size == sizeof data && !memcmp(found.data, data, sizeof data));
    CU_ASSERT_EQUAL(vaddr, section.vaddr);
    found = embed_elf_section(&written, ".rodata.was", &vaddr);
    CU_ASSERT_EQUAL(vaddr, was_at);
    CU_ASSERT_PTR_NOT_NULL(memmem(found.data, found.size, "what it has", 12));
    embed_elf_release(&written);
    embed_elf_release(&file);
}

/* What cannot be written leaves what was there before; what is written has the file's rights. */
static void test_outputs(void)
{
    static const uint8_t data[8] = "more";
    struct elf_section section = {.name = ".new.data", .bytes = {data, sizeof data}};
    struct elf_file file;
    struct sprof_error error = {0};
    struct stat rights;
    char said[64];
    CU_ASSERT_EQUAL_FATAL(chmod(program, 0751), 0);
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&file, program, &error), 0);
    embed_elf_place(&file, &section, 1);
    CU_ASSERT_TRUE(embed_elf_write(&file, "/nonexistent/copy", &section, 1, &error) < 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "/nonexistent"));
    CU_ASSERT_TRUE(embed_elf_write(&file, directory, &section, 1, &error) < 0);
    /* A link in a directory that others write. */
    char shared[80], link[96];
    snprintf(shared, sizeof shared, "%s/shared", directory);
    snprintf(link, sizeof link, "%s/link", shared);
    CU_ASSERT_TRUE(!mkdir(shared, 0700) && !chmod(shared, 0777) && !symlink(copy, link));
    CU_ASSERT_EQUAL(embed_elf_write(&file, link, &section, 1, &error), SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "the symbolic link link, which another user"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "name the file that it should lead to"));
    embed_elf_release(&file);
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&file, program, &error), 0);
    embed_elf_place(&file, &section, 1);
    CU_ASSERT_EQUAL(embed_elf_write(&file, copy, &section, 1, &error), 0);
    CU_ASSERT_EQUAL_FATAL(stat(copy, &rights), 0);
    CU_ASSERT_EQUAL(rights.st_mode & 07777, 0751);
    CU_ASSERT_EQUAL(run(copy, said, sizeof said), 42);
    embed_elf_release(&file);
}

static void test_files_that_are_no_programs(void)
{
    struct elf_file file;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(embed_elf_read(&file, text, &error), SPROF_EUNSUPPORTED);
    embed_elf_release(&file);
    CU_ASSERT_TRUE(embed_elf_read(&file, "/nonexistent/program", &error) < 0);
    embed_elf_release(&file);
}

/* A program that ends anywhere, or has a byte that it should not, is refused or read, never beyond
 * its end. */
static void test_damaged_programs(void)
{
    struct elf_file whole, file;
    struct sprof_error error = {0};
    uint64_t vaddr;
    CU_ASSERT_EQUAL_FATAL(embed_elf_read(&whole, program, &error), 0);
    for (size_t i = 0; i < 400; i++) {
        FILE *out = fopen(copy, "w");
        const size_t size = i < 100 ? i * whole.size / 100 : whole.size;
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        fwrite(whole.bytes, 1, size, out);
        if (i >= 100 && !fseek(out, (long)((i - 100) * 3 % 900), SEEK_SET))
            fputc(0xff, out);
        fclose(out);
        if (!embed_elf_read(&file, copy, &error))
            embed_elf_section(&file, ".text", &vaddr);
        embed_elf_release(&file);
    }
    embed_elf_release(&whole);
}

void sprof_suite_embed_elf_file(void);
void sprof_suite_embed_elf_file(void)
{
    CU_pSuite suite = CU_add_suite("embed/elf_file", set_up, tear_down);
    CU_add_test(suite, "what a program has", test_what_a_program_has);
    CU_add_test(suite, "entries are found by their names", test_entries_are_found_by_their_names);
    CU_add_test(suite, "a segment more", test_a_segment_more);
    CU_add_test(suite, "a section of the same name", test_a_section_of_the_same_name);
    CU_add_test(suite, "outputs", test_outputs);
    CU_add_test(suite, "files that are no programs", test_files_that_are_no_programs);
    CU_add_test(suite, "damaged programs", test_damaged_programs);
}
