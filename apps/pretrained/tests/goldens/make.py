"""Writes the goldens: what PyTorch computes in f32 with the published networks that `cargo xtask setup --models` fetched.

    pip install torch transformers
    python make.py target/models
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch.nn import functional as F
from transformers import AutoModel, AutoTokenizer

SENTENCES = [
    "A man is playing a guitar.",
    "Someone makes music on a string instrument.",
    "The stock market fell sharply today!",
    "Naïve café — Ünïcödé, 東京 and 12,345.67 unbelievabilities",
    "",
    "the quick brown fox jumps over the lazy dog " * 40,
]


def picture(rows, columns):
    """Numbers from 0 to 255 by a formula, which the test has, too."""
    r, c, k = np.meshgrid(np.arange(rows), np.arange(columns), np.arange(3), indexing="ij")
    return ((r * 37 + c * 101 + k * 59) * (r + 2 * c + 1) % 256).astype(np.float32)


def upscaled(folder, x):
    """The residual dense network, written out: not by the graph in `model.json`."""
    model = json.loads((folder / "model.json").read_text())
    numbers, weights = np.fromfile(folder / "group1-shard1of1.bin", np.float32), {}
    for weight in model["weightsManifest"][0]["weights"]:
        count = int(np.prod(weight["shape"]))
        weights[weight["name"]], numbers = torch.tensor(numbers[:count].reshape(weight["shape"])), numbers[count:]
    def conv(name, x):
        kernel = weights[f"{name}/kernel"].permute(3, 2, 0, 1)
        return F.conv2d(x, kernel, weights[f"{name}/bias"], padding=kernel.shape[-1] // 2)
    first = conv("F_m1", x)
    y, blocks = conv("F_0", first), []
    for block in ["1", "2"]:
        dense = torch.cat([y, F.relu(conv(f"F_{block}_1", y))], 1)
        y = y + conv(f"LFF_{block}", dense)
        blocks.append(y)
    y = conv("GFF_2", conv("GFF_1", torch.cat(blocks, 1))) + first
    y = conv("UPN3", F.relu(conv("UPN2", F.relu(conv("UPN1", y)))))
    return conv("SR", F.interpolate(y, scale_factor=2, mode="nearest"))


def main():
    models, here = Path(sys.argv[1]), Path(__file__).parent
    torch.set_num_threads(1)
    with torch.no_grad():
        x = torch.tensor(picture(20, 24)).permute(2, 0, 1)[None]
        y = upscaled(models / "esrgan", x)[0].permute(1, 2, 0).contiguous()
        save_file({"y": y[None].contiguous()}, here / "esrgan.safetensors")
        tokenizer = AutoTokenizer.from_pretrained(models / "minilm")
        network = AutoModel.from_pretrained(models / "minilm").eval()
        cases, vectors = [], []
        for sentence in SENTENCES:
            words = tokenizer(sentence, truncation=True, max_length=256, padding=False, return_tensors="pt")
            mean = network(**words).last_hidden_state[0].mean(0)
            vectors.append(mean / mean.norm())
            cases.append({"sentence": sentence, "words": words["input_ids"][0].tolist()})
        save_file({"vectors": torch.stack(vectors)}, here / "minilm.safetensors")
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        (here / "minilm.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
