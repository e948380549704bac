#include "image/elf_file.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

/* What image_digest_add promises, written down without threads: these digests are keys of cache
 * entries, which must be found again. */
static struct sprof_digest expected(struct sprof_bytes file, size_t offset, size_t size,
                                    size_t most)
{
    struct sprof_digest digest = {0};
    const size_t head = size <= most ? size : most / 2;
    sprof_digest_add_number(&digest, size);
    for (size_t at = 0; at < size;) {
        const size_t end = at < head ? head : size;
        size_t want = end - at < IMAGE_PIECE ? end - at : IMAGE_PIECE;
        if (offset + at >= file.size)
            break;
        if (want > file.size - offset - at)
            want = file.size - offset - at;
        sprof_digest_add(&digest, file.data + offset + at, want);
        at += want;
        if (at == head && size > most)
            at += size - most;
    }
    return digest;
}

static void check(struct sprof_bytes file, size_t offset, size_t size, size_t most)
{
    enum { TIMES = 8 };
    const struct image image = {.fd = -1, .memory = file, .file_size = file.size};
    const struct sprof_digest right = expected(file, offset, size, most);
    for (unsigned turn = 0; turn < TIMES; turn++) {
        struct sprof_digest digest = {0};
        image_digest_add(&image, offset, size, most, turn % 5, &digest);
        CU_ASSERT_TRUE(sprof_digest_equal(digest, right));
    }
}

static void test_threads_change_nothing(void)
{
    enum { BYTES = 9 << 20, LARGE = 5 << 20, ODD = 77 };
    uint8_t *bytes = malloc(BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    uint32_t state = 1;
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
    const struct sprof_bytes file = {bytes, BYTES};
    const size_t sizes[] = {0, 1, IMAGE_PIECE, IMAGE_PIECE + 1, LARGE, LARGE + ODD, BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check(file, 0, sizes[i], BYTES);
        check(file, ODD, sizes[i], BYTES);       /* the last one goes past the end */
        check(file, 0, sizes[i], LARGE - ODD);   /* head and tail, not of whole pieces */
        check(file, BYTES - 3, sizes[i], BYTES); /* little of it is there */
        check(file, BYTES + 3, sizes[i], BYTES); /* nothing */
        check(file, 2 * LARGE, sizes[i], LARGE / 2);
    }
    check(file, IMAGE_PIECE, SIZE_MAX / 4, LARGE); /* what a forged header may claim */
    free(bytes);
}

void sprof_suite_image_digest(void);
void sprof_suite_image_digest(void)
{
    CU_pSuite suite = CU_add_suite("image/digest", NULL, NULL);
    CU_add_test(suite, "threads change nothing", test_threads_change_nothing);
}
