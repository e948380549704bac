/* Separates debug information of code in an image from that of code the linker dropped. */
#include "symbolize/dwarf_unit.h"

bool symbolize_dwarf_code_begins(const struct dwarf_code *code, uint64_t low)
{
    size_t first = 0, end = code->count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (code->stretches[middle].end <= low)
            first = middle + 1;
        else
            end = middle;
    }
    return !code->count || (first < code->count && code->stretches[first].start <= low);
}

bool symbolize_dwarf_code_has_function(const struct dwarf_code *code, uint64_t low, uint64_t high)
{
    enum { SECOND_MARK = 1 }; /* no function begins inside of the one at 0 */
    if (!symbolize_dwarf_code_begins(code, low))
        return false;
    if (!code->has_zero || low - code->zero > SECOND_MARK)
        return true;
    return low == code->zero && (!code->zero_size || high - low == code->zero_size);
}
