# Read by tsc-cc and tsc-c++: where clang does all, it takes the place of this shell, for Node takes longer to start than clang to
# answer or to compile a small file. In doubt nothing is done here, and Node decides. Clang does all of
#
# - questions about the compiler, preprocessing, assembly as output, syntax checks;
# - machine code: of assembly, with -fno-lto, and what goes to /dev/null;
# - objects with machine code beside the IR (-ffat-lto-objects);
# - probes of configure scripts, CMake and Meson, known by the names of their files: what they find out about the machine and its
#   libraries is the same without link-time optimisation.
#
# The clang is the one that is named, or the one that was found last (bin/cc/compiler-choice.ts), if nothing on PATH has changed.

# Whether the value of an option is the next word: as the tables of frontend/clang/command-line.ts say, which a test compares.
takesValue() {
  case $1 in
  -o | -D | -U | -I | -L | -l | -x | -F | -B | -T | -u | -G | -A | -MF | -MT | -MQ | -MJ) ;;
  -isystem | -isystem-after | -idirafter | -iquote | -include | -imacros | -iprefix | -iwithprefix) ;;
  -iwithprefixbefore | -iwithsysroot | -isysroot | -iframework | -iframeworkwithsysroot) ;;
  -cxx-isystem | -c-isystem | -stdlib++-isystem | -include-pch | -ivfsoverlay | -working-directory | -resource-dir) ;;
  -Xclang | -Xlinker | -Xassembler | -Xpreprocessor | -Xanalyzer | -Xopenmp-target | -Xthinlto) ;;
  -mllvm | -arch | -target | -z | -e | -rpath | -framework | -dumpdir | -aux-info | -wrapper) ;;
  -gcc-toolchain | -serialize-diagnostics | -Tdata | -Ttext | -Tbss | -imultilib | -assert) ;;
  --param | --sysroot | --target | --output | --include | --imacros | --language | --define-macro) ;;
  --undefine-macro | --include-directory | --include-directory-after | --library-directory | --prefix) ;;
  --config | --assert | --serialize-diagnostics | --std | --force-link | --for-linker) ;;
  --dyld-prefix | --version-script | --system-header-prefix | --no-system-header-prefix | -Xarch_*) ;;
  *) return 1 ;;
  esac
}

# Whether a file is a probe's: of autoconf and libtool, zlib's configure, CMake, Meson.
isProbe() {
  case $1 in
  conftest* | */conftest* | conftst* | ztest[0-9]* | */meson-private/* | sanitycheck*.c | sanitycheck*.cc) ;;
  CMakeFiles/cmTC_* | */CMakeFiles/cmTC_* | */CMakeScratch/TryCompile-* | */CMakeFiles/CMakeTmp/*) ;;
  CMakeC*CompilerId.* | */CMakeC*CompilerABI.*) ;;
  *) return 1 ;;
  esac
}

# Whether the options in a word of -Wl are GNU ld's, and mean nothing to tsc-lto that matters to a probe.
isLinkers() {
  rest=${1#-Wl,},
  while [ -n "$rest" ]; do
    case ${rest%%,*} in
    '' | [!-]* | -z | -O | -O[0-9] | -s | -S | -x | -X | -h | -t | -R | -E | -v | --version | -soname* | --soname* | -rpath* | --rpath*) ;;
    --as-needed | --no-as-needed | --hash-style=* | --build-id* | --enable-new-dtags | --disable-new-dtags | -Bsymbolic*) ;;
    --gc-sections | -gc-sections | --no-gc-sections | --no-undefined | -no-undefined | --export-dynamic | -export-dynamic) ;;
    --start-group | --end-group | --whole-archive | --no-whole-archive | -Bstatic | -Bdynamic | --dependency-file=*) ;;
    --fatal-warnings | --no-fatal-warnings | --version-script=* | --version-script | --allow-shlib-undefined) ;;
    --no-allow-shlib-undefined | --warn-common | --sort-common) ;;
    *) return 1 ;;
    esac
    rest=${rest#*,}
  done
}

