# shellcheck shell=sh disable=SC2154,SC3028  # names set by the script that reads this; EPOCHREALTIME only where it is
# What increment, gzip-pipe and psql-fanout have in common: N sessions at a gate, released together, their
# placement looked at, and the result written in the lines that "dbcpu import" reads (docs/line-format.md).
#
# Read with ". lines.sh" under "set -eu"; $here is the folder of the scripts. A script that reads it sets cpus to 0 where
# the CPUs of this host are not those that are measured (else they are counted here), and
# label, workload, size, n, rows, answer and executions (also unit and per, so many rows, for the rates shown), and says how its sessions are made, with these functions:
#   write_orders          writes the files that all sessions read
#   start_session I       starts session I in the background as the last command, so that its number is $!; it is to
#                         write into out.I; it reads the file orders, then waits for the end of the FIFO gate, then
#                         reads the file go.I; all of it without descriptor 9, by which this shell keeps the gate shut
#   is_ready I            whether it stands at the gate
#   refusal I             why it will never do so, or nothing
#   order_for I           what it is to do then
#   server_of I           the number of the process that does its work, if it is to be seen on this host
#   report I              its lines of the result: session, execution, failed; $id is "order=N ordinal=N"
#   await_report I        waits for what session I says after its process has ended, if anything
#   describe_run          what stands in the line "run" beside the host: kind=, version=, workers=

# Solaris' /bin/sh is older than POSIX; its POSIX tools are elsewhere.
if [ -d /usr/xpg4/bin ] && [ -z "${DBCPU_XPG4:-}" ]; then
    DBCPU_XPG4=1 PATH=/usr/xpg4/bin:$PATH
    export DBCPU_XPG4 PATH
    exec /usr/xpg4/bin/sh "$0" "$@"
fi

unset CDPATH
program=${0##*/} cpus=''

fail() {
    printf '%s: %s\n' "$program" "$1" >&2
    exit "${2:-3}"
}

# usage: is_count TEXT     a whole number from 1 on
is_count() {
    case $1 in '' | 0* | *[!0-9]*) return 1 ;; esac
}

# usage: check_text WHAT TEXT     refuses a text for the lines that would begin a line of its own there
check_text() {
    case $2 in *[[:cntrl:]]*) fail "$1 has a control character in it, such as a line break or a tab; it has to be one line of text" 2 ;; esac
}
check_text 'the label (-l)' "$label"
check_text 'the name of this host' "$(uname -n)"

# Seconds since 1970: by date where it tells fractions, else by the shell, else to 10 ms by /proc, else whole.
first=${EPOCHREALTIME:-}
case $(date -u +%s.%N 2>/dev/null) in
*[!0-9.]* | '' | *.)
    if [ -n "$first" ] && [ "$first" != "$EPOCHREALTIME" ]; then
        now() { echo "${EPOCHREALTIME%[.,]*}.${EPOCHREALTIME#*[.,]}"; }
    elif [ -r /proc/uptime ]; then
        now() { awk '/^btime/ { b = $2 } FILENAME ~ /uptime/ { u = $1 } END { printf "%.2f\n", b + u }' /proc/stat /proc/uptime; }
    else
        now() { awk 'BEGIN { srand(); print srand() }'; }
    fi
    ;;
*) now() { date -u +%s.%N; } ;;
esac

# What clocks that count from the start of the system are behind those that count from 1970.
set_epoch_offset() {
    uptime=0
    [ ! -r /proc/uptime ] || read -r uptime _ </proc/uptime
    DBCPU_EPOCH_OFFSET=$(echo "$(now) $uptime" | awk '{ printf "%.2f", $1 - $2 }')
    export DBCPU_EPOCH_OFFSET
}

# A nap while something is awaited; the fraction where sleep takes one.
nap_s=1
sleep 0.01 2>/dev/null && nap_s=0.05

# --- what is to be measured

