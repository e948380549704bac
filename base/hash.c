#include "base/hash.h"

#include <string.h>

uint64_t sprof_hash_bytes(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sprof_hash_mix(hash);
}

uint64_t sprof_hash_text(const char *text)
{
    return sprof_hash_bytes(text, strlen(text));
}
