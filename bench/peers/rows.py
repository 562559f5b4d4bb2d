"""Times the reductions of PyTorch in the same way as the `rows` benchmark.

    rows --json rows.json
    python3 bench/peers/rows.py rows.json torch.json [--compile quick] [--samples 31] [--seconds 60]

The script reads the cases from the output of the benchmark: names, operations, types, shapes,
strides and axes. It records as many calls in a CUDA graph as the benchmark does, with the same
input, and writes the times of one call under the same names. PyTorch allocates its results; in a
graph they have their places already. Cases that PyTorch refuses are left out, with a line on
stderr. Cases in place (`rows --place`) get the time that the call adds between the kernels of
place.ptx as well.

With --compile the script also times what torch.compile makes of the calls: of all of them (full),
or of columns, of middle axes and of rows of 64, 1024 and 65536 elements (quick). Several processes
compile before anything is timed, and leave what they have compiled in the caches of PyTorch on
disk. The calls are timed without the time of the compilation. If the machine cannot compile, one
line says so. After --seconds no further call is compiled.

    python3 bench/peers/rows.py --join rows.json torch.json

prints one table of both files.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time

TYPES = {"f32": "float32", "f16": "float16", "f64": "float64", "i32": "int32", "u8": "uint8"}
WARM_UPS = 3
MOST_PROCESSES = 12
# The lengths of rows that --compile quick compiles.
COMPILED_ROWS = (64, 1024, 65536)
# These numbers must be the same as in bench/src/bin/rows/place.rs.
BLOCK, BLOCKS_EACH = 256, 8


def call(torch, case):
    """The call of PyTorch for a case."""
    op, axes, rank = case["op"], case["axes"], len(case["shape"])
    one_axis = {"argmin": torch.argmin, "argmax": torch.argmax, "minmax": torch.aminmax}
    if op in one_axis or op.startswith("top"):
        if len(axes) != 1:
            raise ValueError(f"PyTorch has no {op} over several axes")
        if op in one_axis:
            function = one_axis[op]
            return lambda x: function(x, dim=axes[0])
        count = int(op.removeprefix("top"))
        return lambda x: torch.topk(x, count, dim=axes[0])
    if op == "exact":
        raise ValueError("PyTorch has no exact sum")
    if len(axes) > rank:
        raise ValueError("there are more axes than dimensions")
    return {
        "sum": lambda x: torch.sum(x, dim=axes),
        "min": lambda x: torch.amin(x, dim=axes),
        "max": lambda x: torch.amax(x, dim=axes),
        "norm": lambda x: torch.linalg.vector_norm(x, dim=axes),
        "logsumexp": lambda x: torch.logsumexp(x, dim=axes),
        "nansum": lambda x: torch.nansum(x, dim=axes),
        "moments": lambda x: torch.var_mean(x, dim=axes, correction=0),
    }[op]


def span(case):
    return 1 + sum((size - 1) * stride for size, stride in zip(case["shape"], case["strides"]))


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def is_compiled(case, which):
    """Whether a case is among those that --compile names."""
    if which != "quick":
        return which == "full"
    if case["op"].startswith("top"):
        return False  # PyTorch has no other code for these.
    is_rows = case["axes"] == [len(case["shape"]) - 1] and case["strides"][-1] == 1
    return not is_rows or case["shape"][-1] in COMPILED_ROWS


def compile_call(torch, case):
    # Each case is compiled for its shape alone, so what was compiled for others is forgotten.
    torch._dynamo.reset()
    return torch.compile(call(torch, case), dynamic=False)


def keep_no_choices(torch):
    """If there are several versions of a kernel, PyTorch times them and keeps its choice on disk.
    Several processes use the device at once, so their choices are not kept."""
    from torch._inductor import config

    if hasattr(config, "autotune_local_cache"):
        config.autotune_local_cache = False


def compile_some(cases, deadline):
    """Compiles cases in a process of its own, which leaves the results in the caches on disk."""
    import torch

    keep_no_choices(torch)
    for case in cases:
        if time.time() > deadline:
            return
        try:
            values = torch.zeros(span(case), dtype=getattr(torch, TYPES[case["type"]]), device="cuda")
            compile_call(torch, case)(torch.as_strided(values, case["shape"], case["strides"]))
            torch.cuda.synchronize()
        except Exception:
            pass  # The process that measures the case says what is wrong.
        values = None
        torch.cuda.empty_cache()


def compile_all(cases, deadline):
    """Compiles cases in several processes, so that the next compilation of each takes little."""
    count = max(1, min(MOST_PROCESSES, (os.cpu_count() or 1) - 1, len(cases)))
    new = multiprocessing.get_context("spawn")
    processes = [
        new.Process(target=compile_some, args=(cases[first::count], deadline), daemon=True) for first in range(count)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(max(1.0, deadline + 10 - time.time()))
        if process.is_alive():
            process.kill()


def why_no_compiler(torch):
    """Why torch.compile does not work here; None if it works."""
    try:
        x = torch.ones(64, 64, device="cuda")
        found = compile_call(torch, {"op": "sum", "axes": [0], "shape": [64, 64]})(x)
        return None if found.sum().item() == 4096 else "the sum is wrong"
    except Exception as error:
        return first_line(error)


class Lab:
    def __init__(self, torch, samples):
        self.torch, self.samples = torch, samples
        self.stream = torch.cuda.Stream()

    def capture(self, work, calls):
        """A graph of some calls."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.stream):
            for _ in range(calls):
                # Each result is freed before the next call, which gets the same memory.
                work()
        return graph

    def times(self, graphs, calls):
        """The times of one call of each graph in microseconds. The graphs take turns."""
        torch, stream = self.torch, self.stream
        times = [[] for _ in graphs]
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(stream):
            for turn in range(WARM_UPS + self.samples):
                for graph, of_graph in zip(graphs, times):
                    stream.synchronize()
                    start.record(stream)
                    graph.replay()
                    end.record(stream)
                    end.synchronize()
                    if turn >= WARM_UPS:
                        of_graph.append(start.elapsed_time(end) * 1000 / calls)
        return times

    def measure(self, case, values, function, place):
        torch, calls = self.torch, case["calls"]
        x = torch.as_strided(values, case["shape"], case["strides"])
        with torch.cuda.stream(self.stream):
            for _ in range(WARM_UPS):
                function(x)
        torch.cuda.synchronize()
        graphs = [self.capture(lambda: function(x), calls)]
        if place:
            graphs += place.chains(self, x, function, calls)
        alone, *chains = self.times(graphs, calls)
        entry = {"median_us": statistics.median(alone), "min_us": min(alone)}
        if chains:
            added = [reduced - without for without, reduced in zip(*chains)]
            entry["added_us"] = statistics.median(added)
        return entry


