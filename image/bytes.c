/* Bytes of an image by file offset, and the offsets of its addresses. */
#include "image/elf_file.h"

#include <stdlib.h>
#include <string.h>

size_t image_read(const struct image *image, uint64_t offset, void *buffer, size_t size)
{
    if (offset >= image->file_size)
        return 0;
    if (size > image->file_size - offset)
        size = (size_t)(image->file_size - offset);
    if (image->fd < 0) {
        memcpy(buffer, image->memory.data + offset, size);
        return size;
    }
    return sprof_file_read(image->fd, offset, buffer, size);
}

struct sprof_bytes image_read_copy(const struct image *image, uint64_t offset, uint64_t size)
{
    const struct sprof_bytes empty = {0};
    if (!size || size > IMAGE_MAX_CONTENT || offset > image->file_size ||
        size > image->file_size - offset)
        return empty;
    uint8_t *copy = sprof_bytes_new((size_t)size + 1);
    if (!copy)
        return empty;
    if (image_read(image, offset, copy, (size_t)size) != size) {
        free(copy);
        return empty;
    }
    copy[size] = 0;
    return (struct sprof_bytes){copy, (size_t)size};
}

bool image_vaddr_of_offset(const struct image *image, uint64_t offset, uint64_t *vaddr)
{
    for (size_t i = 0; i < image->loads.count; i++) {
        const Elf64_Phdr *load = &image->loads.items[i];
        if (offset >= load->p_offset && offset - load->p_offset < load->p_filesz) {
            *vaddr = load->p_vaddr + (offset - load->p_offset);
            return true;
        }
    }
    return false;
}

bool image_vaddr_of_mapping(const struct image *image, uint64_t offset, uint64_t *vaddr)
{
    for (size_t i = 0; i < image->text.count; i++) {
        const struct image_segment *segment = &image->text.items[i];
        if (offset >= (segment->offset & ~UINT64_C(4095)) &&
            offset < segment->offset + segment->size) {
            *vaddr = segment->vaddr + (offset - segment->offset);
            return true;
        }
    }
    return false;
}

bool image_offset_of_vaddr(const struct image *image, uint64_t vaddr, uint64_t *offset)
{
    for (size_t i = 0; i < image->loads.count; i++) {
        const Elf64_Phdr *load = &image->loads.items[i];
        if (vaddr >= load->p_vaddr && vaddr - load->p_vaddr < load->p_filesz) {
            *offset = load->p_offset + (vaddr - load->p_vaddr);
            return true;
        }
    }
    return false;
}
