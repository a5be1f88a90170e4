import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { CompiledQuery } from 'kysely';
import { readFromIndex, type Selection } from '../../db/analytics/posts.ts';
import { loadAnalytics } from '../../services/analytics/load-analytics.ts';
import { migrate } from '../../db/migrate.ts';
import { createOrm, type Em, type Orm } from '../../db/orm.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { count, type Bench, type Run } from '../runner/bench.ts';
import { measureByTurns } from '../runner/contenders.ts';
import { startDatabase } from '../runner/processes.ts';
import { median } from '../runner/quantile.ts';
import { askNaively, type Answer, type Question } from './naive.ts';
import { seed } from './seed.ts';

type Plan = { readonly posts: number; readonly rounds: number };
type World = { readonly orm: Orm; readonly workspaceId: string };

const dayMs = 86_400_000;
/**
 * PostgreSQL's shared_buffers. The default of 128 MB is smaller than the index of a million posts, which is then read
 * again each time.
 */
const memory = '1GB';
const mostMs = 500;
const leastTimes = 5;

/**
 * `npm run bench analytics -- [--posts 1000000] [--rounds 3]`: analytics of a year of posts, compared with SQL that
 * sums the rows.
 */
export const bench: Bench<Plan, World> = {
  readOptions: (args) => {
    const options = {
      posts: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '3' },
    } as const;
    const { posts, rounds } = parseArgs({ args: [...args], options }).values;
    return { posts: count(posts), rounds: count(rounds) };
  },
  prepare: async ({ folder, stage, options }) => {
    const databaseUrl = await startDatabase(folder, stage, { shared_buffers: memory });
    await migrate(databaseUrl);
    const orm = createOrm(databaseUrl, { poolSize: 2, queryTimeoutMs: 600_000 });
    const sealer = createSealer(randomBytes(32).toString('hex'));
    return { orm, workspaceId: await seed(orm, sealer, options.posts) };
  },
  measure,
  close: ({ orm }) => orm.close(),
};

async function measure(world: World, run: Run<Plan>): Promise<void> {
  const end = Math.ceil(Date.now() / dayMs) * dayMs;
  const year = { begin: end - 366 * dayMs, end };
  const questions: readonly (Question & { readonly title: string })[] = [
    { ...year, title: 'newest first', sort: 'date' },
    { ...year, title: 'by engagement', sort: 'engagement' },
    { ...year, title: 'by engagement, of one network', sort: 'engagement', platform: 'mastodon' },
  ];
  for (const { title, ...question } of questions) {
    await compare(world, run, title, question);
  }

  for (const plan of await plansOf(world.orm.em.fork(), world.workspaceId, questions[1])) {
    run.stage.say(`\n${plan}`);
  }
}

async function compare(
  { orm, workspaceId }: World,
  { options: { rounds }, stage: { say }, target }: Run<Plan>,
  title: string,
  question: Question,
): Promise<void> {
  const contenders = [
    { name: 'naive', ask: () => askNaively(orm.em.fork(), workspaceId, question) },
    { name: 'punctual', ask: () => askPunctual(orm.em.fork(), workspaceId, question) },
  ] as const;
  const answers = await Promise.all(contenders.map(({ ask }) => ask())); // Also warms up both.
  target(`${title}: both answer the same`, isDeepStrictEqual(answers[0], answers[1]));
  const { naive = [], punctual = [] } = await measureByTurns(contenders, rounds, ({ ask }) =>
    timed(ask),
  );
  const [naiveMs, ms] = [median(naive), median(punctual)];
  say(`\n${title}, the first 50 and the totals; median of ${rounds} rounds, and the worst`);
  say(`  naive SQL ${naiveMs.toFixed(0)} ms, ${Math.max(...naive).toFixed(0)} ms`);
  say(`  Punctual  ${ms.toFixed(0)} ms, ${Math.max(...punctual).toFixed(0)} ms`);
  const times = naiveMs / ms;
  target(
    `${title}: ${times.toFixed(1)} times as fast; at least ${leastTimes}`,
    times >= leastTimes,
  );
  target(`${title}: ${ms.toFixed(0)} ms; less than ${mostMs}`, ms < mostMs);
}

async function askPunctual(em: Em, workspaceId: string, question: Question): Promise<Answer> {
  const { totals, posts } = await loadAnalytics(em, selectionOf(workspaceId, question));
  const { posts_without_metrics: _, ...others } = totals;
  return { totals: others, ids: posts.map(({ post_id: id }) => id) };
}

const selectionOf = (workspaceId: string, { begin, end, platform, sort }: Question): Selection => ({
  workspaceId,
  published: { begin, end },
  platform,
  sort,
  order: 'desc',
  limit: 50,
  offset: 0,
});

async function timed(ask: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await ask();
  return performance.now() - startedMs;
}

/** PostgreSQL's plans for the statements of `GET /analytics`, with their times. */
async function plansOf(
  em: Em,
  workspaceId: string,
  question: Question | undefined,
): Promise<string[]> {
  if (!question) {
    return [];
  }

  const statements: { readonly sql: string; readonly parameters: readonly unknown[] }[] = [];
  const kysely = em.getKysely();
  const run = kysely.executeQuery.bind(kysely);
  const noting = Object.assign(em.fork(), {
    getKysely: () => ({
      executeQuery: (statement: CompiledQuery) => {
        statements.push(statement);
        return run(statement);
      },
    }),
  }) as unknown as Em;
  await loadAnalytics(noting, selectionOf(workspaceId, question));
  return readFromIndex(em, async () => {
    const plans: string[] = [];
    for (const { sql, parameters } of statements.filter((one) =>
      one.sql.includes('post_metrics'),
    )) {
      const explain = CompiledQuery.raw(`explain (analyze, costs off, buffers off) ${sql}`, [
        ...parameters,
      ]);
      const { rows } = await em.getKysely().executeQuery<Record<string, string>>(explain);
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    }

    return plans;
  });
}
