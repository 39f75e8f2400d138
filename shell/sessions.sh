# shellcheck shell=sh disable=SC2154  # names set by the scripts that read this
# Sessions of a shell workload (sql/shell, shell/session) for the gate of lines.sh; read after it by increment and
# gzip-pipe, which set $shell: what runs the sessions, "sh" or "busybox sh". $for_s is a fixed time, or ''.

find_shell() {
    command -v "${shell%% *}" >/dev/null 2>&1 || fail "there is no ${shell%% *} in PATH" 2
    # Where sh is a name for another program, that one is what counts.
    shell_name=$(readlink -f "$(command -v "${shell%% *}")" 2>/dev/null) || shell_name=${shell%% *}
    shell_name=${shell_name##*/}
    # shellcheck disable=SC2016
    shell_version=$($shell -c 'echo "${BASH_VERSION:-${KSH_VERSION:-}}"' 2>/dev/null | tr -s ' ()' '_') || :
    check_text 'the name of the shell' "$shell_name"
    check_text "the version of $shell_name" "$shell_version"
}

# What a session is told before the gate.
write_orders() {
    filled "$n" | awk -v own="$(measured_part "$n" | awk 'END { print NR }')" '
        { line[NR] = $0 }
        END {
            first = NR - own
            if (first > 0) { print "do " first; sub(/;[ \t]*$/, "", line[first]); for (i = 1; i <= first; i++) print line[i] }
            print "define work " own; for (i = first + 1; i <= NR; i++) print line[i]
        }' >orders
    small=$(header sizes | tr ',' '\n' | sed -n 's/.*=//p' | sort -n | sed 1q)
    {
        echo "define warm $(measured_part "$small" | awk 'END { print NR }')"
        measured_part "$small"
        echo warm
    } >>orders
}

start_session() {
    # shellcheck disable=SC2086
    { exec 9>&-; cat orders gate && cat "go.$1"; } 2>/dev/null | $shell "$here/session" >"out.$1" 2>"err.$1" 9>&- &
    eval "pid_$1=\$!"
}

is_ready() {
    grep '^warmed' "out.$1" >/dev/null 2>&1
}

refusal() {
    sed -n 's/^failed //p' "out.$1" 2>/dev/null | sed 1q
    # Its files may not be there yet.
    sed 1q "err.$1" 2>/dev/null || :
}

order_for() {
    if [ -n "$for_s" ]; then echo "run - +$for_s"; else echo "run $executions -"; fi
    echo end
}

# shellcheck disable=SC2154
server_of() {
    eval "echo \"\$pid_$1\""
}

# Where the process became another program, its helper has the last word, a moment after the end of that program.
await_report() {
    tries=0
    until grep -E '^(ended|failed)' "out.$1" >/dev/null || [ "$tries" -ge 20 ]; do
        sleep "$nap_s"
        tries=$((tries + 1))
    done
}

# What one session said, as lines of the result.
report() {
    eval "pid=\$pid_$1"
    awk -v id="$id" -v pid="$pid" -v offset="$DBCPU_EPOCH_OFFSET" '
        $1 == "ready" { split($2, part, "="); if (part[2] == "epoch") offset = 0; split($3, part, "="); per_s = part[2] }
        $1 == "ran" { line[++count] = sprintf("execution %s start=%.6f end=%.6f answer=%s", id, $2 / per_s + offset, $3 / per_s + offset, $4) }
        $1 == "done" && $2 != "-" { used = sprintf(" cpu_s=%.6f delay_s=%.6f", $2 / 1e9, $3 / 1e9) }
        $1 == "failed" { why = $0; sub(/^failed /, "", why) }
        $1 == "ended" { ended = 1 }
        END {
            print "session " id " connect_s=0 pid=" pid used
            for (i = 1; i <= count; i++) print line[i]
            if (!why && !ended) why = "its process ended before its work was done"
            if (why) print "failed " id " " why
        }' "out.$1"
}

# The CPUs that the sessions may use, where these are not all: as the kernel says, else those of cpu-set.
allowed_cpus() {
    allowed=$(awk '/^Cpus_allowed_list:/ { print $2 }' /proc/self/status 2>/dev/null) || allowed=''
    allowed=${allowed:-${DBCPU_CPU_SET:-}}
    case $allowed in '' | *[!0-9,-]*) return 0 ;; esac
    count=$(echo "$allowed" | tr ',' '\n' | awk -F- '{ n += (NF > 1 ? $2 : $1) - $1 + 1 } END { print n }')
    [ "$cpus" -gt 0 ] && [ "$count" -ge "$cpus" ] || echo " allowed=$allowed"
}

describe_run() {
    echo "kind=shell version=$shell_name${shell_version:+-$shell_version} workers=$program$(allowed_cpus)"
}
