/* /proc/kallsyms: `ADDRESS TYPE NAME[\t[MODULE]]` lines, hexadecimal (kernel/kallsyms.c, s_show).
 * The kernel formats every line on demand, which takes longer than reading them here: so once. */
#include "symbolize/kernel.h"
#include "symbolize/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SYMBOLS = 8 << 20 };

struct listed_symbol {
    uint64_t address;
    const char *name;
    const char *module; /* NULL: the kernel itself */
    size_t line;        /* the first of an address counts */
};

struct kernel_list {
    struct sprof_arena names;
    const char *last_module;                 /* lines of one module come together */
    SPROF_VEC(struct listed_symbol) symbols; /* sorted, one per address */
    bool saw_text, saw_address;
};

static int copy_text(struct kernel_list *list, const char *text, size_t length, const char **copy)
{
    *copy = sprof_arena_copy(&list->names, text, length);
    return *copy ? 0 : SPROF_ENOMEM;
}

/* "[name]" after the tab. */
static int use_module(struct kernel_list *list, const char *tab, const char *end,
                      const char **module)
{
    *module = NULL;
    if (end - tab < 4 || tab[1] != '[' || end[-1] != ']')
        return 0;
    const size_t length = (size_t)(end - tab) - 3;
    const char *last = list->last_module;
    if (!last || strncmp(last, tab + 2, length) != 0 || last[length])
        if (copy_text(list, tab + 2, length, &list->last_module))
            return SPROF_ENOMEM;
    *module = list->last_module;
    return 0;
}

/* Returns 0 or SPROF_ENOMEM; a line of another form is none of ours. */
static int parse_line(void *context, const char *line, const char *end)
{
    struct kernel_list *list = context;
    struct listed_symbol symbol = {.line = list->symbols.count};
    const char *next = symbolize_text_hex(line, end, &symbol.address);
    if (!next || end - next < 4 || next[0] != ' ' || next[2] != ' ' || !strchr("tTwW", next[1]))
        return 0;
    list->saw_text = true;
    if (!symbol.address)
        return 0;
    list->saw_address = true;
    const char *name = next + 3, *tab = memchr(name, '\t', (size_t)(end - name));
    const size_t length = (size_t)((tab ? tab : end) - name);
    if (!length || list->symbols.count >= MAX_SYMBOLS)
        return 0;
    if (tab && use_module(list, tab, end, &symbol.module))
        return SPROF_ENOMEM;
    if (copy_text(list, name, length, &symbol.name))
        return SPROF_ENOMEM;
    return sprof_vec_push(&list->symbols, symbol);
}

static int by_address(const void *left, const void *right)
{
    const struct listed_symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* The kernel's own symbols come in order, those of modules need not. */
static bool is_sorted(const struct kernel_list *list)
{
    for (size_t i = 1; i < list->symbols.count; i++)
        if (list->symbols.items[i].address < list->symbols.items[i - 1].address)
            return false;
    return true;
}

/* Leaves the first name of each address. */
static void sort(struct kernel_list *list)
{
    struct listed_symbol *symbols = list->symbols.items;
    size_t kept = 0;
    if (!is_sorted(list))
        qsort(symbols, list->symbols.count, sizeof *symbols, by_address);
    for (size_t i = 0; i < list->symbols.count; i++)
        if (!kept || symbols[kept - 1].address != symbols[i].address)
            symbols[kept++] = symbols[i];
    list->symbols.count = kept;
}

/* Which setting hides them is decided by kallsyms_show_value in the kernel: kptr_restrict 0 still
 * hides them from ordinary users while perf_event_paranoid is above 1. */
static int hidden(struct sprof_error *error)
{
    return sprof_error_set(
        error, SPROF_EPERMISSION, 0,
        "the kernel hides its addresses (kernel.kptr_restrict is %ld, kernel.perf_event_paranoid "
        "is %ld): kernel functions have no names\n"
        "run sprof as root, or `sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1`",
        sprof_proc_number("/proc/sys/kernel/kptr_restrict", -1),
        sprof_proc_number("/proc/sys/kernel/perf_event_paranoid", -1));
}

static int open_failed(const char *path, struct sprof_error *error)
{
    const int errnum = errno;
    if (errnum == EACCES || errnum == EPERM)
        return hidden(error);
    return sprof_error_set(error, errnum == ENOENT ? SPROF_ENOTFOUND : SPROF_EIO, errnum,
                           "cannot read %s: %s", path, strerror(errnum));
}

int symbolize_kernel_list_open(struct kernel_list **out, const char *path,
                               struct sprof_error *error)
{
    *out = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return open_failed(path, error);
    struct kernel_list *list = calloc(1, sizeof *list);
    struct text_lines lines = {fd, path, UINT64_MAX, parse_line, list, 0, 0, false};
    int code = list ? symbolize_text_lines_read(&lines, error) : sprof_error_memory(error);
    close(fd);
    if (!code && list->saw_text && !list->saw_address)
        code = hidden(error);
    if (!code && !list->saw_text)
        code = sprof_error_set(error, SPROF_EFORMAT, 0, "%s holds no kernel symbols", path);
    if (code) {
        symbolize_kernel_list_free(list);
        return code;
    }
    sort(list);
    *out = list;
    return 0;
}

void symbolize_kernel_list_free(struct kernel_list *list)
{
    if (!list)
        return;
    sprof_vec_release(&list->symbols);
    sprof_arena_release(&list->names);
    free(list);
}

/* How many symbols start at or before the address. */
static size_t count_up_to(const struct kernel_list *list, uint64_t address)
{
    size_t low = 0, high = list->symbols.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list->symbols.items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool symbolize_kernel_list_find(const struct kernel_list *list, uint64_t address,
                                struct kernel_symbol *symbol)
{
    const size_t next = count_up_to(list, address);
    if (!next)
        return false;
    const struct listed_symbol *found = &list->symbols.items[next - 1];
    uint64_t size = KERNEL_FUNCTION_MAX_BYTES;
    if (next < list->symbols.count && found[1].address - found->address < size)
        size = found[1].address - found->address;
    *symbol = (struct kernel_symbol){found->address, size, found->name, found->module};
    return address - found->address < size;
}
