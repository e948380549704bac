#include "image/image.h"
#include "tests/unit/image/fixture.h"

#include <elf.h>

static const char program[] =
    "int helper(int a) { return a * 3; }\n"
    "int main(int argc, char **argv) { (void)argv; return helper(argc); }\n";

static struct image *open_fixture(struct fixture *fixture, const char *name)
{
    struct image *image = NULL;
    const struct image_request request = {.file.path = fixture_path(fixture, name)};
    CU_ASSERT_EQUAL(image_open(&image, &request, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    return image;
}

static bool same_bytes(struct sprof_bytes left, struct sprof_bytes right)
{
    return left.size == right.size && left.size && !memcmp(left.data, right.data, left.size);
}

static void test_compressed_section_is_decompressed(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", program);
    fixture_run(&fixture, "cc -g a.c -o plain; objcopy --compress-debug-sections=zlib plain packed;"
                          "objcopy -O binary --only-section=.debug_abbrev "
                          "--set-section-flags .debug_abbrev=alloc plain expected");
    struct image *image = open_fixture(&fixture, "packed");
    uint64_t vaddr = 1;
    const struct sprof_bytes bytes = image_section(image, ".debug_abbrev", &vaddr);
    const struct sprof_bytes expected = fixture_read(&fixture, "expected");
    CU_ASSERT_TRUE(same_bytes(bytes, expected));
    CU_ASSERT_EQUAL(vaddr, 0);
    CU_ASSERT_PTR_EQUAL(image_section(image, ".debug_abbrev", NULL).data, bytes.data);
    CU_ASSERT_EQUAL(image_section(image, ".missing", &vaddr).size, 0);
    CU_ASSERT_EQUAL(image_section(image, ".bss", &vaddr).size, 0);
    image_drop_sections(image);
    CU_ASSERT_TRUE(same_bytes(image_section(image, ".debug_abbrev", NULL), expected));
    free((void *)expected.data);
    image_free(image);
    fixture_close(&fixture);
}

/* Cuts the section headers off, as packers and core dumps do. */
static void test_eh_frame_without_section_headers(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", program);
    fixture_run(&fixture, "cc a.c -o a");
    const struct sprof_bytes whole = fixture_read(&fixture, "a");
    Elf64_Ehdr header;
    memcpy(&header, whole.data, sizeof header);
    header.e_shoff = 0;
    header.e_shnum = header.e_shstrndx = 0;
    memcpy((void *)whole.data, &header, sizeof header);
    fixture_write(&fixture, "bare", whole.data, whole.size);
    free((void *)whole.data);

    struct image *full = open_fixture(&fixture, "a"), *bare = open_fixture(&fixture, "bare");
    uint64_t vaddr, bare_vaddr;
    struct sprof_bytes bytes = image_section(full, ".eh_frame_hdr", &vaddr);
    CU_ASSERT_TRUE(same_bytes(bytes, image_section(bare, ".eh_frame_hdr", &bare_vaddr)));
    CU_ASSERT_EQUAL(vaddr, bare_vaddr);
    bytes = image_section(full, ".eh_frame", &vaddr);
    const struct sprof_bytes rest = image_section(bare, ".eh_frame", &bare_vaddr);
    CU_ASSERT_EQUAL(vaddr, bare_vaddr);
    CU_ASSERT_TRUE_FATAL(rest.size >= bytes.size && bytes.size);
    CU_ASSERT_EQUAL(memcmp(bytes.data, rest.data, bytes.size), 0);
    CU_ASSERT_TRUE(same_bytes(image_build_id(full), image_build_id(bare)));
    image_free(full);
    image_free(bare);
    fixture_close(&fixture);
}

static void test_symbols_match_nm(void)
{
    static const char *const names[] = {"helper", "nobody", "main", "_start", NULL};
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", program);
    fixture_run(&fixture, "cc a.c -o a; strip -o stripped a");
    struct image *image = open_fixture(&fixture, "a");
    struct image_symbol found[4];
    image_find_symbols(image, names, found);
    for (size_t i = 0; names[i]; i++) {
        char command[128];
        snprintf(command, sizeof command, "nm -S a | awk '$4 == \"%s\" {print \"=\" $1, $2}'",
                 names[i]);
        char *line = fixture_output(&fixture, command);
        CU_ASSERT_EQUAL(found[i].vaddr, fixture_hex_after(line, "="));
        CU_ASSERT_EQUAL(found[i].size, fixture_hex_after(line, " "));
        free(line);
    }
    CU_ASSERT_NOT_EQUAL(found[0].vaddr, 0);
    CU_ASSERT_EQUAL(found[1].vaddr, 0);
    image_free(image);
    image = open_fixture(&fixture, "stripped");
    image_find_symbols(image, names, found);
    CU_ASSERT_EQUAL(found[0].vaddr, 0);
    image_free(image);
    fixture_close(&fixture);
}

void sprof_suite_image_sections(void);
void sprof_suite_image_sections(void)
{
    CU_pSuite suite = CU_add_suite("image/sections", NULL, NULL);
    CU_add_test(suite, "compressed sections", test_compressed_section_is_decompressed);
    CU_add_test(suite, "eh_frame without section headers", test_eh_frame_without_section_headers);
    CU_add_test(suite, "symbols match nm", test_symbols_match_nm);
}
