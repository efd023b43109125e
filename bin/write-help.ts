/** A part of the build: writes manual pages and completions to dist/share. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sharedFiles } from "./help/files.js";
import { processHost } from "./host/host.js";
import { ownPackage } from "./package.js";
import { makeSubcommands } from "./size/main.js";

const services = { host: processHost(), print: () => {}, complain: () => {} };
const parsers = makeSubcommands(services, () => {}).commands;
for (const [name, text] of sharedFiles(parsers)) {
  const path = join(ownPackage().directory, "dist/share", name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
