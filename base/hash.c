/* Hashes of bytes: XXH3 of libxxhash. */
#include "base/hash.h"

#include <string.h>
#include <xxhash.h>

uint64_t sprof_hash_bytes(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}

uint64_t sprof_hash_pieces(const struct sprof_bytes *pieces, size_t count)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return 0;
    XXH3_64bits_reset(state);
    for (size_t i = 0; i < count; i++)
        if (pieces[i].size)
            XXH3_64bits_update(state, pieces[i].data, pieces[i].size);
    const uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return hash;
}

uint64_t sprof_hash_text(const char *text)
{
    return sprof_hash_bytes(text, strlen(text));
}

struct sprof_digest sprof_digest_of_piece(const void *data, size_t size)
{
    const XXH128_hash_t piece = XXH3_128bits(data, size);
    return (struct sprof_digest){piece.low64, piece.high64};
}

void sprof_digest_chain(struct sprof_digest *digest, struct sprof_digest piece, size_t size)
{
    const uint64_t chain[] = {digest->low, digest->high, piece.low, piece.high, size};
    *digest = sprof_digest_of_piece(chain, sizeof chain);
}

void sprof_digest_add(struct sprof_digest *digest, const void *data, size_t size)
{
    sprof_digest_chain(digest, sprof_digest_of_piece(data, size), size);
}

void sprof_digest_add_number(struct sprof_digest *digest, uint64_t number)
{
    sprof_digest_add(digest, &number, sizeof number);
}
