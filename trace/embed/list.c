/* The list of functions that have probes in a file: a head, and as many entries. */
#include "trace/embed/embedded.h"

#include <string.h>

int embedded_write(struct sprof_str *out, const struct embedded_function *functions, size_t count)
{
    const struct embedded_head head = {EMBEDDED_MAGIC, EMBEDDED_VERSION, (uint32_t)count};
    return sprof_str_append_bytes(out, (const char *)&head, sizeof head) ||
                   sprof_str_append_bytes(out, (const char *)functions, count * sizeof *functions)
               ? SPROF_ENOMEM
               : 0;
}

size_t embedded_count(struct sprof_bytes list)
{
    struct embedded_head head;
    if (list.size < sizeof head)
        return 0;
    memcpy(&head, list.data, sizeof head);
    const bool is_ours = !memcmp(head.magic, EMBEDDED_MAGIC, sizeof head.magic) &&
                         head.version == EMBEDDED_VERSION &&
                         head.count <= (list.size - sizeof head) / sizeof(struct embedded_function);
    return is_ours ? head.count : 0;
}

struct embedded_function embedded_at(struct sprof_bytes list, size_t index)
{
    struct embedded_function function;
    memcpy(&function, list.data + sizeof(struct embedded_head) + index * sizeof function,
           sizeof function);
    return function;
}
