#include "image/image.h"
#include "tests/unit/image/fixture.h"

#include <elf.h>

static int open_bytes(const void *data, size_t size, struct sprof_error *error)
{
    struct image *image = NULL;
    const int code = image_open_memory(&image, "lib/x.so", (struct sprof_bytes){data, size}, error);
    image_free(image);
    return code;
}

static Elf64_Ehdr good_header(void)
{
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_ehsize = sizeof header,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_shentsize = sizeof(Elf64_Shdr),
    };
    return header;
}

static void test_other_files_are_told_apart(void)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(open_bytes("#!/bin/sh\necho hello there\n", 27, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "lib/x.so is not an ELF file"));
    CU_ASSERT_EQUAL(open_bytes("", 0, &error), SPROF_EFORMAT);
    Elf64_Ehdr header = good_header();
    CU_ASSERT_EQUAL(open_bytes(&header, sizeof header, &error), 0);
    header.e_ident[EI_CLASS] = ELFCLASS32;
    CU_ASSERT_EQUAL(open_bytes(&header, sizeof header, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "32-bit"));
    header = good_header();
    header.e_ident[EI_DATA] = ELFDATA2MSB;
    CU_ASSERT_EQUAL(open_bytes(&header, sizeof header, &error), SPROF_EUNSUPPORTED);
    header = good_header();
    header.e_machine = EM_RISCV;
    CU_ASSERT_EQUAL(open_bytes(&header, sizeof header, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "another machine"));
}

static void test_program_headers_outside_the_file(void)
{
    struct sprof_error error = {0};
    Elf64_Ehdr header = good_header();
    header.e_phnum = 9;
    header.e_phoff = 1 << 20;
    CU_ASSERT_EQUAL(open_bytes(&header, sizeof header, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "damaged"));
}

/* Segments that wrap around the address space cannot hold anything. */
static void test_wrapping_segment_is_left_out(void)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segments[2];
    } file = {.header = good_header()};
    file.header.e_phnum = 2;
    file.header.e_phoff = sizeof file.header;
    file.segments[0] =
        (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = UINT64_MAX - 4, .p_filesz = 64};
    file.segments[1] =
        (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x1000, .p_filesz = 64};
    struct image *image = NULL;
    CU_ASSERT_EQUAL(
        image_open_memory(&image, "x", (struct sprof_bytes){(void *)&file, sizeof file}, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    const struct image_segment *text;
    CU_ASSERT_EQUAL(image_text_segments(image, &text), 1);
    CU_ASSERT_EQUAL(text->vaddr, 0x1000);
    uint64_t offset;
    CU_ASSERT_FALSE(image_offset_of_vaddr(image, UINT64_MAX, &offset));
    CU_ASSERT_EQUAL(image_fd(image), -1);
    CU_ASSERT_EQUAL(image_memory(image).size, sizeof file);
    image_free(image);
}

void sprof_suite_image_headers(void);
void sprof_suite_image_headers(void)
{
    CU_pSuite suite = CU_add_suite("image/headers", NULL, NULL);
    CU_add_test(suite, "other files are told apart", test_other_files_are_told_apart);
    CU_add_test(suite, "program headers outside the file", test_program_headers_outside_the_file);
    CU_add_test(suite, "a wrapping segment is left out", test_wrapping_segment_is_left_out);
}