# Sets `part` to what clang is to do with a command line: `answer` it, make `machine` code or a `fat` object of it, or `try` a link
# that may need tsc-lto after all. Fails where Node is needed.
readWords() {
  part='' step=link option='' output='' language='' answers='' native='' fat='' stripped=''
  inputs='' sources='' objects='' strangers='' libraries='' linkers='' stdin=''
  for word in "$@"; do
    if [ -n "$option" ]; then
      case $option in
      -o | --output) output=$word ;;
      -x | --language) language=$word ;;
      esac
      option=
      continue
    fi
    case $word in
    # Options of the driver's own, those that it refuses or drops, and files of options.
    @* | -- | --clang* | --codegen* | --persistent_worker | --driver-mode* | --help | --help-all | -j* | -felf-* | -fno-elf-* | -fdefer-* | -fno-defer-*) return 1 ;;
    --error-* | -save-temps* | --save-temps* | -fembed-* | -fstack-size-* | -femulated-* | -fbasic-block-* | -ftrap-*) return 1 ;;
    -flto-* | -f*unified-lto | -f*split-lto-unit | -fthin* | -f*whole-program-vtables | -fvirtual-function-e* | -f*use-linker-plugin) return 1 ;;
    -E | -M | -MM | -S | -fsyntax-only | -emit-llvm | -emit-ast | --version | -dumpmachine | -dumpversion | -print-* | --print-* | -###) answers=1 ;;
    -emit-* | --analyze | --preprocess | --assemble | -verify-pch | --precompile | -module-file-info | -rewrite-objc | -cc1*) return 1 ;;
    -extract-api | --autocomplete* | --dependencies | --user-dependencies | --for-linker* | -ipo | -gsplit-dwarf* | -gdwarf64) return 1 ;;
    -c | --compile) step=compile ;;
    -fno-lto) native=1 ;;
    -flto | -flto=*) native='' stripped=1 ;;
    -ffat-lto-objects) fat=1 stripped=1 ;;
    -fno-fat-lto-objects) fat='' stripped=1 ;;
    -Xlinker | -fuse-ld=* | --ld-path=*)
      linkers=1
      [ "$word" != -Xlinker ] || option=$word
      ;;
    -Wl,*) isLinkers "$word" || linkers=1 ;;
    -obj*) ;;
    -o?*) output=${word#-o} ;;
    --output=*) output=${word#--output=} ;;
    -x?*) language=${word#-x} ;;
    --language=*) language=${word#--language=} ;;
    -l* | -L* | --library-directory*)
      libraries=1
      if takesValue "$word"; then option=$word; fi
      ;;
    -?*) if takesValue "$word"; then option=$word; fi ;;
    *)
      inputs=1
      [ "$word" != - ] || stdin=1
      isProbe "$word" || [ "$word" = /dev/null ] || strangers=1
      case $language:$word in
      assembler*:*) ;;
      *header*:* | c++-*:*) return 1 ;;
      :- | none:- | :*.c | :*.i | :*.ll | :*.bc | :*.cc | :*.cp | :*.cxx | :*.cpp | :*.C | :*.ii) sources=1 ;;
      :*.[sS] | :*.sx | :*.asm) ;;
      :*.h | :*.H | :*.hh | :*.h[px][px] | none:*) return 1 ;;
      :*) objects=1 ;;
      *) sources=1 ;;
      esac
      ;;
    esac
  done
  # What an option without its value means clang says, or Node.
  [ -z "$option" ] || return 1
  if [ -n "$answers" ] || [ -z "$inputs" ]; then
    part=answer
  elif [ $step = compile ]; then
    if isProbe "$output"; then strangers=; fi
    if [ -n "$objects" ]; then
      return 1
    elif [ -z "$sources" ] || [ -n "$native" ] || [ -z "$strangers" ] || [ "$output" = /dev/null ]; then
      part=machine
    elif [ -n "$fat" ]; then
      part=fat
    fi
  elif [ -z "$linkers" ]; then
    if [ -n "$native" ] && [ -z "$objects" ]; then
      part=machine
    elif [ -z "$strangers" ] || [ "$output" = /dev/null ]; then
      part=machine
      # Libraries may have objects of ours, which only tsc-lto links.
      if [ -n "$libraries$objects" ]; then part=try; fi
      if [ $part = try ] && [ -n "$stdin" ]; then return 1; fi
    fi
  fi
  [ -n "$part" ]
}

# Sets `clang` and what it is `able` to do. Arguments: the file that tells, the clang that is named or an empty word.
findClang() {
  known=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/tsc-lto/$1
  [ -O "$known" ] || return 1
  searched=
  while IFS= read -r searched && IFS= read -r clang && IFS= read -r version && IFS= read -r real && IFS= read -r able; do
    if [ "$searched" = "$PATH" ] && { [ -z "$2" ] || [ "$2" = "$clang" ]; }; then break; fi
    searched=
  done < "$known"
  [ -n "$searched" ] && [ -x "$real" ] && [ ! "$real" -nt "$known" ] || return 1
  saved=$IFS
  IFS=:
  for folder in $PATH; do
    if [ "$folder" -nt "$known" ]; then
      IFS=$saved
      return 1
    fi
  done
  IFS=$saved
}

# Runs clang in the place of this shell. Arguments: the first word for it, or an empty one, and further words.
become() {
  first=$1
  shift
  exec "$clang" ${mode:+"$mode"} ${first:+"$first"} "$@"
}

# The same without the words that only link-time optimisation has, which are no values of options.
becomeWithout() {
  first=$1 option=
  shift
  for word do
    shift
    if [ -n "$option" ]; then
      option=
    else
      case $word in
      -flto | -flto=* | -fno-fat-lto-objects) continue ;;
      -ffat-lto-objects) [ -n "$first" ] || continue ;;
      -?*) if takesValue "$word"; then option=$word; fi ;;
      esac
    fi
    set -- "$@" "$word"
  done
  [ "$part" = try ] || become "$first" "$@"
  exec 3>&1
  errors=$("$clang" ${mode:+"$mode"} "$@" 2>&1 >&3 3>&-)
  status=$?
  exec 3>&-
  case $errors in *__lto_object_without_machine_code*) return 0 ;; esac
  [ -z "$errors" ] || printf '%s\n' "$errors" >&2
  exit $status
}

# Arguments: the word that makes clang a C++ driver or an empty one, then the command line.
execClang() {
  mode=$1
  shift
  readWords "$@" || return 0
  clang=${TSC_LTO_CLANG:-}
  case $clang in
  '') findClang clang '' || return 0 ;;
  *clang*)
    if [ $part = answer ]; then
      command -v "$clang" > /dev/null || return 0
    else
      findClang named-clang "$clang" || return 0
    fi
    ;;
  *) return 0 ;;
  esac
  needed=$part
  if [ $step = link ]; then needed=links-c; fi
  if [ $step = link ] && [ -n "$mode" ]; then needed=links-c++; fi
  case $part in
  answer) become '' "$@" ;;
  fat | machine | try)
    case " $able machine " in *" $needed "*) ;; *) return 0 ;; esac
    first=
    if [ $part = fat ]; then first=-flto=full; fi
    if [ -n "$stripped" ] || [ $part = try ]; then
      becomeWithout "$first" "$@"
    else
      become "$first" "$@"
    fi
    ;;
  esac
}
