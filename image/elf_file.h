/* image, inside: the parts of one opened ELF file. Everything read from it is untrusted. */
#ifndef SPROF_IMAGE_ELF_FILE_H
#define SPROF_IMAGE_ELF_FILE_H

#include "image/image.h"

#include <libelf.h>

enum {
    IMAGE_MAX_SEGMENTS = 1024,
    IMAGE_MAX_SECTIONS = 1 << 16,
    IMAGE_MAX_NOTES = 1 << 20,   /* bytes of one note segment that are looked at */
    IMAGE_MAX_DYNAMIC = 1 << 20, /* bytes of the dynamic section */
    IMAGE_MAX_BUILD_ID = 64,
    IMAGE_MAX_CONTENT = 1 << 30, /* of one section */
    IMAGE_PIECE = 64 * 1024,     /* bytes read at once where all are only looked at */
};

struct image_section_header {
    char *name;
    uint64_t vaddr, offset, size, flags;
    uint32_t type, link;
};

/* Bytes handed out, kept so that a second request costs nothing. */
struct image_loaded {
    const char *name; /* of the section header, or a literal */
    struct sprof_bytes bytes;
    uint64_t vaddr;
};

struct image {
    char *path; /* as requested, without " (deleted)" */
    char *root; /* "/proc/PID/root" where the file was opened through it, else "" */
    int fd;     /* -1 in memory */
    struct sprof_bytes memory;
    uint64_t file_size;
    unsigned cut_files; /* when it was opened */

    uint64_t entry;
    uint16_t type; /* ET_… */
    bool has_interpreter, has_eh_frame_hdr;
    Elf64_Phdr dynamic; /* p_filesz 0 where there is none */
    Elf64_Phdr eh_frame_hdr;
    uint64_t flags_1; /* DT_FLAGS_1 */
    char *soname;
    uint8_t build_id[IMAGE_MAX_BUILD_ID];
    size_t build_id_size;

    SPROF_VEC(Elf64_Phdr) segments;       /* all program headers */
    SPROF_VEC(Elf64_Phdr) loads;          /* PT_LOAD, executable ones first */
    SPROF_VEC(struct image_segment) text; /* sorted by vaddr */
    SPROF_VEC(struct image_section_header) sections;
    SPROF_VEC(struct image_loaded) loaded;
    struct sprof_digest digest;
    bool has_digest;
};

/* == bytes.c == */

/* Reads exactly `size` bytes into malloc'd memory that one NUL byte follows. Empty where the file
 * does not hold them, where `size` is above IMAGE_MAX_CONTENT, or where memory ran out. */
struct sprof_bytes image_read_copy(const struct image *image, uint64_t offset, uint64_t size);

/* == headers.c == */

/* Fills the image from its descriptor or memory; messages call it `path`. */
int image_read_headers(struct image *image, struct sprof_error *error);

/* A libelf handle on the image's bytes that reads instead of mapping; NULL when libelf refuses. */
Elf *image_libelf(const struct image *image);

/* == sections.c == */

/* The header of a section, or NULL. */
const struct image_section_header *image_section_header(const struct image *image,
                                                        const char *name);

/* As image_section_extent, by the header. */
bool image_extent_of(const struct image *image, const struct image_section_header *section,
                     struct image_extent *extent);

/* == identity.c == */

/* Fills soname, flags_1 and build_id. Absence is normal. */
void image_read_identity(struct image *image);

/* == digest.c == */

/* Adds a part of the file to a digest; of one longer than `most` its beginning and its end. A large
 * part is read by up to `threads` threads, the caller included; the digest is the same. */
void image_digest_add(const struct image *image, uint64_t offset, uint64_t size, uint64_t most,
                      unsigned threads, struct sprof_digest *digest);

/* == open.c, image.c == */

/* Opens one file for reading without waiting and without side effects: SPROF_ENOTFOUND,
 * SPROF_EPERMISSION, SPROF_EIO, or SPROF_EFORMAT where it is not a regular file. */
int image_open_file(const char *file, int *fd, struct sprof_error *error);

/* Makes an image of an open descriptor, which it owns from now on, also on failure. */
int image_open_fd(struct image **image, int fd, const char *path, struct sprof_error *error);

#endif
