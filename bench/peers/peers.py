"""Times the reductions of PyTorch or CuPy in the same way as the `reducer` benchmark.

    reducer --cases quick --list | python3 bench/peers/peers.py torch > torch.jsonl

The script reads the names of the benchmark's cases from standard input. It leaves out a case if the
library has no call for it. It prints one line of JSON for each way in which it measures a case.
There are up to four ways. Single calls are timed with events on a stream that has nothing else to
do. Graphs of ten calls are timed too, if the library can capture them. Both are measured with the
same input each time. Both are also measured with another input for each call, after the cache was
emptied by reading 256 MiB. Results of up to 2^20 elements are compared with NumPy's.

    reducer --way place --kernels > place.ptx
    reducer --way place --cases quick --list |
        python3 bench/peers/peers.py torch --place place.ptx > torch.jsonl

This measures the time that PyTorch's reductions add between the kernels of place.ptx. It uses the
same chains of ten links and the same launches as `reducer --way place`. The results go to a given
tensor (`out=`), so PyTorch allocates no output.
"""

import ctypes
import json
import re
import statistics
import sys
import time

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
    """PyTorch. Its caching allocator allocates the results. In a captured graph, their memory
    belongs to the graph."""

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
    """CuPy. It reduces with CUB if CUB has the reduction."""

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
    """Measures the time of one call, in microseconds, several times."""
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
    """Compares a result with NumPy's. A sum of floats may differ by the error that a thousand
    roundings of each term make at most."""
    if len(values) > 1 << 20 or op not in ("sum", "min", "max", "argmin", "argmax"):
        return
    host = library.to_numpy(values)
    bound = 0.0
    if op == "sum" and host.dtype.kind == "f":
        # `to_numpy` has converted bfloat16 to float32. PyTorch adds in float32 too, so the epsilon
        # of float32 is right for both.
        bound = 1000 * float(numpy.finfo(host.dtype).eps) * float(abs(host).sum(dtype=numpy.float64))
        host = host.astype(numpy.float64)
    exact = getattr(numpy, op)(host)
    if not abs(float(result) - float(exact)) <= bound:
        sys.exit(f"wrong result: {op} gave {float(result)}, and it should be {float(exact)}")


def measure(library, name, case_name, case):
    op, type_name, n, offset = case
    call = library.call(op)
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
        except Exception as error:  # A call that cannot be captured is timed only in single calls.
            print(f"{name}: no graph of {op} {type_name}: {str(error).splitlines()[0]}", file=sys.stderr)
        for calls, (count_of_calls, work) in ways.items():
            times = samples(library, work, count_of_calls, before)
            lower, median, upper = statistics.quantiles(times, n=4)
            line = {
                "peer": name, "case": case_name, "calls": calls, "cache": cache,
                "median_us": median, "quartiles_us": [lower, upper], "samples": len(times),
            }  # fmt: skip
            print(json.dumps(line), flush=True)


# These numbers must be the same as in bench/src/bin/reducer/place: the size of a result in bytes,
# the producers' period in packs of 16 bytes, the shapes of their launches, the number of chains on
# a stream between two events, and the numbers that decide how long the stream is held.
RESULT_BYTES = 64
PERIOD = 100_003
BLOCK, BLOCKS_EACH, CODE_BLOCK = 256, 8, 1024
STREAM_CHAINS, SEVERAL_CHAINS_BYTES = 2, 16 << 20
HOLDS, MARGIN_US, MOST_HOLD_US = 20, 20, 20_000
PLACE_SAMPLES = 31


class Kernels:
    """The kernels of a file of PTX, which run on the device that PyTorch uses."""

    def __init__(self, file, names):
        self.driver = ctypes.CDLL("libcuda.so.1")
        with open(file, "rb") as ptx:
            text = ptx.read() + b"\0"
        module = ctypes.c_void_p()
        self.ensure(self.driver.cuModuleLoadData(ctypes.byref(module), text), "cuModuleLoadData")
        self.kernels = {}
        for name in names:
            kernel = ctypes.c_void_p()
            found = self.driver.cuModuleGetFunction(ctypes.byref(kernel), module, name.encode())
            self.ensure(found, "cuModuleGetFunction")
            self.kernels[name] = kernel

    @staticmethod
    def ensure(code, call):
        if code != 0:
            raise RuntimeError(f"{call}: CUresult {code}")

    def launch(self, name, grid, block, args, stream):
        """Launches a kernel on a stream of PyTorch. The arguments are numbers of ctypes."""
        pointers = (ctypes.c_void_p * len(args))(*[ctypes.addressof(arg) for arg in args])
        on = ctypes.c_void_p(stream.cuda_stream)
        code = self.driver.cuLaunchKernel(self.kernels[name], grid, 1, 1, block, 1, 1, 0, on, pointers, None)
        self.ensure(code, "cuLaunchKernel")


