/* Whether a sanitizer is in this build: it changes what vfork(2), clone(2), malloc and limits of
 * memory do. */
#ifndef SPROF_TESTS_UNIT_SANITIZED_H
#define SPROF_TESTS_UNIT_SANITIZED_H

#ifdef __has_feature /* clang's */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SPROF_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPROF_TEST_SANITIZED 1
#endif
#ifndef SPROF_TEST_SANITIZED
#define SPROF_TEST_SANITIZED 0
#endif

#endif
