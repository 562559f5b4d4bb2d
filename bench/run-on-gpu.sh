#!/usr/bin/env bash
# Runs a bundle (`cargo xtask bundle`) on a machine that has an NVIDIA GPU but no Rust.
#
#   bundle/run.sh [FOLDER FOR THE LOGS] [STAGE...]
#
# If no folder is given, it is $OUT, or ./out if that is not set. If no stage is named, all stages
# run, in this order:
#
#   tests      runs every test binary, on the GPU and on the simulator
#   peers      times the ladder and the transposes beside those that nvcc compiled: ladder.json,
#              transpose.json
#   reducer    times the production reducer beside CUB, Thrust, PyTorch, CuPy and its twin:
#              reducer.txt, reducer.json
#   rows       times reductions of rows and along axes beside CUB, PyTorch and a twin: rows.txt,
#              rows.json
#   rows_place times what such reductions add between two other kernels, beside CUB and PyTorch:
#              rows-place.txt, rows-place.json
#   segments   times reductions of segments, by key and into bins beside CUB and a twin:
#              segments.txt, segments.json, segments-N.json for N elements
#   targets    compares the numbers of the stages rows, rows_place and segments with the targets:
#              targets.txt
#   place      times what a reduction adds between two other kernels, beside the same peers:
#              place.txt, place.json, place.csv
#   accuracy   compares the errors and times of sums of floats with NumPy's and CUB's:
#              accuracy.txt, accuracy.json
#   lab        writes the tables of the lab as a user gets them: lab.<command>.<format>
#   first      times the first call of an operation in a program, with an empty compiler cache and
#              with a full one: first.txt
#   load       times the loading of each module with an empty compiler cache: load.txt
#   reduce     runs the commands `reduce` and `transpose` with all variants, and once from a cold
#              start
#   soak       calls the library at random from several threads at once for ten minutes: soak.txt
#   sanitizer  runs compute-sanitizer over every rung, transpose and access pattern, and over the
#              production reducer
#   replay     runs hardware.sh, which records the counters and verdicts of replayed launches
#
# A short table comes last. The exit status is 1 if anything in the table failed. The script uses
# nvcc and compute-sanitizer if the machine has them.

