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

/** A test that fails with a mutation, twice, and passes without. */
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
  const run: Run = (testFiles, ...options) =>
    withMutation(bench, folder, mutation, (mutated) => failuresOf(mutated, testFiles, ...options));
  // By `--fail-fast` the first failure is enough. If that one means nothing, all of them count.
  for (const options of [['--fail-fast'], []]) {
    const failures = await run(mutation.testFiles, ...options);
    const suspects = new Set(failures.flatMap((failure) => filesOf(mutation.testFiles, failure)));
    for (const testFile of suspects) {
      const title = await confirmed(bench, run, testFile, failures, known);
      if (title !== null) {
        return { title, testFile };
      }
    }

    if (failures.length === 0) {
      return null;
    }
  }

  return null;
}

/** Runs test files of the mutated tree. @returns what failed. */
type Run = (
  testFiles: readonly string[],
  ...options: readonly string[]
) => Promise<readonly string[]>;

/**
 * A busy machine makes tests fail that have nothing to do with the fault: one that counts fails again, alone with the
 * tests of its file, and does not fail without the fault.
 *
 * @param before What failed when the file was run among others.
 * @returns its title, or null.
 */
async function confirmed(
  bench: Bench,
  run: Run,
  testFile: string,
  before: readonly string[],
  known: Known,
): Promise<string | null> {
  const again = await run([testFile]);
  // ava writes the file before the title where it runs several, and a single one has none.
  const isIn = (title: string, failures: readonly string[]): boolean =>
    failures.some((failure) => failure === title || failure.endsWith(` › ${title}`));
  let twice = again.filter((title) => isIn(title, before));
  if (twice.length === 0 && again.length > 0) {
    const third = await run([testFile]);
    twice = again.filter((title) => isIn(title, third));
  }

  if (twice.length === 0) {
    return null;
  }

  let anyway = known.get(testFile) ?? new Set(await failuresOf(bench, [testFile]));
  if (twice.every((title) => anyway.has(title))) {
    const once = anyway;
    anyway = new Set((await failuresOf(bench, [testFile])).filter((title) => once.has(title)));
  }

  known.set(testFile, anyway);
  return twice.find((title) => !anyway.has(title)) ?? null;
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
