# what: sends n MiB of zeros through a pipe into gzip: mostly CPU, with very many short waits for the pipe
# answer: tiny=4194304, short=67108864, medium=268435456, long=1073741824, seed=2147483648
# rows: tiny=4194304, short=67108864, medium=268435456, long=1073741824, seed=2147483648
# sizes: tiny=4, short=64, medium=256, long=1024, seed=2048
# memory: 6000000
# needs: nothing beyond dd, gzip, tail and od
# try: dd if=/dev/zero bs=1048576 count=64 | gzip -c | wc -c; sql/shell/gzip_pipe.sh is the same, run by shell/session
#
# The session's process becomes gzip, and a child of it goes on listening and sends the zeros; so it is gzip that
# is watched. The answer is the bytes that dd has passed on; how many gzip took in is in the end of its own output.
work=${TMPDIR:-/tmp}/dbcpu-session.$$ sent=0
# What is there already may be of another user, who would choose where the output goes.
(umask 077 && mkdir "$work") || { work=''; echo "failed the folder ${TMPDIR:-/tmp}/dbcpu-session.$$ could not be made; set TMPDIR"; exit 1; }
mkfifo "$work/in" "$work/out" "$work/taken"
exec 3<&0
(
    # Held open from both ends: whoever of the two leaves first, nobody waits for the other.
    exec 5<>"$work/taken"
    tail -c 4 <"$work/out" | od -An -tu1 >&5 &
    exec 4>"$work/in" <&3 3<&-
    # The size of all it took in, modulo 2^32: the last four bytes of the gzip format (RFC 1952).
    ending() {
        exec 4>&-
        read -r a b c d <&5
        [ $((a + 256 * (b + 256 * (c + 256 * d)))) -eq $((sent % 4294967296)) ] ||
            echo "failed gzip took in other than the $sent bytes that were sent"
    }
    serve
) &
exec gzip -c <"$work/in" >"$work/out";
dd if=/dev/zero bs=1048576 count=:n >&4 2>/dev/null &
wait "$!" && answer=$((:n * 1048576)) && sent=$((sent + answer))
