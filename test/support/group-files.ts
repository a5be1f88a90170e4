import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..', '..');

/** The tests of a group run concurrently, so in a larger group each would take longer, up to its time limit. */
const mostFiles = 4;

/**
 * Groups the test files of each folder, so that the files of a group share a process. Loading modules takes half of the
 * processor time of most files. Writes a file for each group that imports its test files.
 *
 * @param folder An empty folder within the project. @param files Test files, relative to the project.
 * @returns the files for ava, relative to the project.
 */
export function groupFiles(folder: string, files: readonly string[]): string[] {
  mkdirSync(folder, { recursive: true });
  const alone = files.filter(needsOwnProcess);
  const shared = files.filter((file) => !alone.includes(file));
  const grouped = Object.entries(Object.groupBy(shared, (file) => path.dirname(file)));
  const written = grouped.flatMap(([from, inFolder = []]) =>
    split(inFolder).map((group, index) => {
      const name = path.relative('test', from).replaceAll(path.sep, '-');
      const file = path.join(folder, `${name}-${index + 1}.test.ts`);
      const imports = group.map((member) => path.relative(folder, path.join(root, member)));
      writeFileSync(file, imports.map((target) => `import '${target}';\n`).join(''));
      return path.relative(root, file);
    }),
  );
  return [...written, ...alone];
}

/**
 * Serial tests, hooks and the environment affect the whole process. A top-level `await` delays the tests of its file
 * until the other files have declared theirs, and ava refuses tests from then on.
 */
const needsOwnProcess = (file: string): boolean =>
  /\btest\.(?:serial|before|after)|\bprocess\.env\[.*\] = |^const (?!.*\basync\b).*\bawait\b/mv.test(
    readFileSync(path.join(root, file), 'utf8'),
  );

/** Splits a list into parts of nearly equal size. */
function split<T>(list: readonly T[]): T[][] {
  const parts = Math.ceil(list.length / mostFiles);
  const start = (part: number): number => Math.floor((part * list.length) / parts);
  return Array.from({ length: parts }, (_, part) => list.slice(start(part), start(part + 1)));
}
