/* What programs/deep.c leaves on its stack. */
#ifndef SPROF_TESTS_SAMPLER_DEEP_H
#define SPROF_TESTS_SAMPLER_DEEP_H

#define DEEP_MARK UINT64_C(0x5a5a5a5a00000000)
#define DEEP_CLASSES 5

#endif
