#include "fleet/fleet.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

static FILE *table_of(const char *text)
{
    FILE *file = tmpfile();
    if (file) {
        fputs(text, file);
        rewind(file);
    }
    return file;
}

static int add(struct fleet_batch *batch, const char *name, const char *text)
{
    struct sprof_error error;
    FILE *file = table_of(text);
    if (!file)
        return SPROF_EIO;
    const int result = fleet_batch_add_table(batch, name, file, &error);
    fclose(file);
    return result;
}

/* The file of a batch, in memory. */
static struct sprof_str file_of(const struct fleet_batch *batch)
{
    struct sprof_str text = {0};
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (out && !fleet_batch_write(batch, out) && !fclose(out))
        sprof_str_append_bytes(&text, bytes, size);
    free(bytes);
    return text;
}

static int parse(const struct sprof_str *text, struct fleet_batch *batch)
{
    struct sprof_error error;
    return fleet_batch_parse(batch, (struct sprof_bytes){(const uint8_t *)text->text, text->length},
                             &error);
}

static int refuse_native(FILE *out, FILE *rows, struct sprof_error *error)
{
    (void)out;
    (void)rows;
    return sprof_error_set(error, SPROF_EFORMAT, 0, "no such column");
}

static void test_an_error_is_passed_on(void)
{
    struct fleet_batch batch = {.key = 7, .to_native = refuse_native};
    struct sprof_error error;
    FILE *file = table_of("path_key\tsamples\n1\t5\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fleet_batch_add_table(&batch, "cost", file, &error), SPROF_EFORMAT);
    CU_ASSERT_STRING_EQUAL(error.message, "no such column");
    CU_ASSERT_EQUAL(batch.pieces.count, 0);
    fclose(file);
    fleet_batch_release(&batch);
}

static void test_what_is_written_is_read(void)
{
    struct fleet_batch batch = {.key = 7}, again;
    CU_ASSERT_EQUAL_FATAL(add(&batch, "path", "path_key\tfunctions\n1\t[2]\n3\t[2,4]\n"), 0);
    CU_ASSERT_EQUAL_FATAL(add(&batch, "run", "run_key\n"), 0); /* no rows, no piece */
    CU_ASSERT_EQUAL_FATAL(add(&batch, "cost", "path_key\tsamples\n1\t5\n"), 0);
    CU_ASSERT_EQUAL(add(&batch, "cost", "path_key\tsamples\n1\t5"), SPROF_EFORMAT);
    struct sprof_str text = file_of(&batch);
    CU_ASSERT_EQUAL_FATAL(parse(&text, &again), 0);
    CU_ASSERT_EQUAL_FATAL(again.pieces.count, 2);
    CU_ASSERT_STRING_EQUAL(again.pieces.items[0].name, "path");
    CU_ASSERT_STRING_EQUAL(again.pieces.items[0].columns, "path_key,functions");
    CU_ASSERT_EQUAL(again.pieces.items[0].rows, 2);
    CU_ASSERT_EQUAL(again.pieces.items[1].body.size, batch.pieces.items[1].body.size);
    fleet_batch_release(&again);
    sprof_str_release(&text);
    fleet_batch_release(&batch);
}

static void test_every_damage_is_found(void)
{
    struct fleet_batch batch = {.key = 7}, again;
    CU_ASSERT_EQUAL_FATAL(add(&batch, "path", "path_key\tfunctions\n1\t[2]\n"), 0);
    struct sprof_str text = file_of(&batch);
    for (size_t i = 0; i < text.length; i++) {
        text.text[i] ^= 1;
        CU_ASSERT_EQUAL(parse(&text, &again), SPROF_EFORMAT);
        fleet_batch_release(&again);
        text.text[i] ^= 1;
    }
    for (; text.length--;) {
        CU_ASSERT_EQUAL(parse(&text, &again), SPROF_EFORMAT);
        fleet_batch_release(&again);
        if (!text.length)
            break;
    }
    sprof_str_release(&text);
    fleet_batch_release(&batch);
}

static void test_the_key_is_of_all_rows(void)
{
    struct fleet_batch one = {.key = 1}, same = {.key = 1}, other = {.key = 1}, run = {.key = 2};
    CU_ASSERT_EQUAL(add(&one, "cost", "path_key\n1\n2\n"), 0);
    CU_ASSERT_EQUAL(add(&same, "cost", "path_key\n1\n2\n"), 0);
    CU_ASSERT_EQUAL(add(&other, "cost", "path_key\n1\n3\n"), 0);
    CU_ASSERT_EQUAL(add(&run, "cost", "path_key\n1\n2\n"), 0);
    CU_ASSERT_EQUAL(one.key, same.key);
    CU_ASSERT_NOT_EQUAL(one.key, other.key);
    CU_ASSERT_NOT_EQUAL(one.key, run.key);
    fleet_batch_release(&one);
    fleet_batch_release(&same);
    fleet_batch_release(&other);
    fleet_batch_release(&run);
}

static void test_a_large_table_is_several_pieces(void)
{
    struct fleet_batch batch = {.key = 0};
    struct sprof_error error;
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("n\n", file);
    for (int i = 0; i < FLEET_PIECE_ROWS + 1; i++)
        fprintf(file, "%d\n", i);
    rewind(file);
    CU_ASSERT_EQUAL(fleet_batch_add_table(&batch, "cost", file, &error), 0);
    fclose(file);
    CU_ASSERT_EQUAL_FATAL(batch.pieces.count, 2);
    CU_ASSERT_EQUAL(batch.pieces.items[0].rows, FLEET_PIECE_ROWS);
    CU_ASSERT_EQUAL(batch.pieces.items[1].rows, 1);
    fleet_batch_release(&batch);
}

void sprof_suite_fleet_batch(void);
void sprof_suite_fleet_batch(void)
{
    CU_pSuite suite = CU_add_suite("fleet/batch", NULL, NULL);
    CU_add_test(suite, "what is written is read", test_what_is_written_is_read);
    CU_add_test(suite, "an error is passed on", test_an_error_is_passed_on);
    CU_add_test(suite, "every damage is found", test_every_damage_is_found);
    CU_add_test(suite, "the key is of all rows", test_the_key_is_of_all_rows);
    CU_add_test(suite, "a large table is several pieces", test_a_large_table_is_several_pieces);
}
