import { globSync, readFileSync } from 'node:fs';
import { cp, realpath, symlink } from 'node:fs/promises';
import path from 'node:path';
import { PlainError } from '../../scripts/terminal.ts';
import type { Mutation } from './mutation.ts';

/** Of a tree, what its copy goes without: what is linked, what is large, what runs there. */
const left: ReadonlySet<string> = new Set(['node_modules', '.git', '.data']);

/** A mutation of a tree: what its file becomes, and which test files are asked. */
export type Fitted = Mutation & {
  readonly original: string;
  readonly mutated: string;
  readonly testFiles: readonly string[];
};

/** @throws PlainError that names each mutation which does not fit the tree, so that none is skipped unseen. */
export function fitAll(mutations: readonly Mutation[], tree: string): Fitted[] {
  const all = globSync('test/**/*.test.ts', { cwd: tree }).toSorted();
  const problems: string[] = [];
  const fitted = mutations.map((mutation) => {
    const { file, find, replace, tests, fault } = mutation;
    const original = readFileSync(path.join(tree, file), 'utf8');
    const count = original.split(find).length - 1;
    const testFiles = all.filter((name) => tests.some((entry) => isOf(name, entry)));
    if (count !== 1 || find === replace) {
      problems.push(`${file}, "${fault}": its text occurs ${count} times, not once.`);
    }

    if (testFiles.length === 0) {
      problems.push(`${file}, "${fault}": there are no tests in ${tests.join(', ')}.`);
    }

    return { ...mutation, original, mutated: original.replace(find, () => replace), testFiles };
  });
  if (problems.length > 0) {
    throw new PlainError(`Mutations that do not fit ${tree}:\n- ${problems.join('\n- ')}`);
  }

  return fitted;
}

const isOf = (testFile: string, entry: string): boolean =>
  entry.includes('*')
    ? path.matchesGlob(testFile, entry)
    : testFile === `${entry}.test.ts` || testFile.startsWith(`${entry}/`);

/** Copies a tree, so that nobody who works in it meets a fault. Its packages are linked. */
export async function copyTree(tree: string, to: string): Promise<void> {
  await cp(tree, to, {
    recursive: true,
    filter: (source) => !left.has(path.basename(source)),
  });
  await symlink(await realpath(path.join(tree, 'node_modules')), path.join(to, 'node_modules'));
}
