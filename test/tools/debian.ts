/**
 * Source packages of Debian, fetched into the cache and unpacked there.
 *
 * apt-get runs with a private configuration: its own lists, cache and a generated sources file with deb-src entries
 * made from the machine's own Debian entries (one-line and deb822 formats), so the machine's configuration stays as
 * it is. Assumes a Debian system with network access at the first use of a package; later uses need neither.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "./process.js";
import { cacheDir, findProgram } from "./root.js";

interface Entry {
  readonly uri: string;
  readonly suite: string;
  readonly components: string;
  readonly signedBy?: string;
}

/** Entries of one-line format: `deb [options] uri suite component…`. */
export function parseOneLine(text: string): Entry[] {
  const entries: Entry[] = [];
  for (const line of text.split("\n")) {
    const m = /^\s*deb(?:-src)?\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*(.*?)\s*(?:#.*)?$/.exec(line);
    if (m === null) continue;
    const signedBy = /signed-by=(\S+)/i.exec(m[1] ?? "")?.[1];
    entries.push({
      uri: m[2]!,
      suite: m[3]!,
      components: m[4]!,
      ...(signedBy === undefined ? {} : { signedBy }),
    });
  }
  return entries;
}

/** Entries of deb822 format: stanzas of fields, one entry for each pair of URI and suite. */
export function parseDeb822(text: string): Entry[] {
  const entries: Entry[] = [];
  for (const stanza of text.split(/\n\s*\n/)) {
    const fields = new Map<string, string>();
    let last = "";
    for (const line of stanza.split("\n")) {
      if (line.startsWith("#")) continue;
      const field = /^([A-Za-z-]+):\s*(.*)$/.exec(line);
      if (field !== null) fields.set((last = field[1]!.toLowerCase()), field[2]!.trim());
      else if (/^\s/.test(line) && last !== "") fields.set(last, `${fields.get(last)} ${line.trim()}`);
    }
    if (/^no$/i.test(fields.get("enabled") ?? "")) continue;
    const signedBy = fields.get("signed-by");
    for (const uri of (fields.get("uris") ?? "").split(/\s+/).filter(Boolean)) {
      for (const suite of (fields.get("suites") ?? "").split(/\s+/).filter(Boolean)) {
        const file = signedBy?.startsWith("/") ? { signedBy } : {};
        entries.push({ uri, suite, components: fields.get("components") ?? "", ...file });
      }
    }
  }
  return entries;
}

/** deb-src lines for the Debian archives among the machine's apt sources. */
function sourceLines(): string {
  const entries: Entry[] = [];
  const read = (file: string) => {
    if (existsSync(file)) {
      entries.push(...(file.endsWith(".sources") ? parseDeb822 : parseOneLine)(readFileSync(file, "utf8")));
    }
  };
  read("/etc/apt/sources.list");
  const parts = "/etc/apt/sources.list.d";
  for (const f of existsSync(parts) ? readdirSync(parts).sort() : []) {
    if (/\.(list|sources)$/.test(f)) read(join(parts, f));
  }
  const debian = entries.filter(
    (e) => /debian\.org|\/debian(-security)?\/?$/.test(e.uri) && /\bmain\b/.test(e.components),
  );
  if (debian.length === 0) throw new Error("no Debian archive among the machine's apt sources");
  const lines = debian.map((e) => {
    const options = e.signedBy === undefined ? "" : `[signed-by=${e.signedBy}] `;
    return `deb-src ${options}${e.uri} ${e.suite} main`;
  });
  return [...new Set(lines)].join("\n") + "\n";
}

/** The plain release among the suites, as bookworm beside bookworm-updates and bookworm-security. */
function releaseSuite(): string {
  const suites = sourceLines()
    .trim()
    .split("\n")
    .map((l) => l.split(" ").at(-2)!);
  return suites.find((s) => !/[-/]/.test(s)) ?? suites[0]!;
}

/** apt-get with the private configuration, as the first words of a command. */
async function privateApt(): Promise<string[]> {
  const dir = cacheDir("apt");
  for (const d of ["lists/partial", "archives/partial", "state"])
    mkdirSync(join(dir, d), { recursive: true });
  const config = join(dir, "apt.conf");
  const sources = join(dir, "sources.list");
  writeFileSync(
    config,
    [
      `Dir::Etc::SourceList "${sources}";`,
      'Dir::Etc::SourceParts "/dev/null";',
      `Dir::State "${join(dir, "state")}";`,
      `Dir::State::Lists "${join(dir, "lists")}";`,
      'Dir::State::Status "/var/lib/dpkg/status";',
      `Dir::Cache "${dir}";`,
      'APT::Sandbox::User "root";',
      'Acquire::Languages "none";',
      "",
    ].join("\n"),
  );
  const lines = sourceLines();
  const apt = ["env", `APT_CONFIG=${config}`, "apt-get", "-q"];
  if (!existsSync(sources) || readFileSync(sources, "utf8") !== lines) {
    writeFileSync(sources, lines);
    try {
      await mustRun([...apt, "update"]);
    } catch (e) {
      rmSync(sources);
      throw e;
    }
  }
  return apt;
}

let queue: Promise<unknown> = Promise.resolve();

/**
 * The unpacked source of a Debian source package, below the cache; fetched once. The folder is pristine: copy it
 * before building in it.
 */
export function debianSource(name: string): Promise<string> {
  const next = queue.then(() => fetchSource(name)); // one apt-get at a time
  queue = next.catch(() => undefined);
  return next;
}

async function fetchSource(name: string): Promise<string> {
  const target = join(cacheDir("sources"), name);
  if (existsSync(target)) return target;
  const download = cacheDir("downloads", name);
  if (!readdirSync(download).some((f) => f.endsWith(".dsc"))) {
    const apt = await privateApt();
    const fetch = (what: string) => mustRun([...apt, "source", "--download-only", what], { cwd: download });
    try {
      await fetch(name);
    } catch {
      // Lists may be old, and a mirror may lack the newest security update: then the release's own version will do.
      await mustRun([...apt, "update"]);
      await fetch(name).catch(() => fetch(`${name}/${releaseSuite()}`));
    }
  }
  const files = readdirSync(download);
  const partial = `${target}.partial`;
  rmSync(partial, { recursive: true, force: true });
  if (findProgram("dpkg-source") !== undefined) {
    await mustRun(["dpkg-source", "--no-check", "-x", files.find((f) => f.endsWith(".dsc"))!, partial], {
      cwd: download,
    });
  } else {
    mkdirSync(partial, { recursive: true });
    const orig = files.find((f) => /\.orig\.tar\.(gz|xz|bz2)$/.test(f));
    if (orig === undefined) throw new Error(`${name}: no original tar among ${files.join(" ")}`);
    await mustRun(["tar", "-xf", join(download, orig), "--strip-components=1", "-C", partial]);
  }
  renameSync(partial, target);
  return target;
}
