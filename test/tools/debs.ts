/**
 * `npm run debs [-- package…]`: `dpkg-buildpackage` of Debian source packages with `hardening=+all optimize=+lto` and our compilers,
 * with their tests; the packages are installed in a folder, and gcc links the archives of their -dev packages.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { commandsOnPath } from "./commands.js";
import { debianSource } from "./debian.js";
import { type DebuggerStop, debuggerSays } from "./debian-debug.js";
import { parseCommandLine } from "./options.js";
import { mustRun, run } from "./process.js";
import { cacheDir, findProgram } from "./root.js";
import { makeTally } from "./tally.js";

interface Library {
  /** Its name after `-l`. */
  readonly library: string;
  /** A program that uses it. */
  readonly program: string;
  readonly prints: string;
}

interface Deb {
  readonly debian: string;
  readonly library?: Library;
  /** Of a package of a library, in the program that uses it. */
  readonly stop?: DebuggerStop;
}

const packages: readonly Deb[] = [
  {
    debian: "popt",
    library: {
      library: "popt",
      program: `#include <popt.h>
      #include <stdio.h>
      int main(void) {
        const char *words[] = {"x", "--number=42", "rest"};
        int number = 0;
        struct poptOption options[] = {{"number", 'n', POPT_ARG_INT, &number, 0, 0, 0}, POPT_TABLEEND};
        poptContext context = poptGetContext("x", 3, words, options, 0);
        int status = poptGetNextOpt(context);
        printf("%d %d %s\\n", status, number, poptGetArg(context));
        poptFreeContext(context);
      }`,
      prints: "-1 42 rest\n",
    },
    stop: {
      program: "use",
      words: [],
      file: "src/popt.c",
      text: "if ((rc = poptParseInteger(&aNUM, argInfo, con->os->nextArg)) != 0)",
      says: [
        /^#0 +poptSaveArg \(con=0x[0-9a-f]+, /m,
        /^#1 +poptGetNextOpt \(con=.* at popt\.c:\d/m,
        /^argInfo = 2$/m,
        /^aNUM = 0$/m,
      ],
    },
  },
  {
    debian: "lzo2",
    library: {
      library: "lzo2",
      program: `#include <lzo/lzo1x.h>
      #include <stdio.h>
      #include <string.h>
      static unsigned char text[4096], packed[8192], back[4096], work[LZO1X_1_MEM_COMPRESS];
      int main(void) {
        lzo_uint size = 0, again = sizeof back;
        memset(text, 'a', sizeof text);
        int status = lzo_init() | lzo1x_1_compress(text, sizeof text, packed, &size, work);
        status |= lzo1x_decompress_safe(packed, size, back, &again, 0);
        printf("%d %d %d\\n", status, size < 100, (int)again - memcmp(text, back, sizeof text));
      }`,
      prints: "0 1 4096\n",
    },
  },
  {
    debian: "tree",
    stop: {
      program: "root/usr/bin/tree",
      words: ["source/doc"],
      file: "list.c",
      text: "subtotal = listdir(dirname[i]",
      says: [
        /^#1 +.* in main \(argc=2, /m,
        /^needfulltree = FALSE$/m,
        /^subtotal = \{files = 0, dirs = 0, size = 0\}$/m,
        /^i = 0$/m,
      ],
    },
  },
  {
    debian: "lzip",
    stop: {
      program: "root/usr/bin/lzip.lzip",
      words: ["-c", "source/main.cc"],
      file: "main.cc",
      text: "if( !encoder->encode_member( size ) )",
      says: [
        /^#0 +\(anonymous namespace\)::compress \(/m,
        /^#1 +main \(/m,
        /^pp = @0x.*name_ = "source\/main\.cc"/m,
        /^partial_volume_size = 0$/m,
      ],
    },
  },
];

const usage = `usage: npm run debs -- [package…] [options]
  package  ${packages.map(({ debian }) => debian).join(" ")} (default: all)
  -v       show where the output of each build is`;
const { values, words } = parseCommandLine({}, usage);
const chosen = words.length === 0 ? packages : packages.filter(({ debian }) => words.includes(debian));
if (chosen.length < words.length) {
  console.error(usage);
  process.exit(2);
}

const { report, finish } = makeTally();

