/* Programs on paper: tables of samples that tests write down a line at a time. */
#ifndef SPROF_TESTS_WHY_SCENE_H
#define SPROF_TESTS_WHY_SCENE_H

#include "why/why.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000000 };

/* Zero is a program without threads. */
struct scene {
    struct why_table table;
    uint64_t now_ns[64]; /* of each thread */
    uint64_t chance;
};

static inline uint32_t scene_function(struct scene *scene, const char *name)
{
    for (uint32_t i = 1; i < scene->table.functions.count; i++)
        if (!strcmp(scene->table.functions.items[i].name, name))
            return i;
    return why_add_function(&scene->table, &(struct why_function){.name = name});
}

/* A thread; returns its index. */
static inline uint32_t scene_thread(struct scene *scene, const char *name)
{
    const int32_t tid = (int32_t)(100 + scene->table.threads.count);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&scene->table.threads,
                                         (struct why_thread){.name = name, .pid = 100, .tid = tid}),
                          0);
    return (uint32_t)scene->table.threads.count - 1;
}

/* Time of a thread, behind what it did before. `stack`: functions, outermost first, with blanks;
 * behind a colon the function of a library that the innermost one called. */
static inline void scene_add(struct scene *scene, uint32_t thread, enum why_cause cause,
                             uint64_t ns, const char *stack)
{
    struct why_place places[32], outermost_first[32];
    uint32_t entry = 0, real = 0;
    size_t count = 0;
    char text[256], *rest = text;
    snprintf(text, sizeof text, "%s", stack);
    char *colon = strchr(text, ':');
    if (colon) {
        entry = scene_function(scene, colon + 1);
        *colon = 0;
    }
    for (char *name; (name = strsep(&rest, " "));) {
        if (!*name)
            continue;
        real++;
        for (char *part; (part = strsep(&name, "/"));)
            outermost_first[count++] = (struct why_place){scene_function(scene, part), real};
    }
    for (size_t i = 0; i < count; i++) {
        places[i] = outermost_first[count - 1 - i];
        places[i].inner = real - places[i].inner;
    }
    scene->now_ns[thread] += ns;
    const struct why_sample sample = {
        .end_ns = scene->now_ns[thread],
        .weight_ns = ns,
        .thread = thread,
        .stack = why_add_stack(&scene->table, places, count, entry),
        .word = why_add_word(&scene->table, cause < WHY_READY    ? "running"
                                            : cause == WHY_READY ? "ready"
                                            : cause == WHY_LOCK  ? "futex"
                                                                 : why_cause_word(cause)),
        .cause = cause,
    };
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&scene->table.samples, sample), 0);
}

/* Work of `ms` samples of a millisecond. */
static inline void scene_work(struct scene *scene, uint32_t thread, unsigned ms, const char *stack)
{
    for (unsigned i = 0; i < ms; i++)
        scene_add(scene, thread, WHY_COMPUTES, MS, stack);
}

/* Twenty functions of about equal weight below a loop, a millisecond each: `ms` in all. Which comes
 * next is as good as left to chance, and the same in each run. */
static inline void scene_spread(struct scene *scene, uint32_t thread, unsigned ms)
{
    static const char *const leaves[] = {"a0", "a1", "a2", "a3", "a4", "a5", "a6",
                                         "a7", "a8", "a9", "b0", "b1", "b2", "b3",
                                         "b4", "b5", "b6", "b7", "b8", "b9"};
    for (unsigned i = 0; i < ms; i++) {
        char stack[64];
        scene->chance = scene->chance * 6364136223846793005u + 1442695040888963407u;
        snprintf(stack, sizeof stack, "main handle %s", leaves[(scene->chance >> 33) % 20]);
        scene_work(scene, thread, 1, stack);
    }
}

static inline int scene_by_end(const void *left, const void *right)
{
    const struct why_sample *a = left, *b = right;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Judges the program. */
static inline struct why_verdict scene_judge(struct scene *scene)
{
    struct why_verdict verdict;
    struct why_table *table = &scene->table;
    if (table->samples.count)
        qsort(table->samples.items, table->samples.count, sizeof *table->samples.items,
              scene_by_end);
    if (!table->duration_ns && table->samples.count)
        table->duration_ns = table->samples.items[table->samples.count - 1].end_ns;
    CU_ASSERT_EQUAL_FATAL(why_judge(&verdict, table), 0);
    return verdict;
}

/* The first line, compared as a whole. */
static inline void scene_says(struct scene *scene, const char *wanted)
{
    struct sprof_str text = {0};
    struct why_verdict verdict = scene_judge(scene);
    CU_ASSERT_EQUAL(why_headline(&text, &scene->table, &verdict), 0);
    CU_ASSERT_STRING_EQUAL(text.text, wanted);
    if (strcmp(text.text, wanted) != 0)
        printf("\nwanted: %s\nfound:  %s\n", wanted, text.text);
    sprof_str_release(&text);
    why_verdict_release(&verdict);
}

#endif
