/* symbolize, inside: one image as libdwfl sees it, which also finds its debug file and reads
 * .gnu_debugdata. */
#ifndef SPROF_SYMBOLIZE_MODULE_H
#define SPROF_SYMBOLIZE_MODULE_H

#include "symbolize/dwarf_unit.h"
#include "symbolize/symbolize.h"

#include <elfutils/libdwfl.h>

struct module {
    struct image *image;
    const struct symbolize_options *options;
    Dwfl_Callbacks callbacks;
    Dwfl *dwfl;
    Dwfl_Module *dwfl_module;
    Dwarf_Addr bias;       /* libdwfl's address = vaddr + bias */
    char *debug_path;      /* malloc'd where the options name a directory */
    bool is_asked_in_vain; /* debuginfod has not sent its debug file: libdw tries again */
};

/* Returns false where libdwfl cannot use the image. Release in either case. The module stays where
 * it is until then: libdwfl holds its address. */
bool symbolize_module_open(struct module *module, struct image *image,
                           const struct symbolize_options *options);
void symbolize_module_release(struct module *module);

/* The image's separate debug file where one lies below the directory of the options; NULL
 * otherwise, and *why, unless that is NULL, as image_open_debug_below has it. The caller frees. */
struct image *symbolize_module_open_debug(struct image *image,
                                          const struct symbolize_options *options,
                                          struct sprof_error *why);

/* Whether a debug file that is not there may still come from debuginfod. */
bool symbolize_module_may_use_debuginfod(const struct symbolize_options *options);

/* Whether a download from debuginfod is given up that took so long and brought so many bytes: ten
 * minutes, 16 GiB, or nothing in half a minute. */
bool symbolize_module_download_ends(uint64_t took_s, long bytes);

/* The image's DWARF, or NULL; `debug` is its separate debug file, NULL where there is none below
 * the directory. DWARF's address = vaddr + *delta (modulo 2^64). Owned by the module. */
Dwarf *symbolize_module_dwarf(struct module *module, const struct image *debug, uint64_t *delta);

/* The bytes of the DWARF's sections, unpacked; they live as long as the module. */
void symbolize_module_dwarf_sections(Dwarf *dwarf, struct dwarf_sections *sections);

/* The linker takes this for libdw's `open`, and for that of the other libraries. libdw opens files
 * (.dwo, .dwp, .gnu_debugaltlink) whose names stand in foreign ones: an open of a pipe would wait,
 * that of a device act, and a check before it would be a race. O_RDONLY alone opens regular files
 * and harmless devices, through /proc, without which it opens nothing, and fails with EINVAL
 * otherwise; with other flags it is open(2). */
#pragma redefine_extname symbolize_module_library_open open
__attribute__((visibility("default"))) int symbolize_module_library_open(const char *path,
                                                                         int flags, ...);

#endif
