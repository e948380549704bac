/* symbolize, inside: symbols of the kernel, and their two sources. The running kernel names
 * one address in a microsecond or two, but only with the right to load BPF programs; it takes 40 ms
 * to list all it has. Both give an address that has several symbols the first of the list, which
 * scripts/kallsyms.c of the kernel has put in order (weak ones and leading underscores last). */
#ifndef SPROF_SYMBOLIZE_KERNEL_H
#define SPROF_SYMBOLIZE_KERNEL_H

#include "base/base.h"

#include <stdbool.h>

struct kernel_symbol {
    uint64_t start, size;
    const char *name;
    const char *module; /* NULL: the kernel itself */
};

/* The last function before a hole has no end: no kernel function is larger than this. */
enum { KERNEL_FUNCTION_MAX_BYTES = 1 << 20 };

/* == All symbols: a file like /proc/kallsyms == */

struct kernel_list;

/* Errors as symbolize_kernel_open. */
int symbolize_kernel_list_open(struct kernel_list **list, const char *path,
                               struct sprof_error *error);
void symbolize_kernel_list_free(struct kernel_list *list);

/* The symbol that covers the address; its texts are the list's. */
bool symbolize_kernel_list_find(const struct kernel_list *list, uint64_t address,
                                struct kernel_symbol *symbol);

/* == One symbol at a time: the running kernel == */

struct kernel_query;

/* NULL where the kernel (before 5.13, or locked down) or the user's rights do not allow it. */
struct kernel_query *symbolize_kernel_query_open(void);
void symbolize_kernel_query_free(struct kernel_query *query);

/* The symbol that covers the address; its texts are valid until the next call. */
bool symbolize_kernel_query_find(struct kernel_query *query, uint64_t address,
                                 struct kernel_symbol *symbol);

/* Takes `name+0xOFFSET/0xSIZE` or `name+0xOFFSET/0xSIZE [module]` apart, in place. False for
 * anything else, like the bare number of an address that has no symbol. */
bool symbolize_kernel_query_parse(char *text, uint64_t address, struct kernel_symbol *symbol);

#endif
