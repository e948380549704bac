/* formats: messages of other tools' formats, which both the exporters and the importers use. The
 * structures are generated from the .proto files of this directory by protobuf-c; profile.proto's
 * meaning is described with pprof (github.com/google/pprof). */
#ifndef SPROF_FORMATS_FORMATS_H
#define SPROF_FORMATS_FORMATS_H

#include <pprof.pb-c.h>

#endif
