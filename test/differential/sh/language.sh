# Expansions, control flow, functions, here documents, redirections, traps, arithmetic.
x=hello; y=; unset z
echo "${x}" "${y:-empty}" "${y-set}" "${z-unset}" "${z:=assigned}" "$z" "${x:+plus}" "${#x}"
path=/usr/local/lib/libfoo.so.1; echo "${path##*/}" "${path%/*}" "${path%%.*}" "${path#*/}"
echo $((1 + 2 * 3 - 4 / 2 % 3)) $((0x1f | 0100)) $((7 > 3 && 2 < 1 || 5 != 5)) $((-7 / 2)) $((1 << 40)) $((~5 ^ 3)) $((x1 = 5)) $((x1 += 3)) $((x1 > 4 ? 10 : 20))
i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); case $i in *7) sum=$((sum + i)) ;; 1[0-5]*|*[!0-9]*) other=$((other + 1)) ;; esac; done; echo $i $sum $other
for a in one "two three" four; do for b in 1 2; do [ "$b" = 2 ] && continue 2; printf '%s:%s ' "$a" "$b"; done; done; echo
f() { local v=$1; shift; echo "f $v $# $*"; [ $# -gt 0 ] && f "$@"; return 3; }
f a b c; echo "status $?"
set -- "a b" c 'd*'; echo $# "$1" "$@" "$*"; IFS=,; echo "$*"; unset IFS
IFS=: read -r p q r <<EOF
one:two\:x:three:four
EOF
echo "$p|$q|$r"
cat <<EOF; cat <<'EOF'
expanded $x $((2 + 3)) $(echo nested "$(echo deep)") `echo old`
EOF
literal $x $((2 + 3))
EOF
cat <<-EOF
	tabs removed
	EOF
echo out; echo err >&2; { echo a; echo b >&2; } 2>&1 | sort | tr a-z A-Z
( exit 7 ); echo $?; ! false && echo negated; true && { false || echo alternative; }
trap 'echo leaving $?' EXIT; trap 'echo usr1' USR1; kill -USR1 $$; trap - USR1
eval 'echo eval "$x"'; n=x; eval "echo \$$n"; alias ll='echo aliased'; type cd; command -v echo; unset -f f; command -v f || echo gone
printf '%5d|%-6s|%x|%o|%c|%b|%%|%05.1f\n' 42 ab 255 8 xyz 'a\tb' 3.14159 2>&1
test -d / -a ! -f / && [ abc \< abd ] ; [ -n "$x" -o -z "$x" ] && echo tests; echo [a-c]* '*' "$(echo a; echo b)"
while read -r line; do case "$line" in \#*) continue ;; "") break ;; esac; echo "got $line"; done <<EOF
first
# comment
second

never
EOF
until [ ${k:=0} -ge 3 ]; do k=$((k + 1)); printf "$k "; done; echo; set -f; echo *; set +f
fib() { if [ $1 -lt 2 ]; then r=$1; else fib $(($1 - 1)); set -- $1 $r; fib $(($1 - 2)); r=$((r + $2)); fi; }
fib 7 2>/dev/null; echo $r; getopts ab:c opt -b val -c; echo $opt $OPTARG $OPTIND; umask 022; umask; ulimit -c 0; wait; times > /dev/null; readonly ro=1; (ro=2) 2>/dev/null || echo readonly
exit 0
