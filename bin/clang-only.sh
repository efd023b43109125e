# Read by tsc-cc and tsc-c++: where clang does all, as for questions about the compiler and for the preprocessor, it takes the place of
# this shell, for Node takes longer to start than clang to answer. In doubt nothing is done here, and Node decides.
#
# The clang is the one that is named, or the one that was found last (bin/cc/compiler-choice.ts), if nothing on PATH has changed.

isClangs() {
  before=
  found=
  for word in "$@"; do
    case $word in
    # Options of the driver's own, those that it refuses, and files of options.
    @* | --clang* | --codegen* | --driver-mode* | --help* | -j* | -felf-* | -fno-elf-* | -fdefer-* | -fno-defer-*) return 1 ;;
    --error-* | -save-temps* | --save-temps* | -fembed-* | -fstack-size-* | -femulated-* | -fbasic-block-* | -ftrap-*) return 1 ;;
    -E | -M | -MM | -fsyntax-only | --version | -dumpmachine | -dumpversion | -print-* | --print-* | -###)
      # After an option it might be its value.
      case $before in
      '' | [!-]* | -c | -v | -w | -P | -C | -E | -g | -O[0-9sz] | -W[a-z]* | -std=* | -f[a-z]* | -[DUI]?* | -dM | -pipe | -pthread) found=1 ;;
      *) return 1 ;;
      esac
      ;;
    esac
    before=$word
  done
  [ -n "$found" ]
}

lastClang() {
  known=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/tsc-lto/clang
  [ -O "$known" ] || return 1
  { IFS= read -r searched && IFS= read -r clang; } < "$known" || return 1
  [ "$searched" = "$PATH" ] && [ -x "$clang" ] || return 1
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

# Arguments: the word that makes clang a C++ driver or an empty one, then the command line.
execClang() {
  mode=$1
  shift
  isClangs "$@" || return 0
  clang=${TSC_LTO_CLANG:-}
  case $clang in
  '') lastClang || return 0 ;;
  *clang*) command -v "$clang" > /dev/null || return 0 ;;
  *) return 0 ;;
  esac
  exec "$clang" ${mode:+"$mode"} "$@"
}
