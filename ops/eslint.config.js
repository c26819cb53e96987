// Owns what the linter asks, of the product and of the tests alike: chiefly what only types can show,
// such as a promise that nobody waits for, a variant that nobody handles, a condition that cannot be
// otherwise, an `any` that leaks. House rules that are no matter of types are in test/house.
//
// `npx eslint -c ops/eslint.config.js .`

import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

/** node:test waits for these itself. */
const TEST_CALLS = ["test", "it", "describe", "suite", "before", "after", "beforeEach", "afterEach"];

export default defineConfig(
  { ignores: ["**/node_modules/", "**/.lockstep/"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["**/*.ts"],
    extends: [js.configs.recommended, tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: `${import.meta.dirname}/..` } },
    rules: {
      "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: TEST_CALLS }] }],
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: false, requireDefaultForNonUnion: false }],
      "@typescript-eslint/no-unnecessary-condition": ["error", { allowConstantLoopConditions: "only-allowed-literals" }],
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/return-await": ["error", "in-try-catch"],
      "@typescript-eslint/no-non-null-assertion": "error",
      eqeqeq: "error",
      // A port's promise may be answered without waiting for anything.
      "@typescript-eslint/require-await": "off",
      // Numbers in texts are what a reason is made of.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true, allowNullish: true }],
      // The compiler says it already.
      "@typescript-eslint/no-unused-vars": "off",
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      // What is not there fails the test either way.
      "@typescript-eslint/no-non-null-assertion": "off",
      // Scripted ports are object literals whose methods know no `this`.
      "@typescript-eslint/unbound-method": "off",
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: false }],
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: ["**/*.{js,mjs}"],
    extends: [js.configs.recommended],
    languageOptions: { globals: { process: "readonly", console: "readonly", URL: "readonly" } },
  },
);
