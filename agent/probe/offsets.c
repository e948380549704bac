/* Asserts offsets that assembly uses; makes no code. */
#include "agent/probe/offsets.h"
#include "agent/probe/log.h"
#include "agent/probe/table.h"

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), "calls.S")
AT(struct probe_inside, alive, INSIDE_ALIVE);
AT(struct probe_inside, shared, INSIDE_SHARED);
AT(struct probe_inside, follows_forks, INSIDE_FOLLOWS_FORKS);
AT(struct probe_inside, stack_low, INSIDE_STACK_LOW);
AT(struct probe_inside, stack_end, INSIDE_STACK_END);
AT(struct probe_inside, tid_offset, INSIDE_TID_OFFSET);
AT(struct probe_inside, loses_clock, INSIDE_LOSES_CLOCK);
AT(struct probe_inside, function_count, INSIDE_FUNCTION_COUNT);
AT(struct probe_inside, error_at, INSIDE_ERROR_AT);
AT(struct record, return_address, RECORD_RETURN_ADDRESS);
AT(struct record, begin, RECORD_BEGIN);
AT(struct record, parent, RECORD_PARENT);
AT(struct record, child_ticks, RECORD_CHILD_TICKS);
AT(struct record, probe_ticks, RECORD_PROBE_TICKS);
AT(struct record, slot, RECORD_SLOT);
AT(struct record, stat, RECORD_STAT);
AT(struct record, serial, RECORD_SERIAL);
AT(struct record, node, RECORD_NODE);
AT(struct thread, stats, THREAD_STATS);
AT(struct thread, innermost, THREAD_INNERMOST);
AT(struct thread, low, THREAD_LOW);
AT(struct thread, high, THREAD_HIGH);
AT(struct thread, serial, THREAD_SERIAL);
AT(struct thread, open_logged, THREAD_OPEN_LOGGED);
AT(struct thread, ring, THREAD_RING);
AT(struct thread, ring_mask, THREAD_RING_MASK);
AT(struct thread, root, THREAD_ROOT);
AT(struct thread, histograms, THREAD_HISTOGRAMS);
AT(struct thread, generation, THREAD_GENERATION);
AT(struct thread, kept, THREAD_KEPT);
AT(struct thread, pending, THREAD_PENDING);
AT(struct thread, allocator_slot, THREAD_ALLOCATOR_SLOT);
AT(struct thread, edge_low, THREAD_EDGE_LOW);
AT(struct thread, edge_high, THREAD_EDGE_HIGH);
AT(struct thread, edge_floor, THREAD_EDGE_FLOOR);
AT(struct thread, edge_is_busy, THREAD_EDGE_IS_BUSY);
AT(struct thread, edge.rax, THREAD_EDGE_RAX);
AT(struct thread, edge.rcx, THREAD_EDGE_RCX);
AT(struct thread, edge.rdx, THREAD_EDGE_RDX);
AT(struct thread, edge.rsi, THREAD_EDGE_RSI);
AT(struct thread, edge.rdi, THREAD_EDGE_RDI);
AT(struct thread, edge.r10, THREAD_EDGE_R10);
AT(struct thread, edge.r11, THREAD_EDGE_R11);
AT(struct probe_slot, thread, 0);
AT(struct probe_slot, owner.pointer, SLOT_POINTER);
AT(struct probe_slot, owner.tid, SLOT_TID);
_Static_assert(sizeof(struct probe_slot) == 1 << TABLE_SLOT_BITS &&
                   PROBE_SLOTS == 1 << TABLE_BITS && PROBE_TABLE_FACTOR == TABLE_FACTOR,
               "calls.S");
