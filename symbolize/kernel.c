/* Names addresses of the kernel. */
#include "symbolize/kernel.h"

#include "symbolize/builder.h"

#include <stdlib.h>

/* One of the two. */
struct symbolize_kernel {
    struct kernel_query *query;
    struct kernel_list *list;
};

int symbolize_kernel_open(struct symbolize_kernel **out, const char *kallsyms_path,
                          struct sprof_error *error)
{
    struct symbolize_kernel *kernel = *out = calloc(1, sizeof *kernel);
    if (!kernel)
        return sprof_error_memory(error);
    if (!kallsyms_path && (kernel->query = symbolize_kernel_query_open()))
        return 0;
    const int code = symbolize_kernel_list_open(
        &kernel->list, kallsyms_path ? kallsyms_path : "/proc/kallsyms", error);
    if (code) {
        symbolize_kernel_free(kernel);
        *out = NULL;
    }
    return code;
}

void symbolize_kernel_free(struct symbolize_kernel *kernel)
{
    if (!kernel)
        return;
    symbolize_kernel_query_free(kernel->query);
    symbolize_kernel_list_free(kernel->list);
    free(kernel);
}

static uint32_t function_of(struct builder *builder, const struct kernel_symbol *symbol)
{
    uint32_t index;
    const uint64_t key = symbolize_builder_physical_key(symbol->start);
    if (symbolize_builder_find(builder, key, &index))
        return index;
    struct sprof_str name = {0};
    char *plain = symbolize_demangle(symbol->name); /* parts of the kernel are written in Rust */
    sprof_str_append(&name, plain ? plain : symbol->name);
    if (symbol->module)
        sprof_str_appendf(&name, " [%s]", symbol->module);
    const struct symbolize_function function = {
        .name = name.text,
        .linkage_name = symbol->name,
        .start = symbol->start,
        .size = symbol->size,
        .named = true,
    };
    builder->failed |= name.failed;
    index = symbolize_builder_add(builder, key, &function);
    sprof_str_release(&name);
    free(plain);
    return index;
}

static bool find_symbol(const struct symbolize_kernel *kernel, uint64_t address,
                        struct kernel_symbol *symbol)
{
    return kernel->query ? symbolize_kernel_query_find(kernel->query, address, symbol)
                         : symbolize_kernel_list_find(kernel->list, address, symbol);
}

int symbolize_kernel(struct symbolize_result *result, const struct symbolize_kernel *kernel,
                     const uint64_t *addresses, size_t count, struct sprof_error *error)
{
    struct builder builder = {0};
    for (size_t i = 0; i < count && !builder.failed; i++) {
        struct kernel_symbol symbol;
        symbolize_builder_open_chain(&builder);
        if (find_symbol(kernel, addresses[i], &symbol))
            symbolize_builder_add_frame(&builder, function_of(&builder, &symbol), NULL, 0);
    }
    return symbolize_builder_finish(&builder, result, error);
}
