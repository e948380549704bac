/* /proc/kallsyms: `ADDRESS TYPE NAME[\t[MODULE]]` lines, hexadecimal (kernel/kallsyms.c, s_show).
 * The kernel formats every line on demand, which takes longer than reading them here: so once. */
#include "symbolize/addresses.h"
#include "symbolize/builder.h"
#include "symbolize/demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_BYTES = 256 * 1024,
    MAX_SYMBOLS = 8 << 20,
    /* The last function before a hole has no end: no kernel function is larger than this. */
    MAX_FUNCTION_BYTES = 1 << 20,
};

struct kernel_symbol {
    uint64_t address;
    const char *name;
    const char *module; /* NULL: the kernel itself */
};

struct symbolize_kernel {
    struct sprof_arena names;
    const char *last_module;                 /* lines of one module come together */
    SPROF_VEC(struct kernel_symbol) symbols; /* sorted, one per address */
    bool saw_text, saw_address;
};

static const char *parse_address(const char *text, const char *end, uint64_t *address)
{
    uint64_t value = 0;
    const char *start = text;
    for (; text < end; text++) {
        const unsigned digit = (unsigned)*text - '0', letter = ((unsigned)*text | 32) - 'a';
        if (digit > 9 && letter > 5)
            break;
        value = value << 4 | (digit <= 9 ? digit : letter + 10);
    }
    *address = value;
    return text > start && text - start <= 16 ? text : NULL;
}

static int copy_text(struct symbolize_kernel *kernel, const char *text, size_t length,
                     const char **copy)
{
    *copy = sprof_arena_copy(&kernel->names, text, length);
    return *copy ? 0 : SPROF_ENOMEM;
}

/* "[name]" after the tab. */
static int use_module(struct symbolize_kernel *kernel, const char *tab, const char *end,
                      const char **module)
{
    *module = NULL;
    if (end - tab < 4 || tab[1] != '[' || end[-1] != ']')
        return 0;
    const size_t length = (size_t)(end - tab) - 3;
    const char *last = kernel->last_module;
    if (!last || strncmp(last, tab + 2, length) != 0 || last[length])
        if (copy_text(kernel, tab + 2, length, &kernel->last_module))
            return SPROF_ENOMEM;
    *module = kernel->last_module;
    return 0;
}

/* Returns 0 or SPROF_ENOMEM; a line of another form is none of ours. */
static int parse_line(struct symbolize_kernel *kernel, const char *line, const char *end)
{
    struct kernel_symbol symbol = {0};
    const char *next = parse_address(line, end, &symbol.address);
    if (!next || end - next < 4 || next[0] != ' ' || next[2] != ' ' || !strchr("tTwW", next[1]))
        return 0;
    kernel->saw_text = true;
    if (!symbol.address)
        return 0;
    kernel->saw_address = true;
    const char *name = next + 3, *tab = memchr(name, '\t', (size_t)(end - name));
    const size_t length = (size_t)((tab ? tab : end) - name);
    if (!length || kernel->symbols.count >= MAX_SYMBOLS)
        return 0;
    if (tab && use_module(kernel, tab, end, &symbol.module))
        return SPROF_ENOMEM;
    if (copy_text(kernel, name, length, &symbol.name))
        return SPROF_ENOMEM;
    return sprof_vec_push(&kernel->symbols, symbol);
}

/* Parses the whole lines of a buffer and moves the rest to its front. */
static int parse_lines(struct symbolize_kernel *kernel, char *buffer, size_t *size)
{
    char *line = buffer, *end;
    while ((end = memchr(line, '\n', *size - (size_t)(line - buffer)))) {
        if (parse_line(kernel, line, end))
            return SPROF_ENOMEM;
        line = end + 1;
    }
    *size -= (size_t)(line - buffer);
    memmove(buffer, line, *size);
    return 0;
}

static int read_all(struct symbolize_kernel *kernel, int fd, const char *path,
                    struct sprof_error *error)
{
    char *buffer = malloc(READ_BYTES);
    size_t held = 0;
    int code = buffer ? 0 : sprof_error_memory(error);
    while (!code) {
        const ssize_t got = read(fd, buffer + held, READ_BYTES - held);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            code = sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", path,
                                   strerror(errno));
        if (got <= 0)
            break;
        held += (size_t)got;
        if (parse_lines(kernel, buffer, &held))
            code = sprof_error_memory(error);
        if (held == READ_BYTES)
            held = 0; /* no line is that long */
    }
    if (!code && held && parse_line(kernel, buffer, buffer + held))
        code = sprof_error_memory(error);
    free(buffer);
    return code;
}

