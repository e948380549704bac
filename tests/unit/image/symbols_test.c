#include "image/image.h"
#include "tests/unit/image/fixture.h"

/* Names of 40 to 60 bytes: the string table has more than one piece, and names lie across the
 * bound. Each is asked for, and found where nm says: one byte behind the one before. */
enum { FUNCTIONS = 2500 };

static void write_functions(struct fixture *fixture)
{
    FILE *file = fopen(fixture_path(fixture, "a.s"), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    for (int i = 0; i < FUNCTIONS; i++)
        fprintf(file, ".globl f%0*d\n.type f%0*d, @function\nf%0*d: nop\n.size f%0*d, %d\n",
                39 + i % 20, i, 39 + i % 20, i, 39 + i % 20, i, 39 + i % 20, i, 1 + i % 3);
    fprintf(file,
            ".globl tail\n.type tail, @function\ntail: ret\n.size tail, 1\n"
            ".globl head_tail\n.type head_tail, @function\nhead_tail: ret\n.size head_tail, 1\n"
            ".globl data\n.type data, @object\ndata: .byte 0\n");
    fclose(file);
}

static void test_names_in_every_place(void)
{
    static const char *names[FUNCTIONS + 1];
    static struct image_symbol found[FUNCTIONS];
    struct fixture fixture;
    fixture_open(&fixture);
    write_functions(&fixture);
    fixture_run(&fixture, "cc -c a.s && cc -shared -nostdlib a.o -o a.so");
    struct image *image = NULL;
    const struct image_request request = {.file.path = fixture_path(&fixture, "a.so")};
    CU_ASSERT_EQUAL_FATAL(image_open(&image, &request, NULL), 0);
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[64];
        snprintf(name, sizeof name, "f%0*d", 39 + i % 20, i);
        names[i] = strdup(name);
    }
    image_find_symbols(image, names, found);
    size_t wrong = 0;
    for (int i = 0; i < FUNCTIONS; i++) {
        wrong += found[i].vaddr != found[0].vaddr + (uint64_t)i ||
                 found[i].size != (uint64_t)(1 + i % 3);
        free((void *)names[i]);
    }
    CU_ASSERT_NOT_EQUAL(found[0].vaddr, 0);
    CU_ASSERT_EQUAL(wrong, 0);
    static const char *const few[] = {"tail", "head_tail", "tail", "data", "ail", "", NULL};
    image_find_symbols(image, few, found);
    CU_ASSERT_EQUAL(found[0].size, 1);
    CU_ASSERT_EQUAL(found[1].vaddr, found[0].vaddr + 1);
    CU_ASSERT_EQUAL(found[2].vaddr, found[0].vaddr);
    for (size_t i = 3; few[i]; i++)
        CU_ASSERT_EQUAL(found[i].vaddr, 0);
    image_free(image);
    fixture_close(&fixture);
}

void sprof_suite_image_symbols(void);
void sprof_suite_image_symbols(void)
{
    CU_pSuite suite = CU_add_suite("image/symbols", NULL, NULL);
    CU_add_test(suite, "names in every place", test_names_in_every_place);
}
