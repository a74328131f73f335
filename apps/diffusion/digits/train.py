"""Trains the networks of `cargo xtask run diffusion`: digits from noise, by class, in the latents of an autoencoder.

    pip install torch diffusers safetensors
    python train.py --out .

It reads 4,000 of the 5,000 digits of MNIST in `apps/training/digits/digits.png`, and keeps 1,000 to test with. They have 28 by 28
pixels, and 32 by 32 with a margin.

The autoencoder is diffusers' AutoencoderKL (Kingma, Welling 2014). Once it is trained, its convolutions `quant_conv` and
`post_quant_conv` are multiplied so that latents have mean 0 and deviation 1 in each channel: the scaling factor of diffusers' pipelines
is 1. The other network is diffusers' UNet2DModel. It is given a noisy latent `a x + s e` and predicts `v = a e - s x` (Salimans, Ho
2022); `a` and `s` follow a cosine (Nichol, Dhariwal 2021). One in ten classes is replaced by an eleventh, "any digit", so that guidance
works (Ho, Salimans 2022). Of both networks the mean of late weights is kept, in f16, and those are the ones that are judged: a classifier
that is trained on real digits says how many of the generated ones it recognises.

At last `golden.safetensors` has what PyTorch computes with those weights, in f32 on the processor.
"""

import argparse
import copy
import math
import struct
import time
import zlib
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL, UNet2DModel
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

DIGITS = Path(__file__).resolve().parents[2] / "training/digits/digits.png"
ANY = 10
LATENT = (4, 8, 8)
MARGIN = 2
VAE = dict(
    sample_size=32,
    in_channels=1,
    out_channels=1,
    latent_channels=4,
    layers_per_block=1,
    block_out_channels=(16, 32, 32),
    down_block_types=("DownEncoderBlock2D",) * 3,
    up_block_types=("UpDecoderBlock2D",) * 3,
    norm_num_groups=8,
    scaling_factor=1.0,
)
UNET = dict(
    sample_size=8,
    in_channels=4,
    out_channels=4,
    layers_per_block=1,
    block_out_channels=(48, 96),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    attention_head_dim=48,
    norm_num_groups=8,
    num_class_embeds=11,
)


def read_digits(file):
    """The digits to learn and those to test, from -1, paper, to 1, ink, each with their classes: 400 and 100 of each class."""
    content, lines, place = file.read_bytes(), b"", 8
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        kind, data = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        place += 12 + length
        if kind == b"IHDR":
            width, height, bits, shades = struct.unpack(">IIBB", data[:10])
            assert (bits, shades) == (4, 0), "the picture has 16 shades of grey"
        elif kind == b"IDAT":
            lines += data
    lines = np.frombuffer(zlib.decompress(lines), np.uint8).reshape(height, 1 + width // 2)
    assert not lines[:, 0].any(), "its lines have no filter"
    pixels = np.stack([lines[:, 1:] >> 4, lines[:, 1:] & 15], 2).reshape(height // 28, 28, width // 28, 28)
    pixels = torch.from_numpy(pixels.transpose(0, 2, 1, 3).reshape(10, -1, 1, 28, 28).astype(np.float32))
    pixels = F.pad(pixels / 7.5 - 1, (MARGIN,) * 4, value=-1.0)
    classes = torch.arange(10)[:, None].expand(pixels.shape[:2])
    parts = [(pixels[:, :-100], classes[:, :-100]), (pixels[:, -100:], classes[:, -100:])]
    return [(x.flatten(0, 1), y.flatten()) for x, y in parts]


def moved(images, down, right):
    return torch.roll(images, (down, right), (2, 3))


class Average:
    """The mean of weights over late steps."""

    def __init__(self, model, decay):
        self.model, self.decay, self.steps = copy.deepcopy(model).eval(), decay, 0

    @torch.no_grad()
    def update(self, model):
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), 1 - decay)
        self.steps += 1


def train(name, model, loss, minutes, rate, decay):
    """Lowers `loss()` for so long, and returns the model with the mean of its weights."""
    print(f"{name}: {sum(p.numel() for p in model.parameters())} parameters", flush=True)
    average, sums = Average(model, decay), None
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-3)
    start, step = time.monotonic(), 0
    while (share := (time.monotonic() - start) / (60 * minutes)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, (step + 1) / 200) * 0.5 * (1 + math.cos(math.pi * share))
        parts = loss(model)
        optimizer.zero_grad()
        sum(parts).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average.update(model)
        parts = torch.stack([part.detach() for part in parts])
        sums = parts if sums is None else sums.lerp(parts, 0.01)
        step += 1
        if step % 200 == 0:
            print(f"{name}: {step} steps, {time.monotonic() - start:.0f} s, loss {[round(x, 5) for x in sums.tolist()]}", flush=True)
    return average.model


