/* Writes the seeds from which the corpora began:  fuzz_seeds DIRECTORY  (with a directory per
 * target in it). Corpora may grow by what fuzzing finds; this is how to get them back. */
#include "tests/fuzz/walk_input.h"
#include "tests/unit/unwind/cfi_bytes.h"
#include "tests/unit/unwind/go_bytes.h"

#include <stdio.h>
#include <sys/stat.h>

static int write_seed(const char *root, const char *target, unsigned number, const void *bytes,
                      size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/seed-%u", root, target, number);
    FILE *file = fopen(path, "wb");
    if (!file)
        return 1;
    const int failed = fwrite(bytes, 1, size, file) != size;
    return fclose(file) || failed;
}

/* Functions of every kind of rule, 0x100 apart. */
static void put_functions(struct cfi_bytes *section, const char *letters)
{
    cfi_bytes_cie(section, letters);
    CFI_BYTES_FDE(section, 0x1000, 0x100, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x48, 0x0c, 7, 8);
    CFI_BYTES_FDE(section, 0x1100, 0x100, 0x07, 16);
    CFI_BYTES_FDE(section, 0x1200, 0x100, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0);
    CFI_BYTES_FDE(section, 0x1300, 0x100, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
                  0x24, 0x22);
    CFI_BYTES_FDE(section, 0x1400, 0x100, 0x0e, 0, 0x09, 16, 5);
    CFI_BYTES_FDE(section, 0x1500, 0x100, 0x0f, 6, 0x77, 0, 0x06, 0x06, 0x23, 16);
    CFI_BYTES_FDE(section, 0x1600, 0x100, 0x0c, 3, 16, 0x83, 2, 0x0a, 0x44, 0x0e, 32, 0x0b);
    CFI_BYTES_FDE(section, 0x1700, 0x100, 0x16, 6, 2, 0x23, 8, 0x14, 3, 1, 0x11, 6, 0x7e, 0x2e, 8);
    CFI_BYTES_FDE(section, 0x1900, 0x100, 0x0c, 5, 0, 0x09, 7, 8, 0x09, 6, 9, 0x09, 16, 1);
    CFI_BYTES_FDE(section, 0x1a00, 0x100, 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8);
}

/* As Free Pascal writes it: the section is its own text, so that its rows are held against code. */
static int write_free_pascal(const char *root)
{
    static const uint8_t content[] = {0, 0, 0, 0, 0, 0x10, 0,    0,    0,    0,    0, 0, 0x10, 0, 0,
                                      0, 0, 0, 0, 0, 0x45, 0x0e, 0x10, 0x04, 0x02, 0, 0, 0};
    struct cfi_bytes section = {.debug_frame = true};
    cfi_bytes_cie(&section, "");
    cfi_bytes_fde_raw(&section, content, sizeof content);
    return write_seed(root, "debug_frame", 4, section.data, section.size);
}

static int write_sections(const char *root)
{
    int failed = 0;
    for (unsigned form = 0; form < 4; form++) {
        struct cfi_bytes eh = {.wide = form & 1};
        struct cfi_bytes debug = {
            .wide = form & 1, .debug_frame = true, .version = form & 2 ? 4 : 3};
        put_functions(&eh, form & 2 ? "zRS" : "zR");
        put_functions(&debug, "");
        failed |= write_seed(root, "eh_frame", form, eh.data, eh.size);
        failed |= write_seed(root, "debug_frame", form, debug.data, debug.size);
    }
    return failed | write_free_pascal(root);
}