class Place:
    """PyTorch's reductions between the kernels that `reducer --way place --kernels` prints."""

    def __init__(self, library, file):
        self.library, self.torch = library, library.torch
        self.multiprocessors = self.torch.cuda.get_device_properties(0).multi_processor_count
        self.hold_us = 1000
        self.kernels = Kernels(file, ["produce", "produce_with_code", "consume", "hold"])

    def launch(self, name, grid, block, args):
        self.kernels.launch(name, grid, block, args, self.library.stream)

    def produce(self, producer, packs, memory, other):
        count = memory.numel() * memory.element_size() // 16
        target = other if producer == "other" else memory
        if producer == "code":
            name, grid, block = "produce_with_code", self.multiprocessors, CODE_BLOCK
        else:
            most = self.multiprocessors * BLOCKS_EACH
            name, grid, block = "produce", max(1, min(-(-count // BLOCK), most)), BLOCK
        args = [ctypes.c_uint64(packs.data_ptr()), ctypes.c_uint64(target.data_ptr())]
        self.launch(name, grid, block, [*args, ctypes.c_uint32(count), ctypes.c_uint32(count)])

    def reduction(self, op, inputs, result):
        """A call that leaves its result in a tensor of bytes, and a function that lists the numbers
        of the result. Each number comes with the terms of the exact sum or with the exact number.
        The result is None if PyTorch has no such call."""
        torch, x = self.torch, inputs[0]
        at = lambda dtype, index=0: result.view(dtype)[index]
        if op == "sum":
            wide = x.dtype if x.dtype.is_floating_point else torch.int64
            call = lambda: torch.sum(x, dim=0, dtype=wide, out=at(wide))
            terms = x.to(torch.float64)
            return call, lambda: [(at(wide), terms, None)]
        if op == "dot":
            y, terms = inputs[1], x.double() * inputs[1].double()
            return lambda: torch.dot(x, y, out=at(x.dtype)), lambda: [(at(x.dtype), terms, None)]
        if op == "minmax":
            low, high = at(x.dtype), at(x.dtype, 1)
            least, most = x.min(), x.max()
            return lambda: torch.aminmax(x, out=(low, high)), lambda: [(low, None, least), (high, None, most)]
        if op == "argmin":
            # `torch.min` leaves the value and its index, as the other libraries do.
            value, index, least = at(x.dtype), at(torch.int64, 1), x.min()
            return lambda: torch.min(x, dim=0, out=(value, index)), lambda: [(value, None, least)]
        return None

    def check(self, name, checks, result, log):
        wanted = [(terms is None, *self.bounds(name, terms, exact)) for _, terms, exact in checks()]
        for link in range(CALLS):
            result.copy_(log[link * RESULT_BYTES : (link + 1) * RESULT_BYTES])
            for (found, _, _), (is_exact, exact, bound) in zip(checks(), wanted):
                found = float(found)
                if found != exact if is_exact else not abs(found - exact) <= bound:
                    sys.exit(f"wrong result: {name}, link {link} gave {found}, and it should be {exact}")

    def bounds(self, name, terms, exact):
        if terms is None:
            return float(exact), 0.0
        return float(terms.sum()), 1000 * self.units[name] * float(terms.abs().sum())

    def capture(self, work):
        """Captures a graph. Unlike `torch.cuda.graph`, this collects no garbage before."""
        graph = self.torch.cuda.CUDAGraph()
        self.torch.cuda.synchronize()
        graph.capture_begin()
        try:
            work()
        finally:
            graph.capture_end()
        return graph.replay

    def measure(self, peer, name, case):
        torch, library = self.torch, self.library
        op, type_name, n, offset = case
        dtype = getattr(torch, TYPES[type_name])
        unit = torch.finfo(dtype).eps if dtype.is_floating_point else 1e-12
        self.units = {name: unit}
        lanes = 16 // torch.empty(0, dtype=dtype).element_size()
        right = offset + -(-(n + offset) // 256) * 256 if op == "dot" else offset
        memory = library.values(-(-(right + n) // lanes) * lanes, type_name)
        packs, other = memory[: PERIOD * lanes].clone(), torch.empty_like(memory)
        inputs = [memory[offset : offset + n], memory[right : right + n]]
        result = torch.zeros(RESULT_BYTES, dtype=torch.uint8, device="cuda")
        log = torch.zeros(CALLS * RESULT_BYTES, dtype=torch.uint8, device="cuda")
        # This makes the input periodic. Later launches of the producer do not change it.
        self.produce("data", packs, memory, other)
        found = self.reduction(op, inputs, result)
        if found is None:
            return
        call, checks = found
        call()
        addresses = [ctypes.c_uint64(result.data_ptr()), None]

        def chain(producer, reduces):
            for link in range(CALLS):
                self.produce(producer, packs, memory, other)
                if reduces:
                    call()
                addresses[1] = ctypes.c_uint64(log.data_ptr() + link * RESULT_BYTES)
                self.launch("consume", 1, 1, addresses)

        bytes_read = n * memory.element_size() * len(inputs if op == "dot" else [0])
        for producer in ["data", "other", "code"]:
            for way in ["graph", "stream"]:
                several = way == "stream" and producer != "code" and bytes_read <= SEVERAL_CHAINS_BYTES
                chains = STREAM_CHAINS if several else 1
                items = [lambda reduces=reduces: chain(producer, reduces) for reduces in [False, True]]
                if way == "graph":
                    items = [self.capture(item) for item in items]
                without, added = [], []
                wanted, turn = PLACE_SAMPLES // (2 if producer == "code" else 1), 0
                log.fill_(0xEE)
                while turn < WARM_UPS + wanted:
                    times = [0.0, 0.0]
                    for index in [turn % 2, 1 - turn % 2]:
                        times[index] = self.time(items[index], chains if way == "stream" else 0)
                        if times[index] > LONG_US * chains:
                            wanted = min(wanted, FEW_SAMPLES)
                    if turn >= WARM_UPS:
                        links = chains * CALLS
                        without.append(times[0] / links)
                        added.append((times[1] - times[0]) / links)
                    turn += 1
                self.time(items[1], chains if way == "stream" else 0)
                library.synchronize()
                self.check(name, checks, result, log)
                lower, median, upper = statistics.quantiles(added, n=4)
                line = {
                    "peer": peer, "case": name, "chain": way, "producer": producer, "added_us": median,
                    "quartiles_us": [lower, upper], "without_us": statistics.median(without), "samples": len(added),
                }  # fmt: skip
                print(json.dumps(line), flush=True)

    def time(self, work, chains):
        """Measures a graph, or chains on a stream, in microseconds. A kernel holds the stream until
        the host has launched all chains."""
        library = self.library
        library.synchronize()
        if chains == 0:
            start, end = library.event(), library.event()
            library.record(start)
            work()
            library.record(end)
            return library.elapsed_us(start, end)
        for _ in range(HOLDS):
            begun = time.perf_counter()
            self.launch("hold", 1, 1, [ctypes.c_uint64(self.hold_us * 1000)])
            start, end = library.event(), library.event()
            library.record(start)
            for _ in range(chains):
                work()
            library.record(end)
            host_us = (time.perf_counter() - begun) * 1e6
            elapsed = library.elapsed_us(start, end)
            if host_us + MARGIN_US < self.hold_us:
                # The host may have been slow only once, so the next hold is shorter.
                enough = int(1.25 * host_us) + MARGIN_US
                self.hold_us = min(max(self.hold_us * 15 // 16, enough), MOST_HOLD_US)
                return elapsed
            self.hold_us = min(2 * self.hold_us, MOST_HOLD_US)
        sys.exit(f"the host cannot make the launches of a chain in {MOST_HOLD_US} us")


def main():
    name = sys.argv[1] if len(sys.argv) in (2, 4) else ""
    libraries = {"torch": Torch, "cupy": CuPy}
    in_place = len(sys.argv) == 4
    if name not in libraries or (in_place and (name, sys.argv[2]) != ("torch", "--place")):
        sys.exit("usage: peers.py torch|cupy < names of cases, or peers.py torch --place PTX < names of cases")
    try:
        library = libraries[name]()
    except ImportError as error:
        print(f"{name}: not there ({error})", file=sys.stderr)
        sys.exit(3)
    place = Place(library, sys.argv[3]) if in_place else None
    for line in sys.stdin:
        found = re.fullmatch(r"(\w+)_([a-z]+\d+)_(?:2\^(\d+)|(\d+))(?:\+(\d+))?", line.strip())
        if found is None:
            sys.exit(f"{line.strip()} is not the name of a case, such as sum_f32_2^20")
        op, type_name, exponent, n, offset = found.groups()
        n = int(n) if exponent is None else 1 << int(exponent)
        if place:
            try:
                place.measure(name, line.strip(), (op, type_name, n, int(offset or 0)))
            except Exception as error:
                # PyTorch cannot reduce this case to a given output, so the case is left out.
                print(f"{name}: no {line.strip()} in place: {str(error).splitlines()[0]}", file=sys.stderr)
        else:
            measure(library, name, line.strip(), (op, type_name, n, int(offset or 0)))


if __name__ == "__main__":
    main()
