/* image: the ELF files a process runs.
 *
 * Opens the right file (the one that is mapped, not one that took its name), reads what the other
 * libraries need, and translates between file offsets and addresses. It never maps a file into
 * memory, so that a file cut short meanwhile cannot kill sprof: sections are read into memory it
 * owns. */
#ifndef SPROF_IMAGE_IMAGE_H
#define SPROF_IMAGE_IMAGE_H

#include "base/base.h"
#include "cache/cache.h"
#include "image/code.h"

#include <stdbool.h>
#include <sys/types.h>

/* Which file, and where to look for it. Zero fields are unknown. */
struct image_request {
    struct sprof_file_id file;   /* " (deleted)" at the end of its path is understood; a file with
                                    another build id is refused, or, where that is not known, one
                                    with another device or inode */
    pid_t pid;                   /* a process that has it mapped; 0: none alive */
    pid_t ancestor;              /* one that lives, of which it has the root directory, unless it
                                    changed that itself; 0: none */
    uint64_t map_start, map_end; /* the mapping's addresses, for /proc/PID/map_files */
    const char *root; /* a directory that stands for /, in which it and its debug file are
                         looked for first; NULL: none */
};

/* One opened image. Used by one thread at a time. */
struct image;

/* Opens below `root`, by map_files, /proc/PID/root + path, /proc/PID/exe, an identified file below
 * the ancestor's root, path: in that order, the first that matches. Returns SPROF_ENOTFOUND (gone,
 * or replaced: the message says which), SPROF_EFORMAT (not an ELF file, or damaged),
 * SPROF_EUNSUPPORTED (of another machine, class or byte order than sprof itself; the message
 * distinguishes 32-bit), SPROF_EPERMISSION, SPROF_EIO, SPROF_ENOMEM. The caller frees. */
int image_open(struct image **image, const struct image_request *request,
               struct sprof_error *error);

/* Opens from memory (the vdso, a test). The bytes are copied. `name` becomes the path. */
int image_open_memory(struct image **image, const char *name, struct sprof_bytes bytes,
                      struct sprof_error *error);

/* Opens a descriptor of a file, which is the image's from now on, also on failure. `root` is as
 * image_root returns it. */
int image_open_descriptor(struct image **image, int fd, const char *path, const char *root,
                          struct sprof_error *error);

void image_free(struct image *image);

/* The path as requested, without " (deleted)". */
const char *image_path(const struct image *image);

/* An open, seekable descriptor of the file, owned by the image; -1 for images in memory. */
int image_fd(const struct image *image);

/* The bytes of an image in memory; empty for files. */
struct sprof_bytes image_memory(const struct image *image);

/* The GNU build id; size 0 where the file has none: that is not an error. */
struct sprof_bytes image_build_id(const struct image *image);

/* Content identity in 128 bits: of a file up to 4 MiB all of it; of a larger one its size, headers
 * and notes (with Go's own build id), .eh_frame_hdr, the beginning and the end of .gopclntab and of
 * the symbol tables with their names, and where none of these is there, of its code. So equal
 * digests mean the same functions at the same places, for a few milliseconds of work. */
struct sprof_digest image_digest(struct image *image);

/* Digest of that and of all that these sections hold (NULL-terminated names). Does not read the
 * file again where the cache has an entry of the same device, inode, size and times that are older
 * than two seconds. Large sections are read by up to `threads` threads, the caller included. */
struct sprof_digest image_content(struct image *image, struct cache *cache,
                                  const char *const *sections, unsigned threads);

/* Finds the digest through the cache: then image_digest and image_key need not read the file. */
void image_identify(struct image *image, struct cache *cache);

/* Identity in 64 bits as recordings store it: hash of the build id, else of image_digest. */
uint64_t image_key(struct image *image);

/* DT_SONAME, or NULL. */
const char *image_soname(const struct image *image);

/* e_entry, 0 where there is none; and whether the file is an executable (ET_EXEC, or a PIE: ET_DYN
 * with DF_1_PIE, or with an interpreter and no soname: libc.so.6 has both). */
uint64_t image_entry(const struct image *image);
bool image_is_executable(const struct image *image);

/* File offset ↔ vaddr through the PT_LOAD segments, executable ones first. False where no segment
 * holds it. */
bool image_vaddr_of_offset(const struct image *image, uint64_t offset, uint64_t *vaddr);
bool image_offset_of_vaddr(const struct image *image, uint64_t vaddr, uint64_t *offset);

/* The vaddr that the first byte of an executable mapping has, by the file offset of that: a mapping
 * begins at a page, which may hold the end of another segment, too. */
bool image_vaddr_of_mapping(const struct image *image, uint64_t offset, uint64_t *vaddr);

/* Files whose code was changed after linking list where instructions went, in a section of these,
 * in order of `now`: from there on stands what stood at `before` in the original; 0: nothing did.
 */
#define IMAGE_MOVED_SECTION ".sprof.moved"
struct image_moved {
    uint64_t now, before; /* vaddr */
};