static int by_address(const void *left, const void *right)
{
    const struct kernel_symbol *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* The kernel's own symbols come in order, those of modules need not. */
static bool is_sorted(const struct symbolize_kernel *kernel)
{
    for (size_t i = 1; i < kernel->symbols.count; i++)
        if (kernel->symbols.items[i].address < kernel->symbols.items[i - 1].address)
            return false;
    return true;
}

/* Leaves the best name of each address. */
static void sort(struct symbolize_kernel *kernel)
{
    struct kernel_symbol *symbols = kernel->symbols.items;
    size_t kept = 0;
    if (!is_sorted(kernel))
        qsort(symbols, kernel->symbols.count, sizeof *symbols, by_address);
    for (size_t i = 0; i < kernel->symbols.count; i++) {
        if (!kept || symbols[kept - 1].address != symbols[i].address)
            symbols[kept++] = symbols[i];
        else if (demangle_compare_aliases(symbols[i].name, symbols[kept - 1].name) < 0)
            symbols[kept - 1] = symbols[i];
    }
    kernel->symbols.count = kept;
}

/* A sysctl that holds a small number; -1 where it cannot be read. */
static int setting(const char *path)
{
    char text[16] = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    return got > 0 ? atoi(text) : -1;
}

/* Which setting hides them is decided by kallsyms_show_value in the kernel: kptr_restrict 0 still
 * hides them from ordinary users while perf_event_paranoid is above 1. */
static int hidden(struct sprof_error *error)
{
    return sprof_error_set(
        error, SPROF_EPERMISSION, 0,
        "the kernel hides its addresses (kernel.kptr_restrict is %d, kernel.perf_event_paranoid "
        "is %d): kernel functions have no names\n"
        "run sprof as root, or `sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1`",
        setting("/proc/sys/kernel/kptr_restrict"), setting("/proc/sys/kernel/perf_event_paranoid"));
}

static int open_failed(const char *path, struct sprof_error *error)
{
    const int errnum = errno;
    if (errnum == EACCES || errnum == EPERM)
        return hidden(error);
    return sprof_error_set(error, errnum == ENOENT ? SPROF_ENOTFOUND : SPROF_EIO, errnum,
                           "cannot read %s: %s", path, strerror(errnum));
}

int symbolize_kernel_open(struct symbolize_kernel **out, const char *kallsyms_path,
                          struct sprof_error *error)
{
    *out = NULL;
    if (!kallsyms_path)
        kallsyms_path = "/proc/kallsyms";
    const int fd = open(kallsyms_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return open_failed(kallsyms_path, error);
    struct symbolize_kernel *kernel = calloc(1, sizeof *kernel);
    int code = kernel ? read_all(kernel, fd, kallsyms_path, error) : sprof_error_memory(error);
    close(fd);
    if (!code && kernel->saw_text && !kernel->saw_address)
        code = hidden(error);
    if (!code && !kernel->saw_text)
        code =
            sprof_error_set(error, SPROF_EFORMAT, 0, "%s holds no kernel symbols", kallsyms_path);
    if (code) {
        symbolize_kernel_free(kernel);
        return code;
    }
    sort(kernel);
    *out = kernel;
    return 0;
}

void symbolize_kernel_free(struct symbolize_kernel *kernel)
{
    if (!kernel)
        return;
    sprof_vec_release(&kernel->symbols);
    sprof_arena_release(&kernel->names);
    free(kernel);
}

/* The symbol that covers an address; its size ends at the next symbol. */
static const struct kernel_symbol *symbol_at(const struct symbolize_kernel *kernel,
                                             uint64_t address, uint64_t *size)
{
    size_t low = 0, high = kernel->symbols.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (kernel->symbols.items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    const struct kernel_symbol *symbol = &kernel->symbols.items[low - 1];
    *size = MAX_FUNCTION_BYTES;
    if (low < kernel->symbols.count && symbol[1].address - symbol->address < *size)
        *size = symbol[1].address - symbol->address;
    return address - symbol->address < *size ? symbol : NULL;
}

static uint32_t function_of(struct builder *builder, const struct kernel_symbol *symbol,
                            uint64_t size)
{
    uint32_t index;
    const uint64_t key = builder_physical_key(symbol->address);
    if (builder_find(builder, key, &index))
        return index;
    struct sprof_str name = {0};
    char *plain = symbolize_demangle(symbol->name); /* parts of the kernel are written in Rust */
    sprof_str_append(&name, plain ? plain : symbol->name);
    if (symbol->module)
        sprof_str_appendf(&name, " [%s]", symbol->module);
    const struct symbolize_function function = {
        .name = name.text,
        .linkage_name = symbol->name,
        .start = symbol->address,
        .size = size,
        .named = true,
    };
    builder->failed |= name.failed;
    index = builder_add(builder, key, &function);
    sprof_str_release(&name);
    free(plain);
    return index;
}

int symbolize_kernel(struct symbolize_result *result, const struct symbolize_kernel *kernel,
                     const uint64_t *addresses, size_t count, struct sprof_error *error)
{
    struct builder builder = {0};
    for (size_t i = 0; i < count && !builder.failed; i++) {
        uint64_t size;
        const struct kernel_symbol *symbol = symbol_at(kernel, addresses[i], &size);
        builder_open_chain(&builder);
        if (symbol)
            builder_add_frame(&builder, function_of(&builder, symbol, size), NULL, 0);
    }
    return builder_finish(&builder, result, error);
}
