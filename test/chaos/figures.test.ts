import test from 'ava';
import { checkFigures } from './check/figures.ts';
import { evidenceOf } from './check/good-evidence.ts';
import type { Evidence } from './check/evidence.ts';
import type { SeenFigures } from './watch-figures.ts';

const seenAt = (ms: number, metrics: Readonly<Record<string, number>>): SeenFigures => ({
  postId: 'p',
  channelId: 'c',
  metrics,
  updatedAtMs: ms,
  askedAtMs: ms,
  seenAtMs: ms + 10,
});

const found = (
  figures: Partial<Evidence['figures']>,
  restores: Evidence['access']['restores'] = [],
): string[] => {
  const evidence = evidenceOf({ access: { restores } });
  return checkFigures({ ...evidence, figures: { ...evidence.figures, ...figures } }).map(
    ({ invariant }) => invariant,
  );
};

test('growing metrics with growing times are no violation', (t) => {
  t.deepEqual(
    found({ seen: [seenAt(1000, { likes: 1 }), seenAt(2000, { likes: 2, saves: 0 })] }),
    [],
  );
});

test('the chaos suite detects metrics that decrease, vanish, or have an earlier time', (t) => {
  const first = seenAt(1000, { likes: 3, saves: 1 });
  for (const second of [
    seenAt(2000, { likes: 2, saves: 1 }),
    seenAt(2000, { likes: 3 }),
    seenAt(900, { likes: 4, saves: 1 }),
  ]) {
    t.deepEqual(found({ seen: [first, second] }), ['metrics that fell']);
  }
});

test('a restore explains decreased metrics only around its own time', (t) => {
  const seen = [seenAt(1000, { likes: 3 }), seenAt(2000, { likes: 2 })];
  t.deepEqual(found({ seen }, [{ backupAtMs: 500, restoredAtMs: 1500 }]), []);
  t.deepEqual(found({ seen }, [{ backupAtMs: 500, restoredAtMs: 2500 }]), ['metrics that fell']);
});

test('the chaos suite detects totals that differ from the listed posts', (t) => {
  const listed = { posts: 2, likes: 5, comments: 0, shares: 0, saves: 0 };
  t.deepEqual(found({ listed, totals: { ...listed, likes: 6 } }), [
    'totals that differ from the listed posts',
  ]);
});
