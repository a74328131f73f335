"""Trains the model of `cargo xtask run diffusion`: digits of 8 by 8 pixels, from noise, by class.

    pip install torch diffusers scikit-learn safetensors
    python train.py --minutes 12

The digits are the 1797 of "Optical Recognition of Handwritten Digits" (Alpaydin, Kaynak 1998; CC BY 4.0), which scikit-learn
ships. The network is diffusers' UNet2DModel. It is given a noisy picture `a x + s e` and predicts `v = a e - s x` (Salimans, Ho
2022); `a` and `s` follow a cosine (Nichol, Dhariwal 2021). One in ten classes is replaced by an eleventh, "any digit", so that
guidance works (Ho, Salimans 2022). At last a classifier that is trained on the real digits says how many of the generated ones it
recognises; weights are written in f16, and those are the ones that are judged.
"""

import argparse
import copy
import math
import time
from pathlib import Path

import torch
from diffusers import UNet2DModel
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

ANY = 10
CONFIG = dict(
    sample_size=8,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(32, 64),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    attention_head_dim=32,
    norm_num_groups=8,
    num_class_embeds=11,
)


def signal_and_noise(t):
    """`a` and `s` at a time from 0, a picture, to 1, noise."""
    return torch.cos(t * math.pi / 2), torch.sin(t * math.pi / 2)


def predict(model, x, t, classes):
    return model(x, 1000 * t, class_labels=classes).sample


def train(images, labels, minutes):
    model = UNet2DModel(**CONFIG)
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    average = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-3)
    start, step, mean = time.monotonic(), 0, None
    while (share := (time.monotonic() - start) / (60 * minutes)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * min(1, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * share))
        chosen = torch.randint(len(images), (64,))
        x, classes = images[chosen], labels[chosen].clone()
        classes[torch.rand(len(classes)) < 0.1] = ANY
        t, e = torch.rand(len(x)), torch.randn_like(x)
        a, s = (f[:, None, None, None] for f in signal_and_noise(t))
        loss = F.mse_loss(predict(model, a * x + s * e, t, classes), a * e - s * x)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            decay = min(0.998, (1 + step) / (10 + step))
            for own, new in zip(average.parameters(), model.parameters()):
                own.lerp_(new, 1 - decay)
        mean = loss.item() if mean is None else 0.99 * mean + 0.01 * loss.item()
        step += 1
        if step % 200 == 0:
            print(f"{step} steps, {time.monotonic() - start:.0f} s, loss {mean:.4f}", flush=True)
    return average.eval()


@torch.no_grad()
def sample(model, classes, steps, guidance):
    """DDIM (Song, Meng, Ermon 2021), without noise between the steps."""
    x = torch.randn(len(classes), 1, 8, 8)
    times = torch.linspace(1, 0, steps + 1)
    for t, next in zip(times[:-1], times[1:]):
        at = t.expand(len(classes))
        v = predict(model, x, at, classes)
        if guidance != 1:
            any = predict(model, x, at, torch.full_like(classes, ANY))
            v = any + guidance * (v - any)
        (a, s), (b, z) = signal_and_noise(t), signal_and_noise(next)
        x = (b * a + z * s) * x + (z * a - b * s) * v
    return x


class Classifier(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Dropout(0.3), nn.Linear(1024, 10),
        )


def classifier(images, labels):
    """Trained on four of five real digits; how many of the rest it recognises is printed."""
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
    cut = len(images) * 4 // 5
    known, held = order[:cut], order[cut:]
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    for _ in range(30):
        for chosen in known[torch.randperm(cut)].split(64):
            x = images[chosen] + 0.1 * torch.randn_like(images[chosen])
            loss = F.cross_entropy(model(x), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(images[held]).argmax(1) == labels[held]).float().mean()
    print(f"the classifier recognises {100 * right:.1f} % of the real digits that it was not trained on")
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=12, help="how long to train")
    minutes = parser.parse_args().minutes
    torch.manual_seed(0)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
    labels = torch.tensor(digits.target)
    model = train(images, labels, minutes)
    weights = {name: value.detach().half().contiguous() for name, value in model.state_dict().items()}
    save_file(weights, Path(__file__).with_name("unet.safetensors"), {"format": "pt"})
    model.load_state_dict({name: value.float() for name, value in weights.items()})
    judge = classifier(images, labels)
    classes = torch.arange(10).repeat(100)
    for steps, guidance in [(8, 1), (10, 1), (12, 1), (16, 1), (20, 1), (30, 1), (10, 2), (20, 2)]:
        with torch.no_grad():
            right = (judge(sample(model, classes, steps, guidance)).argmax(1) == classes).float().mean()
        print(f"{steps} steps, guidance {guidance}: {100 * right:.1f} % of 1000 generated digits recognised", flush=True)


if __name__ == "__main__":
    main()
