/* Datasets made in memory, for what needs no database. */
#ifndef SPROF_TESTS_REPORT_DATASETS_H
#define SPROF_TESTS_REPORT_DATASETS_H

#include "report/dataset_parts.h"
#include "report/table.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

/* Adds a module; returns its number. */
static inline uint32_t add_module(struct report_dataset *dataset, const char *name,
                                  enum model_kind kind)
{
    const struct report_module module = {.name = name, .path = name, .kind = kind};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&dataset->modules, module), 0);
    return (uint32_t)dataset->modules.count;
}

/* Adds a function; returns its number. */
static inline uint32_t add_function(struct report_dataset *dataset, uint32_t module,
                                    const char *name)
{
    const struct model_function facts = {module, dataset->modules.items[module - 1].kind, false};
    const uint32_t function =
        report_dataset_add_function(dataset, (struct report_function){.name = name}, facts);
    CU_ASSERT_NOT_EQUAL_FATAL(function, 0);
    return function;
}

/* Adds a path with exclusive samples (weight the same); returns its number. */
static inline uint32_t add_path(struct report_dataset *dataset, uint32_t parent, uint32_t function,
                                uint64_t samples)
{
    uint32_t path;
    CU_ASSERT_EQUAL_FATAL(model_paths_child(&dataset->paths, parent, function, &path), 0);
    model_paths_add(&dataset->paths, path, (struct model_cost){samples, samples});
    return path;
}

/* Makes it ready for tables. */
static inline void finish_dataset(struct report_dataset *dataset)
{
    model_paths_sum(&dataset->paths);
    report_dataset_total(dataset);
    dataset->effective_samples = (double)dataset->total.samples;
}

/* A table as text, in a buffer that the next call reuses. */
static inline const char *text_of(const struct table *table, unsigned columns)
{
    static char buffer[1 << 16];
    FILE *out = fmemopen(buffer, sizeof buffer, "w");
    CU_ASSERT_EQUAL(report_table_write_text(out, table, columns, false), 0);
    fclose(out);
    return buffer;
}

/* Shows both where they differ. */
static inline void same_text(const char *actual, const char *expected)
{
    CU_ASSERT_STRING_EQUAL(actual, expected);
    if (strcmp(actual, expected))
        fprintf(stderr, "\nexpected:\n%s\nbut got:\n%s\n", expected, actual);
}

#endif
