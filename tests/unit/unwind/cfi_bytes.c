#include "tests/unit/unwind/cfi_bytes.h"

#include <assert.h>

void cfi_bytes_put(struct cfi_bytes *section, const void *data, size_t size)
{
    assert(size <= CFI_BYTES_MAX - section->size);
    if (size)
        memcpy(section->data + section->size, data, size);
    section->size += size;
}

static void put_byte(struct cfi_bytes *section, unsigned value)
{
    const uint8_t byte = (uint8_t)value;
    cfi_bytes_put(section, &byte, 1);
}

static void put_number(struct cfi_bytes *section, uint64_t value, size_t size)
{
    cfi_bytes_put(section, &value, size);
}

/* Returns where the length will stand. */
static size_t begin(struct cfi_bytes *section)
{
    const size_t at = section->size;
    if (section->wide)
        put_number(section, 0xffffffff, 4);
    put_number(section, 0, section->wide ? 8 : 4);
    return at;
}

static void end(struct cfi_bytes *section, size_t at)
{
    const size_t size = section->wide ? 8 : 4, field = at + (section->wide ? 4 : 0);
    const uint64_t length = section->size - field - size;
    memcpy(section->data + field, &length, size);
}

void cfi_bytes_cie_raw(struct cfi_bytes *section, const char *letters, const uint8_t *augmentation,
                       size_t augmentation_size, const uint8_t *program, size_t size)
{
    section->cie = section->size;
    const unsigned version = section->version ? section->version : 1;
    const size_t at = begin(section);
    put_number(section, section->debug_frame ? UINT64_MAX : 0, section->wide ? 8 : 4);
    put_byte(section, version);
    cfi_bytes_put(section, letters, strlen(letters) + 1);
    if (version == 4) {
        put_byte(section, 8);
        put_byte(section, 0);
    }
    put_byte(section, 1);
    put_byte(section, 0x78); /* -8 */
    put_byte(section, section->return_column ? section->return_column : 16);
    if (*letters == 'z') {
        put_byte(section, (unsigned)augmentation_size);
        cfi_bytes_put(section, augmentation, augmentation_size);
    }
    cfi_bytes_put(section, program, size);
    end(section, at);
}

void cfi_bytes_cie(struct cfi_bytes *section, const char *letters)
{
    static const uint8_t program[] = {0x0c, 7, 8, 0x90, 1}, absolute[] = {0};
    cfi_bytes_cie_raw(section, letters, absolute, strchr(letters, 'R') ? 1 : 0, program,
                      sizeof program);
}

void cfi_bytes_fde_raw(struct cfi_bytes *section, const uint8_t *content, size_t size)
{
    const size_t at = begin(section);
    const uint64_t pointer = section->debug_frame ? section->cie : section->size - section->cie;
    put_number(section, pointer, section->wide ? 8 : 4);
    cfi_bytes_put(section, content, size);
    end(section, at);
}

void cfi_bytes_fde(struct cfi_bytes *section, uint64_t start, uint64_t length,
                   const uint8_t *program, size_t size)
{
    struct cfi_bytes content = {0};
    const char *letters = (const char *)section->data + section->cie + (section->wide ? 21 : 9);
    put_number(&content, start, 8);
    put_number(&content, length, 8);
    if (*letters == 'z')
        put_byte(&content, 0);
    cfi_bytes_put(&content, program, size);
    cfi_bytes_fde_raw(section, content.data, content.size);
}