static int write_small(const char *root)
{
    static const uint8_t header[] = {1, 0x1b, 0x03, 0x3b, 0xfc, 0x0f, 0, 0, 0, 0, 0, 0};
    static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    static const uint8_t deref[] = {0x77, 0xf8, 0, 0x06, 0x23, 8, 0x38, 0x22, 0x12, 0x13, 0x96};
    static const uint8_t stack[] = {0x73, 4, 0x31, 0x14, 0x15, 1, 0x16, 0x17, 0x1c, 0x94, 4};
    static const uint8_t code[] = {
        0x41, 0x54, 0x55, 0x48, 0x83, 0xec, 24,   0x48, 0x8d, 0x6c, 0x24, 8,    0x8b, 0x0c,
        0xc5, 1,    0,    0,    0,    0xe8, 0,    0,    0,    0,    0x0f, 0x84, 2,    0,
        0,    0,    0xc5, 0xf8, 0x77, 0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x6e, 1,    0x66, 0x0f,
        0x3a, 0x0f, 0xc1, 8,    0x48, 0x83, 0xc4, 24,   0x5d, 0x41, 0x5c, 0xc9, 0xc3};
    int failed = write_seed(root, "eh_frame_hdr", 0, header, sizeof header);
    failed |= write_seed(root, "decode", 0, code, sizeof code);
    failed |= write_seed(root, "cfi_expression", 0, plt, sizeof plt);
    failed |= write_seed(root, "cfi_expression", 1, deref, sizeof deref);
    failed |= write_seed(root, "cfi_expression", 2, stack, sizeof stack);
    for (unsigned format = 0; format < GO_FORMATS; format++) {
        uint8_t bytes[GO_BYTES_MAX];
        const size_t size = go_bytes_write(bytes, format);
        failed |= write_seed(root, "gopclntab", format, bytes, size);
        if (format < 2)
            continue;
        go_bytes_set_flags(bytes, format, 2);
        failed |= write_seed(root, "gopclntab", format + 2, bytes, size);
    }
    return failed;
}

/* A stack of which each word is a return address or points a little further up, so that whatever a
 * rule asks for is likely to be there. */
static int write_walk(const char *root, unsigned number, uint64_t rip, bool debug_frame)
{
    enum { WORDS = 96 };
    struct cfi_bytes section = {.debug_frame = debug_frame}, input = {0};
    uint64_t words[WORDS];
    put_functions(&section, debug_frame ? "" : "zR");
    if (!debug_frame) {
        cfi_bytes_cie(&section, "zRS");
        CFI_BYTES_FDE(&section, 0x1800, 0x100, 0);
    }
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = i % 2 ? WALK_INPUT_CODE + (i * 0x88 + number * 0x40) % 0x900 + 8
                         : WALK_INPUT_STACK + (i + 4) * 8;
    struct walk_input_head head = {.slice_bytes = number & 1 ? 256 : sizeof words,
                                   .cfi_bytes = (uint16_t)section.size,
                                   .debug_frame = debug_frame,
                                   .readable = number & 3};
    for (int reg = 0; reg < ARCH_REGISTERS; reg++)
        head.registers.value[reg] = WALK_INPUT_STACK + 64;
    head.registers.value[ARCH_SP] = WALK_INPUT_STACK;
    head.registers.value[ARCH_PC] = WALK_INPUT_CODE + rip;
    cfi_bytes_put(&input, &head, sizeof head);
    cfi_bytes_put(&input, section.data, section.size);
    cfi_bytes_put(&input, words, sizeof words);
    return write_seed(root, "walk", number, input.data, input.size);
}

/* Changes to a stored table: to its header, its pages, its rules, each alone and all together. */
static int write_changes(const char *root)
{
    static const uint16_t changes[] = {24,   0xffff, 32,   1,      128, 7,  300, 14,
                                       1000, 0x7fff, 1500, 0x8000, 700, 12, 900, 0xff};
    int failed = write_seed(root, "table", 0, changes, sizeof changes);
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i += 2)
        failed |= write_seed(root, "table", i / 2 + 1, &changes[i], 2 * sizeof *changes);
    return failed;
}

/* One change each, all over what is stored: most are taken, and what they say is used. Numbers of
 * seeds follow those that are there. */
static int write_single_changes(const char *root)
{
    int failed = 0;
    for (uint16_t i = 0; i < 40; i++) {
        const uint16_t index[] = {(uint16_t)(64 + 52 * i), (uint16_t)(i % 4)};
        const uint8_t symbol[] = {(uint8_t)(24 + 3 * i), (uint8_t)(i % 5), 0};
        failed |= write_seed(root, "function_index", 2 + i, index, sizeof index);
        failed |= write_seed(root, "symbol_table", 2 + i, symbol, sizeof symbol);
    }
    return failed;
}

/* Changes to each of the cache's entries: one, a piece less, a piece more, one with the checksum of
 * before. */
