# Globs, pipes, loops over files, substitution in bulk, background jobs.
mkdir -p d/e; for i in 1 2 3 10 20; do echo "content $i" > d/f$i.txt; : > d/e/g$i; done
cd d; echo *; echo f?.txt f[12]*.txt [!f]* */*; for f in *.txt; do read -r word number < "$f"; echo "$f: $word=$number"; done
cat f*.txt | while read -r a b; do total=$((total + b)); echo $total; done | tail -1
ls | wc -l | tr -d ' '; { cat f1.txt; echo extra; } >> f2.txt; cat < f2.txt; echo overwritten >| f3.txt; cat f3.txt
exec 3> log; echo to three >&3; exec 3>&-; cat log; exec 4< f1.txt; read -r l <&4; echo "$l"; exec 4<&-
(sleep 0; exit 4) & wait $!; echo "background $?"; for i in 1 2 3; do (exit $i) & done; wait; echo done
n=0; for a in 0 1 2 3 4 5 6 7 8 9; do for b in 0 1 2 3 4 5 6 7 8 9; do for c in 0 1 2 3 4; do s="$a$b$c"; case $s in *11*|2?4) n=$((n + 1)) ;; esac; t="${t#?????????}$s"; done; done; done; echo $n "$t"
text=$(cat f1.txt f10.txt; printf 'x\n\n\n'); echo "$text" | cksum; set -- $text; echo $# $2
printf '%s\n' b a c | sort | { read -r first; echo "first $first"; cat > /dev/null; }; cd ..; rm -r d; echo d/*; test -e d || echo removed
pwd > /dev/null; cd / && pwd; cd - > /dev/null; OLD=$PWD; . /dev/null; hash -r; exec 2>&1; nonexistent_command_x; echo "status $?"; [ 1 -eq x ] ; echo "status $?"
