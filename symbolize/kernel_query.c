/* The kernel's printf writes an address as its symbol ("%pS", Documentation/core-api/printk-formats
 * of the kernel), and a BPF program may call that printf (bpf_snprintf, bpf-helpers(7)). So there
 * is a program that is never attached to anything: it is run once for each address, by way of
 * testing it, and prints into memory that is mapped here. */
#include "symbolize/kernel.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* KSYM_SYMBOL_LEN of the kernel, the longest there can be, is below 700. */
enum { ANSWER_BYTES = 1024 };

struct kernel_query {
    int program_fd;
    char *answer; /* the mapped value of the map the program prints into */
};

/* ---- The program ---------------------------------------------------------------------------- */

#define INSN(op, dst, src, offset, value)                                                          \
    ((struct bpf_insn){                                                                            \
        .code = (op), .dst_reg = (dst), .src_reg = (src), .off = (offset), .imm = (value)})
#define MOVE(dst, src) INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOVE_CONSTANT(dst, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define ADD_CONSTANT(dst, value) INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value)
#define LOAD_64(dst, src, offset) INSN(BPF_LDX | BPF_MEM | BPF_DW, dst, src, offset, 0)
#define STORE_64(dst, offset, src) INSN(BPF_STX | BPF_MEM | BPF_DW, dst, src, offset, 0)
#define CALL(function) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Two instructions' room: the address of the only value of a map. */
#define LOAD_VALUE(dst, fd)                                                                        \
    INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_VALUE, 0, fd), INSN(0, 0, 0, 0, 0)

static int call_bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    const long result = syscall(SYS_bpf, command, attr, sizeof *attr);
    return result < 0 ? -errno : (int)result;
}

/* A map of one value. */
static int open_map(uint32_t bytes, uint32_t flags)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr); /* all of it: the kernel refuses what it does not know */
    attr.map_type = BPF_MAP_TYPE_ARRAY;
    attr.key_size = sizeof(uint32_t);
    attr.value_size = bytes;
    attr.max_entries = 1;
    attr.map_flags = flags;
    return call_bpf(BPF_MAP_CREATE, &attr);
}

/* The helper takes its format only from a map that nobody can change any more. */
static int open_format(void)
{
    static const char format[8] = "%pS";
    const int fd = open_map(sizeof format, BPF_F_RDONLY_PROG);
    if (fd < 0)
        return fd;
    const uint32_t key = 0;
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)fd;
    attr.key = (uint64_t)(uintptr_t)&key;
    attr.value = (uint64_t)(uintptr_t)format;
    int result = call_bpf(BPF_MAP_UPDATE_ELEM, &attr);
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)fd;
    if (!result)
        result = call_bpf(BPF_MAP_FREEZE, &attr);
    if (!result)
        return fd;
    close(fd);
    return result;
}

/* bpf_snprintf(answer, ANSWER_BYTES, format, &address, 8); the address is the first argument of
 * what would be a tracepoint. */
static int load_program(int answer_map, int format_map)
{
    enum { ADDRESS = -8 }; /* on the stack */
    static const char licence[] = "Dual MIT/GPL";
    const struct bpf_insn program[] = {
        LOAD_64(BPF_REG_0, BPF_REG_1, 0),  STORE_64(BPF_REG_10, ADDRESS, BPF_REG_0),
        LOAD_VALUE(BPF_REG_1, answer_map), MOVE_CONSTANT(BPF_REG_2, ANSWER_BYTES),
        LOAD_VALUE(BPF_REG_3, format_map), MOVE(BPF_REG_4, BPF_REG_10),
        ADD_CONSTANT(BPF_REG_4, ADDRESS),  MOVE_CONSTANT(BPF_REG_5, sizeof(uint64_t)),
        CALL(BPF_FUNC_snprintf),           EXIT,
    };
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    attr.insns = (uint64_t)(uintptr_t)program;
    attr.insn_cnt = sizeof program / sizeof *program;
    attr.license = (uint64_t)(uintptr_t)licence;
    return call_bpf(BPF_PROG_LOAD, &attr);
}

static bool run(const struct kernel_query *query, uint64_t address)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.test.prog_fd = (uint32_t)query->program_fd;
    attr.test.ctx_in = (uint64_t)(uintptr_t)&address;
    attr.test.ctx_size_in = sizeof address;
    return call_bpf(BPF_PROG_TEST_RUN, &attr) == 0 && (int32_t)attr.test.retval > 0;
}

/* ---- Questions and answers ------------------------------------------------------------------ */

/* The program and the mapping keep the maps alive. */
static bool open_parts(struct kernel_query *query)
{
    const int answer_map = open_map(ANSWER_BYTES, BPF_F_MMAPABLE);
    const int format_map = answer_map < 0 ? -1 : open_format();
    query->program_fd = format_map < 0 ? -1 : load_program(answer_map, format_map);
    void *mapped = MAP_FAILED;
    if (query->program_fd >= 0)
        mapped = mmap(NULL, ANSWER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, answer_map, 0);
    if (mapped != MAP_FAILED)
        query->answer = mapped;
    if (answer_map >= 0)
        close(answer_map);
    if (format_map >= 0)
        close(format_map);
    return query->answer != NULL;
}

struct kernel_query *kernel_query_open(void)
{
    struct kernel_query *query = calloc(1, sizeof *query);
    /* Whether such a program may be tested (since Linux 5.10) shows when it is. */
    if (query && open_parts(query) && run(query, 0))
        return query;
    kernel_query_free(query);
    return NULL;
}

void kernel_query_free(struct kernel_query *query)
{
    if (!query)
        return;
    if (query->answer)
        munmap(query->answer, ANSWER_BYTES);
    if (query->program_fd >= 0)
        close(query->program_fd);
    free(query);
}

/* "0x" and hexadecimal digits; returns what follows, or NULL. */
static char *parse_number(char *text, uint64_t *value)
{
    char *end;
    if (strncmp(text, "0x", 2) != 0)
        return NULL;
    errno = 0;
    *value = strtoull(text, &end, 16);
    return errno ? NULL : end;
}

/* " [module]" or nothing. */
static bool parse_module(char *text, const char **module)
{
    const size_t length = strlen(text);
    *module = NULL;
    if (!length)
        return true;
    if (length < 4 || strncmp(text, " [", 2) != 0 || text[length - 1] != ']')
        return false;
    text[length - 1] = '\0';
    *module = text + 2;
    return true;
}

bool kernel_query_parse(char *text, uint64_t address, struct kernel_symbol *symbol)
{
    uint64_t offset;
    char *plus = strrchr(text, '+');
    if (!plus || plus == text)
        return false;
    char *next = parse_number(plus + 1, &offset);
    if (!next || *next != '/')
        return false;
    next = parse_number(next + 1, &symbol->size);
    if (!next || !parse_module(next, &symbol->module))
        return false;
    if (symbol->size > KERNEL_FUNCTION_MAX_BYTES)
        symbol->size = KERNEL_FUNCTION_MAX_BYTES;
    *plus = '\0';
    symbol->name = text;
    symbol->start = address - offset;
    return offset <= address && offset < symbol->size;
}

bool kernel_query_find(struct kernel_query *query, uint64_t address, struct kernel_symbol *symbol)
{
    if (!run(query, address))
        return false;
    query->answer[ANSWER_BYTES - 1] = '\0';
    return kernel_query_parse(query->answer, address, symbol);
}