set -uo pipefail
# If there is no xz, Python unpacks the archive.
unpack() { tar -xf "$1" -C "$2" 2>/dev/null || python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$2"; }

archive=$(cd "$(dirname "$0")" && pwd)/packed.tar.xz
bundle=$(mktemp -d)
built_in=
trap 'rm -rf "$bundle"; [ -z "$built_in" ] || rm -f "$built_in"' EXIT
unpack "$archive" "$bundle" || exit 1
out=${1:-${OUT:-out}}
shift || true
stages=${*:-tests peers reducer rows rows_place segments targets place accuracy lab first load reduce soak sanitizer replay}
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
# Prints the names that a tool's --list lists. Indented lines are descriptions and no names.
listed() { "$1" --list | awk '/^[^ ]/ { print $1 }'; }

# Some tests contain the path of the folder in which they were built. If this machine has no such
# folder, the script makes a link of that path to the bundle's tree.
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

stage_tests() {
    export WARPFOLD_DEVICE=both WARPFOLD_BIN_DIR="$bundle/bin" SIMT_BIN="$bundle/bin/simt"
    export INSTA_WORKSPACE_ROOT="$bundle/tree" INSTA_UPDATE=no
    : >"$out/tests.txt"
    local name folder started log status
    while IFS=$'\t' read -r name folder; do
        started=$SECONDS
        log=$(cd "$bundle/tree/$folder" && CARGO_MANIFEST_DIR=$PWD timeout 200 "$bundle/tests/$name" 2>&1 </dev/null)
        status=$?
        printf '== %s (exit status %s)\n%s\n' "$name" "$status" "$log" >>"$out/tests.txt"
        verdict "test $name" "$status" "$(grep '^test result' <<<"$log" | tail -1 | cut -d';' -f1-2), $((SECONDS - started)) s"
        [ "$status" -eq 0 ] || grep -E '^(test .* FAILED|---- |thread )' <<<"$log" | head -20
    done <"$bundle/tests.tsv"
    unset WARPFOLD_DEVICE
}

# Compiles bench/peers/NAME.cu and runs a benchmark beside it.
beside_nvcc() { # beside_nvcc NAME BENCHMARK
    local peer=() status
    if command -v nvcc >/dev/null; then
        nvcc -arch="sm_$capability" -O3 -cubin -o "$bundle/$1.cubin" "$bundle/tree/bench/peers/$1.cu"
        status=$?
        verdict "nvcc" "$status" "bench/peers/$1.cu for sm_$capability"
        [ "$status" -eq 0 ] && peer=(--peer "$bundle/$1.cubin")
    else
        say "--      nvcc: not there, so $1 has no peer"
    fi
    timeout 200 "$2" "${peer[@]}" --json "$out/$1.json" 2>&1 | tee "$out/$1.txt"
    verdict "$1" "${PIPESTATUS[0]}" "see the table below"
}

stage_peers() {
    beside_nvcc ladder ladder
    beside_nvcc transpose transposition
}

# The variable CASES is quick, full, or parts of names. The variables PEERS and CCCL mean what they
# mean to bench/peers/compare.sh and bench/peers/build.sh.
stage_reducer() {
    timeout 540 "$bundle/tree/bench/peers/compare.sh" "$out" "${CASES:-full}"
    verdict "reducer" $? "$(grep -o 'missing: .*' "$out/reducer.txt" || echo "all peers"); tables in reducer.txt"
}

# CASES and PEERS mean the same as in the stage before. CCCL must be 3.2 or newer.
stage_rows() {
    timeout 540 "$bundle/tree/bench/peers/compare-rows.sh" "$out" "${CASES:-quick}" >/dev/null 2>"$out/rows.log"
    verdict "rows" $? "$(grep -o 'missing: .*' "$out/rows.log" || echo "all peers"); table in rows.txt"
}

stage_rows_place() {
    timeout 300 "$bundle/tree/bench/peers/compare-rows-place.sh" "$out" >/dev/null 2>"$out/rows-place.log"
    verdict "rows-place" $? "$(grep -o 'missing: .*' "$out/rows-place.log" || echo "all peers"); table in rows-place.txt"
}

# CASES is quick, full, or a part of names; full if it is not set.
stage_segments() {
    timeout 540 "$bundle/tree/bench/peers/compare-segments.sh" "$out" "${CASES:-full}" >/dev/null 2>"$out/segments.log"
    verdict "segments" $? "$(grep -o 'missing: .*' "$out/segments.txt" || echo "all peers"); tables in segments.txt"
}

# Reads what the stages rows, rows_place and segments have written.
stage_targets() {
    targets "$out" >"$out/targets.log" 2>&1
    verdict "targets" $? "$(grep 'targets are met' "$out/targets.log" || tail -1 "$out/targets.log")"
}

# Compiles the peers of reductions in place into a folder. The second argument is the folder of a
# version of CCCL. Without it, the variable CCCL or the toolkit decides the version.
place_peers() { # place_peers FOLDER [CCCL]
    CCCL=${2:-${CCCL:-}} TYPES=${PLACE_TYPES:-i8 f16 f32 f64} "$bundle/tree/bench/peers/build.sh" "$1"
}

# The variable CASES is quick if it is not set. ROUNDS is 2 and SAMPLES is 41 if they are not set.
# PEERS and CCCL mean the same as in the stage before. CCCL_NEWER names the folder of a second
# version of CCCL, which is measured beside the first.
stage_place() {
    local peers=${PEERS:-$bundle/place-peers} newer=$bundle/place-peers-newer jobs=() job args=() cases=${CASES:-quick} status
    if command -v nvcc >/dev/null; then
        [ -e "$peers/peers.so" ] || { place_peers "$peers" >"$out/place.build.log" 2>&1 & jobs+=($!); }
        [ -z "${CCCL_NEWER:-}" ] || { place_peers "$newer" "$CCCL_NEWER" >"$out/place.build-newer.log" 2>&1 & jobs+=($!); }
        for job in "${jobs[@]}"; do
            wait "$job"
            verdict "build.sh" $? "the peers of reductions in place"
        done
    else
        say "--      nvcc: not there, so reductions in place have no peers in this process"
    fi
    for job in "$peers" "$newer"; do [ ! -e "$job/peers.so" ] || args+=(--peers "$job/peers.so"); done
    [ ! -e "$peers/reduce.cubin" ] || args+=(--twin "$peers/reduce.cubin")
    # PyTorch runs only the quick cases, because it is much slower.
    reducer --way place --kernels >"$bundle/place.ptx"
    if reducer --way place --cases quick --list |
        timeout 90 python3 "$bundle/tree/bench/peers/peers.py" torch --place "$bundle/place.ptx" \
            >"$out/place.torch.jsonl" 2>"$out/place.torch.log"; then
        args+=(--outside "$out/place.torch.jsonl")
    else
        say "--      torch: not measured in place: $(tail -1 "$out/place.torch.log")"
    fi
    timeout 540 reducer --way place --cases "$cases" --rounds "${ROUNDS:-2}" --samples "${SAMPLES:-41}" "${args[@]}" \
        --json "$out/place.json" --csv "$out/place.csv" 2>"$out/place.log" | tee "$out/place.txt"
    status=${PIPESTATUS[0]}
    [ "$status" -eq 0 ] || tail -3 "$out/place.log"
    verdict "place" "$status" "$(wc -l <"$out/place.csv") lines in place.csv; tables in place.txt"
}

# The variables PEERS and CCCL mean the same as in the stage before.
stage_accuracy() {
    local peers=${PEERS:-$bundle/peers} more=(--numpy "$bundle/tree/bench/peers/numpy_sum.py")
    if [ ! -e "$peers/peers.so" ] && command -v nvcc >/dev/null; then
        "$bundle/tree/bench/peers/build.sh" "$peers" >"$out/accuracy.build.log" 2>&1
        verdict "build.sh" $? "CUB for the accuracy of sums"
    fi
    [ ! -e "$peers/peers.so" ] || more+=(--peers "$peers/peers.so")
    timeout 540 accuracy "${more[@]}" --json "$out/accuracy.json" 2>"$out/accuracy.log" | tee "$out/accuracy.txt"
    verdict "accuracy" "${PIPESTATUS[0]}" "tables in accuracy.txt"
}

# Runs a command of the lab and keeps what it prints.
lab() { # lab FILE COMMAND...
    local file=$1
    shift
    timeout 120 "$@" >"$out/lab.$file" 2>>"$out/lab.log"
    verdict "lab.$file" $? "$*"
}

stage_lab() {
    local n element
    for n in 22 24 28; do
        for element in i32 f32; do
            lab "ladder-$element-2^$n.md" reduce ladder --device cuda --n "2^$n" --type "$element" --format markdown
        done
    done
    lab ladder.json reduce ladder --device cuda --n 2^22 --counters --history --format json
    lab ladder.svg reduce ladder --device cuda --n 2^28 --format svg
    lab sweep.json reduce sweep --device cuda --format json
    lab transpose.md transpose compare --device cuda --rows 16384 --cols 16384 --type f32 --history --format markdown
    lab transpose.json transpose compare --device cuda --rows 4000 --cols 4000 --type f32 --history --format json
    lab access.md access all --device cuda --format markdown
    lab access.json access all --device cuda --format json
}

stage_first() {
    timeout 150 load --first-call >"$out/first.txt" 2>&1
    verdict "first" $? "see first.txt"
}

stage_load() {
    CUDA_CACHE_DISABLE=1 timeout 90 load >"$out/load.txt" 2>&1
    verdict "load" $? "slowest: $(grep -v 'to open' "$out/load.txt" | head -1 | tr -s ' ')"
}

reduce_all() {
    local status=0 variant
    for variant in $(listed reduce); do
        timeout 60 reduce --device cuda --variant "$variant" --n 4194304 --reps 21 || status=1
        timeout 60 reduce --device cuda --variant "$variant" --n 268435456 --reps 5 --json || status=1
    done
    for variant in $(listed transpose); do
        timeout 60 transpose --device cuda --variant "$variant" --rows 4000 --cols 4000 || status=1
    done
    # The driver compiles the kernels again in this run, as in the first run of a user.
    time CUDA_CACHE_DISABLE=1 timeout 60 reduce --device cuda --variant 6 --n 4194304 || status=1
    return $status
}

stage_reduce() {
    : >"$out/reduce.txt"
    reduce_all >>"$out/reduce.txt" 2>&1
    verdict "reduce" $? "all variants; the first run ever took $(grep '^real' "$out/reduce.txt" | cut -f2)"
}

# The soak takes ten minutes, or as many seconds as the variable SOAK_SECONDS says.
stage_soak() {
    local seconds=${SOAK_SECONDS:-600}
    timeout $((seconds + 120)) soak --device cuda --seconds "$seconds" >"$out/soak.txt" 2>&1
    verdict "soak" $? "$(tail -1 "$out/soak.txt")"
}

stage_sanitizer() {
    if ! command -v compute-sanitizer >/dev/null; then
        say "--      compute-sanitizer: not there"
        return
    fi
    local commands=$bundle/commands tool variant count
    export WARPFOLD_DEVICE=cuda
    # The library's tests come first, because they take longest.
    for variant in production_kernels reducer exact device; do
        # The skipped tests have 2^32 elements, which would take too long.
        echo "$bundle/tests/tests-test-$variant --test-threads 1 --skip more_than_32_bits"
    done >"$commands"
    for variant in $(listed reduce); do echo "reduce --device cuda --variant $variant --n 65537"; done >>"$commands"
    for variant in $(listed transpose); do
        echo "transpose --device cuda --variant $variant --rows 250 --cols 250"
    done >>"$commands"
    for variant in $(listed access | grep -v -e transfer -e all); do
        echo "access $variant --device cuda --n 65536 --reps 1"
    done >>"$commands"
    # These commands call the library with random operations and types. racecheck follows shared
    # memory only and is the slowest tool, so it gets through a part of the calls in this time.
    for variant in 1 2 3 4; do echo "soak --device cuda --quick --threads 1 --seconds 30 --seed $variant"; done >>"$commands"
    count=$(wc -l <"$commands")
    # API errors are not reported. The library asks the driver for parameters of a kernel until the
    # driver answers with an error, because it learns their number in this way.
    for tool in memcheck racecheck initcheck synccheck; do
        # shellcheck disable=SC2016
        xargs -P 8 -d '\n' -I{} timeout 400 bash -c '
            log=$(compute-sanitizer --tool "$0" --report-api-errors no --error-exitcode 9 $1 2>&1)
            status=$?
            printf "== %s, %s (exit status %s)\n%s\n" "$0" "$1" "$status" "$log"
            exit $status' "$tool" {} <"$commands" >"$out/sanitizer.$tool"
        verdict "$tool" $? "$(grep -c 'exit status 0' "$out/sanitizer.$tool") of $count commands clean"
    done
    unset WARPFOLD_DEVICE
    cat "$out"/sanitizer.*check >"$out/sanitizer.txt"
    rm -f "$out"/sanitizer.*check
}

stage_replay() {
    "$(dirname "$archive")/hardware.sh" "$out" 2>&1 | tee "$out/hardware.txt"
    verdict "hardware.sh" "${PIPESTATUS[0]}" "$(grep -c ^ok "$out/hardware.txt") recordings"
}

for stage in $stages; do
    step "$stage"
    "stage_$stage"
done

step summary
cat "$out/ladder.txt" "$out/transpose.txt" >>"$summary" 2>/dev/null
cat "$summary"
printf '%s failed, %s s\n' "$failures" "$SECONDS" | tee -a "$summary"
# These files serve only to look into a failure, so they go into one archive.
(cd "$out" && tar -czf logs.tar.gz --remove-files $(ls | grep -E '^(machine|tests|ladder|transpose|reduce|sanitizer|hardware)[.]t|^lab[.]log$|^(reducer|place)[.]build(-newer)?[.]log$|^place[.](torch[.])?(log|jsonl)$|^targets[.]log$'))
[ "$failures" -eq 0 ]
