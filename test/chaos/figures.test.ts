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

test('the chaos suite detects metrics that decrease, vanish, or have an earlier time, unless a restore explains it', (t) => {
  const first = seenAt(1000, { likes: 3, saves: 1 });
  const fallen = seenAt(2000, { likes: 2, saves: 1 });
  const fell = 'metrics that fell';
  for (const [second, restoredAtMs, ...violations] of [
    [seenAt(2000, { likes: 4, saves: 1 }), 0],
    [fallen, 0, fell],
    [seenAt(2000, { likes: 3 }), 0, fell],
    [seenAt(900, { likes: 4, saves: 1 }), 0, fell],
    [fallen, 1500],
    [fallen, 2500, fell],
  ] as const) {
    t.deepEqual(found({ seen: [first, second] }, [{ backupAtMs: 0, restoredAtMs }]), violations);
  }

  const listed = { posts: 2, likes: 5, comments: 0, shares: 0, saves: 0 };
  const differ = 'totals that differ from the listed posts';
  t.deepEqual(found({ listed, totals: { ...listed, likes: 6 } }), [differ]);
});
