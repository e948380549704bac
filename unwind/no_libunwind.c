/* Complex rules where sprof is built without libunwind: the stack ends there. */
#include "unwind/walk.h"

bool unwind_walk_complex(struct walk *walk, uint64_t rule)
{
    (void)rule;
    walk->walker->counters.complex_failed++;
    return unwind_walk_end(walk, MODEL_END_NO_CFI);
}

int unwind_libunwind_fallback_new(struct libunwind_fallback **made)
{
    *made = NULL;
    return 0;
}

void unwind_libunwind_fallback_free(struct libunwind_fallback *fallback)
{
    (void)fallback;
}
