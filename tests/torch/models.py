"""Lockstep's image models in plain torch.nn, with the parameter names and defaults of src/model (which are torchvision's).

build(arch, ...) makes one. Weights are meant to be loaded from a Lockstep snapshot or export; PyTorch's own
initialisation is left as it is. Nothing but torch is needed, so torchvision need not be installed.
"""
from torch import nn


def scaled(channels, width):
    """Channels under model.width: nearest integer, ties to even, at least one."""
    return max(1, round(channels * width))


# ---- ResNet-18 and ResNet-50, stem for small images ----

def conv(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)


class Basic(nn.Module):
    expansion = 1

    def __init__(self, inputs, inner, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, inner, 3, stride), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = conv(inner, inner, 3), nn.BatchNorm2d(inner)
        self.relu, self.downsample = nn.ReLU(), projection(inputs, inner * self.expansion, stride)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + (self.downsample(x) if self.downsample else x))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, inner, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, inner, 1), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = conv(inner, inner, 3, stride), nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = conv(inner, 4 * inner, 1), nn.BatchNorm2d(4 * inner)
        self.relu, self.downsample = nn.ReLU(), projection(inputs, inner * self.expansion, stride)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + (self.downsample(x) if self.downsample else x))


def projection(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    def __init__(self, block, blocks, channels, classes, width):
        super().__init__()
        inputs = scaled(64, width)
        self.conv1, self.bn1, self.relu = conv(channels, inputs, 3), nn.BatchNorm2d(inputs), nn.ReLU()
        for stage, count in enumerate(blocks):
            inner, layers = scaled(64 << stage, width), []
            for i in range(count):
                layers.append(block(inputs, inner, 2 if stage and not i else 1))
                inputs = inner * block.expansion
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


# ---- VGG without batch norm ----

POOL = 0
VGG = {
    "vgg11": [64, POOL, 128, POOL, 256, 256, POOL, 512, 512, POOL, 512, 512, POOL],
    "vgg16": [64, 64, POOL, 128, 128, POOL, 256, 256, 256, POOL, 512, 512, 512, POOL, 512, 512, 512, POOL],
}


class Vgg(nn.Module):
    def __init__(self, layers, channels, classes, width, head, side):
        super().__init__()
        features, side = [], side // 32
        for layer in layers:
            if layer == POOL:
                features.append(nn.MaxPool2d(2))
                continue
            features += [nn.Conv2d(channels, scaled(layer, width), 3, padding=1), nn.ReLU()]
            channels = scaled(layer, width)
        self.features = nn.Sequential(*features)
        if head == "cifar":
            self.avgpool, self.classifier = nn.Identity(), nn.Sequential(nn.Linear(channels * side * side, classes))
            return
        hidden = scaled(4096, width)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(  # the two places left empty are torchvision's dropout
            nn.Linear(channels * 49, hidden), nn.ReLU(), nn.Identity(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Identity(),
            nn.Linear(hidden, classes))

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


# ---- small models ----

class LeNet5(nn.Module):
    def __init__(self, channels, classes, side, pool="max"):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(channels, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.pool = nn.MaxPool2d(2) if pool == "max" else nn.AvgPool2d(2)
        side = (side // 2 - 4) // 2
        self.fc1, self.fc2, self.fc3 = nn.Linear(16 * side * side, 120), nn.Linear(120, 84), nn.Linear(84, classes)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x))).flatten(1)
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


class Mlp(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        for i, outputs in enumerate([*hidden, classes]):
            setattr(self, f"fc{i + 1}", nn.Linear(inputs, outputs))
            inputs = outputs
        self.relu, self.layers = nn.ReLU(), len(hidden) + 1

    def forward(self, x):
        x = x.flatten(1)
        for i in range(1, self.layers):
            x = self.relu(getattr(self, f"fc{i}")(x))
        return getattr(self, f"fc{self.layers}")(x)


def build(arch, channels, side, classes, width=1.0, head="cifar", hidden=(), pool="max"):
    """A model for square images (channels, side, side). LookupError for an arch that is not here."""
    if arch == "resnet18":
        return ResNet(Basic, [2, 2, 2, 2], channels, classes, width)
    if arch == "resnet50":
        return ResNet(Bottleneck, [3, 4, 6, 3], channels, classes, width)
    if arch in VGG:
        return Vgg(VGG[arch], channels, classes, width, head, side)
    if arch == "lenet5":
        return LeNet5(channels, classes, side, pool)
    if arch == "mlp":
        return Mlp(channels * side * side, hidden, classes)
    raise LookupError(f"no PyTorch model for '{arch}'")
