"""Times the reductions of PyTorch in the same way as the `rows` benchmark.

    rows --json rows.json
    python3 bench/peers/rows.py rows.json torch.json [--compile] [--samples 31]

The script reads the cases from the output of the benchmark: names, operations, types, shapes,
strides and axes. It records as many calls in a CUDA graph as the benchmark does, with the same
input, and writes the times of one call under the same names. With --compile it times what
torch.compile makes of the calls as well. PyTorch allocates its results; in a graph they have their
places already. Cases that PyTorch refuses are left out, with a line on stderr.

    python3 bench/peers/rows.py --join rows.json torch.json

prints one table of both files.
"""

import argparse
import json
import statistics
import sys
import time

TYPES = {"f32": "float32", "f16": "float16", "f64": "float64", "i32": "int32", "u8": "uint8"}
WARM_UPS = 3


def call(torch, case):
    """The call of PyTorch for a case."""
    op, axes, rank = case["op"], case["axes"], len(case["shape"])
    if op in ("argmax", "minmax"):
        if len(axes) != 1:
            raise ValueError(f"PyTorch has no {op} over several axes")
        function = torch.argmax if op == "argmax" else torch.aminmax
        return lambda x: function(x, dim=axes[0])
    if len(axes) > rank:
        raise ValueError("there are more axes than dimensions")
    return {
        "sum": lambda x: torch.sum(x, dim=axes),
        "max": lambda x: torch.amax(x, dim=axes),
        "logsumexp": lambda x: torch.logsumexp(x, dim=axes),
        "nansum": lambda x: torch.nansum(x, dim=axes),
        "moments": lambda x: torch.var_mean(x, dim=axes, correction=0),
    }[op]


def span(case):
    return 1 + sum((size - 1) * stride for size, stride in zip(case["shape"], case["strides"]))


def measure(torch, case, values, function, samples):
    """The times of one call in microseconds."""
    x = torch.as_strided(values, case["shape"], case["strides"])
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            function(x)
    torch.cuda.synchronize()
    graph, calls = torch.cuda.CUDAGraph(), case["calls"]
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            # Each result is freed before the next call, which gets the same memory.
            function(x)
    times = []
    with torch.cuda.stream(stream):
        for turn in range(WARM_UPS + samples):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            stream.synchronize()
            start.record(stream)
            graph.replay()
            end.record(stream)
            end.synchronize()
            if turn >= WARM_UPS:
                times.append(start.elapsed_time(end) * 1000 / calls)
    del graph
    return times


def run(args):
    import torch

    with open(args.files[0]) as file:
        cases = json.load(file)["rows"]
    rows, values, of_type, start = [], None, None, time.monotonic()
    for case in cases:
        if case["type"] != of_type or values.numel() < span(case):
            of_type, values = case["type"], None
            len_ = max(span(other) for other in cases if other["type"] == of_type)
            dtype = getattr(torch, TYPES[of_type])
            least = 0 if of_type == "u8" else -3
            values = torch.empty(len_, dtype=dtype, device="cuda")
            for part in values.split(1 << 26):
                part.copy_(torch.randint(least, least + 7, (len(part),), dtype=torch.int8, device="cuda"))
        times = {}
        for name in ["torch"] + (["compiled"] if args.compile else []):
            print(f"{time.monotonic() - start:5.1f} s  {name}: {case['name']}", file=sys.stderr)
            try:
                function = call(torch, case)
                if name == "compiled":
                    torch._dynamo.reset()
                    function = torch.compile(function, dynamic=False)
                us = measure(torch, case, values, function, args.samples)
                times[name] = {"median_us": statistics.median(us), "min_us": min(us)}
            except Exception as error:
                print(f"{case['name']}: {name}: {error}", file=sys.stderr)
        rows.append({"name": case["name"], "times": times})
    environment = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": torch.cuda.get_device_name()}
    with open(args.files[1], "w") as file:
        json.dump({"environment": environment, "rows": rows}, file, indent=1)


def join(args):
    tables = []
    for name in args.files:
        with open(name) as file:
            tables.append(json.load(file)["rows"])
    peers = ["twin", "cub", "torch", "compiled"]
    lines = [["case", "ours us", "GB/s"] + [head for peer in peers for head in (f"{peer} us", f"{peer}/ours")]]
    others = [{row["name"]: row["times"] for row in table} for table in tables[1:]]
    for row in tables[0]:
        times = dict(row["times"])
        for other in others:
            times.update(other.get(row["name"], {}))
        us = {name: entry["median_us"] for name, entry in times.items()}
        ours = us["warpfold"]
        line = [row["name"], f"{ours:.2f}", f"{row['bytes'] / ours / 1e3:.0f}"]
        for peer in peers:
            line += [f"{us[peer]:.2f}", f"{us[peer] / ours:.3f}"] if peer in us else ["-", "-"]
        lines.append(line)
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
    parser.add_argument("--compile", action="store_true", help="time torch.compile too")
    parser.add_argument("--samples", type=int, default=31)
    args = parser.parse_args()
    if args.join:
        return join(args)
    if len(args.files) != 2:
        parser.error("two files are needed: rows.json and the file to write")
    return run(args)


if __name__ == "__main__":
    main()
