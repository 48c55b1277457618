/* Every route there is. spec/http.md says what each answers. The first row that fits a request answers it. */
#include "serve/service.h"

static const ls_http_route routes[] = {
	{.method = "GET", .path = "/healthz", .handler = ls_serve__health},
	{.method = "GET", .path = "/metrics", .handler = ls_serve__metrics},
	{.method = "GET", .path = "/v1/runs", .handler = ls_serve__runs},
	{.method = "GET", .path = "/v1/runs/{run}", .handler = ls_serve__status},
	{.method = "GET", .path = "/v1/runs/{run}/head", .handler = ls_serve__head},
	{.method = "GET", .path = "/v1/runs/{run}/heads", .handler = ls_serve__heads},
	{.method = "GET", .path = "/v1/runs/{run}/heads/{size}", .handler = ls_serve__head_of_size},
	{.method = "GET", .path = "/v1/runs/{run}/leaves", .handler = ls_serve__leaves},
	{.method = "GET", .path = "/v1/runs/{run}/inclusion", .handler = ls_serve__inclusion},
	{.method = "GET", .path = "/v1/runs/{run}/consistency", .handler = ls_serve__consistency},
	{.method = "GET", .path = "/v1/runs/{run}/snapshots", .handler = ls_serve__snapshots},
	{.method = "GET", .path = "/v1/runs/{run}/snapshots/{step}", .handler = ls_serve__snapshot},
	{.method = "GET", .path = "/v1/runs/{run}/pieces/{root}", .handler = ls_serve__piece},
	{.method = "GET", .path = "/v1/runs/{run}/rounding-log", .handler = ls_serve__log},
	{.method = "GET", .path = "/v1/runs/{run}/rounding-log/index", .handler = ls_serve__log_index},
	{.method = "GET", .path = "/v1/runs/{run}/statements", .handler = ls_serve__statements},
	{.method = "GET", .path = "/v1/runs/{run}/statements/{name}", .handler = ls_serve__statement},
	{.method = "GET", .path = "/v1/runs/{run}/{file}", .handler = ls_serve__file},
	{.method = "GET", .path = "/v1/disputes", .handler = ls_serve__disputes},
	{.method = "POST", .path = "/v1/disputes", .handler = ls_serve__disputes, .body_max = LS_COURT_REQUEST_MAX},
	{.method = "GET", .path = "/v1/disputes/{dispute}/{what}", .handler = ls_serve__dispute},
	{.method = "POST", .path = "/v1/disputes/{dispute}/{what}", .handler = ls_serve__dispute, .body_max = LS_COURT_BODY_MAX},
};

const ls_http_route *ls_service_routes(size_t *count)
{
	*count = sizeof routes / sizeof *routes;
	return routes;
}