def train_autoencoder(images, minutes, batch, kl):
    vae = AutoencoderKL(**VAE).to(images.device)

    def loss(vae):
        x = images[torch.randint(len(images), (batch,), device=images.device)]
        down, right = torch.randint(-MARGIN, MARGIN + 1, (2,)).tolist()
        x = moved(x, down, right)
        latents = vae.encode(x).latent_dist
        y = vae.decode(latents.sample()).sample
        return F.mse_loss(y, x) + 0.1 * F.l1_loss(y, x), kl * latents.kl().mean() / math.prod(LATENT)

    vae = train("autoencoder", vae, loss, minutes, 2e-3, 0.998)
    with torch.no_grad():
        latents = torch.cat([vae.encode(x).latent_dist.sample() for x in images.split(500)])
        mean, deviation = latents.mean((0, 2, 3)), latents.std((0, 2, 3))
        print(f"latents: means {mean.tolist()}, deviations {deviation.tolist()}")
        quant, post = vae.quant_conv, vae.post_quant_conv
        quant.weight[:4] /= deviation[:, None, None, None]
        quant.bias[:4] = (quant.bias[:4] - mean) / deviation
        quant.bias[4:] -= 2 * deviation.log()
        post.bias += post.weight[:, :, 0, 0] @ mean
        post.weight *= deviation[None, :, None, None]
    return vae


@torch.no_grad()
def latents_of(vae, images):
    """Means and deviations of the latents of all images, in each of nine places."""
    places = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    all = [vae.encode(moved(x, *place)).latent_dist for place in places for x in images.split(500)]
    return torch.cat([part.mean for part in all]), torch.cat([part.std for part in all])


def signal_and_noise(t):
    """`a` and `s` at a time from 0, a picture, to 1, noise."""
    return torch.cos(t * math.pi / 2), torch.sin(t * math.pi / 2)


def predict(unet, x, t, classes):
    return unet(x, 1000 * t, class_labels=classes).sample


