import test from 'ava';
import { checkFigures } from './check/figures.ts';
import { evidenceOf, found } from './check/good-evidence.ts';
import type { Evidence } from './check/evidence.ts';
import type { SeenFigures } from './watch-figures.ts';
import { checkFiles } from './check/files.ts';
import { altTextOf } from './parts/upload-files.ts';
import type { PlannedFile } from './plan/post-plan.ts';

const seenAt = (ms: number, metrics: Readonly<Record<string, number>>): SeenFigures => ({
  postId: 'p',
  channelId: 'c',
  metrics,
  updatedAtMs: ms,
  askedAtMs: ms,
  seenAtMs: ms + 10,
});

const violated = (
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
    t.deepEqual(violated({ seen: [first, second] }, [{ backupAtMs: 0, restoredAtMs }]), violations);
  }

  const listed = { posts: 2, likes: 5, comments: 0, shares: 0, saves: 0 };
  const differ = 'totals that differ from the listed posts';
  t.deepEqual(violated({ listed, totals: { ...listed, likes: 6 } }), [differ]);
});

const pictures = ['picture 1', 'picture 2'] as const;
const listed = pictures.map((name) => ({ kind: 'picture' as const, altText: altTextOf(name) }));

/** A thread of two parts whose second part should have two pictures. */
function withPictures(onSecond: typeof listed, onFirst: typeof listed = []): Evidence {
  const parts = [found(1, { files: onFirst }), found(2, { files: onSecond })];
  const evidence = evidenceOf({ found: parts });
  const files: PlannedFile[] = pictures.map((name) => ({ name, part: 2 }));
  const histories = evidence.histories.map((history) => ({
    ...history,
    plan: { ...history.plan, files },
  }));
  return { ...evidence, histories };
}

const invariantsOf = (evidence: Evidence): string[] =>
  checkFiles(evidence).map(({ invariant }) => invariant);

test('the chaos suite detects files that are missing, repeated, in another order, or on another part', (t) => {
  const [first, second] = listed;
  const wrong = [
    withPictures([]),
    withPictures(listed.slice(0, 1)),
    withPictures([...listed, ...listed.slice(1)]),
    withPictures(first && second ? [second, first] : []),
    withPictures(listed, listed),
    withPictures(listed.map((file) => ({ ...file, altText: '' }))),
  ];
  t.deepEqual(invariantsOf(withPictures(listed)), []);
  for (const evidence of wrong) {
    t.deepEqual(invariantsOf(evidence), ['files missing, or too many']);
  }
});
