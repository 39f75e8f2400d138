# what: counts to n in steps of one, in the shell's own variable: CPU only, no process is started, nothing is waited for
# answer: n
# rows: n
# sizes: tiny=20000, short=500000, medium=2000000, long=10000000
# memory: 2000000
# needs: nothing
# try: { echo n=500000; sed 's/:n/$n/' sql/shell/increment.sh; echo 'echo "$answer"'; } | sh
answer=0
while [ "$answer" -lt :n ]; do
    answer=$((answer + 1))
done