processors() {
    getconf _NPROCESSORS_ONLN 2>/dev/null || getconf NPROCESSORS_ONLN 2>/dev/null || nproc 2>/dev/null || echo 0
}

# usage: each_level LEVELS     "4", "1-8" or "1,2,4,8" as a line for each, rising
each_level() {
    echo "$1" | tr ',' '\n' | awk -F- '
        !/^[1-9][0-9]*(-[1-9][0-9]*)?$/ { if ($0 != "0") bad = 1; next }
        { last = NF > 1 ? $2 : $1; if (last > 4096) bad = 1
          for (i = $1; i <= last && !bad; i++) if (!(i in seen)) { seen[i] = 1; print i } }
        END { if (bad) print "bad" }' | sort -n
}

# usage: set_levels LEVELS
set_levels() {
    levels=$(each_level "$1")
    case $levels in
    '' | *bad*) fail "the numbers of sessions are not understood: $1; give 4, 1-8 or 1,2,4,8" 2 ;;
    esac
}

# usage: is_word TEXT     letters, digits and _: nothing that means something to sed
is_word() {
    case $1 in '' | *[!A-Za-z0-9_]*) return 1 ;; esac
}

# usage: find_source FOLDER NAME     the workload's file, in ../sql/FOLDER or beside this script
find_source() {
    for place in "$here/../sql/$1" "$here"; do
        source_file=$place/$2
        [ ! -r "$source_file" ] || return 0
    done
    fail "$2 is neither in $here/../sql/$1 nor in $here; copy it there"
}

# A line of the workload's head, such as "sizes".
header() {
    sed -n -e "s/^-- $1: *//p" -e "s/^# $1: *//p" "$source_file" | sed 1q
}

# The value for this size of a line such as "tiny=20, short=50".
of_size() {
    header "$1" | tr ',' '\n' | sed -n "s/^ *$size=//p"
}

# A value of the head: n, n^4, one for each size, or itself.
value() {
    text=$(header "$1")
    case $text in
    n) echo "$n" ;;
    n^*) echo "$n ${text#n^}" | awk '{ r = 1; for (i = 0; i < $2; i++) r *= $1; printf "%.0f\n", r }' ;;
    *=*) of_size "$1" ;;
    *) echo "$text" ;;
    esac
}

# usage: set_size NAME
set_size() {
    size=$1
    is_word "$size" || fail "'$size' is not the name of a size" 2
    n=$(of_size sizes)
    [ -n "$n" ] || fail "workload $workload has no size '$size'; it has: $(header sizes)" 2
    rows=$(value rows) answer=$(value answer)
}

# Statements of the workload's file, :n filled in; comments are left out.
filled() {
    sed -e '/^ *--/d' -e '/^#/d' -e "s/:n\([^A-Za-z0-9_]\)/$1\1/g" -e "s/:n\$/$1/" "$source_file"
}

# The workload's last statement is measured; those before it, each ended by ";" at the end of a line, are its setup.
measured_part() {
    filled "$1" | awk '{ line[NR] = $0 } /;[ \t]*$/ && NR > 1 { last[++ends] = NR }
        END { from = 1; if (ends && last[ends] < NR) from = last[ends] + 1; else if (ends > 1) from = last[ends - 1] + 1
              for (i = from; i <= NR; i++) { if (i == NR) sub(/;[ \t]*$/, "", line[i]); print line[i] } }'
}

# --- a folder of our own, and the end

say() {
    printf '%s\n' "$1" >>"$work/lines"
}

