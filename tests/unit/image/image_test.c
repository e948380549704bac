#include "base/cut_files.h"
#include "image/image.h"
#include "tests/unit/image/fixture.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static const char program[] = "int main(void) { return 0; }\n";

static struct image *open_path(const char *path)
{
    struct image *image = NULL;
    struct sprof_error error = {0};
    const struct image_request request = {.file.path = path};
    CU_ASSERT_EQUAL(image_open(&image, &request, &error), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    return image;
}

/* Cuts a file that is mapped, and reads what is gone. */
static void cut_a_file(void)
{
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(ftruncate(fileno(file), 1), 0);
    const volatile char *bytes = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    CU_ASSERT_EQUAL_FATAL(ftruncate(fileno(file), 0), 0);
    CU_ASSERT_EQUAL(*bytes, 0);
    munmap((void *)bytes, 1);
    fclose(file);
}

/* Of images that were open then nothing may be kept; of others it may. */
static void test_files_cut_meanwhile(void)
{
    struct sigaction before;
    sigaction(SIGBUS, NULL, &before);
    signal(SIGBUS, SIG_DFL);
    sprof_outlive_cut_files();
    struct image *image = open_path("/proc/self/exe");
    CU_ASSERT_TRUE(image_stayed_whole(image));
    cut_a_file();
    CU_ASSERT_FALSE(image_stayed_whole(image));
    image_free(image);
    image = open_path("/proc/self/exe");
    CU_ASSERT_TRUE(image_stayed_whole(image));
    image_free(image);
    sigaction(SIGBUS, &before, NULL);
}

/* Linkers that pack the text segment make vaddr and offset differ. */
static void test_vaddr_differs_from_offset(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", program);
    fixture_run(&fixture, "cc -O1 -no-pie -Wl,-z,noseparate-code a.c -o a");
    struct image *image = open_path(fixture_path(&fixture, "a"));
    const struct image_segment *text;
    CU_ASSERT_EQUAL_FATAL(image_text_segments(image, &text), 1);
    CU_ASSERT_NOT_EQUAL(text->vaddr, text->offset);
    uint64_t vaddr = 0, offset = 0;
    CU_ASSERT_TRUE(image_vaddr_of_offset(image, text->offset + 16, &vaddr));
    CU_ASSERT_EQUAL(vaddr, text->vaddr + 16);
    CU_ASSERT_TRUE(image_offset_of_vaddr(image, vaddr, &offset));
    CU_ASSERT_EQUAL(offset, text->offset + 16);
    CU_ASSERT_FALSE(image_offset_of_vaddr(image, 0x10, &offset));
    CU_ASSERT_FALSE(image_vaddr_of_offset(image, UINT64_MAX, &vaddr));
    CU_ASSERT_TRUE(image_vaddr_of_mapping(image, 0, &vaddr));
    CU_ASSERT_EQUAL(vaddr, text->vaddr - text->offset);
    CU_ASSERT_FALSE(image_vaddr_of_mapping(image, UINT64_MAX, &vaddr));
    CU_ASSERT_TRUE(image_is_executable(image));
    image_free(image);
    fixture_close(&fixture);
}

static void test_facts_match_readelf(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", program);
    fixture_run(&fixture, "cc -shared -fPIC -Wl,-soname,liba.so.7 -Wl,--build-id=sha1 a.c -o a.so;"
                          "cc -pie a.c -o pie; cc -Wl,--build-id=none a.c -o anonymous");
    struct image *image = open_path(fixture_path(&fixture, "a.so"));
    CU_ASSERT_STRING_EQUAL(image_soname(image), "liba.so.7");
    CU_ASSERT_FALSE(image_is_executable(image));
    const struct sprof_bytes id = image_build_id(image);
    CU_ASSERT_EQUAL_FATAL(id.size, 20);
    char hex[41];
    for (size_t i = 0; i < id.size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id.data[i]);
    char *notes = fixture_output(&fixture, "readelf -n a.so");
    CU_ASSERT_PTR_NOT_NULL(strstr(notes, hex));
    free(notes);
    CU_ASSERT_EQUAL(image_key(image), sprof_hash_bytes(id.data, id.size));
    image_free(image);

    image = open_path(fixture_path(&fixture, "pie"));
    CU_ASSERT_TRUE(image_is_executable(image));
    CU_ASSERT_PTR_NULL(image_soname(image));
    char *header = fixture_output(&fixture, "readelf -h pie");
    CU_ASSERT_EQUAL(image_entry(image), fixture_hex_after(header, "Entry point address:"));
    free(header);
    image_free(image);

    image = open_path(fixture_path(&fixture, "anonymous"));
    CU_ASSERT_EQUAL(image_build_id(image).size, 0);
    fixture_run(&fixture, "cp anonymous same; cp anonymous other; printf x >>other");
    struct image *same = open_path(fixture_path(&fixture, "same"));
    struct image *other = open_path(fixture_path(&fixture, "other"));
    CU_ASSERT_EQUAL(image_key(image), image_key(same));
    CU_ASSERT_NOT_EQUAL(image_key(image), image_key(other));
    image_free(same);
    image_free(other);
    image_free(image);
    fixture_close(&fixture);
}

static void test_libc_is_no_program(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(maps);
    char line[4096];
    char *path = NULL;
    while (!path && fgets(line, sizeof line, maps))
        if (strstr(line, "/libc.so.6"))
            path = strchr(line, '/');
    fclose(maps);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    path[strcspn(path, "\n")] = '\0';
    struct image *image = open_path(path);
    CU_ASSERT_STRING_EQUAL(image_soname(image), "libc.so.6");
    CU_ASSERT_FALSE(image_is_executable(image));
    image_free(image);
}

/* Everything a caller may ask of an image that was let in. */
static void use(struct image *image)
{
    static const char *const names[] = {"main", "_start", NULL};
    static const char *const sections[] = {".eh_frame_hdr", ".eh_frame", ".symtab", ".debug_info"};
    struct image_symbol symbols[2];
    uint64_t value;
    const struct image_segment *text;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const struct sprof_bytes bytes = image_section(image, sections[i], &value);
        volatile uint8_t sum = 0;
        for (size_t j = 0; j < bytes.size; j++)
            sum = (uint8_t)(sum + bytes.data[j]);
    }
    image_find_symbols(image, names, symbols);
    image_text_segments(image, &text);
    image_vaddr_of_offset(image, image_entry(image), &value);
    image_offset_of_vaddr(image, image_entry(image), &value);
    image_key(image);
}

