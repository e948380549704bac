/* The machine code of functions, from the files that ran. */
#ifndef SPROF_REPORT_MACHINE_CODE_H
#define SPROF_REPORT_MACHINE_CODE_H

#include "image/image.h"
#include "report/dataset.h"
#include "report/disassemble.h"

/* Opens the file of a module if it is still what was recorded, and no other. Returns 0, or a
 * negative code with a message that says why no instructions can be shown. The caller frees. */
int report_machine_code_open(struct image **image, const struct report_module *module,
                             const char *root, struct sprof_error *error);

/* Disassembles a function that has code of its own. Direct jumps out of it, and calls, have the
 * full name of the function that they go to, unless the file has none. Texts live in the arena.
 * Returns 0 (no instructions where the file holds none there), SPROF_ENOMEM, or SPROF_EUNSUPPORTED
 * for a processor that is not known. */
int report_machine_code_read(struct report_instructions *instructions, struct sprof_arena *arena,
                             struct image *image, const struct report_function *function,
                             bool intel, struct sprof_error *error);

/* The index of the instruction that holds the address; SIZE_MAX where none does. */
size_t report_machine_code_find(const struct report_instructions *instructions, uint64_t vaddr);

#endif