# usage: shelter PATH     goes into a new folder beside PATH that nobody else can write, so that what is made there is no
# link of another user's, whosever the folder around it is; hand_over then puts the file "new" of it at PATH. 9: a folder
# that is made there is not one's own alone, as root's on some network file systems.
shelter() {
    case $1 in */*) cd -- "${1%/*}/" || return 1 ;; esac
    place=${1##*/} nest=.dbcpu-new.$$ above=$(pwd -P) refused=1
    [ -n "$above" ] || return 1
    rmdir "$nest" 2>/dev/null || :
    (umask 077 && mkdir "$nest") || return 1
    if cd "./$nest" && [ "$(pwd -P)" = "${above%/}/$nest" ]; then
        # shellcheck disable=SC2046
        set -- $(id -u) $(ls -ldn .)
        case $1:$4:$2 in 0:0:drwx------*) return 0 ;; 0:*) ;; *:0:* | "$1:$1:"*) return 0 ;; esac
        refused=9
    fi
    cd "$above" && rmdir "$nest" || :
    return "$refused"
}

# usage: hand_over     a link or file at PATH is replaced, a link to a folder only where mv has -T; a folder gets nothing
hand_over() {
    # mv without -T would follow a link to a folder.
    exact='' handed=0
    if mv -f -T new whole 2>/dev/null; then exact=-T; fi
    # shellcheck disable=SC2086
    { [ -n "$exact" ] || { [ ! -d "../$place" ] && mv -f new whole; }; } && mv -f $exact whole "../$place" || handed=1
    rm -f new whole || :
    cd -P .. && rmdir "$nest" || :
    return "$handed"
}

# usage: keep STATUS     all rounds so far, as a whole file that can be imported, in place of what is at $output. It is
# a new one: no link of another user is followed, and whoever reads meanwhile reads the one before.
keep() {
    if ! (shelter "$output" && { { cat "$work/lines" && echo "end status=$1"; } >new || rm -f new; } && hand_over) 2>/dev/null; then
        delivered=yes # not tried, and not said, once more at the end
        fail "$output could not be written; give another file with -o"
    fi
}

