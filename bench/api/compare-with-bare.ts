import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { median } from '../quantile.ts';
import { call } from './call.ts';
import { load } from './load.ts';
import type { LoadJob, LoadResult } from './load-job.ts';
import { recipeOf, statementsOf } from './recipe.ts';
import type { Seeded } from './seed.ts';
import { startServer } from './start-server.ts';
import { startProduct, type World } from './world.ts';

/** Of the bare server's requests per second, at least. */
const targetShare = 0.6;

const connections = 16;
const warmUpSeconds = 3;
const roundSeconds = 2.5;

/** In each round one is measured right after the other, so that whatever else the machine does meets both. */
const rounds = 8;

type Pair<T> = { readonly product: T; readonly bare: T };

/** The product beside the bare server. @returns whether each target was met. */
export async function compareWithBare(world: World): Promise<boolean[]> {
  const { stage, small } = world;
  await writeRecipes(world);
  const [product, bare] = await Promise.all([startProduct(world), startBare(world)]);
  const origins = { product: product.origin, bare: bare.origin };
  await mustAnswer(world, product.origin);
  await mustAnswer(world, bare.origin);
  stage.say(
    `\n${connections} connections, ${rounds} rounds of ${roundSeconds} s each by turns, medians`,
  );
  const read = await measure(origins, { ...common(small), ...(await readJob(world)) });
  const create = await measure(origins, { ...common(small), ...createJob(small) });
  return [report(world, 'GET /posts/{id}', read), report(world, 'POST /posts (draft)', create)];
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

/** Asks the product once for each, and writes down which statements that takes. */
async function writeRecipes(world: World): Promise<void> {
  const { folder, small } = world;
  const file = path.join(folder, 'statements.jsonl');
  await writeFile(file, '');
  const { origin, part } = await startProduct(world, file);
  const [id = ''] = await somePosts(world, 1);
  const known = {
    [createHash('sha256').update(small.key).digest('hex')]: 'key',
    [small.workspaceId]: 'workspace',
  } as const;
  const read = await statementsOf(file, () => call(origin, small.key, 'GET', `/posts/${id}`));
  const body = { body: draft, channel_ids: small.channelIds };
  const create = await statementsOf(file, () => call(origin, small.key, 'POST', '/posts', body));
  process.kill(part.pid);
  await part.ended;
  const recipes = {
    read: recipeOf(read, { ...known, [id]: 'id' }),
    create: recipeOf(create, { ...known, [draft]: 'body' }, small.channelIds),
  };
  await writeFile(recipesFile(world), JSON.stringify(recipes));
}

/** Makes sure that a server does what it is measured at. @throws Error when it does not. */
async function mustAnswer(world: World, origin: string): Promise<void> {
  const { key, channelIds } = world.small;
  const body = { body: `${draft} ${origin}`, channel_ids: channelIds };
  const created = (await call(origin, key, 'POST', '/posts', body)) as Answer;
  const { post } = (await call(origin, key, 'GET', `/posts/${created.post.id}`)) as Answer;
  if (post.body !== body.body || post.channels.length !== channelIds.length) {
    throw new Error(`${origin} does not store what it is sent.`);
  }
}

type Answer = {
  readonly post: { readonly id: string; readonly body: string; readonly channels: unknown[] };
};

async function somePosts({ databaseUrl, small }: World, count: number): Promise<string[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>(
      'select id from posts where workspace_id = $1 limit $2',
      [small.workspaceId, count],
    );
    return rows.map(({ id }) => id);
  } finally {
    await client.end();
  }
}

const common = ({ key }: Seeded) => ({
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  connections,
});

const readJob = async (world: World) => ({
  method: 'GET' as const,
  paths: (await somePosts(world, 500)).map((id) => `/api/v1/posts/${id}`),
  status: 200,
});

const createJob = ({ channelIds }: Seeded) => ({
  method: 'POST' as const,
  paths: ['/api/v1/posts'],
  body: JSON.stringify({ body: `${draft} {n}`, channel_ids: channelIds }),
  status: 201,
});

type Job = Omit<LoadJob, 'origin' | 'seconds'>;

async function measure(origins: Pair<string>, job: Job): Promise<Pair<LoadResult>[]> {
  const run = (side: keyof Pair<string>, seconds: number): Promise<LoadResult> =>
    load({ ...job, origin: origins[side], seconds });
  await run('product', warmUpSeconds);
  await run('bare', warmUpSeconds);
  const results: Pair<LoadResult>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // By turns, as the second may find the machine warmer.
    const first = round % 2 === 0 ? await run('product', roundSeconds) : undefined;
    const bare = await run('bare', roundSeconds);
    results.push({ product: first ?? (await run('product', roundSeconds)), bare });
  }

  return results;
}

function report(world: World, title: string, results: readonly Pair<LoadResult>[]): boolean {
  const { say } = world.stage;
  const share = median(results.map(({ product, bare }) => product.perSecond / bare.perSecond));
  const met = share >= targetShare;
  say(`\n${title}`);
  say(`  Punctual  ${line(results.map(({ product }) => product))}`);
  say(`  bare      ${line(results.map(({ bare }) => bare))}`);
  say(`  share     ${share.toFixed(2)} of the bare server's requests per second`);
  say(`  target    ${targetShare} at least: ${met ? 'met' : 'MISSED'}`);
  return met;
}

function line(results: readonly LoadResult[]): string {
  const perSecond = median(results.map((result) => result.perSecond));
  const p50 = median(results.map(({ p50Ms }) => p50Ms));
  const p99 = median(results.map(({ p99Ms }) => p99Ms));
  const rate = perSecond.toFixed(0).padStart(6);
  return `${rate} requests/s   p50 ${p50.toFixed(1)} ms   p99 ${p99.toFixed(1)} ms`;
}
