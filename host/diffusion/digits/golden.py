"""Writes the golden of the whole network: what diffusers computes in f32 with the trained weights, beside `train.py`."""

from pathlib import Path

import torch
from diffusers import UNet2DModel
from safetensors.torch import load_file, save_file

from train import CONFIG

here = Path(__file__).parent
model = UNet2DModel(**CONFIG).eval()
model.load_state_dict({name: value.float() for name, value in load_file(here / "unet.safetensors").items()})
torch.manual_seed(0)
x = torch.randn(3, 1, 8, 8).half().float()
times = torch.tensor([999.0, 500.0, 20.0])
with torch.no_grad():
    y = model(x, times, class_labels=torch.tensor([3, 10, 7])).sample
nhwc = lambda images: images.permute(0, 2, 3, 1).contiguous()
save_file({"x": nhwc(x).half(), "times": times, "y": nhwc(y)}, here / "golden.safetensors")
