"""Kernels against NumPy, on the device that RUMBA_DEVICE names (auto, gpu or soft)."""

import numpy
import pytest

import {{module-name}}


@pytest.mark.parametrize("length", [0, 1, 31, 256, 1000])
def test_saxpy_computes_what_numpy_does(length):
    x = numpy.arange(length, dtype=numpy.float32)
    y = numpy.full(length, 0.5, dtype=numpy.float32)
    {{module-name}}.saxpy(2.0, x, y)
    numpy.testing.assert_array_equal(y, 0.5 + 2 * x)


def test_arrays_on_the_device_are_used_where_they_are():
    x, y = {{module-name}}.ones(100), {{module-name}}.ones(100)
    address = y.__cuda_array_interface__["data"]
    {{module-name}}.saxpy(3.0, x, y)
    assert y.__cuda_array_interface__["data"] == address
    numpy.testing.assert_array_equal(numpy.asarray(y), 4.0)


def test_mistakes_are_named():
    x = numpy.ones(4, dtype=numpy.float32)
    with pytest.raises(TypeError, match="float64, and the program expects float32"):
        {{module-name}}.saxpy(1.0, numpy.ones(4), x)
    with pytest.raises(TypeError, match="no array"):
        {{module-name}}.saxpy(1.0, [1.0, 2.0], x)
    with pytest.raises(ValueError, match="`x` has 4 elements, and `y` has 5"):
        {{module-name}}.saxpy(1.0, x, numpy.ones(5, dtype=numpy.float32))
