"""Sums a file of float32 with NumPy, whose sum is pairwise, and prints JSON.

The JSON holds the sum, the seconds that it took, and the version of NumPy.

    python3 bench/peers/numpy_sum.py numbers.bin
"""

import json
import sys
import time

import numpy

values = numpy.fromfile(sys.argv[1], dtype=numpy.float32)
seconds = []
for _ in range(3):
    start = time.perf_counter()
    total = values.sum()
    seconds.append(time.perf_counter() - start)
print(json.dumps({"sum": float(total), "seconds": min(seconds), "version": numpy.__version__}))
