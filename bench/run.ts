// `npm run bench <name>`: measures, prints, and ends with 1 when a target is missed.

type Bench = { readonly run: (args: readonly string[]) => Promise<boolean> };

const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  api: () => import('./api/bench.ts'),
  posts: () => import('./posts/bench.ts'),
  lateness: () => import('./lateness/bench.ts'),
  'hung-server': () => import('./hung-server/bench.ts'),
  fairness: () => import('./fairness/bench.ts'),
  turns: () => import('./turns/bench.ts'),
  webhooks: () => import('./webhooks/bench.ts'),
  recovery: () => import('./recovery/bench.ts'),
};

const [name = '', ...args] = process.argv.slice(2);
const load = benches[name];
if (!load) {
  console.error(`Which benchmark? npm run bench ${Object.keys(benches).join(' | ')}`);
  process.exit(2);
}

const { run } = await load();
process.exit((await run(args)) ? 0 : 1);
