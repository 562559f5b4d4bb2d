"""Times torch.sum and NCCL's all-reduce over several GPUs, as the `groups` benchmark does.

    python3 bench/peers/groups.py torch.json [--gpus 2] [--log2 16,20,24,28]
        [--columns 0,8,14,16,18,20,22,24] [--samples 31]

Each GPU has a process of its own, which records as many calls in a CUDA graph as the benchmark
does, with the same shard. The time is that of the first GPU. Later lines are of NCCL's
all-reduce of so many floats alone, beside which the benchmark sums columns.
"""

import argparse
import json
import os
import statistics

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

WARM_UPS = 3


def calls_for(bytes_):
    """How many calls a graph has. The number must be the same as in bench/src/bin/groups."""
    return min(max(2_000_000_000 // max(bytes_, 1), 10), 200)


def timed(work, calls, samples):
    """The median time of one call in us, in a graph of so many calls."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            work()
    times = []
    for turn in range(WARM_UPS + samples):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        if turn >= WARM_UPS:
            times.append(start.elapsed_time(end) * 1e3 / calls)
    return statistics.median(times)


def run(rank, args):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29513")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    rows = []
    for log2 in args.log2:
        n = 1 << log2
        shard = torch.ones(n, device="cuda")
        total = torch.empty((), device="cuda")

        def together():
            torch.sum(shard, dim=0, out=total)
            dist.all_reduce(total)

        time = timed(together, calls_for(4 * n), args.samples)
        rows.append({"name": f"f32 sum {args.gpus} x 2^{log2}", "torch_us": time})
        del shard
    for log2 in args.columns:
        values = torch.ones(1 << log2, device="cuda")
        time = timed(lambda: dist.all_reduce(values), 50, args.samples)
        rows.append({"name": f"all-reduce of 2^{log2} f32", "nccl_us": time})
    if rank == 0:
        print(f"{'case':32} {'us':>10}")
        for row in rows:
            print(f"{row['name']:32} {row.get('torch_us', row.get('nccl_us')):10.2f}")
        version = ".".join(map(str, torch.cuda.nccl.version()))
        result = {"torch": torch.__version__, "nccl": version, "gpus": args.gpus, "rows": rows}
        with open(args.json, "w") as file:
            json.dump(result, file, indent=2)
            file.write("\n")
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json")
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--log2", default="16,20,24,28")
    parser.add_argument("--columns", default="0,8,14,16,18,20,22,24")
    parser.add_argument("--samples", type=int, default=31)
    args = parser.parse_args()
    args.log2 = [int(log2) for log2 in args.log2.split(",")]
    args.columns = [int(log2) for log2 in args.columns.split(",")]
    mp.spawn(run, args=(args,), nprocs=args.gpus)


if __name__ == "__main__":
    main()
