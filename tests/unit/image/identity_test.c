#include "image/image.h"
#include "tests/unit/image/fixture.h"

#include <elf.h>

/* One executable segment that also holds the notes and the dynamic section. */
struct file {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    uint8_t notes[64];
    Elf64_Dyn dynamic[4];
    char strings[16];
};

static struct file file_new(void)
{
    struct file file = {
        .header =
            {
                .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                            EV_CURRENT},
                .e_type = ET_DYN,
                .e_machine = EM_X86_64,
                .e_version = EV_CURRENT,
                .e_phoff = offsetof(struct file, segments),
                .e_phnum = 3,
                .e_ehsize = sizeof(Elf64_Ehdr),
                .e_phentsize = sizeof(Elf64_Phdr),
            },
        .strings = "\0lib.so.1",
    };
    file.segments[0] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x4000, .p_filesz = sizeof file};
    file.segments[1] = (Elf64_Phdr){.p_type = PT_NOTE,
                                    .p_offset = offsetof(struct file, notes),
                                    .p_filesz = sizeof file.notes,
                                    .p_align = 4};
    file.segments[2] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
                                    .p_offset = offsetof(struct file, dynamic),
                                    .p_filesz = sizeof file.dynamic};
    file.dynamic[0] = (Elf64_Dyn){DT_SONAME, {1}};
    file.dynamic[1] = (Elf64_Dyn){DT_STRTAB, {0x4000 + offsetof(struct file, strings)}};
    file.dynamic[2] = (Elf64_Dyn){DT_FLAGS_1, {DF_1_PIE}};
    return file;
}

static void put_note(struct file *file, size_t *place, const char *name, uint32_t type,
                     const char *description, uint32_t size)
{
    const uint32_t head[3] = {(uint32_t)strlen(name) + 1, size, type};
    memcpy(file->notes + *place, head, sizeof head);
    memcpy(file->notes + *place + 12, name, head[0]);
    memcpy(file->notes + *place + 16, description, size);
    *place += 16 + (size + 3) / 4 * 4;
}

static struct image *open_file(const struct file *file)
{
    struct image *image = NULL;
    const struct sprof_bytes bytes = {(const void *)file, sizeof *file};
    CU_ASSERT_EQUAL(image_open_memory(&image, "x", bytes, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    return image;
}

static void test_build_id_among_other_notes(void)
{
    struct file file = file_new();
    size_t place = 0;
    put_note(&file, &place, "GNU", NT_GNU_ABI_TAG, "abcde", 5);
    put_note(&file, &place, "GNU", NT_GNU_BUILD_ID, "xyz", 3);
    struct image *image = open_file(&file);
    CU_ASSERT_EQUAL_FATAL(image_build_id(image).size, 3);
    CU_ASSERT_EQUAL(memcmp(image_build_id(image).data, "xyz", 3), 0);
    CU_ASSERT_STRING_EQUAL(image_soname(image), "lib.so.1");
    CU_ASSERT_TRUE(image_is_executable(image));
    image_free(image);
}

static void test_impossible_note_is_no_build_id(void)
{
    struct file file = file_new();
    size_t place = 0;
    put_note(&file, &place, "GNU", NT_GNU_BUILD_ID, "xyz", 3);
    const uint32_t huge = 0xfffffff0;
    memcpy(file.notes + 4, &huge, sizeof huge);
    struct image *image = open_file(&file);
    CU_ASSERT_EQUAL(image_build_id(image).size, 0);
    image_free(image);
}

static void test_soname_outside_the_strings(void)
{
    struct file file = file_new();
    file.dynamic[0].d_un.d_val = UINT64_MAX - 7;
    struct image *image = open_file(&file);
    CU_ASSERT_PTR_NULL(image_soname(image));
    image_free(image);
    file.dynamic[0].d_un.d_val = 1 << 20;
    image = open_file(&file);
    CU_ASSERT_PTR_NULL(image_soname(image));
    image_free(image);
}

/* The key of what a command leaves in the file "a". */
static uint64_t key_after(struct fixture *fixture, const char *command)
{
    fixture_run(fixture, command);
    struct image *image = NULL;
    const struct image_request request = {.file.path = fixture_path(fixture, "a")};
    CU_ASSERT_EQUAL(image_open(&image, &request, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    CU_ASSERT_EQUAL(image_build_id(image).size, 0);
    const uint64_t key = image_key(image);
    image_free(image);
    return key;
}

/* Files too large to be hashed whole, each a change of the first that moves or renames functions.
 */
static void test_large_files_differ_by_their_functions(void)
{
#define BUILD "cc -O1 -Wl,--build-id=none a.c -o a"
    static const char source[] = "char large[8 << 20] = {1};\n"
                                 "int one(int x) { return x * 3 + large[x]; }\n"
                                 "int two(int x) { return one(x) - large[x]; }\n"
                                 "int main(int n, char **v) { return two(n) + !v; }\n";
    static const char *const commands[] = {
        BUILD,
        "sed -i 's/x \\* 3/x * 1000003 % 77/' a.c; " BUILD,
        "sed -i 's/two/owt/' a.c; " BUILD,
        "strip a",
        "sed -i 's/owt(n)/one(n) * owt(7 * n)/' a.c; " BUILD "; strip a",
        "sed -i 's/one(n) ./n */' a.c; cc -O1 -Wl,--build-id=none,--no-eh-frame-hdr a.c -o a; "
        "objcopy -R .eh_frame -R .symtab a; strip a",
    };
    enum { COUNT = sizeof commands / sizeof *commands };
    struct fixture fixture;
    uint64_t keys[COUNT];
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", source);
    for (size_t i = 0; i < COUNT; i++) {
        keys[i] = key_after(&fixture, commands[i]);
        CU_ASSERT_NOT_EQUAL(keys[i], 0);
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(keys[i], keys[j]);
    }
    CU_ASSERT_EQUAL(key_after(&fixture, "cp a same; rm a; mv same a"), keys[COUNT - 1]);
    fixture_close(&fixture);
#undef BUILD
}

/* A terabyte that nobody could read in time, and that decides nothing. */
static void test_identity_is_bounded_work(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", "int main(void) { return 0; }\n");
    const uint64_t small = key_after(&fixture, "cc -Wl,--build-id=none a.c -o a");
    CU_ASSERT_NOT_EQUAL(key_after(&fixture, "truncate -s 1T a"), small);
    fixture_close(&fixture);
}

void sprof_suite_image_identity(void);
void sprof_suite_image_identity(void)
{
    CU_pSuite suite = CU_add_suite("image/identity", NULL, NULL);
    CU_add_test(suite, "a build id among other notes", test_build_id_among_other_notes);
    CU_add_test(suite, "an impossible note", test_impossible_note_is_no_build_id);
    CU_add_test(suite, "a soname outside the strings", test_soname_outside_the_strings);
    CU_add_test(suite, "large files differ by their functions",
                test_large_files_differ_by_their_functions);
    CU_add_test(suite, "identity is bounded work", test_identity_is_bounded_work);
}
