"""Python imports this module when it starts in a program that `cargo xtask check` runs.

nvJitLink links to machine code, which the software device does not run. Without it, numba-cuda and cuda.core link PTX through
the driver. So `cuda.pathfinder`, by which they look for NVIDIA's libraries, does not find this one.
"""

import importlib.machinery
import importlib.util
import os
import sys
import warnings

HIDDEN = "nvJitLink"


class Loader:
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        load = module.load_nvidia_dynamic_lib

        def without(name, *arguments, **keywords):
            if name == HIDDEN:
                raise module.DynamicLibNotFoundError(f"{name} is hidden: the software device runs PTX")
            return load(name, *arguments, **keywords)

        module.load_nvidia_dynamic_lib = without


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "cuda.pathfinder":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader)
        return spec


def other():
    """Runs the module of this name that Python would have imported."""
    own = os.path.dirname(os.path.abspath(__file__))
    folders = [folder for folder in sys.path if os.path.abspath(folder) != own]
    spec = importlib.machinery.PathFinder.find_spec(__name__, folders)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, Finder())
warnings.filterwarnings("ignore", message="cuda.bindings.nvjitlink is not available", category=RuntimeWarning)
other()