# Whether the result goes into a file, and not to standard output or a device or FIFO of root's or one's own: another
# user's, or a link of theirs, is replaced by a file.
into_file() {
    [ -n "$output" ] || return 1
    within=.
    case $output in */*) within=${output%/*}/ ;; esac
    # /dev/stdout and the like are the system's links to what whoever started this handed over, a file too.
    case $(cd -- "$within" 2>/dev/null && pwd -P) in /dev | /dev/fd | /proc/*) return 1 ;; esac
    [ -e "$output" ] && [ ! -f "$output" ] || return 0
    # shellcheck disable=SC2046
    set -- $(id -u) $(ls -ldn "$output")
    case $4 in 0 | "$1") return 1 ;; esac
}

# Said before anything is measured, as what is measured would be lost.
try_output() {
    code=0
    if into_file; then
        (shelter "$output" && cd -P .. && rmdir "$nest") 2>/dev/null || code=$?
    elif [ -n "$output" ]; then
        [ -w "$output" ] && [ ! -d "$output" ] || code=1
    fi
    [ "$code" -ne 9 ] || fail "a folder made beside $output would not be yours alone, as root's on some network file systems; give another file with -o"
    [ "$code" -eq 0 ] || fail "$output could not be written; give another file with -o"
}

# usage: deliver STATUS     the whole result, once
deliver() {
    [ -z "$delivered" ] || return 0
    delivered=yes
    if into_file; then keep "$1"; return; fi
    say "end status=$1"
    if [ -n "$output" ]; then
        { cat "$work/lines" >>"$output"; } 2>/dev/null || fail "$output could not be written; give another file with -o"
    else
        code=0
        cat "$work/lines" 2>/dev/null || code=$?
        [ "$code" -le 128 ] || exit "$code" # its reader is gone
        [ "$code" -eq 0 ] || fail "the result could not be written to standard output; is the disk full? Name a file by -o"
    fi
}

# A script that was killed outright has left its folder, and its rounds in it where they went nowhere else.
name_leftovers() {
    for left in "${TMPDIR:-/tmp}/dbcpu-$program".*; do
        case ${left##*.} in '' | *[!0-9]*) continue ;; esac
        if [ -r "$left/lines" ] && ! kill -0 "${left##*.}" 2>/dev/null; then
            echo "$program: a run that was killed left $left; dbcpu import $left/lines, or remove the folder" >&2
        fi
    done
}

still_running() {
    for each in $sessions; do
        ! kill -0 "$each" 2>/dev/null || return 0
    done
    return 1
}

end_sessions() {
    # Sessions at the gate find no file go.I behind it, and leave.
    exec 9>&-
    for each in $sampler $sessions; do kill -"$1" "$each" 2>/dev/null || :; done
}

# shellcheck disable=SC2317,SC2329  # by the trap
leave() {
    trap '' INT TERM HUP
    set +e
    cd "$work" || return
    # In a shell of its own: what comes after it is done even where the file cannot be written.
    if grep '^execution ' lines >/dev/null 2>&1 || grep '^round ' lines >/dev/null 2>&1; then (deliver interrupted); fi
    # An interrupt first: psql passes it on to the server, which ends the statement.
    ! still_running || end_sessions INT
    tries=0
    while still_running && [ "$tries" -lt 10 ]; do
        [ "$tries" -lt 2 ] || end_sessions TERM
        sleep "$nap_s"
        tries=$((tries + 1))
    done
    end_sessions KILL
    cd / && rm -rf "$work"
}

# usage: begin OUTPUT
begin() {
    output=$1 sessions='' sampler='' delivered='' cpus=${cpus:-$(processors)}
    case $output in '' | /*) ;; *) output=$PWD/$output ;; esac
    [ "${#output}" -le 4000 ] || fail "-o has a path of ${#output} characters; give one of at most 4000" 2
    try_output
    umask 077
    name_leftovers
    work=${TMPDIR:-/tmp}/dbcpu-$program.$$
    mkdir "$work" || fail "the folder $work could not be made; set TMPDIR"
    trap leave EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    cd "$work" || exit 3
    set_epoch_offset
    {
        echo 'dbcpu-lines 2'
        [ -z "$label" ] || printf 'label %s\n' "$label"
        for folder in /sys/devices/system/cpu/cpu[0-9]*/topology; do
            [ "$cpus" -gt 0 ] && [ -r "$folder/thread_siblings_list" ] || continue
            id=${folder%/topology}
            echo "cpu id=${id##*/cpu} core=$(cat "$folder/core_id") socket=$(cat "$folder/physical_package_id") siblings=$(cat "$folder/thread_siblings_list")"
        done
        echo "workload name=$workload size=$size n=$n rows=$rows answer=$answer executions=$executions${for_s:+ for_s=$for_s}"
        measured_part "$n" | sed 's/^/sql /'
    } >lines
}

# --- one round

# Waits until all are ready; after two minutes, or when one says why it never will be, the run is given up.
await_all() {
    waited=0
    while :; do
        count=0 i=0 why=''
        while [ "$i" -lt "$level" ]; do
            if is_ready "$i"; then count=$((count + 1)); elif [ -z "$why" ]; then why=$(refusal "$i"); fi
            i=$((i + 1))
        done
        [ "$count" -lt "$level" ] || return 0
        if [ -n "$why" ] || [ "$waited" -ge 2400 ]; then
            fail "$count of $level sessions are ready: ${why:-no answer within two minutes}"
        fi
        sleep "$nap_s"
        waited=$((waited + 1))
    done
}

# "I PID" of each session whose process is to be seen here.
list_servers() {
    i=0
    while [ "$i" -lt "$level" ]; do
        server=$(server_of "$i")
        [ -z "$server" ] || echo "$i $server"
        i=$((i + 1))
    done
}

