/* Multilayer perceptron: linear layers of the widths in model.hidden, ReLU between them. */
#include "model/net.h"

#include <stdio.h>

static int build(ls_net *net, int x)
{
	char layer[16], relu[16];
	if (!net->options->hidden_count)
		return ls_program_fail(net->program, LS_ERR_INPUT,
		                       "model.hidden: found nothing, expected the widths of mlp's hidden layers\n  hint: hidden: [256]");
	for (int i = 0; i < net->options->hidden_count; i++) {
		snprintf(layer, sizeof layer, "fc%d", i + 1);
		snprintf(relu, sizeof relu, "relu%d", i + 1);
		x = ls_net_relu(net, ls_net_linear(net, x, layer, net->options->hidden[i]), relu);
	}
	snprintf(layer, sizeof layer, "fc%d", net->options->hidden_count + 1);
	return ls_net_linear(net, x, layer, net->options->classes);
}

const ls_model_def ls_model__mlp = {
	.name = "mlp",
	.text = "multilayer perceptron: model.hidden gives the widths",
	.reads = LS_READS_HIDDEN,
	.build = build,
};