/* Where the instruction at a vaddr stood before it was moved; elsewhere the vaddr itself. */
uint64_t image_before_move(struct image *image, uint64_t vaddr);

/* The executable PT_LOAD segments, in order of vaddr. */
struct image_segment {
    uint64_t vaddr, offset, size; /* size in the file */
};
size_t image_text_segments(const struct image *image, const struct image_segment **segments);

/* Whether something that is to be loaded lies behind the file's end, as of a file of which only the
 * first part was copied; separate debug information may be so, too. */
bool image_is_cut_off(const struct image *image);

/* False where a file became shorter while it was mapped since the image was opened: it may have
 * been this one, or a file of its own, so what libraries read of them must not be kept. */
bool image_stayed_whole(const struct image *image);

/* A section's bytes, decompressed, owned by the image until image_drop_sections; empty where it is
 * missing or unreadable. Its vaddr (0 for unloaded sections) in *vaddr unless that is NULL. Where
 * the section headers are gone, .eh_frame_hdr and .eh_frame are found through PT_GNU_EH_FRAME. At
 * most 1 GiB. */
struct sprof_bytes image_section(struct image *image, const char *name, uint64_t *vaddr);

/* Whether a program names a dynamic loader other than glibc's; false where it names none or cannot
 * be read. Another C library's loader runs constructors without what agents need. */
bool image_has_foreign_loader(const char *path);

/* Whether image_section may have something to read. */
bool image_has_section(const struct image *image, const char *name);

/* Where a section's bytes stand in the file as they are, for image_read; false where it has none
 * there, or they are compressed. */
struct image_extent {
    uint64_t vaddr, offset, size;
};
bool image_section_extent(const struct image *image, const char *name, struct image_extent *extent);

/* How many bytes the compressed sections take in the file, and how many they claim to become. */
struct image_packing {
    uint64_t packed, unpacked;
};
struct image_packing image_packing(const struct image *image);

/* Reads up to `size` bytes at an offset of the file; returns how many there are. */
size_t image_read(const struct image *image, uint64_t offset, void *buffer, size_t size);

/* Frees all section bytes handed out so far. */
void image_drop_sections(struct image *image);

/* Function symbols of .symtab and .dynsym whose name is in `names` (NULL-terminated): writes their
 * vaddr and size to out[i] (0 where absent). For roots and start-up code. */
struct image_symbol {
    uint64_t vaddr, size;
};
void image_find_symbols(struct image *image, const char *const *names, struct image_symbol *out);

/* Where separate debug information may be: the file of a build id below /usr/lib/debug or of
 * .gnu_debuglink, opened; SPROF_ENOTFOUND: none is, SPROF_EFORMAT: one of another build. To unwind;
 * the symbolizer searches for itself. */
int image_open_debug(struct image **debug, struct image *image, struct sprof_error *error);

/* As image_open_debug, below another directory than /usr/lib/debug. */
int image_open_debug_below(struct image **debug, struct image *image, const char *directory,
                           struct sprof_error *error);

/* The name in .gnu_debugaltlink of an image or of its debug file: dwz puts there what several debug
 * files have in common. NULL: it has none. Owned by `file`. */
const char *image_alternate_name(struct image *file);

/* Opens the file that `file`, the image itself or its debug file, refers to in this way: beside it,
 * or below /usr/lib/debug by build id. 0 with NULL where it refers to none; SPROF_ENOTFOUND where
 * it is not there. */
int image_open_alternate(struct image **alternate, struct image *image, struct image *file,
                         struct sprof_error *error);

/* == Files of others == */

/* "/proc/PID/root", where the file was opened through it, or another root directory; else "". */
const char *image_root(const struct image *image);

/* Whether another user than the caller and root can have written the file. A file of root's counts
 * where it has its name in the caller's own mounts, too: a container's root is another user. `root`
 * is the root that the path begins with; "": none. */
bool image_is_foreign(const struct image *image, const char *root);

/* A file that belongs to an image of `owner`: opened for reading where it is an ELF file that the
 * owner or all users may read, or one of the caller's in the archive that `root` is ("": none, and
 * that of a process is none). Returns the descriptor or a negative errno. */
int image_open_beside(const char *path, uid_t owner, const char *root);

/* == Source files == */

/* By whose rights a program was run that names source files. */
struct image_source_user {
    uid_t uid;
    gid_t gid;
    const char *groups; /* supplementary ones, numbers with a blank between */
};
struct image_source_users {
    struct image_source_user *items;
    size_t count, capacity;
};

/* Which source files may be read. The name of a file is only as good as the program or the
 * recording that it comes from, and what is read is shown or handed on. */
struct image_source_access {
    bool is_by_rights; /* each that the caller may read; else those that `users` may read */
    const char *named; /* … and those below this directory, which the user has named; NULL: none */
    const struct image_source_users *users; /* NULL or empty: all users */
};

/* Opens a regular file for reading; what is none (a device, a pipe) is not opened. Returns the
 * descriptor or a negative errno: -EPERM where the file may not be read by them, -EINVAL of what is
 * no regular file. */
int image_source_open(const char *path, const struct image_source_access *access);

#endif