def train_unet(vae, images, labels, minutes, batch):
    unet = UNet2DModel(**UNET).to(images.device)
    means, deviations = latents_of(vae, images)
    labels = labels.repeat(len(means) // len(labels))

    def loss(unet):
        chosen = torch.randint(len(means), (batch,), device=images.device)
        x = means[chosen] + deviations[chosen] * torch.randn_like(means[chosen])
        any = torch.rand(batch, device=images.device) < 0.1
        classes = torch.where(any, ANY, labels[chosen])
        t, e = torch.rand(batch, device=images.device), torch.randn_like(x)
        a, s = (f[:, None, None, None] for f in signal_and_noise(t))
        return [F.mse_loss(predict(unet, a * x + s * e, t, classes), a * e - s * x)]

    return train("unet", unet, loss, minutes, 1e-3, 0.999)


@torch.no_grad()
def sample(unet, vae, classes, steps, guidance, noise):
    """DDIM (Song, Meng, Ermon 2021), without noise between the steps."""
    x = noise
    times = torch.linspace(1, 0, steps + 1, device=x.device)
    for t, next in zip(times[:-1], times[1:]):
        at = t.expand(len(classes))
        v = predict(unet, x, at, classes)
        if guidance != 1:
            any = predict(unet, x, at, torch.full_like(classes, ANY))
            v = any + guidance * (v - any)
        (a, s), (b, z) = signal_and_noise(t), signal_and_noise(next)
        x = (b * a + z * s) * x + (z * a - b * s) * v
    return torch.cat([vae.decode(part).sample for part in x.split(250)]).clamp(-1, 1)


class Classifier(nn.Sequential):
    def __init__(self):
        layer = lambda inputs, outputs: (nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())
        super().__init__(
            *layer(1, 32), *layer(32, 32), nn.MaxPool2d(2), *layer(32, 64), *layer(64, 64), nn.MaxPool2d(2),
            *layer(64, 64), nn.Flatten(), nn.Dropout(0.4), nn.Linear(64 * 8 * 8, 10),
        )


def classifier(learned, tested, epochs):
    """Trained on the digits to learn, turned, moved and made larger or smaller; how many of the others it recognises is printed."""
    (images, labels), device = learned, learned[0].device
    model = Classifier().to(device)
    rounds = epochs * len(images) // 100
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=rounds)
    for _ in range(rounds):
        chosen = torch.randint(len(images), (100,), device=device)
        angle, scale = 0.2 * torch.randn(100, device=device), 1 + 0.1 * torch.randn(100, device=device)
        cos, sin, move = scale * angle.cos(), scale * angle.sin(), 0.08 * torch.randn(2, 100, device=device)
        maps = torch.stack([torch.stack([cos, -sin, move[0]], 1), torch.stack([sin, cos, move[1]], 1)], 1)
        grid = F.affine_grid(maps, (100, 1, 32, 32), align_corners=False)
        x = F.grid_sample(images[chosen] + 1, grid, align_corners=False) - 1
        loss = F.cross_entropy(model(x), labels[chosen], label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        right = (model(tested[0]).argmax(1) == tested[1]).float().mean()
    print(f"the classifier recognises {100 * right:.1f} % of the real digits that it was not trained on", flush=True)
    return model


def halved(model):
    """The weights in f16, and the model with those."""
    weights = {name: value.detach().half().contiguous() for name, value in model.state_dict().items()}
    model.load_state_dict({name: value.float() for name, value in weights.items()})
    return {name: value.cpu() for name, value in weights.items()}


@torch.no_grad()
def golden(unet, vae):
    """What the networks compute. Pictures have their channels last."""
    unet, vae = copy.deepcopy(unet).cpu(), copy.deepcopy(vae).cpu()
    x = torch.randn(3, *LATENT, generator=torch.Generator().manual_seed(0)).half().float()
    times = torch.tensor([999.0, 500.0, 20.0])
    v = unet(x, times, class_labels=torch.tensor([3, ANY, 7])).sample
    images = vae.decode(x).sample
    nhwc = lambda images: images.permute(0, 2, 3, 1).contiguous()
    return {"x": nhwc(x).half(), "times": times, "v": nhwc(v), "images": nhwc(images)}


def png(file, images, columns):
    """Writes a picture of pictures, so many in a row."""
    rows = images.reshape(-1, columns, 32, 32).permute(0, 2, 1, 3).reshape(-1, columns * 32)
    lines = ((rows + 1) * 127.5).round().to(torch.uint8).cpu().numpy()
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", lines.shape[1], lines.shape[0], 8, 0, 0, 0, 0)
    content = zlib.compress(b"".join(b"\0" + line.tobytes() for line in lines))
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", content) + chunk(b"IEND", b""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="the folder that is written to")
    parser.add_argument("--digits", type=Path, default=DIGITS, help="the picture of digits")
    parser.add_argument("--minutes", type=float, nargs=2, default=(1.2, 3.3), help="how long to train the autoencoder, and the U-Net")
    parser.add_argument("--batch", type=int, help="pictures of a step [default: 512 on a GPU, otherwise 64]")
    parser.add_argument("--kl", type=float, default=2e-3, help="how much it counts that latents are as of a normal distribution")
    parser.add_argument("--epochs", type=int, default=30, help="how often the classifier sees each digit")
    parser.add_argument("--each", type=int, default=100, help="how many generated digits of each class are judged")
    args = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.benchmark = True
    batch = args.batch or (512 if device == "cuda" else 64)
    learned, tested = [tuple(part.to(device) for part in parts) for parts in read_digits(args.digits)]
    args.out.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    vae = train_autoencoder(learned[0], args.minutes[0], batch, args.kl)
    unet = train_unet(vae, *learned, args.minutes[1], batch)
    for model, name in [(vae, "vae"), (unet, "unet")]:
        save_file(halved(model), args.out / f"{name}.safetensors", {"format": "pt"})
    save_file(golden(unet, vae), args.out / "golden.safetensors")
    print(f"weights are written after {time.monotonic() - begin:.0f} s", flush=True)

    with torch.no_grad():
        again = vae.decode(vae.encode(tested[0]).latent_dist.mean).sample.clamp(-1, 1)
    print(f"autoencoder: error {F.mse_loss(again, tested[0]).sqrt():.4f} of the digits that it was not trained on")
    classes = torch.arange(10, device=device).repeat_interleave(6)
    noise = torch.randn(60, *LATENT, device=device)
    png(args.out / "sheet.png", sample(unet, vae, classes, 10, 1, noise), 6)
    png(args.out / "sheet-guided.png", sample(unet, vae, classes, 10, 2, noise), 6)
    judge = classifier(learned, tested, args.epochs)
    with torch.no_grad():
        right = (judge(again).argmax(1) == tested[1]).float().mean()
    print(f"it recognises {100 * right:.1f} % of those as the autoencoder makes them again", flush=True)
    classes = torch.arange(10, device=device).repeat(args.each)
    noise = torch.randn(len(classes), *LATENT, device=device)
    nearest = lambda images: torch.cdist(images.flatten(1), learned[0].flatten(1)).min(1).values.mean()
    print(f"distance to the nearest learned digit: {nearest(tested[0]):.2f} of digits that were not learned", flush=True)
    for guidance in (1, 1.5, 2, 3):
        for steps in (6, 8, 10, 12, 16, 24, 50):
            images = sample(unet, vae, classes, steps, guidance, noise)
            with torch.no_grad():
                right = (judge(images).argmax(1) == classes).float().mean()
            text = f"{100 * right:.1f} % of {len(classes)} generated digits recognised, distance {nearest(images):.2f}"
            print(f"{steps} steps, guidance {guidance}: {text}, {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
