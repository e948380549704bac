#include "known_library.h"

#include "spin.h"

void library_spin(uint64_t turns)
{
    SPIN(turns);
}

void library_call(void (*function)(uint64_t), uint64_t turns)
{
    function(turns);
    NO_TAIL_CALL();
}
