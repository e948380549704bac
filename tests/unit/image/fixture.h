/* Small programs built by the system's tools while a test runs, in a directory of its own. */
#ifndef SPROF_TESTS_UNIT_IMAGE_FIXTURE_H
#define SPROF_TESTS_UNIT_IMAGE_FIXTURE_H

#include "base/base.h"

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    char directory[64];
    char path[512]; /* of the last fixture_path */
};

static inline void fixture_open(struct fixture *fixture)
{
    strcpy(fixture->directory, "/tmp/sprof-fixture-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(fixture->directory));
}

/* Runs a shell command inside the directory; it must succeed. */
static inline void fixture_run(const struct fixture *fixture, const char *command)
{
    char line[4096];
    snprintf(line, sizeof line, "cd %s && { %s\n}", fixture->directory, command);
    CU_ASSERT_EQUAL_FATAL(system(line), 0);
}

static inline void fixture_close(struct fixture *fixture)
{
    char line[128];
    snprintf(line, sizeof line, "rm -rf %s", fixture->directory);
    CU_ASSERT_EQUAL(system(line), 0);
}

static inline const char *fixture_path(struct fixture *fixture, const char *name)
{
    snprintf(fixture->path, sizeof fixture->path, "%s/%s", fixture->directory, name);
    return fixture->path;
}

static inline void fixture_write(struct fixture *fixture, const char *name, const void *data,
                                 size_t size)
{
    FILE *file = fopen(fixture_path(fixture, name), "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(data, 1, size, file), size);
    fclose(file);
}

static inline void fixture_text(struct fixture *fixture, const char *name, const char *text)
{
    fixture_write(fixture, name, text, strlen(text));
}

/* A whole file in malloc'd memory. */
static inline struct sprof_bytes fixture_read(struct fixture *fixture, const char *name)
{
    FILE *file = fopen(fixture_path(fixture, name), "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(size + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    CU_ASSERT_EQUAL(fread(data, 1, size, file), size);
    fclose(file);
    return (struct sprof_bytes){data, size};
}

/* The output of a command as one malloc'd string. */
static inline char *fixture_output(const struct fixture *fixture, const char *command)
{
    char line[4096];
    snprintf(line, sizeof line, "cd %s && %s", fixture->directory, command);
    FILE *pipe = popen(line, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    struct sprof_str output = {0};
    char buffer[4096];
    size_t got;
    while ((got = fread(buffer, 1, sizeof buffer, pipe)) > 0)
        sprof_str_append_bytes(&output, buffer, got);
    CU_ASSERT_EQUAL(pclose(pipe), 0);
    return sprof_str_take(&output);
}

/* The value of "0x…" that follows `key` in a text; 0 where it is missing. */
static inline uint64_t fixture_hex_after(const char *text, const char *key)
{
    const char *place = strstr(text, key);
    return place ? strtoull(place + strlen(key), NULL, 16) : 0;
}

/* A small deterministic generator (splitmix64), so that a failing seed can be run again. */
static inline uint64_t fixture_random(uint64_t *state)
{
    return sprof_hash_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

#endif