/** The source with `optimize=+lto` among its maintainer's options, where its rules set them. */
async function sourceWithLto(debian: string, dir: string): Promise<void> {
  rmSync(join(dir, ".."), { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  cpSync(await debianSource(debian), dir, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
  });
  const rules = join(dir, "debian/rules");
  const before = readFileSync(rules, "utf8");
  const after = before.replace(
    /^(export DEB_BUILD_MAINT_OPTIONS\s*:?=\s*hardening=\+all)$/m,
    "$1 optimize=+lto",
  );
  if (after === before) throw new Error("its rules do not say hardening=+all");
  writeFileSync(rules, after);
}

/** Installs packages in an empty folder. */
async function install(root: string, files: readonly string[]): Promise<void> {
  mkdirSync(join(root, "var/lib/dpkg/updates"), { recursive: true });
  mkdirSync(join(root, "var/lib/dpkg/info"));
  writeFileSync(join(root, "var/lib/dpkg/status"), "");
  // What they depend on is not there.
  await mustRun(["dpkg", `--root=${root}`, "--force-depends", "--force-script-chrootless", "-i", ...files]);
}

/** What the archive of a library's -dev package does in a program that gcc links. */
async function checkLibrary(
  debian: string,
  folder: string,
  used: Library,
  isStopped: boolean,
): Promise<void> {
  const { library, program, prints } = used;
  const root = join(folder, "root");
  const found = async (name: string): Promise<string | undefined> =>
    (await mustRun(["find", root, "-name", name])).stdout.toString().split("\n").find(Boolean);
  const archive = await found(`lib${library}.a`);
  report(archive !== undefined, `${debian} has lib${library}.a`);
  if (archive === undefined) return;
  writeFileSync(join(folder, "use.c"), program);
  const link = (...words: string[]) =>
    mustRun(["gcc", `-I${root}/usr/include`, "use.c", ...words], { cwd: folder });
  await link(archive, "-o", "use-archive");
  const result = await run([join(folder, "use-archive")]);
  const text = result.stdout.toString("latin1");
  report(result.status === 0 && text === prints, `${debian} linked by gcc`, text === prints ? "" : text);
  // The archive has no debug information in a package.
  const shared = isStopped ? await found(`lib${library}.so`) : undefined;
  if (shared !== undefined) await link(shared, `-Wl,-rpath,${dirname(realpathSync(shared))}`, "-o", "use");
}

async function check({ debian, library, stop }: Deb): Promise<void> {
  const folder = cacheDir("debs", debian);
  const source = join(folder, "source");
  await sourceWithLto(debian, source);
  const built = await run(["dpkg-buildpackage", "-us", "-uc", "-b", "-d"], {
    cwd: source,
    env: {
      ...(process.env as Record<string, string>),
      CC: "tsc-cc",
      CXX: "tsc-c++",
      PATH: `${commandsOnPath("debs")}:${process.env["PATH"]}`,
      // dwz 0.15 does not know all sections of clang's DWARF 5.
      DEB_CFLAGS_APPEND: "-gdwarf-4",
      DEB_CXXFLAGS_APPEND: "-gdwarf-4",
    },
    timeoutMs: 1_200_000,
  });
  const log = join(folder, "build.log");
  const output = `${built.stdout.toString("latin1")}\n${built.stderr}`;
  writeFileSync(log, output);
  if (values["verbose"] === true) console.log(`     ${debian}: ${log}`);
  report(
    built.status === 0,
    `${debian} dpkg-buildpackage`,
    built.status === 0 ? "" : built.stderr.slice(-300),
  );
  if (built.status !== 0) return;
  report(
    /-flto=auto -ffat-lto-objects.*-fstack-protector-strong/.test(output),
    `${debian} flags are those asked for`,
  );
  const debs = readdirSync(folder).filter((name) => name.endsWith(".deb"));
  const root = join(folder, "root");
  await install(
    root,
    debs.map((name) => join(folder, name)),
  );
  report(
    ["-dbgsym_", ...(library === undefined ? [] : ["-dev_"])].every((part) =>
      debs.some((name) => name.includes(part)),
    ),
    `${debian} installs ${debs.join(" ")}`,
  );
  if (library !== undefined) await checkLibrary(debian, folder, library, stop !== undefined);
  if (stop === undefined) return;
  const debugger_ = findProgram("gdb");
  if (debugger_ === undefined) return console.log(`skip ${debian} in gdb: no gdb`);
  for (const { isSaid, pattern, all } of await debuggerSays(debugger_, folder, stop))
    report(isSaid, `${debian} in gdb: ${pattern}`, isSaid ? "" : all);
}

for (const each of chosen) {
  const missing = ["dpkg-buildpackage", "dh", "gcc"].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) console.log(`skip ${each.debian}: no ${missing.join(", ")}`);
  else await check(each).catch((e: Error) => report(false, each.debian, e.message.slice(-300)));
}
finish();
