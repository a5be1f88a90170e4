import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import type { Run } from '../runner/bench.ts';
import { measureByTurns, timesTheRateOf, type Results } from '../runner/contenders.ts';
import { startServer } from '../runner/processes.ts';
import { median } from '../runner/quantile.ts';
import { call, load, type LoadJob, type LoadResult } from './load.ts';
import { recipeOf, statementsOf } from './recipe.ts';
import type { Seeded } from './seed.ts';
import { startProduct, type World } from './world.ts';

const connections = 16;
const warmUpSeconds = 3;
const roundSeconds = 2.5;

const rounds = 8;

type Contender = { readonly name: 'product' | 'bare'; readonly origin: string };

/** Compares the product with the bare server. Only the product finds the key of simultaneous calls by one statement. */
export async function compareWithBare(world: World, target: Run<object>['target']): Promise<void> {
  const { stage, small } = world;
  await writeRecipes(world);
  const [product, bare] = await Promise.all([startProduct(world), startBare(world)]);
  await assertAnswers(world, product.origin);
  await assertAnswers(world, bare.origin);
  stage.say(
    `\n${connections} connections, ${rounds} rounds of ${roundSeconds} s each, alternating, medians`,
  );
  const contenders: readonly Contender[] = [
    { name: 'product', origin: product.origin },
    { name: 'bare', origin: bare.origin },
  ];
  const compare = async (title: string, job: Job, targetShare: number): Promise<void> => {
    const share = report(world, title, await measure(contenders, { connections, ...job }));
    target(
      `${title}: ${share.toFixed(2)} of the bare server's requests per second; the target is at least ${targetShare}`,
      share >= targetShare,
    );
  };
  await compare('GET /posts/{id}', await readJob(world), 0.85);
  await compare('POST /posts (draft)', createJob(small), 0.6);
}

const recipesFile = ({ folder }: World): string => path.join(folder, 'recipes.json');

const startBare = (world: World) =>
  startServer(
    {
      name: 'bare',
      args: ['bench/api/bare-server.ts'],
      env: { DATABASE_URL: world.databaseUrl, BENCH_RECIPES: recipesFile(world) },
      folder: world.folder,
    },
    world.stage,
  );

const draft = 'A draft of the benchmark as long as a post on most networks may be';

/** Calls each route of the product once and records its statements. */
async function writeRecipes(world: World): Promise<void> {
  const { folder, small } = world;
  const file = path.join(folder, 'statements.jsonl');
  await writeFile(file, '');
  const { origin, part } = await startProduct(world, file);
  const [id = ''] = await somePosts(world, small, 1);
  const known = {
    [createHash('sha256').update(small.key).digest('hex')]: 'key',
    [small.workspaceId]: 'workspace',
  } as const;
  const read = await statementsOf(file, () => call(origin, small.key, 'GET', `/posts/${id}`));
  const body = { body: draft, channel_ids: small.channelIds };
  const create = await statementsOf(file, () => call(origin, small.key, 'POST', '/posts', body));
  // The entry in the audit log names the key.
  const { key } = (await call(origin, small.key, 'GET', '/me')) as { key: { id: string } };
  process.kill(part.pid);
  await part.ended;
  const recipes = {
    read: recipeOf(read, { ...known, [id]: 'id' }),
    create: recipeOf(create, { ...known, [draft]: 'body' }, [...small.channelIds, key.id]),
  };
  await writeFile(recipesFile(world), JSON.stringify(recipes));
}

/** Checks that a server really does the measured work. @throws Error when it does not. */
async function assertAnswers(world: World, origin: string): Promise<void> {
  const { key, channelIds } = world.small;
  const body = { body: `${draft} ${origin}`, channel_ids: channelIds };
  const created = (await call(origin, key, 'POST', '/posts', body)) as Answer;
  const { post } = (await call(origin, key, 'GET', `/posts/${created.post.id}`)) as Answer;
  if (post.body !== body.body || post.channels.length !== channelIds.length) {
    throw new Error(`${origin} does not store the post that it received.`);
  }
}

type Answer = {
  readonly post: { readonly id: string; readonly body: string; readonly channels: unknown[] };
};

async function somePosts(
  { databaseUrl }: World,
  { workspaceId }: Seeded,
  count: number,
): Promise<string[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>(
      'select id from posts where workspace_id = $1 limit $2',
      [workspaceId, count],
    );
    return rows.map(({ id }) => id);
  } finally {
    await client.end();
  }
}

const readJob = async (world: World) => {
  const posts = await Promise.all(world.readers.map((reader) => somePosts(world, reader, 60)));
  // Simultaneous requests are of different keys.
  const requests = [...Array(60).keys()].flatMap((n) =>
    world.readers.map(({ key }, of) => ({ path: `/api/v1/posts/${posts[of]?.[n]}`, key })),
  );
  return { method: 'GET' as const, requests, status: 200 };
};

const createJob = ({ channelIds, key }: Seeded) => ({
  method: 'POST' as const,
  requests: [{ path: '/api/v1/posts', key }],
  body: JSON.stringify({ body: `${draft} {n}`, channel_ids: channelIds }),
  status: 201,
});

type Job = Omit<LoadJob, 'origin' | 'seconds' | 'connections'>;

type Measured = Partial<Results<Contender['name'], LoadResult>>;

async function measure(
  contenders: readonly Contender[],
  job: Omit<LoadJob, 'origin' | 'seconds'>,
): Promise<Measured> {
  const run = ({ origin }: Contender, seconds: number) => load({ ...job, origin, seconds });
  for (const contender of contenders) {
    await run(contender, warmUpSeconds);
  }

  return measureByTurns<Contender['name'], Contender, LoadResult>(contenders, rounds, (contender) =>
    run(contender, roundSeconds),
  );
}

/** Prints the results. @returns the share of the bare server's rate. */
function report({ stage: { say } }: World, title: string, { product, bare }: Measured): number {
  say(`\n${title}`);
  say(`  Punctual  ${line(product ?? [])}`);
  say(`  bare      ${line(bare ?? [])}`);
  return timesTheRateOf(product, bare) ?? Number.NaN;
}

function line(results: readonly LoadResult[]): string {
  const perSecond = median(results.map((result) => result.perSecond));
  const p50 = median(results.map(({ p50Ms }) => p50Ms));
  const p99 = median(results.map(({ p99Ms }) => p99Ms));
  const rate = perSecond.toFixed(0).padStart(6);
  return `${rate} requests/s   p50 ${p50.toFixed(1)} ms   p99 ${p99.toFixed(1)} ms`;
}
