import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { failuresOf, type Bench } from './ava.ts';
import type { Fitted } from './tree.ts';

/** Bundles the workflows of a tree into a folder. @returns the setting that tells test files where. */
export async function bundleOf(
  tree: string,
  folder: string,
): Promise<Readonly<Record<string, string>>> {
  const module = pathToFileURL(path.join(tree, 'test/support/services/bundle.ts'));
  const { storeBundle } = (await import(
    module.href
  )) as typeof import('../support/services/bundle.ts');
  return storeBundle(folder);
}

/** Tests that also fail without any mutation, by file; a file is run once for it. */
export type Known = Map<string, ReadonlySet<string>>;

/** A test that fails with a mutation and passes without. */
export type Caught = { readonly title: string; readonly testFile: string };

/**
 * Tries one mutation.
 *
 * @param folder For a bundle of mutated workflows; that of `bench.env` is somewhere else.
 * @param likely The file of tests to ask first, if it is among the selected ones.
 * @returns null when no test notices.
 */
export async function tryMutation(
  bench: Bench,
  folder: string,
  mutation: Fitted,
  known: Known,
  likely: string | undefined,
): Promise<Caught | null> {
  const first = mutation.testFiles.filter((file) => file === likely);
  const others = mutation.testFiles.filter((file) => file !== likely);
  for (const testFiles of [first, others].filter(({ length }) => length > 0)) {
    const caught = await tryFiles(bench, folder, { ...mutation, testFiles }, known);
    if (caught) {
      return caught;
    }
  }

  return null;
}

async function tryFiles(
  bench: Bench,
  folder: string,
  mutation: Fitted,
  known: Known,
): Promise<Caught | null> {
  // By `--fail-fast` the first failure is enough. If that one is no news, all of them count.
  for (const options of [['--fail-fast'], []]) {
    const failures = await withMutation(bench, folder, mutation, (mutated) =>
      failuresOf(mutated, mutation.testFiles, ...options),
    );
    for (const title of failures) {
      const suspects = filesOf(mutation.testFiles, title);
      if (!(await failsAnyway(bench, suspects, title, known))) {
        return { title, testFile: suspects[0] ?? '' };
      }
    }

    if (failures.length === 0) {
      return null;
    }
  }

  return null;
}

async function withMutation<T>(
  bench: Bench,
  folder: string,
  { file, original, mutated, tests }: Fitted,
  run: (bench: Bench) => Promise<T>,
): Promise<T> {
  const target = path.join(bench.tree, file);
  await writeFile(target, mutated);
  try {
    // Tests of pure functions start no worker.
    const isInBundle = /^(?:workflows|domain)\//v.test(file);
    const isBundleUsed = isInBundle && tests.some((entry) => !entry.startsWith('test/domain'));
    const env = isBundleUsed ? await bundleOf(bench.tree, folder) : {};
    return await run({ ...bench, env: { ...bench.env, ...env } });
  } finally {
    await writeFile(target, original);
  }
}

async function failsAnyway(
  bench: Bench,
  suspects: readonly string[],
  failure: string,
  known: Known,
): Promise<boolean> {
  for (const file of suspects) {
    const failing = known.get(file) ?? new Set(await failuresOf(bench, [file]));
    known.set(file, failing);
    // ava writes the file before the title where it runs several, and a single one has none.
    if ([...failing].some((title) => failure === title || failure.endsWith(` › ${title}`))) {
      return true;
    }
  }

  return false;
}

/** In which file a test may be that ava calls `posts › create › title`: all of them, if that is not to be told. */
function filesOf(testFiles: readonly string[], failure: string): readonly string[] {
  const found = testFiles.filter((file) => {
    const parts = file.replace(/\.test\.ts$/v, '').split('/');
    return (
      failure.includes(file) ||
      parts.some((_, index) => failure.startsWith(`${parts.slice(index).join(' › ')} › `))
    );
  });
  return found.length > 0 ? found : testFiles;
}
