/* The generated list of suites of one library. */
#ifndef SPROF_TESTS_SUITES_H
#define SPROF_TESTS_SUITES_H

void sprof_register_suites(void);

#endif
