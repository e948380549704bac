/* Replays a corpus directory, then mutations of it that are the same on every run:
 *     fuzz_TARGET CORPUS-DIRECTORY [MUTATIONS] */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { INPUT_MAX = 4096, INPUTS_MAX = 64, MUTATIONS = 20000, CHANGES_MAX = 6 };

struct input {
    uint8_t bytes[INPUT_MAX];
    size_t size;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t below(uint64_t *state, size_t limit)
{
    return limit ? (size_t)(next_random(state) % limit) : 0;
}

/* == Changes, each of which keeps the input within its bounds == */

static void flip_bit(struct input *input, uint64_t *state)
{
    input->bytes[below(state, input->size)] ^= (uint8_t)(1 << below(state, 8));
}

static void set_byte(struct input *input, uint64_t *state)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, 0x0e, 0x0f, 0x40};
    input->bytes[below(state, input->size)] = telling[below(state, sizeof telling)];
}

static void set_word(struct input *input, uint64_t *state)
{
    static const uint32_t telling[] = {0, 0xffffffff, 0x7fffffff, 0x80000000,
                                       8, 0x1000,     0xfffffff0};
    const size_t at = below(state, input->size);
    const size_t size = input->size - at < 4 ? input->size - at : 4;
    memcpy(input->bytes + at, &telling[below(state, sizeof telling / sizeof telling[0])], size);
}

static void cut(struct input *input, uint64_t *state)
{
    input->size = below(state, input->size) + 1;
}

static void remove_some(struct input *input, uint64_t *state)
{
    const size_t at = below(state, input->size), count = below(state, 8) + 1;
    if (at + count >= input->size)
        return;
    memmove(input->bytes + at, input->bytes + at + count, input->size - at - count);
    input->size -= count;
}

static void insert_some(struct input *input, uint64_t *state)
{
    const size_t at = below(state, input->size), count = below(state, 8) + 1;
    if (input->size + count > INPUT_MAX)
        return;
    memmove(input->bytes + at + count, input->bytes + at, input->size - at);
    for (size_t i = 0; i < count; i++)
        input->bytes[at + i] = (uint8_t)next_random(state);
    input->size += count;
}

static void copy_within(struct input *input, uint64_t *state)
{
    const size_t from = below(state, input->size), to = below(state, input->size);
    const size_t most = input->size - (from > to ? from : to);
    memmove(input->bytes + to, input->bytes + from, below(state, most) + 1);
}

static void (*const changes[])(struct input *, uint64_t *) = {
    flip_bit, flip_bit, set_byte, set_byte, set_word, cut, remove_some, insert_some, copy_within};

/* == Running == */

/* The target gets a block of exactly its size, so that a sanitizer sees the first byte behind it.
 */
static void run(const struct input *input)
{
    uint8_t *exact = malloc(input->size ? input->size : 1);
    FUZZ_REQUIRE(exact);
    memcpy(exact, input->bytes, input->size);
    LLVMFuzzerTestOneInput(exact, input->size);
    free(exact);
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static size_t read_corpus(const char *directory, struct input *inputs)
{
    struct dirent **entries = NULL;
    size_t count = 0;
    const int found = scandir(directory, &entries, NULL, by_name);
    for (int i = 0; i < found; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        FILE *file = entries[i]->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file && count < INPUTS_MAX) {
            inputs[count].size = fread(inputs[count].bytes, 1, INPUT_MAX, file);
            count++;
        }
        if (file)
            fclose(file);
        free(entries[i]);
    }
    free(entries);
    return count;
}

int main(int argc, char **argv)
{
    const long mutations = argc > 2 ? strtol(argv[2], NULL, 10) : MUTATIONS;
    struct input *inputs = calloc(INPUTS_MAX, sizeof *inputs);
    const size_t count = argc > 1 && inputs ? read_corpus(argv[1], inputs) : 0;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    if (!count) {
        fprintf(stderr, "usage: %s CORPUS-DIRECTORY [MUTATIONS]\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < count; i++)
        run(&inputs[i]);
    for (long i = 0; i < mutations; i++) {
        struct input mutant = inputs[below(&state, count)];
        for (size_t left = below(&state, CHANGES_MAX) + 1; left && mutant.size; left--)
            changes[below(&state, sizeof changes / sizeof changes[0])](&mutant, &state);
        run(&mutant);
    }
    printf("%zu inputs, %ld mutations\n", count, mutations);
    free(inputs);
    return 0;
}
