#!/usr/bin/env bash
# Measures reductions of segments, by key and into bins beside their peers on the GPU of this
# machine:
#
#   bench/peers/compare-segments.sh FOLDER [CASES]
#
# CASES is a part of the names of cases, as of `segments --cases`; without it all cases are
# measured. The script writes the tables to FOLDER/segments.txt and the numbers to
# FOLDER/segments.json: all cases with 2^26 elements, and those of f32 with 2^22, 2^18 and 2^14. It
# looks for the `segments` benchmark in PATH. The variable PEERS means what it means to
# row-peers.sh. SAMPLES is the number of measurements of each case, and DEVICE the device, cuda if
# it is not set.

set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
out=$1
cases=${2:-}
mkdir -p "$out"
args=(--device "${DEVICE:-cuda}" --samples "${SAMPLES:-31}")
peers=$("$sources/row-peers.sh" "$out")
[ -z "$peers" ] || args+=(--peers "$peers")
segments "${args[@]}" --cases "$cases" --json "$out/segments.json" | tee "$out/segments.txt"
for log in 22 18 14; do
    [ -z "$cases" ] || break
    segments "${args[@]}" --cases f32 --n $((1 << log)) | tee -a "$out/segments.txt"
done
[ -n "$peers" ] || echo "missing: the twin and CUB" | tee -a "$out/segments.txt"
