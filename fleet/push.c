/* Sends the batches of a spool in their order. */
#include "fleet/push.h"

#include "fleet/receivers.h"

#include <string.h>

struct fleet_push {
    struct fleet_receiver receiver;
    struct fleet_spool *spool;
};

static const struct fleet_receiver_kind *const kinds[FLEET_KINDS] = {
    [FLEET_CLICKHOUSE] = &fleet_receiver_clickhouse,
    [FLEET_PYROSCOPE] = &fleet_receiver_pyroscope,
    [FLEET_OTLP] = &fleet_receiver_otlp,
};

int fleet_push_open(struct fleet_push **push, struct fleet_link *link, struct fleet_spool *spool,
                    struct sprof_error *error)
{
    *push = calloc(1, sizeof **push);
    if (!*push)
        return sprof_error_memory(error);
    (*push)->receiver = (struct fleet_receiver){
        .kind = kinds[link->options.target->kind],
        .link = link,
    };
    (*push)->spool = spool;
    return 0;
}

void fleet_push_free(struct fleet_push *push)
{
    if (push)
        sprof_map_release(&push->receiver.columns);
    free(push);
}

/* 0, 1 where it is refused with *why filled, or a negative code. */
static int send_piece(struct fleet_push *push, const struct fleet_batch *batch, size_t number,
                      struct fleet_push_result *result, char why[512], struct sprof_error *error)
{
    struct fleet_receiver *receiver = &push->receiver;
    const struct fleet_piece *piece = &batch->pieces.items[number];
    struct fleet_request request = {.is_gzip = true, .body = piece->body};
    struct fleet_answer answer = {.status = 0};
    struct sprof_str url = {0};
    bool uncertain = false;
    if (receiver->kind->address(receiver, batch, number, &url, &request)) {
        sprof_str_release(&url);
        return sprof_error_memory(error);
    }
    request.url = url.text;
    const int status = fleet_link_post(receiver->link, &request, receiver->kind->judge, &answer,
                                       &uncertain, error);
    if (!status) {
        result->rows += piece->rows;
        result->bytes += piece->body.size;
    }
    if (uncertain && !receiver->kind->counts_once(receiver, piece))
        result->uncertain++;
    memcpy(why, answer.problem, sizeof answer.problem);
    sprof_str_release(&answer.text);
    sprof_str_release(&url);
    return status;
}

static int send_pieces(struct fleet_push *push, struct fleet_waiting *waiting,
                       const struct fleet_batch *batch, struct fleet_push_result *result,
                       struct sprof_error *error)
{
    char why[512];
    const struct fleet_receiver *receiver = &push->receiver;
    int status = receiver->kind->check ? receiver->kind->check(receiver, batch, error) : 0;
    for (size_t i = waiting->sent; i < batch->pieces.count && !status; i++) {
        status = send_piece(push, batch, i, result, why, error);
        if (status == 1) {
            result->refused++;
            return fleet_spool_set_aside(push->spool, waiting, true, why, error);
        }
        if (!status && i + 1 < batch->pieces.count)
            status = fleet_spool_note_sent(push->spool, waiting, (unsigned)i + 1, error);
    }
    if (!status) {
        result->batches++;
        status = fleet_spool_remove(push->spool, waiting, error);
    }
    return status;
}

static int send_batch(struct fleet_push *push, struct fleet_waiting *waiting,
                      struct fleet_push_result *result, struct sprof_error *error)
{
    struct sprof_error why = {0};
    struct fleet_loaded loaded;
    int status = fleet_spool_load(push->spool, waiting, &loaded, &why);
    if (status == SPROF_EFORMAT) {
        result->damaged++;
        return fleet_spool_set_aside(push->spool, waiting, false, why.message, error);
    }
    if (status) {
        *error = why;
        return status;
    }
    status = send_pieces(push, waiting, &loaded.batch, result, error);
    fleet_spool_unload(&loaded);
    return status;
}

int fleet_push_all(struct fleet_push *push, struct fleet_push_result *result,
                   struct sprof_error *error)
{
    struct fleet_receiver *receiver = &push->receiver;
    struct fleet_waiting_list list;
    int status = fleet_spool_list(push->spool, &list, error);
    if (!status && list.items.count && !receiver->is_known && receiver->kind->learn)
        status = receiver->kind->learn(receiver, error);
    receiver->is_known = receiver->is_known || (!status && list.items.count);
    size_t done = 0;
    for (; done < list.items.count && !status; done++)
        status = send_batch(push, &list.items.items[done], result, error);
    if (status == SPROF_ESTATE)
        receiver->is_known = false; /* it may have changed when it is tried again */
    result->left = list.items.count - done + (status && done);
    sprof_vec_release(&list.items);
    return status;
}
