/* Multinomial logistic regression: one linear layer. */
#include "model/net.h"

static int build(ls_net *net, int x)
{
	return ls_net_linear(net, x, "fc", net->options->classes);
}

const ls_model_def ls_model__logreg = {
	.name = "logreg",
	.text = "logistic regression: one matrix and a bias",
	.build = build,
};
