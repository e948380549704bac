/* names, inside: types, as names show them. */
#ifndef SPROF_NAMES_WRITE_H
#define SPROF_NAMES_WRITE_H

#include "base/base.h"

#include <stdbool.h>

/* Appends bytes `begin` to `end` of `text`: types, parted by commas. Scopes that are noise are left
 * out, and without `deep` the arguments of templates, too. Failures are left in out->failed. */
void names_put_types(struct sprof_str *out, const char *text, size_t begin, size_t end, bool deep);

/* Whether a scope of that name says nothing: inline namespaces of the standard library, anonymous
 * ones. */
bool names_is_noise(const char *scope, size_t length);

/* The same with "::" behind it: its bytes where one begins there, else 0. */
size_t names_noise(const char *text);

/* Whether template arguments that begin there are of char and its usual traits: "std::string". */
bool names_of_char(const char *arguments);

#endif
