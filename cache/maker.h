/* cache, inside: which build of a program made an entry. */
#ifndef SPROF_CACHE_MAKER_H
#define SPROF_CACHE_MAKER_H

#include <stdint.h>

/* A number that another build of the running program has with a chance of 2^-64 only: hash of the
 * GNU build id of its file, or, where that has none, of all that it holds. 0 where neither can be
 * read. */
uint64_t cache_maker(void);

#endif