AT(struct probe_stat, calls, STAT_CALLS);
AT(struct probe_stat, ended, STAT_ENDED);
AT(struct probe_stat, self, STAT_SELF);
AT(struct probe_stat, total, STAT_TOTAL);
AT(struct probe_stat, probe_ticks, STAT_PROBE_TICKS);
AT(struct probe_stat, max, STAT_MAX);
AT(struct probe_stat, min_mask, STAT_MIN_MASK);
AT(struct probe_stat, child_calls, STAT_CHILD_CALLS);
AT(struct probe_stat, counted, STAT_COUNTED);
AT(struct probe_stat, child_counted, STAT_CHILD_COUNTED);
AT(struct probe_stat, recursive, STAT_RECURSIVE);
AT(struct probe_stat, pending, STAT_PENDING);
AT(struct probe_shared, extras, SHARED_EXTRAS);
AT(struct probe_shared, log.reach, SHARED_LOG_REACH);
AT(struct probe_shared, histograms, SHARED_HISTOGRAMS);
AT(struct probe_shared, cleared, SHARED_CLEARED);
AT(struct probe_shared, lease, SHARED_LEASE);
AT(struct probe_shared, cost.inside, SHARED_COST_INSIDE);
AT(struct probe_shared, cost.whole, SHARED_COST_WHOLE);
AT(struct probe_shared, cost.count, SHARED_COST_COUNT);
AT(struct probe_shared, generation, SHARED_GENERATION);
AT(struct probe_shared, has_ends, SHARED_HAS_ENDS);
AT(struct probe_shared, tiers, SHARED_TIERS);
AT(struct probe_shared, beyond, SHARED_BEYOND);
AT(struct probe_keep_quick, low, QUICK_LOW);
AT(struct probe_keep_quick, span, QUICK_SPAN);
AT(struct probe_keep_quick, shift, QUICK_SHIFT);
AT(struct probe_keep_quick, word, QUICK_WORD);
AT(struct probe_keep_quick, units, QUICK_UNITS);
AT(struct probe_keep_quick, rule, QUICK_RULE);
AT(struct probe_kept, begin, KEPT_BEGIN);
AT(struct probe_kept, end, KEPT_END);
AT(struct probe_kept, total, KEPT_TOTAL);
AT(struct probe_kept, self, KEPT_SELF);
AT(struct probe_kept, number, KEPT_NUMBER);
AT(struct probe_kept, caller, KEPT_CALLER);
AT(struct probe_kept, rules, KEPT_RULES);
AT(struct probe_kept, is_apart, KEPT_IS_APART);
_Static_assert(PROBE_KEPT_UNITS == KEPT_UNITS && PROBE_VALUES_UNITS == 3 &&
                   KEPT_UNITS_MOST == KEPT_UNITS + PROBE_VALUES_UNITS &&
                   sizeof(struct probe_kept) == KEPT_WORDS && PROBE_WORD_XMM1 == 9 &&
                   KEPT_WORDS + offsetof(struct probe_kept_values, bytes) == KEPT_VALUES_BYTES &&
                   offsetof(struct probe_kept_values, has_words) == 84 &&
                   offsetof(struct probe_kept_values, has_result) == 86 &&
                   offsetof(struct probe_kept_values, error) == 94 && PROBE_NO_ERROR == 0xffff,
               "calls_leave.inc");
AT(struct probe_shared, keep_of.quick, SHARED_KEEP_QUICK);
AT(struct probe_shared, keep_of.values, SHARED_KEEP_VALUES);
_Static_assert(sizeof(struct probe_stat) == STAT_BYTES && STAT_BYTES == 1 << 7 &&
                   sizeof(struct probe_histogram) == 2 * STAT_BYTES,
               "calls.S");
_Static_assert(PROBE_OFF == 0 && PROBE_COUNT == 1 && PROBE_FULL == 4 && PROBE_LOG == 4 &&
                   PROBE_WARN == 8 && PROBE_SPARE == 16 && PROBE_KEEP == 32 &&
                   PROBE_ARGUMENTS_TOO == 64 && PROBE_STACKS == 128 && PROBE_HEAP_BYTES == 256 &&
                   PROBE_VALUES_CHOSEN == 0x80000000,
               "calls.S");
_Static_assert(RECORD_SERIAL + 4 == offsetof(struct record, node), "written together");
_Static_assert(RECORD_PATH == RECORD_STAT + PROBE_PATH_AT / 8 && PROBE_PATH_AT == 48, "calls.S");
_Static_assert(PROBE_RECORDS == 0x440000000000 && PROBE_SLOT_MASK == (UINT64_C(1) << 41) - 1,
               "calls.S");
_Static_assert(ARCH_THUNK_NUMBER - ARCH_THUNK_ENTERED == THUNK_NUMBER &&
                   ARCH_THUNK_SITE - ARCH_THUNK_ENTERED == THUNK_SITE,
               "calls.S, edge.S");
_Static_assert(PROBE_THUNKS == THUNKS && PROBE_POINTS == 32768 && ARCH_THUNK_BYTES == 64 &&
                   PROBE_BUCKETS == 64 && PROBE_BUCKET_FIRST == 4,
               "calls.S");

_Static_assert(LOGGED == 0x80000000 && DEPTH == 0x7fffffff && RING_MARGIN == 256 &&
                   PROBE_RING_HEADER == 128 && PROBE_UNIT_BYTES == 32 &&
                   offsetof(struct probe_ring, head) == 0 &&
                   offsetof(struct probe_ring, tail) == 64,
               "calls.S");
_Static_assert(PROBE_LOG_BEGIN == 1 && PROBE_LOG_END == 2 && PROBE_EXIT_RETURN == 0, "calls.S");
