/* symbolize, inside: the classes that a member function's object is of. */
#ifndef SPROF_SYMBOLIZE_CLASSES_H
#define SPROF_SYMBOLIZE_CLASSES_H

#include "symbolize/types.h"

/* Fills in the class of `this`, the given parameter, and those that it derives from. */
void symbolize_classes_find(struct types *types, Dwarf_Die *self,
                            struct symbolize_signature *signature);

#endif
