/* LeNet-5 (LeCun et al. 1998) in today's form: ReLU and max pooling, unless model.activation (tanh in 1998) and model.pool
 * (avg) say otherwise. */
#include "model/net.h"

static int pool(ls_net *net, int x, const char *name)
{
	return net->options->average_pool ? ls_net_avgpool(net, x, name, 2, 2, 0) : ls_net_maxpool(net, x, name, 2, 2, 0);
}

static int build(ls_net *net, int x)
{
	x = ls_net_activation(net, ls_net_conv(net, x, "conv1", 6, 5, 1, 2), 1);  // (N, 6, 28, 28)
	x = pool(net, x, "pool1");                                                // (N, 6, 14, 14)
	x = ls_net_activation(net, ls_net_conv(net, x, "conv2", 16, 5, 1, 0), 2); // (N, 16, 10, 10)
	x = pool(net, x, "pool2");                                                // (N, 16, 5, 5)
	x = ls_net_activation(net, ls_net_linear(net, x, "fc1", 120), 3);
	x = ls_net_activation(net, ls_net_linear(net, x, "fc2", 84), 4);
	return ls_net_linear(net, x, "fc3", net->options->classes);
}

const ls_model_def ls_model__lenet5 = {
	.name = "lenet5",
	.text = "LeNet-5: two convolutions, two poolings, three dense layers",
	.reads = LS_READS_POOL | LS_READS_ACTIVATION,
	.build = build,
};
