/* Functions that keep a pointer to their return address below the stack pointer, as libcrypto's
 * SHA-2 for AVX2 does. Slices begin at the stack pointer, and in the live target the word may be
 * another by now. But the pointer was stored further up first, when the frame was made: a word that
 * points to a return address above it is that copy if the call before the return address leads to
 * the interrupted function, at once or through a dispatcher that jumps there. */
#include "unwind/walk.h"

enum { FRAME_BYTES_MAX = 4096 /* searched for the copy */ };

bool unwind_walk_red_zone_copy(struct walk *walk, uint64_t *pointer)
{
    struct unwind_range function;
    const uint64_t start = (walk->sp + 7) & ~UINT64_C(7);
    if (unwind_walk_is_return(walk) || walk->sp < walk->memory->slice_address ||
        start >= walk->slice_end || !unwind_walk_function(walk, &function))
        return false;
    for (uint64_t at = start; at + 8 <= walk->slice_end && at < start + FRAME_BYTES_MAX; at += 8) {
        uint64_t return_address;
        if (unwind_walk_read_word(walk, at, pointer) == WALK_READ_OK && *pointer > at &&
            *pointer <= walk->slice_end - 8 && !(*pointer & 7) &&
            unwind_walk_read_word(walk, *pointer, &return_address) == WALK_READ_OK &&
            unwind_walk_call_leads_to(walk, return_address, function.start))
            return true;
    }
    return false;
}
