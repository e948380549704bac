/* Queries the running kernel for the symbol of one address: its printf writes an address as
 * its symbol ("%pS", Documentation/core-api/printk-formats of the kernel), and a BPF program may
 * call that printf (bpf_snprintf, bpf-helpers(7)). */
#include "symbolize/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef SPROF_BPF

#include "symbolize/bpf/kernel_names.lskel.h"

struct kernel_query {
    struct kernel_names_bpf *programs;
};

/* Leaves the kernel's answer in programs->bss->answer. */
static bool run(const struct kernel_query *query, uint64_t address)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr); /* all of it: the kernel refuses unknown fields that are set */
    attr.test.prog_fd = (uint32_t)query->programs->progs.name_address.prog_fd;
    attr.test.ctx_in = (uint64_t)(uintptr_t)&address;
    attr.test.ctx_size_in = sizeof address;
    return skel_sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof attr) == 0 &&
           (int32_t)attr.test.retval > 0;
}

static int load(struct kernel_query *query)
{
    query->programs = kernel_names_bpf__open();
    if (!query->programs)
        return -ENOMEM;
    const struct rlimit limit = sprof_kernel_lift_bpf_limit();
    const int result = kernel_names_bpf__load(query->programs);
    sprof_kernel_restore_bpf_limit(&limit);
    return result;
}

struct kernel_query *symbolize_kernel_query_open(void)
{
    struct kernel_query *query = calloc(1, sizeof *query);
    /* Whether such a program may be tested shows when it is. */
    if (query && !load(query) && run(query, 0))
        return query;
    symbolize_kernel_query_free(query);
    return NULL;
}

void symbolize_kernel_query_free(struct kernel_query *query)
{
    if (!query)
        return;
    kernel_names_bpf__destroy(query->programs);
    free(query);
}

bool symbolize_kernel_query_find(struct kernel_query *query, uint64_t address,
                                 struct kernel_symbol *symbol)
{
    char *answer = query->programs->bss->answer;
    if (!run(query, address))
        return false;
    answer[sizeof query->programs->bss->answer - 1] = '\0';
    return symbolize_kernel_query_parse(answer, address, symbol);
}

#else /* a build without BPF */

struct kernel_query *symbolize_kernel_query_open(void)
{
    return NULL;
}

void symbolize_kernel_query_free(struct kernel_query *query)
{
    (void)query;
}

bool symbolize_kernel_query_find(struct kernel_query *query, uint64_t address,
                                 struct kernel_symbol *symbol)
{
    (void)query;
    (void)address;
    (void)symbol;
    return false;
}

#endif

/* == The answer =============================================================================== */

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

bool symbolize_kernel_query_parse(char *text, uint64_t address, struct kernel_symbol *symbol)
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
