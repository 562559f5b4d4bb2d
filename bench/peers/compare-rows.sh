#!/usr/bin/env bash
# Measures reductions of rows and along axes beside their peers on the GPU of this machine:
#
#   bench/peers/compare-rows.sh FOLDER [CASES]
#
# CASES are those of `rows --cases`: quick, full, or parts of names. The script writes all numbers
# to FOLDER/rows.json and FOLDER/rows-torch.json, and prints one table last, which it writes to
# FOLDER/rows.txt too. It looks for the `rows` benchmark in PATH. These variables change what it
# does:
#
#   PEERS    the folder with rows-peers.so, which build.sh makes; not set: the script makes it, if
#            the machine has nvcc; empty: no twin and no CUB
#   SAMPLES  the number of measurements of each case in each round
#   ROUNDS   the number of rounds
#   TORCH    the options of rows.py; set but empty: PyTorch is left out; not set: --compile quick
#            for the quick cases and --compile full for others
#   DEVICE   the device, cuda if it is not set

set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
out=$1
cases=${2:-quick}
samples=${SAMPLES:-31}
if [ "$cases" = quick ]; then torch="--compile quick --seconds 60"; else torch="--compile full"; fi
torch=${TORCH-$torch}
args=()
missing=()
status=0
mkdir -p "$out"
rm -f "$out/rows.json" "$out/rows-torch.json"

peers=$("$sources/row-peers.sh" "$out")
if [ -n "$peers" ]; then args+=(--peers "$peers"); else missing+=("the twin and CUB"); fi
# The program's own table lacks PyTorch, so it is not shown. If a case fails, all others are in the
# files.
rows --device "${DEVICE:-cuda}" --cases "$cases" --samples "$samples" --rounds "${ROUNDS:-1}" --json "$out/rows.json" \
    ${args[@]+"${args[@]}"} >"$out/rows-own.txt" || status=$?
files=("$out/rows.json")
if [ -n "$torch" ]; then
    # The variable holds options, which are split into words.
    # shellcheck disable=SC2086
    if python3 "$sources/rows.py" "$out/rows.json" "$out/rows-torch.json" \
        --samples "$samples" $torch; then
        files+=("$out/rows-torch.json")
    else
        missing+=("PyTorch")
    fi
fi
[ ${#missing[@]} -eq 0 ] || (IFS=,; printf 'missing: %s\n' "${missing[*]}") >&2
python3 "$sources/rows.py" --join "${files[@]}" | tee "$out/rows.txt"
exit $status
