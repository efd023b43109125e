/**
 * `npm run screenshots [-- package] [--measured FILE]`: the pictures of the manual, of the page that `tsc-lto size --html` writes,
 * taken in Chromium. The program is a benchmark's, as it is and, for what is before, without the outliners.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser, chromium } from "../support/browser.js";
import { benchmarkObjects } from "./benchmark-objects.js";
import { parseCommandLine } from "./options.js";
import { selectRecipes } from "./packages/registry.js";
import { run } from "./process.js";
import { projectRoot } from "./root.js";

const usage = `usage: npm run screenshots [-- package] [options]
  package         a benchmark program (default lua)
  --measured F    what tsc-lto measure --json printed of the program, for the picture of decisions
  --out DIR       where the pictures go (default fixtures/manual)`;

const { values, words } = parseCommandLine(
  { measured: { type: "string" }, out: { type: "string", default: "fixtures/manual" } },
  usage,
);
const [name = "lua"] = words;
if (chromium === null) {
  console.error("Chromium is not installed");
  process.exit(2);
}

const root = projectRoot();
const out = resolve(root, String(values["out"]));
mkdirSync(out, { recursive: true });
const { objects, dir } = await benchmarkObjects(selectRecipes([name])[0]!, "Oz");

async function must(command: readonly string[]): Promise<void> {
  const { status, stderr } = await run(command, {});
  if (status !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
}

/** As far as it can be linked without its libraries. */
async function linked(program: string, ...options: string[]): Promise<void> {
  const assembly = `${program}.s`;
  await must([
    join(root, "bin/tsc-lto"),
    ...objects,
    "-O",
    "z",
    "-o",
    assembly,
    `--size-report=${program}.size.json`,
    ...options,
  ]);
  await must(["as", "--64", "-o", `${program}.o`, assembly]);
  const words = ["--unresolved-symbols=ignore-all", "--eh-frame-hdr", "-e", "0"];
  await must(["ld", ...words, "-o", program, `${program}.o`]);
}

const program = join(dir, name);
const before = join(dir, `${name}-before`);
await linked(program);
await linked(before, "--no-outline", "--skip-pass=ir-outline");
const page = join(dir, "page.html");
const measured = values["measured"] === undefined ? [] : ["--measured", resolve(String(values["measured"]))];
const size = [join(root, "bin/tsc-lto"), "size", program, "--html"];
await must([...size, page, ...measured]);
await must([...size, join(dir, "changed.html"), "--before", before]);

interface Picture {
  readonly file: string;
  readonly page: string;
  readonly fragment: string;
  readonly scheme?: "dark";
  /** A part to point at. */
  readonly key?: string;
}
const pictures: readonly Picture[] = [
  { file: "map", page, fragment: "", key: "ArrowRight" },
  { file: "changed", page: join(dir, "changed.html"), fragment: "use=code", scheme: "dark" },
  { file: "calls", page, fragment: "view=calls&symbol=main" },
  { file: "table", page: join(dir, "changed.html"), fragment: "view=table&group=file&sort=change" },
  ...(measured.length > 0 ? [{ file: "passes", page, fragment: "view=passes" }] : []),
];

const browser = await Browser.start(chromium, 1100, 680);
try {
  for (const { file, page: shown, fragment, scheme = "light", key } of pictures) {
    await browser.prefer(scheme);
    await browser.open(`${pathToFileURL(shown).href}#${fragment}`);
    if (key !== undefined) {
      await browser.value("document.querySelector('[role=application]').focus()");
      await browser.press(key);
    }
    await new Promise((done) => setTimeout(done, 200));
    writeFileSync(join(out, `${file}.webp`), await browser.screenshot("webp"));
    console.log(join(out, `${file}.webp`));
  }
} finally {
  await browser.close();
}
