import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import type { Run } from '../runner/bench.ts';
import { median } from '../runner/quantile.ts';
import { call } from './load.ts';
import { statementsOf } from './recipe.ts';
import type { Statement } from './record-statements.ts';
import type { Seeded } from './seed.ts';
import { startProduct, type World } from './world.ts';

/** Maximum multiple of the time of the SQL alone. */
const targetTimes = 2;

const warmUpSeconds = 4;

/** Alternates product and SQL, so that other load affects both. As many pairs as fit into the time. */
const seconds = 20;
const mostTurns = 300;

/** Compares the lists with their own SQL, one call at a time. */
export async function compareWithSql(world: World, target: Run<object>['target']): Promise<void> {
  const { listed, analysed, stage } = world;
  const yearAgo = new Date(Date.now() - 365 * 86_400_000).toISOString().slice(0, 10);
  stage.say(`\nOne call at a time, alternating for ${seconds} s, medians`);
  const lists = [
    { title: 'GET /posts, of 10,000', workspace: listed, route: '/posts' },
    {
      title: 'GET /analytics, of 100,000',
      workspace: analysed,
      route: `/analytics?from=${yearAgo}`,
    },
  ];
  for (const { title, workspace, route } of lists) {
    const times = await compare(world, title, workspace, route);
    target(
      `${title}: ${times.toFixed(2)} times the SQL alone; the target is at most ${targetTimes}`,
      times <= targetTimes,
    );
  }
}

/** @returns the time of a call as a multiple of its SQL's. */
async function compare(
  world: World,
  title: string,
  { key }: Seeded,
  route: string,
): Promise<number> {
  const statements = await recorded(world, key, route);
  const { origin, part } = await startProduct(world);
  const client = new Client({ connectionString: world.databaseUrl });
  await client.connect();
  const turn = async () => ({
    productMs: await timed(() => call(origin, key, 'GET', route)),
    sqlMs: await timed(() => runStatements(client, statements)),
  });
  await repeat(turn, warmUpSeconds);
  const turns = await repeat(turn, seconds);
  await client.end();
  process.kill(part.pid);
  await part.ended;
  const productMs = median(turns.map((one) => one.productMs));
  const sqlMs = median(turns.map((one) => one.sqlMs));
  const { say } = world.stage;
  say(`\n${title}`);
  say(`  Punctual  ${productMs.toFixed(1)} ms`);
  say(`  its SQL   ${sqlMs.toFixed(1)} ms`);
  return productMs / sqlMs;
}

async function repeat<T>(turn: () => Promise<T>, forSeconds: number): Promise<T[]> {
  const endMs = performance.now() + forSeconds * 1000;
  const turns: T[] = [];
  while (performance.now() < endMs && turns.length < mostTurns) {
    turns.push(await turn());
  }

  return turns;
}

async function recorded(world: World, key: string, route: string): Promise<Statement[]> {
  const file = path.join(world.folder, 'statements.jsonl');
  await writeFile(file, '');
  const { origin, part } = await startProduct(world, file);
  const statements = await statementsOf(file, () => call(origin, key, 'GET', route));
  process.kill(part.pid);
  await part.ended;
  return statements;
}

async function runStatements(client: Client, statements: readonly Statement[]): Promise<void> {
  for (const { text, values, name } of statements) {
    await client.query({ text, values: [...values], ...(name === undefined ? {} : { name }) });
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
