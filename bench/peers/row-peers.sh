#!/usr/bin/env bash
# Prints where the library rows-peers.so is, or nothing if there is none:
#
#   bench/peers/row-peers.sh FOLDER
#
# If the variable PEERS is set, it names the folder of the library. Otherwise the script compiles
# the library to FOLDER with build.sh, if the machine has nvcc, and writes what nvcc says to
# FOLDER/rows.build.log.

set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
export PATH=$PATH:/usr/local/cuda/bin
folder=${PEERS-$out}
if [ -z "${PEERS+set}" ] && command -v nvcc >/dev/null; then
    ONLY=rows "$sources/build.sh" "$folder" >"$out/rows.build.log" 2>&1 || true
fi
if [ -n "$folder" ] && [ -e "$folder/rows-peers.so" ]; then echo "$folder/rows-peers.so"; fi
