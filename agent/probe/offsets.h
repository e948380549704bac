/* Struct offsets for assembly, asserted by offsets.c. */
#ifndef SPROF_AGENT_PROBE_OFFSETS_H
#define SPROF_AGENT_PROBE_OFFSETS_H

#define THUNKS 262144
/* From a return address in a thunk to ARCH_THUNK_NUMBER and _SITE. */
#define THUNK_NUMBER 33
#define THUNK_SITE 41
/* How far moved instructions reach below the return address. Unwinders have no rules for
 * islands. */
#define REACHED 256

/* struct probe_inside */
#define INSIDE_ALIVE 0
#define INSIDE_SHARED 8
#define INSIDE_FOLLOWS_FORKS 16
#define INSIDE_STACK_LOW 40
#define INSIDE_STACK_END 48
#define INSIDE_TID_OFFSET 56
#define INSIDE_LOSES_CLOCK 61
#define INSIDE_FUNCTION_COUNT 68
#define INSIDE_ERROR_AT 88

/* struct record */
#define RECORD_RETURN_ADDRESS 0
#define RECORD_BEGIN 8
#define RECORD_PARENT 16
#define RECORD_CHILD_TICKS 24
#define RECORD_PROBE_TICKS 32
#define RECORD_SLOT 40
#define RECORD_STAT 48
#define RECORD_PATH 54 /* its upper bits */
#define RECORD_SERIAL 56
#define RECORD_NODE 60

/* struct thread */
#define THREAD_STATS 0
#define THREAD_INNERMOST 8
#define THREAD_LOW 16
#define THREAD_HIGH 24
#define THREAD_SERIAL 32
#define THREAD_OPEN_LOGGED 40
#define THREAD_RING 48
#define THREAD_RING_MASK 56
#define THREAD_ROOT 64
#define THREAD_HISTOGRAMS 152
#define THREAD_GENERATION 168
#define THREAD_KEPT 296
#define THREAD_PENDING 304
#define THREAD_ALLOCATOR_SLOT 312
#define THREAD_EDGE_LOW 184
#define THREAD_EDGE_HIGH 192
#define THREAD_EDGE_FLOOR 200
#define THREAD_EDGE_IS_BUSY 208
#define THREAD_EDGE_RAX 216
#define THREAD_EDGE_RCX 224
#define THREAD_EDGE_RDX 232
#define THREAD_EDGE_RSI 240
#define THREAD_EDGE_RDI 248
#define THREAD_EDGE_R10 256
#define THREAD_EDGE_R11 264

/* struct probe_slot, and the table */
#define SLOT_POINTER 352
#define SLOT_TID 360
#define TABLE_SLOT_BITS 9
#define TABLE_BITS 14
#define TABLE_FACTOR 0x61c88647

/* struct probe_stat */
#define STAT_BYTES 128
#define STAT_CALLS 0
#define STAT_ENDED 8
#define STAT_SELF 16
#define STAT_TOTAL 24
#define STAT_PROBE_TICKS 32
#define STAT_MAX 40
#define STAT_MIN_MASK 48
#define STAT_CHILD_CALLS 56
#define STAT_COUNTED 64
#define STAT_CHILD_COUNTED 72
#define STAT_RECURSIVE 80
#define STAT_PENDING 112

/* struct probe_shared */
#define SHARED_EXTRAS 44
#define SHARED_CLEARED 56
#define SHARED_LOG_REACH 68
#define SHARED_HISTOGRAMS 72
#define SHARED_LEASE 80
#define SHARED_COST_INSIDE 104
#define SHARED_COST_WHOLE 108
#define SHARED_COST_COUNT 112
#define SHARED_GENERATION 120
#define SHARED_HAS_ENDS 124
#define SHARED_TIERS 106656
#define SHARED_BEYOND 24024712
#define SHARED_KEEP_QUICK 36767992
#define SHARED_KEEP_VALUES 78711032

/* struct probe_keep_quick and struct probe_kept */
#define QUICK_LOW 8
#define QUICK_SPAN 16
#define QUICK_SHIFT 24
#define QUICK_WORD 25
#define QUICK_UNITS 26
#define QUICK_RULE 27
#define KEPT_BEGIN 8
#define KEPT_END 16
#define KEPT_TOTAL 24
#define KEPT_SELF 32
#define KEPT_NUMBER 40
#define KEPT_CALLER 44
#define KEPT_RULES 48
#define KEPT_IS_APART 56
#define KEPT_UNITS 2
#define KEPT_UNITS_MOST 5
#define KEPT_WORDS 64
#define KEPT_VALUES_BYTES 144

#endif
