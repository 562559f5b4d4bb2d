#!/usr/bin/env bash
# Measures the reducer beside its peers on the GPU of this machine, and names the peers that are
# missing:
#
#   bench/peers/compare.sh FOLDER [CASES]
#
# CASES are those of `reducer --cases`: quick, full, or parts of names. The script writes the tables
# to FOLDER/reducer.txt and all numbers to FOLDER/reducer.json. It looks for the `reducer` benchmark
# in PATH; `cargo xtask bench-peers` builds the benchmark and runs this script. If build.sh has
# already filled a folder, PEERS names it.

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
if [ -z "${PEERS:-}" ] && command -v nvcc >/dev/null; then
    "$sources/build.sh" "$peers" >"$out/reducer.build.log" 2>&1
fi
add() { # add FLAG FILE WHAT
    if [ -e "$2" ]; then args+=("$1" "$2"); else missing+=("$3"); fi
}
add --peers "$peers/peers.so" "CUB and Thrust"
add --twin "$peers/reduce.cubin" "the twin"
if [ ${#missing[@]} -gt 0 ]; then
    missing+=("$(if [ -e "$out/reducer.build.log" ]; then echo "see $out/reducer.build.log"; else echo "there is no nvcc"; fi)")
fi

for module in torch cupy; do
    # The peers in Python run only the quick cases, because they are much slower.
    if reducer --cases quick --list | python3 "$sources/peers.py" "$module" >"$work/$module.jsonl"; then
        args+=(--outside "$work/$module.jsonl")
    else
        missing+=("$module")
    fi
done

reducer --cases "$cases" "${args[@]}" --json "$out/reducer.json" | tee "$out/reducer.txt"
status=$?
[ ${#missing[@]} -eq 0 ] || (IFS=,; printf 'missing: %s\n' "${missing[*]}") | tee -a "$out/reducer.txt"
exit $status
