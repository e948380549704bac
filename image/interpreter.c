/* The dynamic loader that a program names. */
#include "image/image.h"

#include <string.h>

bool image_has_foreign_loader(const char *path)
{
    struct image *image;
    const struct image_request request = {.file = {.path = path}};
    if (image_open(&image, &request, NULL))
        return false;
    const struct sprof_bytes interpreter = image_section(image, ".interp", NULL);
    const bool is_foreign =
        interpreter.size && !memmem(interpreter.data, interpreter.size, "ld-linux", 8);
    image_free(image);
    return is_foreign;
}
