"""Times the reductions of PyTorch or CuPy, by the protocol of the `reducer` benchmark: one line of JSON for each way.

    reducer --cases quick --list | python3 bench/peers/peers.py torch > torch.jsonl

Cases come from standard input, by the benchmark's names. Those that the library has no call for are left out. Single calls
are timed with events on a stream that has nothing else to do, and as graphs of ten calls where the library can capture one;
with the same input each time, and with others while the cache was emptied by reading 256 MiB. Results of up to 2^20 elements are
checked against NumPy's.
"""

import json
import re
import statistics
import sys

import numpy

CALLS = 10
SAMPLES, FEW_SAMPLES, LONG_US = 101, 31, 1000.0
WARM_UPS = 3
MOST_CACHED_BYTES = 512 << 20
TYPES = {
    "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip


class Torch:
    """PyTorch: its results are made by the caching allocator, in captured graphs from the graph's own memory."""

    def __init__(self):
        import torch

        self.torch = torch
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)
        self.flushed = torch.ones(64 << 20, dtype=torch.int32, device="cuda")

    def values(self, n, type_name):
        torch = self.torch
        dtype = getattr(torch, TYPES[type_name])
        if dtype.is_floating_point:
            return (torch.rand(n, device="cuda", dtype=torch.float32) * 2 - 1).to(dtype)
        info = torch.iinfo(dtype)
        return torch.randint(info.min, info.max, (n,), device="cuda", dtype=dtype)

    def call(self, op):
        torch = self.torch
        return {
            "sum": torch.sum, "sum_wide": torch.sum, "min": torch.amin, "max": torch.amax, "argmin": torch.argmin,
            "argmax": torch.argmax, "minmax": torch.aminmax, "dot": torch.dot,
            "sumsq": lambda x: torch.linalg.vector_norm(x, 2), "sumabs": lambda x: torch.linalg.vector_norm(x, 1),
            "maxabs": lambda x: torch.linalg.vector_norm(x, float("inf")),
        }.get(op)  # fmt: skip

    def capture(self, work):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.stream):
            work()
        return graph.replay

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def record(self, event):
        event.record(self.stream)

    def elapsed_us(self, start, end):
        end.synchronize()
        return start.elapsed_time(end) * 1000

    def synchronize(self):
        self.stream.synchronize()

    def flush(self):
        self.torch.sum(self.flushed)

    def to_numpy(self, values):
        return (values.float() if values.dtype == self.torch.bfloat16 else values).cpu().numpy()


class CuPy:
    """CuPy, which reduces with CUB where it can."""

    def __init__(self):
        import cupy

        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream.use()
        self.flushed = cupy.ones(64 << 20, dtype=cupy.int32)

    def values(self, n, type_name):
        cupy = self.cupy
        dtype = cupy.dtype(TYPES[type_name])
        if dtype.kind == "f":
            return (cupy.random.random(n, dtype=cupy.float32) * 2 - 1).astype(dtype)
        info = cupy.iinfo(dtype)
        return cupy.random.randint(info.min, info.max, size=n, dtype=dtype)

    def call(self, op):
        cupy = self.cupy
        return {
            "sum": cupy.sum, "sum_wide": cupy.sum, "min": cupy.amin, "max": cupy.amax, "argmin": cupy.argmin,
            "argmax": cupy.argmax, "dot": cupy.dot,
        }.get(op)  # fmt: skip

    def capture(self, work):
        self.stream.begin_capture()
        try:
            work()
        finally:
            graph = self.stream.end_capture()
        return graph.launch

    def event(self):
        return self.cupy.cuda.Event()

    def record(self, event):
        event.record(self.stream)

    def elapsed_us(self, start, end):
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end) * 1000

    def synchronize(self):
        self.stream.synchronize()

    def flush(self):
        self.cupy.sum(self.flushed)

    def to_numpy(self, values):
        return self.cupy.asnumpy(values)


def samples(library, work, calls, before):
    """Times of one call in microseconds."""
    start, end = library.event(), library.event()
    times, wanted, done = [], SAMPLES, 0
    while done < WARM_UPS + wanted:
        before()
        library.synchronize()
        library.record(start)
        work(done)
        library.record(end)
        time = library.elapsed_us(start, end)
        if done >= WARM_UPS:
            times.append(time / calls)
        if time > LONG_US:
            wanted = min(wanted, FEW_SAMPLES)
        done += 1
    return times


def check(library, op, values, result):
    """Sums of floats may differ by what a thousand roundings of each term make."""
    if len(values) > 1 << 20 or op not in ("sum", "min", "max", "argmin", "argmax"):
        return
    host = library.to_numpy(values)
    bound = 0.0
    if op == "sum" and host.dtype.kind == "f":
        # bfloat16 has become float32, and was summed in it.
        bound = 1000 * float(numpy.finfo(host.dtype).eps) * float(abs(host).sum(dtype=numpy.float64))
        host = host.astype(numpy.float64)
    exact = getattr(numpy, op)(host)
    if not abs(float(result) - float(exact)) <= bound:
        sys.exit(f"wrong result: {op} gave {float(result)}, and it should be {float(exact)}")


def measure(library, name, case):
    op, type_name, exponent, offset = case
    n, call = 1 << exponent, library.call(op)
    if call is None or type_name not in TYPES:
        return
    bytes_read = None
    for cache in ["warm", "cold"]:
        if cache == "cold" and bytes_read > MOST_CACHED_BYTES:
            break
        count = CALLS if cache == "cold" else 1
        step = n + 256
        memory = library.values(step * count + offset, type_name)
        memories = [memory, library.values(len(memory), type_name)] if op == "dot" else [memory]
        first = [i * step + offset for i in range(count)]
        inputs = [tuple(values[start : start + n] for values in memories) for start in first]
        bytes_read = len(memories) * n * memory.itemsize
        check(library, op, inputs[0][0], call(*inputs[0]))
        before = library.flush if cache == "cold" else lambda: None
        ways = {"single": (1, lambda i: call(*inputs[i % count]))}
        try:
            replay = library.capture(lambda: [call(*inputs[i % count]) for i in range(CALLS)])
            ways["graph"] = (CALLS, lambda _: replay())
        except Exception as error:  # Whatever cannot be captured is timed in single calls alone.
            print(f"{name}: no graph of {op} {type_name}: {str(error).splitlines()[0]}", file=sys.stderr)
        for calls, (count_of_calls, work) in ways.items():
            times = samples(library, work, count_of_calls, before)
            lower, median, upper = statistics.quantiles(times, n=4)
            suffix = f"+{offset}" if offset else ""
            line = {
                "peer": name, "case": f"{op}_{type_name}_2^{exponent}{suffix}", "calls": calls, "cache": cache,
                "median_us": median, "quartiles_us": [lower, upper], "samples": len(times),
            }  # fmt: skip
            print(json.dumps(line), flush=True)


def main():
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    libraries = {"torch": Torch, "cupy": CuPy}
    if name not in libraries:
        sys.exit("usage: peers.py torch|cupy < names of cases")
    try:
        library = libraries[name]()
    except ImportError as error:
        print(f"{name}: not there ({error})", file=sys.stderr)
        sys.exit(3)
    for line in sys.stdin:
        found = re.fullmatch(r"(\w+)_([a-z]+\d+)_2\^(\d+)(?:\+(\d+))?", line.strip())
        if found is None:
            sys.exit(f"{line.strip()} is not the name of a case, such as sum_f32_2^20")
        op, type_name, exponent, offset = found.groups()
        measure(library, name, (op, type_name, int(exponent), int(offset or 0)))


if __name__ == "__main__":
    main()
