#!/usr/bin/env bash
# Replays launches on a machine with an NVIDIA GPU. It runs them under Nsight Compute, whose
# counters become the recording in tests/data/hardware, and under compute-sanitizer, whose verdicts
# become a table beside the recording. The script is a part of a bundle (`cargo xtask bundle`).
# bundle/run.sh calls it last.
#
#   bundle/hardware.sh [FOLDER FOR THE RESULTS] [PLAN FOR THE SANITIZER...]
#
# If no folder is given, it is $OUT, or ./out if that is not set. If no plan is given, the plans are
# bench/plans/sanitizer.json and, if it exists, tests/data/mutants/plan.json. The script writes
# hardware.json (the recording), verdicts.<plan>.json and hardware.tar.gz (the output of the tools)
# to the folder. The exit status is 1 if something could not be recorded. Reports of the sanitizer
# are results and no failures.

set -uo pipefail
# If there is no xz, Python unpacks the archive.
unpack() { tar -xf "$1" -C "$2" 2>/dev/null || python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$2"; }

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-${OUT:-out}}
shift || true
mkdir -p "$out"
out=$(cd "$out" && pwd)
bundle=$(mktemp -d)
logs=$(mktemp -d)
trap 'rm -rf "$bundle" "$logs"' EXIT
unpack "$here/packed.tar.xz" "$bundle" || exit 1
export PATH="$bundle/bin:$PATH:/usr/local/cuda/bin"
cd "$bundle/tree" || exit 1

failures=0
verdict() { # verdict NAME STATUS TEXT
    if [ "$2" -ne 0 ]; then
        failures=$((failures + 1))
        printf 'FAILED  %s: %s\n' "$1" "$3"
    else
        printf 'ok      %s: %s\n' "$1" "$3"
    fi
}

query() { nvidia-smi --query-gpu="$1" --format=csv,noheader | head -1; }
machine=(--device "$(query name)" --driver "$(query driver_version)" --date "$(date -u +%F)")
# The version that a tool prints, such as "Version 2025.3.1.0".
version() { "$1" --version | grep -o 'Version [0-9.]*' | head -1; }

counters() {
    local plan=bench/plans/counters.json report=$logs/counters metrics
    # ncu refuses metrics that this chip does not have, so these are left out.
    ncu --query-metrics 2>&1 | awk '{ print $1 }' >"$logs/metrics-known.txt"
    record metrics >"$logs/metrics-wanted.txt" || return
    grep -Fxv -f "$logs/metrics-known.txt" "$logs/metrics-wanted.txt" >"$logs/metrics-missing.txt"
    metrics=$(grep -Fx -f "$logs/metrics-known.txt" "$logs/metrics-wanted.txt" | sed 's/$/.sum/' | paste -sd,)
    timeout 240 ncu --clock-control none --cache-control none --metrics "$metrics" --export "$report" --force-overwrite \
        replay "$plan" >"$logs/ncu.txt" 2>&1 &&
        ncu --import "$report.ncu-rep" --csv --page raw --print-units base >"$logs/counters.csv" 2>>"$logs/ncu.txt" ||
        { tail -5 "$logs/ncu.txt"; return 1; }
    record counters --plan "$plan" --csv "$logs/counters.csv" --out "$out/hardware.json" \
        "${machine[@]}" --tool "ncu $(version ncu)"
}

if command -v ncu >/dev/null; then
    started=$SECONDS
    text=$(counters 2>&1)
    verdict "ncu" $? "$text, $((SECONDS - started)) s"
    [ -s "$logs/metrics-missing.txt" ] && printf -- '--      ncu: this chip lacks %s\n' "$(paste -sd' ' "$logs/metrics-missing.txt")"
else
    echo "--      ncu: not there"
fi

# Runs one launch under one tool, in a process of its own, because nothing else can run in a process
# after a fault. The time is limited, because a faulty barrier may wait for ever. The arguments are
# the folder for the logs, the plan, the tool and the case.
# shellcheck disable=SC2016
sanitize='timeout -k 5 40 compute-sanitizer --tool "$2" --report-api-errors no --show-backtrace no --error-exitcode 9 \
        replay "$1" --case "$3" >"$0/$2/$3" 2>&1 </dev/null
    printf "exit status %s\n" $? >>"$0/$2/$3"'

verdicts() { # verdicts PLAN NAME
    local folder=$logs/sanitizer/$2 tool
    for tool in memcheck racecheck initcheck synccheck; do
        mkdir -p "$folder/$tool"
        replay "$1" --list | sed "s/^/$tool /"
    done | xargs -P 12 -n 2 bash -c "$sanitize" "$folder" "$1"
    record verdicts --plan "$1" --logs "$folder" --out "$out/verdicts.$2.json" \
        "${machine[@]}" --tool "compute-sanitizer $(version compute-sanitizer)"
}

if command -v compute-sanitizer >/dev/null; then
    if [ $# -eq 0 ]; then
        set -- bench/plans/sanitizer.json
        [ -e tests/data/mutants/plan.json ] && set -- "$@" tests/data/mutants/plan.json
    fi
    for plan in "$@"; do
        started=$SECONDS
        # The name for bench/plans/sanitizer.json is `sanitizer`. For tests/data/mutants/plan.json
        # it is `mutants`.
        name=$(basename "$plan" .json)
        [ "$name" = plan ] && name=$(basename "$(dirname "$plan")")
        text=$(verdicts "$plan" "$name" 2>&1)
        verdict "compute-sanitizer, $plan" $? "$text, $((SECONDS - started)) s"
    done
else
    echo "--      compute-sanitizer: not there"
fi

tar -czf "$out/hardware.tar.gz" --exclude '*.ncu-rep' -C "$logs" .
[ "$failures" -eq 0 ]
