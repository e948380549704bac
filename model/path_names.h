/* What only model's own files use of module paths. */
#ifndef SPROF_MODEL_PATH_NAMES_H
#define SPROF_MODEL_PATH_NAMES_H

#include <stdbool.h>

/* Whether a path names a dynamic loader, by its last part. */
bool model_path_is_loader(const char *path);

#endif
