/* What holds of every importer, whatever it reads. */
#ifndef SPROF_TESTS_FUZZ_IMPORT_CHECKS_H
#define SPROF_TESTS_FUZZ_IMPORT_CHECKS_H

#include <stddef.h>
#include <stdint.h>

void fuzz_import(const char *format, const uint8_t *data, size_t size);

#endif
