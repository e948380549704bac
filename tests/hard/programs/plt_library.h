#ifndef SPROF_TESTS_PLT_LIBRARY_H
#define SPROF_TESTS_PLT_LIBRARY_H

unsigned long small_one(unsigned long value);
unsigned long small_two(unsigned long value);

#endif
