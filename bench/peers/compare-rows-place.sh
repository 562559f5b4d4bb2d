#!/usr/bin/env bash
# Measures what reductions of rows, along axes and of segments add between a producer and a
# consumer, beside their peers on the GPU of this machine:
#
#   bench/peers/compare-rows-place.sh FOLDER [CASES]
#
# CASES are quick and full, which are the same here, or parts of names. The script writes all
# numbers to FOLDER/rows-place.json and FOLDER/rows-place-torch.json, and prints one table last,
# which it writes to FOLDER/rows-place.txt too. It looks for the `rows` benchmark in PATH. PEERS,
# SAMPLES, TORCH and DEVICE mean what they mean to compare-rows.sh, but nothing is compiled by
# PyTorch if TORCH is not set.

set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
out=$1
samples=${SAMPLES:-31}
torch=${TORCH- }
args=()
missing=()
status=0
mkdir -p "$out"
rm -f "$out/rows-place.json" "$out/rows-place-torch.json"

peers=$("$sources/row-peers.sh" "$out")
if [ -n "$peers" ]; then args+=(--peers "$peers"); else missing+=("CUB"); fi
rows --place --device "${DEVICE:-cuda}" --cases "${2:-quick}" --samples "$samples" --json "$out/rows-place.json" \
    ${args[@]+"${args[@]}"} >"$out/rows-place-own.txt" || status=$?
files=("$out/rows-place.json")
if [ -n "$torch" ]; then
    # The variable holds options, which are split into words.
    # shellcheck disable=SC2086
    if python3 "$sources/rows.py" "$out/rows-place.json" "$out/rows-place-torch.json" \
        --samples "$samples" $torch; then
        files+=("$out/rows-place-torch.json")
    else
        missing+=("PyTorch")
    fi
fi
[ ${#missing[@]} -eq 0 ] || (IFS=,; printf 'missing: %s\n' "${missing[*]}") >&2
python3 "$sources/rows.py" --join "${files[@]}" | tee "$out/rows-place.txt"
exit $status
