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
    # Only the quick ones: Python's peers are far behind.
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
