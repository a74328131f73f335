#!/bin/bash
# Runs every kernel of the corpus under compute-sanitizer's tools on a GPU:
#
#   sanitize.sh PROGRAM FOLDER [TOOL...]
#
# PROGRAM is `sanitize` of the package rumba-tests. FOLDER gets a log for each kernel and tool and `summary.tsv`, lines of
# kernel, tool, verdict (reported, silent, timeout, failed) and the first report. A process for each kernel and tool, since
# a fault ends its context; 16 at a time, 20 seconds each, since some kernels never end.
set -u
program=$(realpath "$1") folder=$2
shift 2
[ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -1)
[ -n "$sanitizer" ] || { echo "compute-sanitizer is not installed" >&2; exit 1; }
mkdir -p "$folder"
export program folder sanitizer RUMBA_DEVICE=gpu

one() {
    tool=$1 kernel=$2 log=$folder/$1.$2.log
    options=
    [ "$tool" = racecheck ] && options="--racecheck-report all"
    timeout -k 2 20 "$sanitizer" --tool "$tool" $options --print-limit 20 "$program" run "$kernel" >"$log" 2>&1 </dev/null
    code=$?
    first=$(grep -m1 -E '^========= (Invalid|Uninitialized|Barrier|Divergent|Missing|Misaligned|Race|Error|Warning|Error:|Program hit|Illegal|.*(error|hazard|detected))' "$log" |
        sed 's/^=* *//' | tr '\t' ' ' | cut -c1-120)
    if [ $code -eq 124 ] || [ $code -eq 137 ]; then
        verdict=timeout
    elif grep -qE 'ERROR SUMMARY: [1-9]|RACECHECK SUMMARY: [1-9]' "$log"; then
        verdict=reported
    elif grep -qE 'ERROR SUMMARY: 0|RACECHECK SUMMARY: 0' "$log"; then
        verdict=silent
    else
        verdict=failed
    fi
    printf '%s\t%s\t%s\t%s\n' "$kernel" "$tool" "$verdict" "$first"
}
export -f one

for tool in "$@"; do
    "$program" list | xargs -P 16 -I{} bash -c 'one "$0" "$1"' "$tool" {} >"$folder/$tool.tsv"
done
cat "$folder"/*check.tsv | sort >"$folder/summary.tsv"
cut -f2,3 "$folder/summary.tsv" | sort | uniq -c
