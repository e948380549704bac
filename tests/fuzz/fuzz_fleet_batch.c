#include "fleet/fleet.h"
#include "tests/fuzz/fuzz.h"

/* Whatever lies in a spool: pieces lie within it, and are written as they were read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fleet_batch batch;
    struct sprof_error error = {0};
    const int result = fleet_batch_parse(&batch, (struct sprof_bytes){data, size}, &error);
    FUZZ_REQUIRE((result == 0) == (error.message[0] == '\0'));
    FUZZ_REQUIRE(result || batch.pieces.count);
    for (size_t i = 0; i < batch.pieces.count && !result; i++) {
        const struct fleet_piece *piece = &batch.pieces.items[i];
        FUZZ_REQUIRE(piece->columns && piece->name[0]);
        FUZZ_REQUIRE(piece->body.data >= data && piece->body.size <= size &&
                     piece->body.data + piece->body.size <= data + size);
    }
    fleet_batch_release(&batch);
    return 0;
}
