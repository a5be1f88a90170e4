import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PlainError } from '../../scripts/terminal.ts';
import { accountMutations } from './accounts.ts';
import { apiMutations } from './api.ts';
import { readCatchers, rememberCatcher } from './catchers.ts';
import { deliveryMutations } from './deliveries.ts';
import { domainMutations } from './domain.ts';
import { egressMutations } from './egress.ts';
import { ledgerMutations } from './ledger.ts';
import { metricsMutations } from './metrics.ts';
import type { Mutation } from './mutation.ts';
import { networkMutations } from './networks.ts';
import { readOptions, type MutationOptions } from './options.ts';
import { postMutations } from './posts.ts';
import { shareServices } from './services.ts';
import { copyTree, fitAll, type Fitted } from './tree.ts';
import { bundleOf, tryMutation, type Known } from './try-mutation.ts';

// `npm run mutations [-- --tree DIR] [-- --only REGEXP] [-- --list]`: puts one fault after the other into a copy of the
// product and says of each whether the tests notice.

const all: readonly Mutation[] = [
  ...accountMutations,
  ...domainMutations,
  ...ledgerMutations,
  ...deliveryMutations,
  ...postMutations,
  ...apiMutations,
  ...egressMutations,
  ...networkMutations,
  ...metricsMutations,
];

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => interrupted.abort());
}

const say = (line: string): void => console.log(line);

try {
  process.exit(await check(readOptions(process.argv.slice(2)), interrupted.signal));
} catch (error) {
  console.error(error instanceof PlainError || interrupted.signal.aborted ? `${error}` : error);
  process.exit(1);
}

/** @returns the exit code: 0 when each fault was noticed. */
async function check({ tree, only, list }: MutationOptions, signal: AbortSignal): Promise<number> {
  const wanted = fitAll(all, tree).filter(({ file, fault }) => only.test(`${file}: ${fault}`));
  if (list) {
    for (const { file, fault, testFiles } of wanted) {
      say(`${file}: ${fault} (${testFiles.length} files of tests)`);
    }

    say(`${wanted.length} mutations`);
    return 0;
  }

  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-mutations-'));
  // Where this runs as root, PostgreSQL runs as somebody else and has to pass.
  await chmod(folder, 0o711);
  const shared = await shareServices(folder, signal);
  try {
    return await tryAll(wanted, { tree, folder, env: shared.env, signal });
  } finally {
    await shared.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

type Stand = {
  readonly tree: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

async function tryAll(mutations: readonly Fitted[], stand: Stand): Promise<number> {
  const { folder, signal } = stand;
  const tree = path.join(folder, 'tree');
  await copyTree(stand.tree, tree);
  const mutatedBundle = path.join(folder, 'mutated');
  await mkdir(mutatedBundle);
  const bundle = await bundleOf(tree, folder);
  // A cache of its own, so that no file of this passing tree stays in that of the packages.
  const cache = { NODE_COMPILE_CACHE: path.join(folder, 'compiled') };
  const bench = { tree, env: { ...stand.env, ...bundle, ...cache }, signal };
  const known: Known = new Map();
  const catchers = await readCatchers();
  let survived = 0;
  for (const mutation of mutations) {
    const name = `${mutation.file}: ${mutation.fault}`;
    const beganMs = performance.now();
    const caught = await tryMutation(bench, mutatedBundle, mutation, known, catchers[name]);
    const seconds = String(Math.round((performance.now() - beganMs) / 1000)).padStart(3);
    if (caught) {
      await rememberCatcher(name, caught.testFile);
      say(`caught   ${seconds} s ${name}\n${' '.repeat(15)}by: ${caught.title}`);
    } else {
      survived += 1;
      say(`SURVIVED ${seconds} s ${name}`);
    }
  }

  say(`\n${mutations.length - survived} caught, ${survived} survived`);
  return survived === 0 ? 0 : 1;
}
