/* base: what every other library stands on. One include for all of it; each part has a header of
 * its own, which holds its contract. Nothing here depends on profiles. */
#ifndef SPROF_BASE_H
#define SPROF_BASE_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/cut_files.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_id.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/map.h"
#include "base/message.h"
#include "base/own_directory.h"
#include "base/place.h"
#include "base/place_write.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/suggest.h"
#include "base/threads.h"
#include "base/time_namespace.h"
#include "base/trusted_way.h"
#include "base/urgency.h"
#include "base/utf8.h"
#include "base/vec.h"

#endif
