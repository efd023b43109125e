import type { AddSubcommand } from "./main.js";
export const addMeasure: AddSubcommand = () => {};
