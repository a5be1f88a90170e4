import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflows } from '../../../worker/bundle-workflows.ts';

/** Bundles the product's workflow code into a file. @returns the setting with its path for test files. */
export async function storeBundle(folder: string): Promise<Readonly<Record<string, string>>> {
  const file = path.join(folder, 'workflows.js');
  await writeFile(file, (await bundleWorkflows()).code);
  return { PUNCTUAL_TEST_BUNDLE: file };
}
