/* In BPF programs: a set of thread or process ids, a bit for each, which sprof fills through its
 * own mapping. It is to be included once, by the program. */
#ifndef SPROF_SAMPLER_BPF_IDS_H
#define SPROF_SAMPLER_BPF_IDS_H

#include "sampler/bpf/id_words.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, SAMPLER_ID_WORDS);
    __type(key, __u32);
    __type(value, __u64);
} ids SEC(".maps");

static __always_inline __u64 *ids_word(__u32 id)
{
    const __u32 word = id / 64;
    return bpf_map_lookup_elem(&ids, &word);
}

static __always_inline bool ids_has(__u32 id)
{
    const __u64 *word = ids_word(id);
    return word && *word >> id % 64 & 1;
}

static __always_inline void ids_put(__u32 id, bool is_member)
{
    __u64 *word = ids_word(id);
    const __u64 bit = 1ULL << id % 64;
    if (!word || !(*word & bit) == !is_member)
        return;
    if (is_member)
        __sync_fetch_and_or(word, bit);
    else
        __sync_fetch_and_and(word, ~bit);
}

#endif
