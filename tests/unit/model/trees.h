/* Trees for tests: a stack is a text of one letter a function, root first. Functions 'A' to 'Z'
 * have the ids 1 to 26. */
#ifndef SPROF_TESTS_MODEL_TREES_H
#define SPROF_TESTS_MODEL_TREES_H

#include "model/paths.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

static inline uint32_t letter(char name)
{
    return (uint32_t)(name - 'A' + 1);
}

static inline uint32_t path_of(struct model_paths *paths, const char *stack)
{
    uint32_t path = 0;
    for (; *stack; stack++)
        CU_ASSERT_EQUAL_FATAL(model_paths_child(paths, path, letter(*stack), &path), 0);
    return path;
}

/* Counts each of the `count` stacks once, with a weight of `weight`. */
static inline struct model_paths tree_of(const char *const *stacks, size_t count, uint64_t weight)
{
    struct model_paths paths = {0};
    for (size_t i = 0; i < count; i++)
        model_paths_add(&paths, path_of(&paths, stacks[i]), (struct model_cost){1, weight});
    model_paths_sum(&paths);
    return paths;
}

/* "AB 2/3 …": every path with its exclusive and inclusive samples, in order of creation. */
static inline const char *tree_text(const struct model_paths *paths)
{
    static char text[65536];
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        char stack[64];
        size_t depth = path->depth;
        stack[depth] = '\0';
        for (const struct model_path *up = path;; up = &paths->items.items[up->parent - 1]) {
            stack[--depth] = (char)('A' + up->function - 1);
            if (!up->parent)
                break;
        }
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s %d/%d", i ? " " : "",
                                   stack, (int)path->costs.exclusive.samples,
                                   (int)path->costs.inclusive.samples);
    }
    return text;
}

/* The worked example of docs/design/reading.md: A1, A2, A3 are A, B, C in the application's module
 * 1; S1, S2 are S, T in the system's module 2. */
static const char *const worked_example[] = {"A", "AB", "ABST", "ABST", "ACB", "ACBST"};
enum { WORKED_EXAMPLE = sizeof worked_example / sizeof *worked_example };

/* Functions A to R in module 1 (app), S to Z in module 2 (system). */
static inline struct model_functions letter_functions(void)
{
    static struct model_function items[26];
    for (uint32_t i = 0; i < 26; i++)
        items[i] = i < letter('S') - 1 ? (struct model_function){1, MODEL_KIND_APP, false}
                                       : (struct model_function){2, MODEL_KIND_SYSTEM, false};
    return (struct model_functions){items, 26};
}

/* A fixed sequence of random numbers below `bound`. */
static inline unsigned random_below(unsigned *seed, unsigned bound)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % bound;
}

/* Random stacks of 1 to 12 of the first `functions` letters (and some of S, T); weights 1 to 9. */
struct random_stacks {
    char stacks[300][13];
    uint64_t weights[300];
    size_t count;
};

static inline struct random_stacks random_stacks_of(unsigned seed)
{
    struct random_stacks random = {.count = 300};
    for (size_t i = 0; i < random.count; i++) {
        const unsigned depth = 1 + random_below(&seed, 12);
        for (unsigned d = 0; d < depth; d++)
            random.stacks[i][d] = "ABCDEST"[random_below(&seed, 7)];
        random.weights[i] = 1 + random_below(&seed, 9);
    }
    return random;
}

static inline struct model_paths random_tree(const struct random_stacks *random)
{
    struct model_paths paths = {0};
    for (size_t i = 0; i < random->count; i++)
        model_paths_add(&paths, path_of(&paths, random->stacks[i]),
                        (struct model_cost){1, random->weights[i]});
    model_paths_sum(&paths);
    return paths;
}

#endif
