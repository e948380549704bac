/* Requests to collectors of OpenTelemetry: profiles as report/export/otlp_profiles.c makes them. */
#include "fleet/receivers.h"

#include "formats/formats.h"

#include <string.h>

static int address(const struct fleet_receiver *receiver, const struct fleet_batch *batch,
                   size_t piece, struct sprof_str *url, struct fleet_request *request)
{
    (void)batch;
    (void)piece;
    request->type = "application/x-protobuf";
    /* The layout of OTLP 1.10 (opentelemetry-proto, issue 857). */
    request->more = "OTLP-Profiles-Development-Version: 1";
    return sprof_str_appendf(url, "%s/v1development/profiles", receiver->link->options.target->url);
}

/* An answer of status 200 may say that it has refused all the same. */
static enum fleet_verdict judge_taken(struct fleet_answer *answer)
{
    Otlp__ExportProfilesServiceResponse *message = otlp__export_profiles_service_response__unpack(
        NULL, answer->text.length, (const uint8_t *)answer->text.text);
    enum fleet_verdict verdict = FLEET_TAKEN;
    if (!message) {
        snprintf(answer->problem, sizeof answer->problem,
                 "it answers with something that no collector says");
        verdict = FLEET_AGAIN;
    } else if (message->partial_success && message->partial_success->rejected_profiles) {
        struct sprof_str clean = {0};
        const int result = sprof_utf8_clean(&clean, message->partial_success->error_message);
        snprintf(answer->problem, sizeof answer->problem, "it rejects profiles: %.400s",
                 result ? "" : clean.text);
        sprof_str_release(&clean);
        verdict = FLEET_REFUSED;
    }
    if (message)
        otlp__export_profiles_service_response__free_unpacked(message, NULL);
    return verdict;
}

static enum fleet_verdict judge(struct fleet_answer *answer)
{
    const size_t length = strlen(answer->problem);
    if (answer->status >= 200 && answer->status < 300)
        return judge_taken(answer);
    if (answer->status == 404)
        snprintf(answer->problem + length, sizeof answer->problem - length,
                 "\na collector takes profiles with --feature-gates=service.profilesSupport and a "
                 "pipeline for them");
    return fleet_link_judge(answer);
}

static bool counts_once(const struct fleet_receiver *receiver, const struct fleet_piece *piece)
{
    (void)receiver;
    (void)piece;
    return false;
}

const struct fleet_receiver_kind fleet_receiver_otlp = {
    .address = address,
    .judge = judge,
    .counts_once = counts_once,
};
