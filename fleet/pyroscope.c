/* Requests to Pyroscope: a profile in JSON. */
#include "fleet/pyroscope.h"

#include "fleet/receivers.h"

#include <ctype.h>

/* == What is sent == */

static int append_base64(struct sprof_str *out, struct sprof_bytes bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    int result = 0;
    for (size_t i = 0; i < bytes.size && !result; i += 3) {
        const size_t left = bytes.size - i;
        const unsigned group = (unsigned)bytes.data[i] << 16 |
                               (left > 1 ? (unsigned)bytes.data[i + 1] << 8 : 0) |
                               (left > 2 ? bytes.data[i + 2] : 0);
        const char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                              left > 1 ? digits[group >> 6 & 63] : '=',
                              left > 2 ? digits[group & 63] : '='};
        result = sprof_str_append_bytes(out, text, sizeof text);
    }
    return result;
}

static int append_text(struct sprof_str *out, const char *text)
{
    int result = sprof_str_append(out, "\"");
    for (; *text && !result; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
            result = sprof_str_appendf(out, "\\u%04x", (unsigned)*text);
        else
            result = sprof_str_append_bytes(out, text, 1);
    return result ? result : sprof_str_append(out, "\"");
}

/* Names of labels are those of Prometheus: letters, digits and _. */
static int append_label(struct sprof_str *out, const struct fleet_label *label, bool first)
{
    int result = sprof_str_append(out, first ? "{\"name\":\"" : ",{\"name\":\"");
    for (const char *byte = label->name; *byte && !result; byte++)
        result = sprof_str_append_bytes(out, isalnum((unsigned char)*byte) ? byte : "_", 1);
    if (!result)
        result = sprof_str_append(out, "\",\"value\":");
    if (!result)
        result = append_text(out, label->value);
    return result ? result : sprof_str_append(out, "}");
}

int fleet_batch_add_profile(struct fleet_batch *batch, const struct fleet_label *labels,
                            size_t count, struct sprof_bytes profile, struct sprof_error *error)
{
    struct sprof_str json = {0};
    bool first = true;
    int result = sprof_str_append(&json, "{\"series\":[{\"labels\":[");
    for (size_t i = 0; i < count && !result; i++) {
        if (!labels[i].value || !*labels[i].value)
            continue;
        result = append_label(&json, &labels[i], first);
        first = false;
    }
    if (!result)
        result = sprof_str_append(&json, "],\"samples\":[{\"rawProfile\":\"");
    if (!result)
        result = append_base64(&json, profile);
    if (!result)
        result = sprof_str_append(&json, "\"}]}]}");
    const struct sprof_bytes bytes = {(const uint8_t *)json.text, json.length};
    result =
        result ? sprof_error_memory(error) : fleet_batch_add_bytes(batch, "profile", bytes, error);
    sprof_str_release(&json);
    return result;
}

/* == The receiver == */

static int address(const struct fleet_receiver *receiver, const struct fleet_batch *batch,
                   size_t piece, struct sprof_str *url, struct fleet_request *request)
{
    (void)batch;
    (void)piece;
    request->type = "application/json";
    return sprof_str_appendf(url, "%s/push.v1.PusherService/Push",
                             receiver->link->options.target->url);
}

/* A message without fields: "{}". Something else that answers 200 is not Pyroscope. */
static enum fleet_verdict judge(struct fleet_answer *answer)
{
    if (answer->status == 200 && (!answer->text.length || answer->text.text[0] != '{')) {
        snprintf(answer->problem, sizeof answer->problem,
                 "it answers with something that Pyroscope does not say");
        return FLEET_AGAIN;
    }
    return fleet_link_judge(answer);
}

static bool counts_once(const struct fleet_receiver *receiver, const struct fleet_piece *piece)
{
    (void)receiver;
    (void)piece;
    return false;
}

const struct fleet_receiver_kind fleet_receiver_pyroscope = {
    .address = address,
    .judge = judge,
    .counts_once = counts_once,
};