static void open_damaged(struct fixture *fixture, const uint8_t *data, size_t size, bool as_file)
{
    struct image *image = NULL;
    struct sprof_error error = {0};
    int code;
    if (as_file) {
        fixture_write(fixture, "damaged", data, size);
        const struct image_request request = {.file.path = fixture_path(fixture, "damaged")};
        code = image_open(&image, &request, &error);
    } else {
        code = image_open_memory(&image, "damaged", (struct sprof_bytes){data, size}, &error);
    }
    CU_ASSERT_TRUE(code == 0 || code == SPROF_EFORMAT || code == SPROF_EUNSUPPORTED);
    CU_ASSERT_EQUAL(code == 0, image != NULL);
    CU_ASSERT_EQUAL(code == 0, error.message[0] == '\0');
    if (image)
        use(image);
    image_free(image);
}

/* Flips fall on the headers, where they hurt. */
static void test_damage_never_crashes(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", program);
    fixture_run(&fixture, "cc -g -gz=zlib a.c -o a");
    const struct sprof_bytes whole = fixture_read(&fixture, "a");
    uint8_t *copy = malloc(whole.size);
    const size_t headers = 64 + 14 * 56, sections = 64 * 40;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t state = seed;
        memcpy(copy, whole.data, whole.size);
        for (int flips = 0; flips < 4; flips++) {
            const uint64_t random = fixture_random(&state);
            const size_t place =
                random & 1 ? (random >> 8) % headers : whole.size - 1 - (random >> 8) % sections;
            copy[place] ^= (uint8_t)(1U << (random >> 4 & 7));
        }
        memcpy(copy, whole.data, 6);
        open_damaged(&fixture, copy, whole.size, seed & 1);
    }
    for (size_t size = 0; size < whole.size; size += whole.size / 97)
        open_damaged(&fixture, whole.data, size, size & 1);
    free(copy);
    free((void *)whole.data);
    fixture_close(&fixture);
}

void sprof_suite_image_image(void);
void sprof_suite_image_image(void)
{
    CU_pSuite suite = CU_add_suite("image/image", NULL, NULL);
    CU_add_test(suite, "vaddr and offset may differ", test_vaddr_differs_from_offset);
    CU_add_test(suite, "facts match readelf", test_facts_match_readelf);
    CU_add_test(suite, "libc is no program", test_libc_is_no_program);
    CU_add_test(suite, "files cut meanwhile", test_files_cut_meanwhile);
    CU_add_test(suite, "damage never crashes", test_damage_never_crashes);
}
