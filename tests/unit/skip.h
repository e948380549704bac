/* Tests that cannot run here say so, and their program's exit status does, too: ctest shows it as
 * skipped. */
#ifndef SPROF_TESTS_SKIP_H
#define SPROF_TESTS_SKIP_H

/* Says why the test at hand, or a part of it, is not run. The caller returns. */
void sprof_test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How often. */
unsigned sprof_test_skips(void);

#endif
