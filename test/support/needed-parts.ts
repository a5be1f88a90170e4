import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Part } from './needs.ts';

/** The setting through which a test finds each part. A file that names the setting, or `needs` the part, needs it. */
const settings: readonly (readonly [RegExp, Part])[] = [
  [/PUNCTUAL_TEST_(?:DATABASE_URL|TEMPLATE|POSTGRES_LOG)/v, 'postgres'],
  [/PUNCTUAL_TEST_TEMPORAL_ADDRESS/v, 'temporal'],
  [/PUNCTUAL_TEST_GOTOSOCIAL_/v, 'gotosocial'],
  [/PUNCTUAL_TEST_(?:PDS|PLC)_/v, 'pds'],
  [/PUNCTUAL_TEST_SERVER_PATH/v, 'test-server'],
  [/PUNCTUAL_TEST_S3_/v, 'versitygw'],
  [/PUNCTUAL_TEST_GCS_/v, 'gcs-emulator'],
  [/PUNCTUAL_TEST_PGBOUNCER_/v, 'pgbouncer'],
  [/PUNCTUAL_TEST_CHROMIUM_/v, 'chromium'],
  [/PUNCTUAL_TEST_CONTAINER_CHECKS/v, 'container-checks'],
  [/PUNCTUAL_TEST_PYTHON_GENERATOR/v, 'python-generator'],
  [/PUNCTUAL_TEST_TYPESCRIPT_GENERATOR/v, 'typescript-generator'],
  [/PUNCTUAL_TEST_API_LINTERS/v, 'api-linters'],
];

export type Needed = { readonly parts: ReadonlySet<Part>; readonly bundle: boolean };

/**
 * The parts that test files need, from their text and the text of their imports below `test/`.
 *
 * @returns undefined when the arguments name no files; then every part may be needed.
 */
export function neededParts(args: readonly string[]): Needed | undefined {
  const files = args.filter((arg) => arg.endsWith('.test.ts'));
  if (files.length === 0 || !files.every((file) => existsSync(file))) {
    return undefined;
  }

  const seen = new Set<string>();
  const parts = new Set<Part>();
  let bundle = false;
  const rest = files.map((file) => path.resolve(file));
  for (let file = rest.pop(); file !== undefined; file = rest.pop()) {
    if (seen.has(file)) {
      continue;
    }

    seen.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [setting, part] of settings) {
      if (setting.test(text)) {
        parts.add(part);
      }
    }
    for (const [, names = ''] of text.matchAll(/\bneeds\((?<names>['\-a-z, ]*)\)/gv)) {
      for (const [, name] of names.matchAll(/'(?<name>[\-a-z]+)'/gv)) {
        parts.add(name as Part);
      }
    }
    bundle ||= text.includes('PUNCTUAL_TEST_BUNDLE');
    for (const [, target = ''] of text.matchAll(/from '(?<target>\.[^']+)'/gv)) {
      const imported = path.resolve(path.dirname(file), target);
      if (imported.includes(`${path.sep}test${path.sep}`) && imported.endsWith('.ts')) {
        rest.push(imported);
      }
    }
  }
  return { parts, bundle };
}
