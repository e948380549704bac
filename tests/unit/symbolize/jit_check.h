/* One look into a JIT file. */
#ifndef SPROF_TESTS_UNIT_SYMBOLIZE_JIT_CHECK_H
#define SPROF_TESTS_UNIT_SYMBOLIZE_JIT_CHECK_H

#include "symbolize/symbolize.h"
#include "tests/unit/image/fixture.h"

static inline struct symbolize_jit *jit_check_open(struct fixture *fixture, const void *data,
                                                   size_t size)
{
    struct symbolize_jit *jit = NULL;
    fixture_write(fixture, "jit", data, size);
    CU_ASSERT_EQUAL(symbolize_jit_open_file(&jit, fixture_path(fixture, "jit"), NULL), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(jit);
    return jit;
}

/* `name` NULL: nothing covers the address. `line` 0 with `file` NULL: no line is known. */
static inline void jit_check(const struct symbolize_jit *jit, uint64_t address, const char *name,
                             const char *file, uint32_t line)
{
    struct symbolize_result result;
    CU_ASSERT_EQUAL_FATAL(symbolize_jit(&result, jit, &address, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(result.frame_count, name ? 1 : 0);
    if (name) {
        CU_ASSERT_STRING_EQUAL(result.functions[0].name, name);
        CU_ASSERT_EQUAL(result.frames[0].line, line);
        CU_ASSERT_EQUAL(result.frames[0].file == NULL, file == NULL);
        if (file && result.frames[0].file)
            CU_ASSERT_STRING_EQUAL(result.frames[0].file, file);
    }
    symbolize_result_release(&result);
}

#endif
