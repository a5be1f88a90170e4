// `npm run bench <name>`: measures, prints, and ends with 1 when a target is missed.

const benches: Readonly<Record<string, () => Promise<{ run: () => Promise<boolean> }>>> = {
  api: () => import('./api/bench.ts'),
};

const [name = ''] = process.argv.slice(2);
const load = benches[name];
if (!load) {
  console.error(`Which benchmark? npm run bench ${Object.keys(benches).join(' | ')}`);
  process.exit(2);
}

const { run } = await load();
process.exit((await run()) ? 0 : 1);
