/** Variables of the environment that the commands ask for, for the manual; a test holds the list against the code. */
export const environment: readonly (readonly [name: string, meaning: string])[] = [
  ["TSC_LTO_CLANG", "the clang that compiles, as --clang= of tsc-cc"],
  ["TSC_LTO_LD", "the linker that ld.tsc-lto, and for other targets tsc-cc, links code with"],
  ["TSC_LTO_RECORD", "a folder: each link keeps there what tsc-lto measure needs to do it again"],
  ["TSC_LTO_STACK_TRACE", "if it is not empty: show where an internal error was met"],
  [
    "TSC_LTO_SERVER",
    "auto or on: the commands are run by a service that stays warm; off (default): each by itself",
  ],
  ["TSC_LTO_REDIS_USER", "with which a farm's Redis is entered, where its address names none"],
  ["TSC_LTO_REDIS_PASSWORD", "and the password; it never stands on a command line"],
  ["TSC_LTO_REDIS_PASSWORD_FILE", "a file with the password"],
  ["TSC_LTO_REDIS_CACERT", "for rediss://: a file (PEM) with the authorities that are trusted"],
  ["TSC_LTO_REDIS_CERT", "and with the certificate that is shown"],
  ["TSC_LTO_REDIS_KEY", "and with its key"],
  ["TSC_LTO_BUNDLE", "no: run the modules that were built, not the bundles of them"],
  ["NO_COLOR", "if it is not empty: no colours on terminals"],
  [
    "XDG_CACHE_HOME",
    "where the choice of clang is kept, and compiled code of the commands where their own folder is read-only (default: ~/.cache)",
  ],
  ["TMPDIR", "where files lie that programs exchange (default: /tmp)"],
];
