import { defineConfig } from "vitest/config";

/** They put something else in a module's place, which no other file may see. */
const replacing = ["test/api/link.test.ts"];

/** The others share what they load: loading it for each file took two fifths of their time. */
const common = { testTimeout: 120_000, pool: "threads" as const, globalSetup: "test/support/built-setup.ts" };

export default defineConfig({
  test: {
    // By default one core is left idle: on two, that is half of them.
    maxWorkers: "100%",
    projects: [
      {
        test: {
          ...common,
          name: "shared",
          include: ["test/**/*.test.ts"],
          exclude: replacing,
          isolate: false,
        },
      },
      { test: { ...common, name: "isolated", include: replacing } },
    ],
  },
});
