/* formats: messages of other tools' formats, which exporters, importers and senders use. The
 * structures are generated from the .proto files of this directory by protobuf-c; profile.proto's
 * meaning is described with pprof (github.com/google/pprof), that of profiles and traces of OTLP with
 * github.com/open-telemetry/opentelemetry-proto. */
#ifndef SPROF_FORMATS_FORMATS_H
#define SPROF_FORMATS_FORMATS_H

#include <otlp_profiles.pb-c.h>
#include <otlp_traces.pb-c.h>
#include <pprof.pb-c.h>

#endif