start_sampler() {
    sampler=''
    [ -s servers ] || return 0
    # shellcheck disable=SC2046  # a word for each
    "$here/sample-psr" -b -i 0.25 -r "$order" $(awk '{ print $2 "=" $1 }' servers) >seen 2>/dev/null 9>&- &
    sampler=$!
    # What they used before the first look would be taken for that of other processes.
    tries=0
    until [ -s seen ] || [ "$tries" -ge 20 ]; do
        sleep "$nap_s"
        tries=$((tries + 1))
    done
}

round() {
    rm -f gate go.* out.* seen
    # The end of this file lets all go at the same moment; it also comes when this shell is killed.
    mkfifo gate
    exec 9<>gate
    sessions='' i=0
    while [ "$i" -lt "$level" ]; do
        start_session "$i"
        sessions="$sessions $!"
        i=$((i + 1))
        # A storm of logons would measure the listener's queue.
        [ $((i % 8)) -ne 0 ] || sleep "$nap_s"
    done
    await_all
    grep '^run ' lines >/dev/null ||
        say "run started=$(date -u +%Y-%m-%dT%H:%M:%S) host=$(uname -n) system=$(uname -s) release=$(uname -r | tr ' ' '_') cpus=$cpus ticks_per_s=$(getconf CLK_TCK 2>/dev/null || echo 100) $(describe_run)"
    list_servers >servers
    : >seen
    start_sampler
    i=0
    while [ "$i" -lt "$level" ]; do
        order_for "$i" >"go.$i"
        i=$((i + 1))
    done
    say "round order=$order level=$level repeat=$repeat released=$(now)"
    exec 9>&-
    for each in $sessions; do wait "$each" || :; done
    sessions=''
    [ -z "$sampler" ] || { kill "$sampler" 2>/dev/null || :; wait "$sampler" 2>/dev/null || :; }
    sampler=''
    cat seen >>lines
    i=0
    while [ "$i" -lt "$level" ]; do
        id="order=$order ordinal=$i"
        await_report "$i"
        report "$i" >>lines
        i=$((i + 1))
    done
    show_round
    ! into_file || keep interrupted
}

# For the eye: the slowest and the fastest rate, how far apart they are, and that of each session in their order.
show_round() {
    awk -v id="order=$order" -v rows="$rows" -v level="$level" -v program="$program" -v unit="${unit:-Mrows/s}" -v per="${per:-1000000}" -v limit_s="${for_s:-0}" '
        function value(name, i) { for (i = 2; i <= NF; i++) if (index($i, name "=") == 1) return substr($i, length(name) + 2) }
        $2 != id { next }
        $1 == "failed" { failed++ }
        $1 == "execution" {
            who = value("ordinal"); end = value("end"); if (!(who in first)) first[who] = value("start")
            last[who] = end; done[who]++
            took = end - value("start"); if (took > longest) longest = took
        }
        END {
            form = per == 1 ? "%.0f" : "%.3f"
            for (who = 0; who < level; who++) {
                if (!(who in done)) { each = each " -"; continue }
                rate = done[who] * rows / (last[who] - first[who] + 1e-9) / per
                if (!count++ || rate < least) least = rate
                if (rate > most) most = rate
                sum += rate; each = each " " sprintf(form, rate)
            }
            printf "%s: %d session%s", program, level, (level > 1 ? "s" : "")
            if (count) printf ": " form " to " form " " unit " each, max/min %.2f, all " form, least, most, most / least, sum
            if (failed) printf ", %d failed", failed
            print ""
            if (level > 1 && count) print program ": " unit " of each session:" each
            if (limit_s && longest > limit_s)
                printf "%s: the longest count took %.1f s, and only %d s were given: give more seconds, or fewer sessions\n", program, longest, limit_s
        }' lines >&2
}

# All levels, repeat after repeat.
measure() {
    write_orders
    order=0 repeat=0
    while [ "$repeat" -lt "$repeats" ]; do
        for level in $levels; do
            round
            order=$((order + 1))
        done
        repeat=$((repeat + 1))
    done
    deliver complete
}
