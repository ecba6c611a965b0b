# Small models start in less than 0.3 s. Processor time of a whole run of one step is what is limited, the best of a few: other tests run
# beside this one, so the wall clock, which is printed too, would measure them.
. "$(dirname "$0")/lib.sh"
TIMEFORMAT='%R %U %S'
for job in mlp gpt2-tiny llama-tiny resnet18-tiny; do
  best=999999
  for attempt in 1 2 3 4; do
    { time train "$work/$job-$attempt" examples/$job.toml --steps 1 --threads 1 >/dev/null; } 2>"$work/time" || fail "$job: $(cat "$work/stderr")"
    read -r wall cpu < <(tail -n1 "$work/time" | awk '{ printf "%d %d", 1000 * $1, 1000 * ($2 + $3) }')
    [ "$cpu" -lt $best ] && best=$cpu
  done
  echo "$job: $best ms of processor time, $wall ms on the clock, with one step"
  [ "$best" -lt 300 ] || fail "$job took $best ms to start and train one step, expected less than 300"
done
