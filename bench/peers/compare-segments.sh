#!/usr/bin/env bash
# Measures reductions of segments, by key and into bins beside their peers on the GPU of this
# machine:
#
#   bench/peers/compare-segments.sh FOLDER [CASES]
#
# CASES are those of `segments --cases`: quick, full, or a part of the names of cases; without it,
# all cases are measured. The script writes the tables to FOLDER/segments.txt. The numbers are in
# FOLDER/segments.json for 2^26 elements. For quick and full, they are in FOLDER/segments-N.json
# for the cases of f32 with N elements: 2^22, 2^18 and 2^14, and for full 2^28. It looks for the
# `segments` benchmark in PATH. The variable PEERS means what it means to row-peers.sh. SAMPLES is
# the number of measurements of each case, and DEVICE the device, cuda if it is not set.

set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
out=$1
cases=${2:-full}
sizes=()
samples=31
case $cases in
quick) sizes=(22 18 14) samples=9 ;;
full) sizes=(28 22 18 14) ;;
esac
status=0
mkdir -p "$out"
args=(--device "${DEVICE:-cuda}" --samples "${SAMPLES:-$samples}")
peers=$("$sources/row-peers.sh" "$out")
[ -z "$peers" ] || args+=(--peers "$peers")
segments "${args[@]}" --cases "$cases" --json "$out/segments.json" | tee "$out/segments.txt" || status=$?
for log in ${sizes[@]+"${sizes[@]}"}; do
    n=$((1 << log))
    some=$cases
    [ "$some" = quick ] || some=f32
    segments "${args[@]}" --cases "$some" --n $n --json "$out/segments-$n.json" | tee -a "$out/segments.txt" || status=$?
done
[ -n "$peers" ] || echo "missing: the twin and CUB" | tee -a "$out/segments.txt"
exit $status
