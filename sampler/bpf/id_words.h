/* How long a set of thread or process ids is, a bit for each, which BPF programs and sprof share.
 */
#ifndef SPROF_SAMPLER_BPF_ID_WORDS_H
#define SPROF_SAMPLER_BPF_ID_WORDS_H

enum { SAMPLER_ID_WORDS = 1 << 16 }; /* of 64 bits: PID_MAX_LIMIT */

#endif
