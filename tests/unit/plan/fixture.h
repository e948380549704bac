/* ELF files that the tests make from sources with the system's compilers, and their plans. */
#ifndef SPROF_TESTS_UNIT_PLAN_FIXTURE_H
#define SPROF_TESTS_UNIT_PLAN_FIXTURE_H

#include "plan/plan.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A function in a source of assembly. */
#define FUNCTION(name, body)                                                                       \
    ".p2align 4\n.globl " name "\n.type " name ",@function\n" name ":\n.cfi_startproc\n" body      \
    "\n.cfi_endproc\n.size " name ",.-" name "\n"

struct fixture {
    char directory[64];
    char path[96];
    struct plan plan;
};

/* Compiles `source`, whose file gets the suffix of its language, and plans what comes out. */
static inline void fixture_make(struct fixture *fixture, const char *suffix, const char *source,
                                const char *command)
{
    char line[512], path[96];
    struct sprof_error error = {0};
    snprintf(fixture->directory, sizeof fixture->directory, "/tmp/sprof-trace-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(fixture->directory));
    snprintf(path, sizeof path, "%s/source%s", fixture->directory, suffix);
    snprintf(fixture->path, sizeof fixture->path, "%s/module", fixture->directory);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(source, file);
    CU_ASSERT_EQUAL(fclose(file), 0);
    snprintf(line, sizeof line, "%s -o %s %s", command, fixture->path, path);
    CU_ASSERT_EQUAL_FATAL(system(line), 0);
    const struct image_request request = {.file = {.path = fixture->path}};
    CU_ASSERT_EQUAL_FATAL(plan_open(&fixture->plan, &request, NULL, &error), 0);
}

static inline void fixture_release(struct fixture *fixture)
{
    char line[128];
    plan_release(&fixture->plan);
    snprintf(line, sizeof line, "rm -r %s", fixture->directory);
    CU_ASSERT_EQUAL(system(line), 0);
}

/* The function of that name, which there must be. */
static inline const struct plan_function *fixture_function(const struct fixture *fixture,
                                                           const char *name)
{
    for (size_t i = 0; i < fixture->plan.function_count; i++)
        if (!strcmp(fixture->plan.functions[i].name, name))
            return &fixture->plan.functions[i];
    printf("\n    no function %s", name);
    CU_FAIL_FATAL("function");
    return NULL;
}

#endif