static int write_entries(const char *root)
{
    int failed = 0;
    for (uint8_t i = 0; i < 48; i++) {
        const uint8_t seed[] = {i / 4, (const uint8_t[]){0, 2, 4, 1}[i % 4], 24, 0, 16, 0, 0, 255,
                                0};
        failed |= write_seed(root, "cache", i, seed, sizeof seed);
    }
    return failed;
}

/* Beginnings of functions, with the numbers that registers and memory are drawn from: operands at a
 * distance, branches, calls, what may fault. */
static int write_beginnings(const char *root)
{
    static const uint8_t beginnings[][16] = {
        {0x55, 0x48, 0x89, 0xe5, 0x53},                 /* push; mov; push */
        {0x41, 0x54, 0x48, 0x8b, 0x05, 0x10, 0, 0, 0},  /* mov …(%rip),%rax */
        {0x53, 0xf7, 0x3d, 0x10, 0, 0, 0},              /* idivl …(%rip) */
        {0xf2, 0x48, 0x0f, 0x2c, 0x05, 0x10, 0, 0, 0},  /* cvttsd2si …(%rip),%rax */
        {0x48, 0x85, 0xff, 0x74, 0x02, 0x50},           /* test; je; push */
        {0x50, 0x0f, 0x84, 1, 0, 0, 0},                 /* je */
        {0x50, 0xe8, 0, 0, 0, 0},                       /* call */
        {0x50, 0xff, 0x15, 1, 0, 0, 0},                 /* call *…(%rip) */
        {0x48, 0x31, 0xc0, 0xff, 0xd3},                 /* call *%rbx */
        {0xff, 0x25, 1, 0, 0, 0},                       /* jmp *…(%rip) */
        {0x31, 0xc0, 0xc3},                             /* xor; ret */
        {0x48, 0x8b, 0x07, 0x48, 0x89, 0x06},           /* mov; mov */
        {0xc5, 0xfb, 0x59, 0x05, 8, 0, 0, 0},           /* vmulsd …(%rip),%xmm0 */
        {0xc4, 0xe2, 0xf1, 0xb8, 0x05, 8, 0, 0, 0},     /* vfmadd231pd …(%rip) */
        {0xc4, 0xe2, 0xfb, 0xf6, 0x05, 8, 0, 0, 0},     /* mulx …(%rip),%rax,%rax */
        {0x48, 0x0f, 0xc7, 0x0d, 0, 0, 0, 0},           /* cmpxchg16b …(%rip) */
        {0x66, 0x0f, 0x3a, 0x0f, 0x05, 16, 0, 0, 0, 8}, /* palignr $8,…(%rip) */
        {0xdc, 0x05, 8, 0, 0, 0},                       /* faddl …(%rip) */
        {0xf2, 0x48, 0x0f, 0x2c, 0x35, 0x10, 0, 0, 0},  /* cvttsd2si …(%rip),%rsi */
        {0xc4, 0xe2, 0xcb, 0xf6, 0x05, 8, 0, 0, 0},     /* mulx …(%rip),%rsi,%rax */
        {0xc4, 0xe2, 0xdb, 0xf7, 0x05, 8, 0, 0, 0},     /* shrx %rsp,…(%rip),%rax */
        {0xf2, 0x48, 0x0f, 0x2c, 0x25, 8, 0, 0, 0},     /* cvttsd2si …(%rip),%rsp */
        {0xc4, 0xc2, 0xf1, 0xb8, 0x05, 8, 0, 0, 0},     /* vfmadd231pd with a bit of no meaning */
    };
    int failed = 0;
    for (unsigned i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        uint8_t seed[26] = {(uint8_t)(17 + 29 * i), (uint8_t)i, 0x5d, 0x31, 0, 7, 0x99, 3, 0x41};
        memcpy(seed + 10, beginnings[i], sizeof beginnings[i]);
        failed |= write_seed(root, "relocate", i, seed, sizeof seed);
    }
    return failed;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    int failed = write_sections(argv[1]) | write_small(argv[1]) | write_changes(argv[1]) |
                 write_entries(argv[1]) | write_single_changes(argv[1]) | write_beginnings(argv[1]);
    for (unsigned i = 0; i < 14; i++)
        failed |= write_walk(argv[1], i, i * 0x100 + 8, i == 10);
    return failed;
}
