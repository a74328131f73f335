"""Packs a wheel of the software device: pack.py VERSION PLATFORM FOLDER WHEELS. Prints the wheel's file name."""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

version, platform, folder, wheels = sys.argv[1:]
folder = Path(folder)
tag = f"py3-none-{platform}"
name = f"rumba_device-{version}"
info = folder / f"{name}.dist-info"
info.mkdir()
(info / "METADATA").write_text(
    f"""Metadata-Version: 2.1
Name: rumba-device
Version: {version}
Summary: The software CUDA device of Rumba, which `cargo rumba` installs
License: MIT OR Apache-2.0
Requires-Python: >=3.8
"""
)
(info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\nTag: {tag}\n")

record = info / "RECORD"
lines = []
with zipfile.ZipFile(Path(wheels) / f"{name}-{tag}.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:

    def add(file, data):
        # Without the time: the same libraries give the same wheel.
        entry = zipfile.ZipInfo(file.relative_to(folder).as_posix())
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        wheel.writestr(entry, data)

    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = file.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{file.relative_to(folder).as_posix()},sha256={digest},{len(data)}\n")
        add(file, data)
    lines.append(f"{record.relative_to(folder).as_posix()},,\n")
    add(record, "".join(lines))
print(f"{name}-{tag}.whl")
