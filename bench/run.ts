import { runBench, type Bench } from './runner/bench.ts';

// `npm run bench <name>`: measures, prints the results, and exits with 1 when a target is missed.

// oxlint-disable-next-line typescript/no-explicit-any -- Each bench has its own types of options and world.
type AnyBench = Bench<any, any>;

const benches: Readonly<Record<string, () => Promise<{ readonly bench: AnyBench }>>> = {
  api: () => import('./api/bench.ts'),
  posts: () => import('./posts/bench.ts'),
  lateness: () => import('./lateness/bench.ts'),
  'hung-server': () => import('./hung-server/bench.ts'),
  fairness: () => import('./fairness/bench.ts'),
  turns: () => import('./turns/bench.ts'),
  webhooks: () => import('./webhooks/bench.ts'),
  analytics: () => import('./analytics/bench.ts'),
  recovery: () => import('./recovery/bench.ts'),
};

const [name = '', ...args] = process.argv.slice(2);
const load = benches[name];
if (!load) {
  console.error(`Which benchmark? npm run bench ${Object.keys(benches).join(' | ')}`);
  process.exit(2);
}

const { bench } = await load();
process.exit((await runBench(bench, args)) ? 0 : 1);
