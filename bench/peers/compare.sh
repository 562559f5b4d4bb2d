#!/usr/bin/env bash
# Measures the reducer beside its peers on the GPU of this machine, and says what of them could not be built:
#
#   bench/peers/compare.sh FOLDER [CASES]        (CASES are those of `reducer --cases`: quick, full, parts of names)
#
# FOLDER gets reducer.txt, the tables, and reducer.json, all numbers. The `reducer` benchmark is looked for in PATH
# (`cargo xtask bench-peers` builds it and runs this). PEERS names a folder that build.sh has filled already.

set -uo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
out=$1
cases=${2:-full}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
export PATH=$PATH:/usr/local/cuda/bin
args=()
missing=()

peers=${PEERS:-$work}
if [ -z "${PEERS:-}" ]; then
    if ! command -v nvcc >/dev/null; then
        missing+=("nvcc, and so CUB, Thrust and the twin")
    elif ! "$sources/build.sh" "$peers" >"$out/reducer.build.log" 2>&1; then
        missing+=("CUB, Thrust or the twin, which nvcc cannot compile: $out/reducer.build.log")
    fi
fi
[ ! -e "$peers/peers.so" ] || args+=(--peers "$peers/peers.so")
[ ! -e "$peers/reduce.cubin" ] || args+=(--twin "$peers/reduce.cubin")

for module in torch cupy; do
    # Only the quick ones: Python's peers are far behind.
    if reducer --cases quick --list | python3 "$sources/peers.py" "$module" >"$work/$module.jsonl"; then
        args+=(--outside "$work/$module.jsonl")
    else
        missing+=("$module")
    fi
done

reducer --cases "$cases" "${args[@]}" --json "$out/reducer.json" | tee "$out/reducer.txt"
status=$?
[ ${#missing[@]} -eq 0 ] || (IFS=';'; printf 'missing: %s\n' "${missing[*]}") | tee -a "$out/reducer.txt"
exit $status
