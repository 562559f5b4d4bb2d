#!/usr/bin/env bash
# Runs a bundle (`cargo xtask bundle`) on a machine with an NVIDIA GPU and no Rust: all tests on the GPU, the ladder beside
# nvcc's, module load times, `reduce` itself, compute-sanitizer, and the launches that hardware.sh records. About six
# minutes on an H100.
#
#   bundle/run.sh [FOLDER FOR THE LOGS]      (default: $OUT, else ./out)
#
# A short table comes last; exit status 1 if anything in it failed. nvcc and compute-sanitizer are used if they are there.

set -uo pipefail

archive=$(cd "$(dirname "$0")" && pwd)/packed.tar.gz
bundle=$(mktemp -d)
built_in=
trap 'rm -rf "$bundle"; [ -z "$built_in" ] || rm -f "$built_in"' EXIT
tar -xzf "$archive" -C "$bundle" || exit 1
out=${1:-${OUT:-out}}
mkdir -p "$out"
out=$(cd "$out" && pwd)
export PATH="$bundle/bin:$PATH:/usr/local/cuda/bin"
summary=$out/summary.txt
: >"$summary"
failures=0

say() { printf '%s\n' "$*" | tee -a "$summary"; }
verdict() { # verdict NAME STATUS TEXT
    if [ "$2" -ne 0 ]; then
        failures=$((failures + 1))
        say "FAILED  $1: $3"
    else
        say "ok      $1: $3"
    fi
}
step() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

# Some tests know the folder they were built in. Where that is not here, it becomes a link to the bundle's tree.
folder=$(cat "$bundle/built-in")
if [ ! -e "$folder" ]; then
    mkdir -p "$(dirname "$folder")" && ln -s "$bundle/tree" "$folder" && built_in=$folder
fi

step machine
{
    uname -a
    nvidia-smi
    nvidia-smi --query-gpu=name,driver_version,compute_cap,clocks.max.sm,clocks.max.mem,memory.total --format=csv
    command -v nvcc && nvcc --version
    cat "$bundle/commit"
} >"$out/machine.txt" 2>&1
gpu=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader | head -1)
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
say "machine: $gpu; $(cat "$bundle/commit")"

step tests
export WARPFOLD_DEVICE=both WARPFOLD_BIN_DIR="$bundle/bin" SIMT_BIN="$bundle/bin/simt"
export INSTA_WORKSPACE_ROOT="$bundle/tree" INSTA_UPDATE=no
: >"$out/tests.txt"
while IFS=$'\t' read -r name folder; do
    started=$SECONDS
    log=$(cd "$bundle/tree/$folder" && CARGO_MANIFEST_DIR=$PWD timeout 200 "$bundle/tests/$name" 2>&1 </dev/null)
    status=$?
    printf '== %s (exit status %s)\n%s\n' "$name" "$status" "$log" >>"$out/tests.txt"
    verdict "test $name" "$status" "$(grep '^test result' <<<"$log" | tail -1 | cut -d';' -f1-2), $((SECONDS - started)) s"
    [ "$status" -eq 0 ] || grep -E '^(test .* FAILED|---- |thread )' <<<"$log" | head -20
done <"$bundle/tests.tsv"
unset WARPFOLD_DEVICE

step ladder
peer=()
if command -v nvcc >/dev/null; then
    nvcc -arch="sm_$capability" -O3 -cubin -o "$bundle/ladder.cubin" "$bundle/tree/bench/peers/ladder.cu"
    status=$?
    verdict "nvcc" "$status" "bench/peers/ladder.cu for sm_$capability"
    [ "$status" -eq 0 ] && peer=(--peer "$bundle/ladder.cubin")
else
    say "--      nvcc: not there, so the ladder has no peer"
fi
timeout 120 ladder "${peer[@]}" --json "$out/ladder.json" 2>&1 | tee "$out/ladder.txt"
verdict "ladder" $? "see the table below"

step "module load times, compiled by the driver each time"
CUDA_CACHE_DISABLE=1 timeout 60 load >"$out/load.txt" 2>&1
verdict "load" $? "slowest: $(grep -v 'to open' "$out/load.txt" | head -1 | tr -s ' ')"

step reduce
: >"$out/reduce.txt"
reduce_all() {
    local status=0 variant
    for variant in 0 global 1 2 3 4 5 6 7; do
        timeout 60 reduce --device cuda --variant "$variant" --n 4194304 --reps 21 || status=1
        timeout 60 reduce --device cuda --variant "$variant" --n 268435456 --type f32 --reps 5 --json || status=1
    done
    # From a cold start, as a user's first run.
    time CUDA_CACHE_DISABLE=1 timeout 60 reduce --device cuda --variant 6 --n 4194304 || status=1
    return $status
}
reduce_all >>"$out/reduce.txt" 2>&1
verdict "reduce" $? "all variants; the first run ever took $(grep '^real' "$out/reduce.txt" | cut -f2)"

step access
access_all() {
    timeout 120 access all --device cuda --format json >"$out/access.json" &&
        timeout 120 access all --device cuda --reps 5 --format markdown >"$out/access.md"
}
started=$SECONDS
access_all
verdict "access" $? "all patterns, results checked, $((SECONDS - started)) s"

step compute-sanitizer
if command -v compute-sanitizer >/dev/null; then
    # The driver is asked for one parameter too many, to learn their number: no error of ours.
    # shellcheck disable=SC2016
    for tool in memcheck racecheck initcheck synccheck; do
        printf '%s\n' 0 global 1 2 3 4 5 6 7 | xargs -P 6 -I{} timeout 90 bash -c '
            log=$(compute-sanitizer --tool "$0" --report-api-errors no --error-exitcode 9 \
                reduce --device cuda --variant "$1" --n 65537 2>&1)
            status=$?
            printf "== %s, variant %s (exit status %s)\n%s\n" "$0" "$1" "$status" "$log"
            exit $status' "$tool" {} >"$out/sanitizer.$tool"
        verdict "$tool" $? "$(grep -c 'exit status 0' "$out/sanitizer.$tool") of 9 variants clean"
    done
    cat "$out"/sanitizer.*check >"$out/sanitizer.txt"
    rm -f "$out"/sanitizer.*check
else
    say "--      compute-sanitizer: not there"
fi

step "replayed launches"
"$(dirname "$archive")/hardware.sh" "$out" 2>&1 | tee "$out/hardware.txt"
verdict "hardware.sh" "${PIPESTATUS[0]}" "$(grep -c ^ok "$out/hardware.txt") recordings"

step summary
cat "$out/ladder.txt" >>"$summary"
cat "$summary"
printf '%s failed, %s s\n' "$failures" "$SECONDS" | tee -a "$summary"
# What is only for looking into a failure.
(cd "$out" && tar -czf logs.tar.gz machine.txt tests.txt ladder.txt reduce.txt sanitizer.txt hardware.t* --remove-files)
[ "$failures" -eq 0 ]
