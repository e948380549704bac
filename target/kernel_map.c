/* Finds where the code of the kernel and of its modules sits. */
#include "target/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* _text stands among the first symbols; the whole list is several megabytes, 50 ms to read (m). */
enum {
    FIRST_SYMBOLS_BYTES = 4 << 10,
    MORE_SYMBOLS_BYTES = 64 << 10, /* some kernels begin with what each CPU has */
    ALL_SYMBOLS_BYTES = 256 << 20,
    MODULES_BYTES = 16 << 20,
};

/* The address of a symbol in the text of /proc/kallsyms ("address type name" lines); 0: not there,
 * or hidden by kernel.kptr_restrict. */
static uint64_t find_symbol(const char *symbols, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = symbols; (at = strstr(at, name)); at += length) {
        const char *line = at;
        while (line > symbols && line[-1] != '\n')
            line--;
        uint64_t address;
        int used = 0;
        if ((at[length] == '\n' || at[length] == '\t') &&
            sscanf(line, "%" SCNx64 " %*c %n", &address, &used) == 1 && line + used == at)
            return address;
    }
    return 0;
}

static uint64_t read_symbol(const char *name, size_t bytes_max)
{
    struct sprof_str symbols = {0};
    uint64_t address = 0;
    if (!sprof_proc_read("/proc/kallsyms", bytes_max, &symbols) && symbols.text)
        address = find_symbol(symbols.text, name);
    sprof_str_release(&symbols);
    return address;
}

/* The size of _text … _etext, from the line "  01000000-02209987 : Kernel code" of /proc/iomem;
 * physical addresses, zero where hidden. */
static uint64_t text_size_of_iomem(void)
{
    struct sprof_str text = {0};
    uint64_t size = 0;
    if (!sprof_proc_read("/proc/iomem", MODULES_BYTES, &text) && text.text) {
        const char *line = strstr(text.text, " : Kernel code");
        while (line && line > text.text && line[-1] != '\n')
            line--;
        uint64_t first = 0, last = 0;
        if (line && sscanf(line, "%" SCNx64 "-%" SCNx64, &first, &last) == 2 && last > first)
            size = last + 1 - first;
    }
    sprof_str_release(&text);
    return size;
}

static uint64_t text_end(uint64_t start)
{
    const uint64_t size = text_size_of_iomem();
    if (size)
        return start + size;
    return read_symbol("_etext", ALL_SYMBOLS_BYTES);
}

static int push_kernel(struct target_snapshot *snapshot, uint64_t time_ns, const char *module,
                       uint64_t address, uint64_t size)
{
    char name[80];
    snprintf(name, sizeof name, "[%.64s]", module);
    struct model_record record = {
        .type = MODEL_RECORD_MMAP, .time_ns = time_ns, .pid = -1, .tid = -1, .cpu = -1};
    record.mapping.address = address;
    record.mapping.size = size;
    record.mapping.file.path = target_snapshot_name(snapshot, name);
    return record.mapping.file.path ? target_snapshot_push(snapshot, &record) : SPROF_ENOMEM;
}

static int add_kernel_text(struct target_snapshot *snapshot, uint64_t time_ns)
{
    uint64_t start = read_symbol("_text", FIRST_SYMBOLS_BYTES);
    if (!start)
        start = read_symbol("_text", MORE_SYMBOLS_BYTES);
    const uint64_t end = start ? text_end(start) : 0;
    return end > start ? push_kernel(snapshot, time_ns, "kernel", start, end - start) : 0;
}

/* Lines "ext4 1052672 1 - Live 0xffffffffc0a00000"; the address is 0 where hidden. */
static int add_modules(struct target_snapshot *snapshot, uint64_t time_ns)
{
    struct sprof_str modules = {0};
    int result = 0;
    if (!sprof_proc_read("/proc/modules", MODULES_BYTES, &modules) && modules.text) {
        char *save = NULL;
        for (char *line = strtok_r(modules.text, "\n", &save); line && !result;
             line = strtok_r(NULL, "\n", &save)) {
            char name[65];
            uint64_t size, address;
            if (sscanf(line, "%64s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size, &address) == 3 &&
                address && size)
                result = push_kernel(snapshot, time_ns, name, address, size);
        }
    }
    sprof_str_release(&modules);
    return result;
}

int target_snapshot_kernel(struct target_snapshot *snapshot, uint64_t time_ns)
{
    const int result = add_kernel_text(snapshot, time_ns);
    return result ? result : add_modules(snapshot, time_ns);
}