class Place:
    """The kernels between which a reduction is timed."""

    def __init__(self, torch, values):
        from peers import Kernels

        self.torch, self.source = torch, values.clone()
        self.blocks = torch.cuda.get_device_properties(0).multi_processor_count * BLOCKS_EACH
        file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "place.ptx")
        self.kernels = Kernels(file, ["copy"])

    def copy(self, source, target, packs, stream):
        from ctypes import c_uint64

        grid = max(1, min(-(-packs // BLOCK), self.blocks))
        args = [c_uint64(number) for number in (source, target, packs)]
        self.kernels.launch("copy", grid, BLOCK, args, stream)

    def chains(self, lab, x, function, links):
        """The graph of a chain of producers and consumers, and of one with calls between them."""
        result = function(x)
        result = result if isinstance(result, self.torch.Tensor) else result[0]
        log = self.torch.empty_like(result)
        # The memory of each tensor of PyTorch has a multiple of 512 bytes.
        read, written = (-(-tensor.numel() * tensor.element_size() // 16) for tensor in (x, result))

        def link(reduces):
            self.copy(self.source.data_ptr(), x.data_ptr(), read, lab.stream)
            found = result
            if reduces:
                found = function(x)
                found = found if isinstance(found, self.torch.Tensor) else found[0]
            self.copy(found.data_ptr(), log.data_ptr(), written, lab.stream)

        graphs = [lab.capture(lambda: link(reduces), links) for reduces in (False, True)]
        # The tensors live as long as this object, and so at least as long as the graphs.
        self.kept = (result, log)
        return graphs


def run(args):
    # The processes that compile are many enough, so none of them starts others.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    import torch

    begin = time.time()
    with open(args.files[0]) as file:
        # PyTorch has no segments with offsets that it could be asked for here.
        cases = [case for case in json.load(file)["rows"] if not case.get("has_offsets")]
    to_compile = [case for case in cases if is_compiled(case, args.compile)]
    environment = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": torch.cuda.get_device_name()}
    deadline = begin + args.seconds
    if to_compile:
        keep_no_choices(torch)
        why = why_no_compiler(torch)
        if why is not None:
            print(f"torch.compile does not work here: {why}", file=sys.stderr)
            environment["compiled"], to_compile = f"torch.compile does not work here: {why}", []
        else:
            compile_all(to_compile, deadline)
            print(f"{time.time() - begin:5.1f} s  {len(to_compile)} cases were compiled", file=sys.stderr)
    names = {case["name"] for case in to_compile}
    lab, rows, values, of_type, place, late = Lab(torch, args.samples), [], None, None, None, 0
    for case in cases:
        if case["type"] != of_type or values.numel() < span(case):
            of_type, values, place = case["type"], None, None
            # A whole number of packs of 16 bytes.
            len_ = -(-max(span(other) for other in cases if other["type"] == of_type) // 16) * 16
            dtype = getattr(torch, TYPES[of_type])
            least = 0 if of_type == "u8" else -3
            values = torch.empty(len_, dtype=dtype, device="cuda")
            for part in values.split(1 << 26):
                part.copy_(torch.randint(least, least + 7, (len(part),), dtype=torch.int8, device="cuda"))
            try:
                place = Place(torch, values) if "without_us" in case else None
            except Exception as error:
                print(f"PyTorch is not measured in place: {first_line(error)}", file=sys.stderr)
        times = {}
        for name in ["torch"] + (["compiled"] if case["name"] in names else []):
            if name == "compiled" and time.time() > deadline:
                late += 1
                continue
            print(f"{time.time() - begin:5.1f} s  {name}: {case['name']}", file=sys.stderr)
            try:
                function = compile_call(torch, case) if name == "compiled" else call(torch, case)
                times[name] = lab.measure(case, values, function, place)
            except Exception as error:
                print(f"{case['name']}: {name}: {first_line(error)}", file=sys.stderr)
        rows.append({"name": case["name"], "times": times})
    if late:
        print(f"{late} cases were not compiled, because {args.seconds} s were over", file=sys.stderr)
    with open(args.files[1], "w") as file:
        json.dump({"environment": environment, "rows": rows}, file, indent=1)


PEERS = ["twin", "cub", "torch", "compiled"]


def line_alone(row, us, _added):
    ours = us["warpfold"]
    line = [row["name"], f"{ours:.2f}", f"{row['bytes'] / ours / 1e3:.0f}"]
    for peer in PEERS:
        line += [f"{us[peer]:.2f}", f"{us[peer] / ours:.3f}"] if peer in us else ["-", "-"]
    return line


def line_in_place(row, us, added):
    ours, empty = us["warpfold"], row["empty_us"]
    line = [row["name"], f"{row['without_us']:.2f}"]
    line += [f"{added[who]:.2f}" if added.get(who) is not None else "-" for who in ["warpfold", *PEERS]]
    line += [f"{empty:.2f}", f"{ours:.2f}", f"{ours - empty:.2f}"]
    for peer in PEERS:
        line += [f"{us[peer]:.2f}", f"{us[peer] / ours:.3f}"] if peer in us else ["-", "-"]
    return line


def join(args):
    tables = []
    for name in args.files:
        with open(name) as file:
            tables.append(json.load(file)["rows"])
    heads = [head for peer in PEERS for head in (f"{peer} us", f"{peer}/ours")]
    if any("without_us" in row for row in tables[0]):
        adds = [f"{who} adds" for who in ["ours", *PEERS]]
        lines, line = [["case", "without us", *adds, "empty us", "ours us", "over empty", *heads]], line_in_place
    else:
        lines, line = [["case", "ours us", "GB/s", *heads]], line_alone
    others = [{row["name"]: row["times"] for row in table} for table in tables[1:]]
    for row in tables[0]:
        times = dict(row["times"])
        for other in others:
            times.update(other.get(row["name"], {}))
        us = {name: entry["median_us"] for name, entry in times.items()}
        lines.append(line(row, us, {name: entry.get("added_us") for name, entry in times.items()}))
    kept = [at for at, cells in enumerate(zip(*lines)) if any(cell != "-" for cell in cells[1:])]
    widths = [max(len(line[at]) for line in lines) for at in kept]
    for line in lines:
        cells = [line[at] for at in kept]
        print("  ".join(cell.ljust(width) if at == 0 else cell.rjust(width)
                        for at, (cell, width) in enumerate(zip(cells, widths))))  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", help="rows.json and the file to write, or the files to join")
    parser.add_argument("--join", action="store_true", help="print one table of all files")
    parser.add_argument(
        "--compile", nargs="?", const="full", choices=["quick", "full"], help="time torch.compile too"
    )
    parser.add_argument("--samples", type=int, default=31)
    parser.add_argument("--seconds", type=float, default=420, help="when to stop compiling")
    args = parser.parse_args()
    if args.join:
        return join(args)
    if len(args.files) != 2:
        parser.error("two files are needed: rows.json and the file to write")
    return run(args)


if __name__ == "__main__":
    main()
