/* The queries of docs/schema.md, run as they stand there. */
#include "store/schema.h"
#include "tests/unit/store/recording.h"

#include <stdio.h>
#include <string.h>

static struct place place;
static struct store *store;
static char *page;

static char *read_page(const char *path)
{
    FILE *file = fopen(path, "r");
    struct sprof_str text = {0};
    char part[4096];
    for (size_t size; file && (size = fread(part, 1, sizeof part, file)) > 0;)
        sprof_str_append_bytes(&text, part, size);
    if (file)
        fclose(file);
    return sprof_str_take(&text);
}

static int open_example(void)
{
    place = place_make();
    example_make(&place);
    page = read_page(SPROF_SOURCE_DIR "/docs/schema.md");
    return !page || store_open_read(&store, place.path, NULL);
}

static int close_example(void)
{
    store_close(store, NULL);
    place_remove(&place);
    free(page);
    return 0;
}

/* The n-th block (from 1) as a new string, or NULL. */
static char *query_of_page(int number)
{
    const char *at = page;
    while (number-- && (at = strstr(at, "```sql\n")))
        at += strlen("```sql\n");
    const char *end = at ? strstr(at, "```") : NULL;
    return end ? strndup(at, (size_t)(end - at)) : NULL;
}

static void test_each_returns_rows(void)
{
    int count = 0;
    for (char *sql; (sql = query_of_page(count + 1)); free(sql)) {
        const char *text = query_text(store, sql);
        count++;
        CU_ASSERT_TRUE(*text && strncmp(text, "error", 5));
        if (!*text || !strncmp(text, "error", 5))
            fprintf(stderr, "\nquery %d: %s\n%s", count, text, sql);
    }
    CU_ASSERT_EQUAL(count, 20);
}

static void test_results(void)
{
    static const struct {
        int number;
        const char *rows;
    } expected[] = {
        {1, "S2|libs.so|3|50.0 A2|prog|2|33.3 A1|prog|1|16.7 A3|prog|0|0.0 S1|libs.so|0|0.0 "
            "[not sampled]|[none]|0|0.0"},
        {3, "A2|2|5 A1|1|6 A3|0|2"},
        {4, "app|3 system|3 none|0"},
        {5, "A1|prog|3 A3|prog|2"},
        {6, "2|A1;A2;S1;S2 1|A1 1|A1;A2 1|A1;A3;A2 1|A1;A3;A2;S1;S2"},
        {8, "A2|3 A3|2"},
        {10, "prog|prog|100|5|- prog|worker|101|1|100.0 child|child|200|0|100.0"},
        {11, "100|prog|6 200|child|0"},
        {13, "1"},
        {14, "1|6|3|66.67|82.35|332.33"},
        {15, "truncated|prog|1"},
        {16, "libs.so|0|3"},
        {17, "libs.so|/usr/lib/libs.so|deleted|3"},
        {18, "1|1|2|3|1|-1"},
        {20, "1|2026-09-21 14:13:20|prog --fast|full|997|2.0|complete"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char *sql = query_of_page(expected[i].number);
        CU_ASSERT_PTR_NOT_NULL_FATAL(sql);
        assert_text(query_text(store, sql), expected[i].rows);
        free(sql);
    }
}

static int add_name(void *context, int columns, char *const *values, char *const *names)
{
    (void)columns, (void)names;
    return sprof_str_appendf(context, "`%s`\n", values[0]) ? SPROF_ENOMEM : 0;
}

/* Every table, view and column of either is spoken of. */
static void test_everything_is_described(void)
{
    struct sprof_str names = {0};
    char version[64];
    snprintf(version, sizeof version, "`PRAGMA user_version` (now %d)", STORE_SCHEMA_VERSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(page, version));
    CU_ASSERT_EQUAL(
        store_query(store,
                    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') "
                    "UNION SELECT c.name FROM sqlite_schema s, pragma_table_info(s.name)"
                    " c WHERE s.type IN ('table', 'view') AND c.name <> 'end'",
                    add_name, &names, NULL),
        0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(names.text);
    char *rest = NULL;
    for (char *name = strtok_r(names.text, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
        CU_ASSERT_PTR_NOT_NULL(strstr(page, name));
        if (!strstr(page, name))
            fprintf(stderr, "\ndocs/schema.md says nothing of %s\n", name);
    }
    sprof_str_release(&names);
}

void sprof_suite_store_docs(void);
void sprof_suite_store_docs(void)
{
    CU_pSuite suite = CU_add_suite("store/docs", open_example, close_example);
    CU_add_test(suite, "each query returns rows", test_each_returns_rows);
    CU_add_test(suite, "results", test_results);
    CU_add_test(suite, "everything is described", test_everything_is_described);
}
