/* The list of functions that have probes in a file: a head, and as many entries. */
#include "plan/embedded.h"

#include <string.h>

int plan_embedded_write(struct sprof_str *out, const struct plan_embedded_function *functions,
                        size_t count)
{
    const struct plan_embedded_head head = {PLAN_EMBEDDED_MAGIC, PLAN_EMBEDDED_VERSION,
                                            (uint32_t)count};
    return sprof_str_append_bytes(out, (const char *)&head, sizeof head) ||
                   sprof_str_append_bytes(out, (const char *)functions, count * sizeof *functions)
               ? SPROF_ENOMEM
               : 0;
}

size_t plan_embedded_count(struct sprof_bytes list)
{
    struct plan_embedded_head head;
    if (list.size < sizeof head)
        return 0;
    memcpy(&head, list.data, sizeof head);
    const bool is_ours =
        !memcmp(head.magic, PLAN_EMBEDDED_MAGIC, sizeof head.magic) &&
        head.version == PLAN_EMBEDDED_VERSION &&
        head.count <= (list.size - sizeof head) / sizeof(struct plan_embedded_function);
    return is_ours ? head.count : 0;
}

struct plan_embedded_function plan_embedded_at(struct sprof_bytes list, size_t index)
{
    struct plan_embedded_function function;
    memcpy(&function, list.data + sizeof(struct plan_embedded_head) + index * sizeof function,
           sizeof function);
    return function;
}
