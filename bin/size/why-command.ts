import type { AddSubcommand } from "./main.js";
export const addWhy: AddSubcommand = () => {};
