/* Disputes: what the court answers, over HTTP. */
#include "serve/service.h"

#include <stdio.h>

static ls_status answer(ls_service *s, const ls_http_request *request, const char *target, ls_http_reply *reply, ls_error *err)
{
	ls_status status;
	if (!s->court)
		return ls_error_set(err, LS_ERR_NOT_FOUND, "no disputes are taken here");
	reply->body.max = LS_COURT_ANSWER_MAX;
	status = ls_court_answer(s->court, request->method, target, request->body, request->body_len, &reply->status, &reply->body, err);
	if (reply->status != 200)
		reply->type = LS_HTTP_TEXT;
	return status;
}

ls_status ls_serve__disputes(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	char target[LS_HTTP_TARGET_MAX + 1];
	const char *run = ls_http_query(request, "run");
	snprintf(target, sizeof target, "/disputes%s%.*s", run ? "?run=" : "", LS_HTTP_PART_MAX, run ? run : "");
	return answer(service, request, target, reply, err);
}

ls_status ls_serve__dispute(void *service, const ls_http_request *request, ls_http_reply *reply, ls_error *err)
{
	char target[LS_HTTP_TARGET_MAX + 1];
	const char *from = ls_http_query(request, "from");
	snprintf(target, sizeof target, "/disputes/%s/%s%s%.*s", request->part[0], request->part[1], from ? "?from=" : "", LS_HTTP_PART_MAX, from ? from : "");
	return answer(service, request, target, reply, err);
}

void ls_service_hold_court(ls_service *s, ls_court *court)
{
	s->court = court;
}
