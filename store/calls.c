/* Packs calls and unpacks them again. A call is, each number as LEB128 (DWARF 5, section 7.6), and
 * differences with their sign in the lowest bit:
 *
 *     its function's number, times 8, and its exit
 *     depth and start, less those of the call before (0 for the first)
 *     duration plus 1, or 0 where it is not known; then duration less self time
 *     a byte that says which of its words differ from those of the last call whose function's
 *     number has the same lowest 6 bits (0 for the first), with bit 6 where the exit is `tail-cut`,
 *     which stands as `tail` (versions that do not have that word read it so), and bit 7 where
 *     its states are known; then what they differ by
 *     where its states are known: 0 where it always ran; else time waiting plus 1, and time ready
 */
#include "store/calls.h"

#include "store/leb128.h"
#include "store/rows.h"

#include <stdlib.h>
#include <string.h>

enum {
    CALL_BYTES = (7 + STORE_CALL_WORDS) * STORE_NUMBER_BYTES + 1,
    EXITS = 8,
    CUT = 1 << STORE_CALL_WORDS,
    STATES = CUT << 1,
};

int store_call_pack(struct store_call_packer *packer, const struct store_call *call)
{
    struct store_call_before *before = &packer->before;
    uint64_t *words = before->words[call->function % STORE_CALL_SLOTS];
    if (!packer->bytes && !(packer->bytes = malloc((size_t)STORE_BLOCK_CALLS * CALL_BYTES)))
        return SPROF_ENOMEM;
    uint8_t *at = packer->bytes + packer->size;
    const bool is_cut = call->exit == STORE_EXIT_TAIL_CUT;
    at = store_put_number(at, (uint64_t)call->function * EXITS +
                                  (is_cut ? STORE_EXIT_TAIL : call->exit % EXITS));
    at = store_put_difference(at, call->depth, before->depth);
    at = store_put_difference(at, call->start_ns, before->start_ns);
    at = store_put_number(at, call->duration_ns ? call->duration_ns + 1 : 0);
    if (call->duration_ns)
        at = store_put_difference(at, call->duration_ns, call->self_ns);
    uint8_t *differing = at++;
    *differing = (uint8_t)((is_cut ? CUT : 0) | (call->has_states ? STATES : 0));
    for (int i = 0; i < STORE_CALL_WORDS; i++) {
        if (words[i] == call->words[i])
            continue;
        *differing |= (uint8_t)(1 << i);
        at = store_put_difference(at, call->words[i], words[i]);
        words[i] = call->words[i];
    }
    if (call->has_states && (call->waiting_ns || call->ready_ns)) {
        at = store_put_number(at, call->waiting_ns + 1);
        at = store_put_number(at, call->ready_ns);
    } else if (call->has_states) {
        at = store_put_number(at, 0);
    }
    packer->size = (size_t)(at - packer->bytes);
    if (!packer->calls++ || call->start_ns < packer->first_ns)
        packer->first_ns = call->start_ns;
    before->start_ns = call->start_ns;
    before->depth = call->depth;
    return 0;
}

void store_call_packer_clear(struct store_call_packer *packer)
{
    packer->size = packer->calls = 0;
    memset(&packer->before, 0, sizeof packer->before);
}

void store_call_packer_release(struct store_call_packer *packer)
{
    free(packer->bytes);
    memset(packer, 0, sizeof *packer);
}

void store_call_unpack_begin(struct store_call_unpacker *unpacker, struct sprof_bytes bytes,
                             uint32_t calls)
{
    unpacker->reader = sprof_reader_of(bytes);
    unpacker->left = calls;
    memset(&unpacker->before, 0, sizeof unpacker->before);
}

int store_call_unpack(struct store_call_unpacker *unpacker, struct store_call *call)
{
    struct sprof_reader *reader = &unpacker->reader;
    struct store_call_before *before = &unpacker->before;
    if (!unpacker->left)
        return sprof_reader_left(reader) ? SPROF_EFORMAT : 1;
    unpacker->left--;
    const uint64_t head = sprof_reader_uleb(reader);
    const uint64_t depth = store_take_difference(reader, before->depth);
    call->function = (uint32_t)(head / EXITS);
    call->exit = head % EXITS;
    call->depth = before->depth = (uint32_t)depth;
    call->start_ns = before->start_ns = store_take_difference(reader, before->start_ns);
    const uint64_t duration = sprof_reader_uleb(reader);
    call->duration_ns = duration ? duration - 1 : 0;
    call->self_ns = duration ? call->duration_ns - (store_take_difference(reader, 0)) : 0;
    const uint8_t differing = sprof_reader_u8(reader);
    if (differing & CUT && call->exit == STORE_EXIT_TAIL)
        call->exit = STORE_EXIT_TAIL_CUT;
    uint64_t *words = before->words[call->function % STORE_CALL_SLOTS];
    for (int i = 0; i < STORE_CALL_WORDS; i++)
        if (differing >> i & 1)
            words[i] = store_take_difference(reader, words[i]);
    memcpy(call->words, words, sizeof call->words);
    call->has_states = differing & STATES;
    const uint64_t waiting = call->has_states ? sprof_reader_uleb(reader) : 0;
    call->waiting_ns = waiting ? waiting - 1 : 0;
    call->ready_ns = waiting ? sprof_reader_uleb(reader) : 0;
    return reader->failed || head / EXITS > UINT32_MAX || depth > UINT32_MAX ? SPROF_EFORMAT : 0;
}
